"""The shape of HELP replies."""

from __future__ import annotations

from commands.core.help import help_reply


def test_a_help_reply_begins_and_ends_like_those_of_redis() -> None:
    assert help_reply(b"XGROUP", b"DESTROY <key>", b"    Gone.") == (
        b"*5\r\n"
        b"+XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n"
        b"+DESTROY <key>\r\n"
        b"+    Gone.\r\n"
        b"+HELP\r\n"
        b"+    Print this help.\r\n"
    )
