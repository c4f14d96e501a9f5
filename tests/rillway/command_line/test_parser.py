"""What a wrong command line is answered with."""

from __future__ import annotations

import pytest

from rillway.command_line.arguments import duration, from_one
from rillway.command_line.parser import Parser


def parser() -> Parser:
    found = Parser("work", "Work.")
    found.add_argument("--stream", required=True)
    found.add_argument("--count", type=from_one)
    found.add_argument("--idle", type=duration)
    found.add_argument("files", nargs="*")
    return found


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--streem", "s"], "there is no option --streem. Did you mean --stream?"),
        (["--stream", "s", "--coun=1"], "there is no option --coun. Did you mean --count?"),
        (["--zzz"], "there is no option --zzz."),
        ([], "the following arguments are required: --stream"),
        (["--stream", "s", "--count", "0"], "--count takes a number from 1 up; not '0'"),
        (["--stream", "s", "--idle", "9"], "--idle takes a time with a unit, such as 60s; not '9'"),
        (["--stream", "s", "-x"], "unrecognized arguments: -x"),
    ],
)
def test_an_error_says_what_to_write_and_ends_with_status_2(
    words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(words)
    assert ended.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("usage: rillway work ")
    assert shown.err.endswith(f"rillway work: error: {error}\n")


def test_values_with_an_equals_sign_and_words_after_two_hyphens_are_taken() -> None:
    options = parser().parse_args(["--stream=a", "--count", "2", "--", "--zzz"])
    assert (options.stream, options.count, options.files) == ("a", 2, ["--zzz"])
