"""The arguments of `rillway check`."""

from __future__ import annotations

import pytest

from rillway.command_line.check import make_parser


def test_files_and_what_to_do_with_them() -> None:
    options = make_parser().parse_args(["a", "b", "--fix", "--yes"])
    assert options.files == ["a", "b"]
    assert (options.fix, options.yes, options.json) == (True, True, False)


def test_a_file_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        make_parser().parse_args([])
    assert ended.value.code == 2
    assert "required: FILE" in capsys.readouterr().err
