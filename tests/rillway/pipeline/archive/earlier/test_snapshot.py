"""RDB files as servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from rillway.pipeline.archive.earlier.snapshot import served
from rillway.pipeline.archive.files.store import ArchiveError

pytestmark = pytest.mark.integration


def test_what_is_no_snapshot_is_an_error_with_its_reason(tmp_path: Path) -> None:
    place = tmp_path / "an old one.rdb"
    place.write_bytes(b"hello")
    why = r"an old one\.rdb cannot be loaded: .*hello"
    with pytest.raises(ArchiveError, match=why), served(place):
        pass
    assert place.read_bytes() == b"hello"
