"""Errors of usage: one sentence each, with what to write instead."""

from __future__ import annotations

import pytest

from rillway.command_line.arguments import add_url, duration, from_one
from rillway.command_line.parser import Parser, did_you_mean


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
        (
            ["--stream", "s", "--idle", "9"],
            "--idle takes a time with a unit, such as 9s, 9ms or 9m; not '9'",
        ),
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


@pytest.mark.parametrize("words", [["-p", "7000"], ["--port", "7000"], ["--port=7000"]])
def test_a_port_is_answered_with_the_option_that_names_the_server(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with_url = parser()
    add_url(with_url)
    with pytest.raises(SystemExit):
        with_url.parse_args(["--stream", "s", *words])
    name = words[0].partition("=")[0]
    assert capsys.readouterr().err.endswith(
        f"there is no option {name}. The server is named by --url redis://HOST:PORT\n"
    )


def test_p_means_the_port_where_there_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    with_port = parser()
    add_url(with_port)
    with_port.add_argument("--port")
    with pytest.raises(SystemExit):
        with_port.parse_args(["--stream", "s", "-p", "7000"])
    assert capsys.readouterr().err.endswith("there is no option -p. Did you mean --port?\n")


def test_values_with_an_equals_sign_and_words_after_two_hyphens_are_taken() -> None:
    options = parser().parse_args(["--stream=a", "--count", "2", "--", "--zzz"])
    assert (options.stream, options.count, options.files) == ("a", 2, ["--zzz"])


def test_the_nearest_name_is_suggested_if_one_is_near() -> None:
    assert did_you_mean("serv", ["check", "serve"]) == " Did you mean 'serve'?"
    assert did_you_mean("--bloc", ["--block"], "") == " Did you mean --block?"
    assert did_you_mean("xyz", ["check", "serve"]) == ""
