"""The text of an ACL file."""

from __future__ import annotations

import pytest

from commands.acl.acl_file import InvalidFile, format_users, parse_users
from commands.acl.users import User

UNCHANGED = (
    b"WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
)


def parsed(text: bytes) -> list[User]:
    return parse_users(text, b"f", lambda name: User(name, all_channels=False))


def test_what_is_written_is_read_back() -> None:
    text = (
        b"user ann on sanitize-payload #" + b"a" * 64 + b" ~a* resetchannels &b -@all +get"
        b" (~b resetchannels -@all +set)\nuser  on nopass sanitize-payload resetchannels -@all\n"
    )
    assert format_users(parsed(text)) == text


def test_blank_lines_and_blanks_around_a_line_are_skipped() -> None:
    users = parsed(b"\n  user a  on  (~x  +get )\r\n\n\tuser b off")
    assert [user.name for user in users] == [b"a", b"b"]
    assert parsed(b"") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"foo", b"f:1 should start with user keyword followed by the username. "),
        (b"\n# x", b"f:2 should start with user keyword followed by the username. "),
        (b"USER a", b"f:1 should start with user keyword followed by the username. "),
        (b"user", b"f:1 should start with user keyword followed by the username. "),
        (b"user a\nuser a", b"WARNING: Duplicate user 'a' found on line 2. "),
        (b"user a\tb on", b"'f:1: username 'a\tb' contains invalid characters. "),
        (b"user a on x y", b"f:1: Syntax error. "),
        (b"user a (~b", b"f:1: Unmatched parenthesis in acl selector starting at '(~b'. "),
        (b"user a +x -@y\nuser b zz",
         b"f:1: Error in applying operation '+x': Unknown command or category name in ACL. "
         b"f:1: Error in applying operation '-@y': Unknown command or category name in ACL. "
         b"f:2: Syntax error. "),
    ],
)  # fmt: skip
def test_the_message_names_every_line_with_an_error(text: bytes, message: bytes) -> None:
    with pytest.raises(InvalidFile) as caught:
        parsed(text)
    assert caught.value.text == message + UNCHANGED
