"""ACL CAT, GENPASS, DRYRUN and HELP; tests/compat/test_acl.py compares them with Redis."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient
from tests.support.resp import parse


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
