"""The users that a configuration declares; tests/commands/acl/test_acl_file.py has the ACL file."""

from __future__ import annotations

import pytest

from commands.config.configuration import Configuration
from server.config_file import rewritten, split_words
from server.inprocess.server import InProcessServer
from server.user_files import InvalidUsers, config_lines, load_users


def configured(*lines: str, requirepass: str = "") -> InProcessServer:
    """A server with these `user` lines."""
    server = InProcessServer(requirepass=requirepass)
    for line in lines:
        words = split_words(line)
        assert words is not None
        server.instance.config.set("user", words)
    load_users(server.instance)
    return server


def test_user_lines_make_users() -> None:
    client = configured("ann on nopass (~a +get)", "default on >p", requirepass="q").connect()
    assert client.execute("GET", "a").startswith(b"-NOAUTH")
    assert client.execute("AUTH", "ann", "x") == b"+OK\r\n"
    assert client.execute("GET", "a") == b"$-1\r\n"
    assert client.execute("AUTH", "q").startswith(b"-WRONGPASS")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["ann +nothing"], "Error loading ACL rule '+nothing' for the user named 'ann': Unknown"),
        (["'a b' on x"], "Spaces not allowed in ACL usernames"),
    ],
)
def test_an_invalid_line_stops_the_start(lines: list[str], message: str) -> None:
    with pytest.raises(InvalidUsers, match=message.replace("+", r"\+")):
        configured(*lines)


def test_what_is_wrong_may_be_logged_without_names_and_rules() -> None:
    server = InProcessServer(hide_user_data_from_log="yes")
    server.instance.config.set("user", ["ann", "+nothing"])
    with pytest.raises(InvalidUsers, match=r"rule '\*redacted\*' for the user named '\*redacted"):
        load_users(server.instance)
    server = InProcessServer(hide_user_data_from_log="yes")
    server.instance.config.aclfile = "users.acl"
    server.write_acl_file(b"user ann on\nuser ann +no 'thing\n")
    with pytest.raises(InvalidUsers, match=r"Duplicate user \*redacted\*") as refused:
        load_users(server.instance)
    assert "ann" not in str(refused.value) and "thing" not in str(refused.value)


def test_a_name_is_declared_once_and_parentheses_are_closed() -> None:
    config = Configuration()
    config.set("user", ["ann", "on"])
    with pytest.raises(ValueError, match="Duplicate user found"):
        config.set("user", ["ann", "off"])
    with pytest.raises(ValueError, match="Unmatched parenthesis"):
        config.set("user", ["bob", "(~a"])


def test_user_lines_and_a_file_exclude_each_other() -> None:
    server = InProcessServer()
    server.instance.config.set("user", ["ann", "on"])
    server.instance.config.aclfile = "users.acl"
    with pytest.raises(InvalidUsers, match="please define either an ACL file or declare users"):
        load_users(server.instance)


def test_a_rewritten_file_makes_the_same_users() -> None:
    server = configured("ann on nopass ~a +get (~b +set)")
    client = server.connect()
    client.execute("ACL", "SETUSER", "ann", b'~a"b\\')
    client.execute("ACL", "SETUSER", "bob", "on")
    lines = rewritten(
        ["port 1", "user ann on", "# x", "user carl off"],
        server.instance.config,
        config_lines(server.instance),
    )
    assert lines[1].startswith("user ann on nopass ") and lines[3].startswith("user bob on ")
    again = configured(*(line.removeprefix("user ") for line in lines if line.startswith("user ")))
    assert again.connect().execute("ACL", "LIST") == client.execute("ACL", "LIST")


def test_the_built_in_user_needs_no_line_and_a_file_keeps_its_users_itself() -> None:
    assert config_lines(InProcessServer(requirepass="p").instance) == []
    server = configured("ann on")
    assert len(config_lines(server.instance)) == 2
    server.instance.config.aclfile = "users.acl"
    assert config_lines(server.instance) == []
