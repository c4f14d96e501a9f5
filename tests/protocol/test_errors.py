"""protocol/errors.py: the code and the wire form of an error."""

from __future__ import annotations

from protocol import errors
from protocol.errors import ReplyError


def test_the_code_is_the_first_word() -> None:
    assert ReplyError(errors.WRONG_TYPE).code == b"WRONGTYPE"


def test_an_error_goes_out_as_one_line() -> None:
    assert ReplyError(errors.SYNTAX).wire == b"-ERR syntax error\r\n"


def test_an_unknown_command_is_quoted_up_to_128_bytes() -> None:
    text = errors.unknown_command([b"x" * 200, b"y" * 100, b"z" * 100]).text
    quoted = b"'" + b"y" * 100 + b"' '" + b"z" * 25 + b"' "
    expected = b"ERR unknown command '" + b"x" * 128 + b"', with args beginning with: " + quoted
    assert text == expected


def test_an_unknown_command_without_arguments_ends_in_a_blank() -> None:
    text = errors.unknown_command([b"NOPE"]).text
    assert text == b"ERR unknown command 'NOPE', with args beginning with: "


def test_the_container_of_an_unknown_subcommand_is_named_in_upper_case() -> None:
    text = errors.unknown_subcommand(b"xgroup", b"nope").text
    assert text == b"ERR unknown subcommand 'nope'. Try XGROUP HELP."
