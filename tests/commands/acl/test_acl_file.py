"""The text of an ACL file.

ACL LOAD and ACL SAVE, on files in memory that can fail and tear.
"""

from __future__ import annotations

import errno

import pytest

from commands.acl.acl_file import InvalidFile, format_users, parse_users
from commands.acl.users import User
from server.inprocess.memory_files import MemoryFiles
from server.inprocess.server import InProcessServer
from server.persistence.files import replace_file
from server.user_files import InvalidUsers

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


OLD = b"user ann on nopass sanitize-payload resetchannels -@all +ping\n"
DEFAULT = b"user default on nopass sanitize-payload ~* &* +@all\n"
STEPS = ("create", "write", "sync", "rename", "sync_directory")


def started(text: bytes = OLD, requirepass: str = "") -> InProcessServer:
    files = MemoryFiles()
    replace_file(files, ".", "users.acl", text)
    return InProcessServer.on_files(files, aclfile="users.acl", requirepass=requirepass)


def test_the_file_is_read_at_the_start_and_wins_over_requirepass() -> None:
    client = started(requirepass="p").connect()
    assert client.execute("ACL", "USERS") == b"*2\r\n$3\r\nann\r\n$7\r\ndefault\r\n"
    assert client.execute("AUTH", "ann", "") == b"+OK\r\n"


def test_a_start_with_an_invalid_file_is_refused() -> None:
    with pytest.raises(InvalidUsers, match=r"^Aborting Redis startup because of ACL errors: users"):
        started(b"user ann +nothing\n")
    with pytest.raises(InvalidUsers, match="No such file or directory"):
        InProcessServer(aclfile="users.acl")


def test_what_is_saved_is_loaded() -> None:
    server = started()
    client = server.connect()
    client.execute("ACL", "SETUSER", "bob", "on", ">p", "(~a", "+get)")
    users = client.execute("ACL", "LIST")
    assert client.execute("ACL", "SAVE") == b"+OK\r\n"
    client.execute("ACL", "DELUSER", "bob")
    assert client.execute("ACL", "LOAD") == b"+OK\r\n"
    assert client.execute("ACL", "LIST") == users
    assert server.restart().connect().execute("ACL", "LIST") == users


def test_a_file_with_an_error_changes_nothing() -> None:
    server = started()
    client = server.connect()
    replace_file(server.files, ".", "users.acl", b"user bob on\nuser ann zz\n")
    assert client.execute("ACL", "LOAD") == (
        b"-ERR users.acl:2: Syntax error. WARNING: ACL errors detected, no change to the previously"
        b" active ACL rules was performed\r\n"
    )
    assert client.execute("ACL", "USERS").startswith(b"*2\r\n$3\r\nann\r\n")


def test_without_a_file_both_are_refused() -> None:
    client = InProcessServer().connect()
    for word in ("LOAD", "SAVE"):
        assert client.execute("ACL", word).startswith(
            b"-ERR This Redis instance is not configured to use an ACL file."
        )


@pytest.mark.parametrize("step", STEPS)
def test_after_a_crash_at_any_step_the_file_is_the_old_or_the_new_one(step: str) -> None:
    server = started()
    client = server.connect()
    client.execute("ACL", "SETUSER", "bob", "on")
    server.files.fail(step, errno.ENOSPC)
    assert client.execute("ACL", "SAVE").startswith(b"-ERR There was an error trying to save")
    assert any("ACL file failed" in line for _, line in server.log_lines)
    server.files.heal()
    after = server.restart(server.files.crash()).connect().execute("ACL", "USERS")
    old = b"*2\r\n$3\r\nann\r\n$7\r\ndefault\r\n"
    assert after == old or (step == "sync_directory" and after.startswith(b"*3\r\n"))
    assert client.execute("ACL", "SAVE") == b"+OK\r\n"
    saved = server.restart(server.files.crash()).connect()
    assert saved.execute("ACL", "USERS").startswith(b"*3\r\n")
