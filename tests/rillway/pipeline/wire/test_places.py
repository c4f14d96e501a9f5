"""Where archives are, without a server; with one: archive/identity/test_lost.py."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from rillway.pipeline.wire.places import Marker, Place, archive_of


@pytest.mark.parametrize(
    ("group", "archive"),
    [
        ("__archive:0123abcd:00ff", "__archive:0123abcd"),
        ("__archive:0123abcd", "__archive:0123abcd"),
        ("__archive:0123abcd:place", None),
        ("__pin:1:2", None),
        ("workers", None),
    ],
)
def test_a_group_names_its_archive(group: str, archive: str | None) -> None:
    assert archive_of(group) == archive


def test_only_a_folder_of_this_machine_is_known_to_be_gone(tmp_path: Path) -> None:
    here, path = socket.gethostname(), str(tmp_path)
    assert Place(path, here).is_gone
    assert not Place(path, "another").is_gone
    assert not Place("s3://bucket/archive", here).is_gone
    (tmp_path / "_delta_log").mkdir()
    assert not Place(path, here).is_gone


def test_a_marker_of_a_gone_archive_says_what_to_do_and_no_password(tmp_path: Path) -> None:
    marker = Marker(
        "orders", "__archive:0123abcd:00", 0, Place(str(tmp_path), socket.gethostname())
    )
    text = marker.gone_sentence("redis://user:secret@host:1")
    assert text is not None and "secret" not in text
    assert f"rillway archive forget --to {tmp_path} --url redis://user:***@host:1" in text
    assert Marker("orders", "g", 0, None).gone_sentence("redis://host") is None
