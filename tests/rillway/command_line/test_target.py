"""The server that a sub-command writes to."""

from __future__ import annotations

import pytest

from rillway.command_line.target import name_target


def test_the_server_is_named_on_standard_error_without_a_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name_target("replay", "redis://user:secret@host:7000/1")
    assert capsys.readouterr() == ("", "rillway replay: writes to redis://user:***@host:7000/1\n")
