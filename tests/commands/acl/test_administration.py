"""ACL SETUSER, GETUSER, DELUSER, LIST, USERS and WHOAMI; tests/compat/test_acl.py has more.

ACL CAT, GENPASS, DRYRUN and HELP; tests/compat/test_acl.py compares them with Redis.
"""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer
from tests.support.resp import parse

DEFAULT = b"user default on nopass sanitize-payload ~* &* +@all"


def test_all_rules_are_applied_or_none(client: InProcessClient) -> None:
    assert client.execute("ACL", "SETUSER", "ann", "on", "+nothing") == (
        b"-ERR Error in ACL SETUSER modifier '+nothing':"
        b" Unknown command or category name in ACL\r\n"
    )
    assert client.execute("ACL", "GETUSER", "ann") == b"$-1\r\n"
    assert client.execute("ACL", "SETUSER", "ann", "on", "(~a", "+get)", "(") == (
        b"-ERR Unmatched parenthesis in acl selector starting at '('.\r\n"
    )
    assert client.execute("ACL", "USERS") == b"*1\r\n$7\r\ndefault\r\n"


@pytest.mark.parametrize("name", ["a b", "a\n", "a\0"])
def test_a_name_has_no_blanks(client: InProcessClient, name: str) -> None:
    assert client.execute("ACL", "SETUSER", name) == (
        b"-ERR Usernames can't contain spaces or null characters\r\n"
    )


def test_a_user_is_described_as_a_map(client: InProcessClient) -> None:
    client.execute("ACL", "SETUSER", "ann", "on", "nopass", "%R~a", "&c", "+get", "(~b)")
    client.execute("HELLO", 3)
    assert client.execute("ACL", "GETUSER", "ann") == (
        b"%6\r\n$5\r\nflags\r\n~3\r\n$2\r\non\r\n$6\r\nnopass\r\n$16\r\nsanitize-payload\r\n"
        b"$9\r\npasswords\r\n*0\r\n$8\r\ncommands\r\n$10\r\n-@all +get\r\n$4\r\nkeys\r\n"
        b"$4\r\n%R~a\r\n$8\r\nchannels\r\n$2\r\n&c\r\n$9\r\nselectors\r\n*1\r\n"
        b"%3\r\n$8\r\ncommands\r\n$5\r\n-@all\r\n$4\r\nkeys\r\n$2\r\n~b\r\n$8\r\nchannels\r\n$0\r\n\r\n"
    )


def test_users_are_listed_in_the_order_of_their_names(client: InProcessClient) -> None:
    for name in ("zoe", "ann"):
        client.execute("ACL", "SETUSER", name)
    assert client.execute("ACL", "USERS") == b"*3\r\n$3\r\nann\r\n$7\r\ndefault\r\n$3\r\nzoe\r\n"
    assert DEFAULT in client.execute("ACL", "LIST")


def test_the_default_user_stays(client: InProcessClient) -> None:
    client.execute("ACL", "SETUSER", "ann")
    assert client.execute("ACL", "DELUSER", "ann", "default") == (
        b"-ERR The 'default' user cannot be removed\r\n"
    )
    assert client.execute("ACL", "DELUSER", "ann", "bob") == b":1\r\n"


def test_whoami_names_the_user(client: InProcessClient, ann: InProcessClient) -> None:
    client.execute("ACL", "SETUSER", "ann", "+acl|whoami")
    assert ann.execute("ACL", "WHOAMI") == b"$3\r\nann\r\n"
    assert client.execute("ACL", "WHOAMI") == b"$7\r\ndefault\r\n"


@pytest.mark.parametrize(
    ("default", "shown"), [("resetchannels", b"resetchannels"), ("allchannels", b"&*")]
)
def test_a_new_user_has_the_channels_of_acl_pubsub_default(default: str, shown: bytes) -> None:
    client = InProcessServer(acl_pubsub_default=default).connect()
    client.execute("ACL", "SETUSER", "ann")
    assert b"user ann off sanitize-payload %b -@all" % shown in client.execute("ACL", "LIST")


def test_a_category_lists_its_commands_with_sub_commands(client: InProcessClient) -> None:
    names = {item.text for item in parse(client.execute("ACL", "CAT", "Stream")).items}
    assert {b"xadd", b"xgroup|create", b"xinfo|stream"} <= names and b"get" not in names
    assert len(parse(client.execute("ACL", "CAT")).items) == 21
    assert client.execute("ACL", "CAT", "No") == b"-ERR Unknown category 'No'\r\n"


@pytest.mark.parametrize(("bits", "digits"), [((), 64), ((5,), 2), ((4096,), 1024), ((1,), 1)])
def test_a_password_has_as_many_bits_as_asked_for(
    client: InProcessClient, bits: tuple[int, ...], digits: int
) -> None:
    password = parse(client.execute("ACL", "GENPASS", *bits)).text
    assert len(password) == digits and set(password) <= set(b"0123456789abcdef")
    assert client.execute("ACL", "GENPASS", 0).startswith(b"-ERR ACL GENPASS argument must be")


def test_a_dry_run_runs_nothing_and_is_not_logged(client: InProcessClient) -> None:
    client.execute("ACL", "SETUSER", "ann", "+get", "~a")
    assert client.execute("ACL", "DRYRUN", "ann", "GET", "a") == b"+OK\r\n"
    assert parse(client.execute("ACL", "DRYRUN", "ann", "GET", "b")).text == (
        b"User ann has no permissions to access the 'b' key"
    )
    assert parse(client.execute("ACL", "DRYRUN", "ann", "SET", "a", "1")).text == (
        b"User ann has no permissions to run the 'set' command"
    )
    assert client.execute("EXISTS", "a") == b":0\r\n"
    assert client.execute("ACL", "LOG") == b"*0\r\n"


def test_help_has_the_shape_of_the_other_containers(client: InProcessClient) -> None:
    lines = [item.text for item in parse(client.execute("ACL", "HELP")).items]
    assert lines[0].startswith(b"ACL <subcommand>") and b"WHOAMI" in lines
