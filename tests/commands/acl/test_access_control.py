"""Users and clients: logging in, and what changes do to open connections."""

from __future__ import annotations

from typing import NoReturn

import pytest

from commands.acl.access_control import AccessControl
from commands.core.client import Client, Clients
from commands.core.gates import GATE_AUTH, GATE_RESTRICTED
from server.inprocess.server import InProcessClient, InProcessServer

WRONGPASS = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"
NOAUTH = b"-NOAUTH Authentication required.\r\n"


def test_only_clients_of_restricted_users_have_the_gate(
    client: InProcessClient, ann: InProcessClient
) -> None:
    assert client.state.gates == 0
    assert ann.state.gates == GATE_RESTRICTED
    client.execute("ACL", "SETUSER", "ann", "allkeys", "allchannels", "allcommands")
    assert ann.state.gates == 0
    client.execute("ACL", "SETUSER", "ann", "-flushall")
    assert ann.state.gates == GATE_RESTRICTED
    ann.execute("RESET")
    assert ann.state.gates == 0


@pytest.mark.parametrize("words", [("ann", "x"), ("nobody", "p"), ("ann", "")])
def test_the_reason_of_a_failed_login_is_not_told(
    client: InProcessClient, ann: InProcessClient, words: tuple[str, str]
) -> None:
    assert client.execute("AUTH", *words) == WRONGPASS
    client.execute("ACL", "SETUSER", "ann", "off")
    assert client.execute("AUTH", "ann", "p") == WRONGPASS
    assert client.state.user == b"default"


def test_off_leaves_open_connections_alone(client: InProcessClient, ann: InProcessClient) -> None:
    client.execute("ACL", "SETUSER", "ann", "off", "+ping")
    assert ann.execute("PING") == b"+PONG\r\n"


# -- the default user ----------------------------------------------------------------------------


def test_a_password_of_the_default_user_is_asked_of_new_connections(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "default", ">p")
    late = server.connect()
    assert client.execute("PING") == b"+PONG\r\n"
    assert late.execute("PING") == NOAUTH and late.state.gates == GATE_AUTH
    client.execute("ACL", "SETUSER", "default", "nopass")
    assert late.execute("PING") == b"+PONG\r\n"
    client.execute("ACL", "SETUSER", "default", "off")
    assert late.execute("PING") == NOAUTH


def test_after_nopass_the_limits_of_requests_are_the_usual_ones(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "default", ">p")
    late = server.connect()
    client.execute("ACL", "SETUSER", "default", "nopass")
    assert late.execute("DEL", *range(20)) == b":0\r\n"
    client.execute("ACL", "SETUSER", "default", ">p")
    late.execute("RESET")
    assert b"unauthenticated multibulk length" in late.execute("DEL", *range(20))


def test_requirepass_replaces_all_passwords_of_the_default_user(client: InProcessClient) -> None:
    client.execute("ACL", "SETUSER", "default", ">p")
    client.execute("CONFIG", "SET", "requirepass", "q")
    assert client.execute("AUTH", "p") == WRONGPASS
    assert client.execute("AUTH", "q") == b"+OK\r\n"
    client.execute("ACL", "SETUSER", "default", ">p")
    assert b"\r\nq\r\n" in client.execute("CONFIG", "GET", "requirepass")
    client.execute("CONFIG", "SET", "requirepass", "")
    assert b" nopass " in client.execute("ACL", "LIST")


# -- open connections ----------------------------------------------------------------------------


def test_removing_a_user_closes_its_connections(
    server: InProcessServer, client: InProcessClient, ann: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "bob", "on", "nopass", "+@all")
    bob = server.connect()
    bob.execute("AUTH", "bob", "")
    assert bob.execute("ACL", "DELUSER", "ann", "bob", "nobody") == b":2\r\n"
    assert ann.closed and bob.closed and not client.closed
    assert server.connect().execute("AUTH", "bob", "") == WRONGPASS


class Unread(dict[int, Client]):
    """Clients that are not to be looked at, one by one."""

    def values(self) -> NoReturn:
        raise AssertionError("all clients are looked at")


def test_a_change_of_a_user_without_connections_looks_at_no_client(
    server: InProcessServer, client: InProcessClient, ann: InProcessClient
) -> None:
    clients = server.instance.feature(Clients)
    client.execute("ACL", "SETUSER", "bob", "on", "nopass", "+@all")
    twice = server.connect()
    for _ in range(2):
        twice.execute("AUTH", "bob", "x")
    twice.execute("RESET")
    twice.execute("AUTH", "bob", "x")
    twice.disconnect()
    clients.by_id = Unread(clients.by_id)
    assert client.execute("ACL", "SETUSER", "bob", "off") == b"+OK\r\n"
    assert client.execute("ACL", "SETUSER", "new", "on") == b"+OK\r\n"
    assert client.execute("ACL", "DELUSER", "new", "bob", "nobody") == b":2\r\n"
    clients.by_id = dict(clients.by_id)
    client.execute("ACL", "DELUSER", "ann")
    assert ann.state.closed and ann.state.id not in clients.by_id


def test_names_are_in_order_after_every_change(client: InProcessClient) -> None:
    def names() -> list[bytes]:
        return client.execute("ACL", "USERS").split(b"\r\n")[2::2]

    assert names() == [b"default"]
    for name in ("b", "z", "a"):
        client.execute("ACL", "SETUSER", name)
    assert names() == [b"a", b"b", b"default", b"z"]
    client.execute("ACL", "SETUSER", "b", "on")
    client.execute("ACL", "DELUSER", "a")
    assert names() == [b"b", b"default", b"z"]
    client.server.instance.feature(AccessControl).replace([])
    assert names() == [b"default"]


@pytest.mark.parametrize(
    ("subscribe", "rules", "is_closed"),
    [
        (("SUBSCRIBE", "news"), ("resetchannels", "&news"), False),
        (("SUBSCRIBE", "news"), ("resetchannels", "&other"), True),
        (("SUBSCRIBE", "news"), ("resetchannels", "(&new?)"), False),
        (("SSUBSCRIBE", "news"), ("resetchannels",), True),
        (("PSUBSCRIBE", "n*"), ("resetchannels", "&n*", "&x"), False),
        (("PSUBSCRIBE", "n*"), ("resetchannels", "&ne*"), True),
        (("PSUBSCRIBE", "n*"), ("resetchannels", "&*"), False),
        (("SUBSCRIBE", "news"), ("-@all",), False),
        (("PING",), ("resetchannels",), False),
    ],
)
def test_who_loses_a_channel_is_closed(
    client: InProcessClient,
    ann: InProcessClient,
    subscribe: tuple[str, ...],
    rules: tuple[str, ...],
    is_closed: bool,
) -> None:
    client.execute("ACL", "SETUSER", "ann", "+@pubsub", "+ping", "&n*")
    ann.execute(*subscribe)
    client.execute("ACL", "SETUSER", "ann", *rules)
    assert ann.closed is is_closed


def test_who_takes_its_own_channel_is_closed_after_the_reply(
    client: InProcessClient, ann: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "ann", "+@all", "&n*")
    ann.execute("HELLO", 3)
    ann.execute("SUBSCRIBE", "n")
    assert ann.execute("ACL", "SETUSER", "ann", "resetchannels") == b"+OK\r\n"
    assert ann.closed


def test_replacing_all_users_keeps_who_is_still_there(
    server: InProcessServer, client: InProcessClient, ann: InProcessClient
) -> None:
    access = server.instance.feature(AccessControl)
    user = access.draft(b"ann")
    user.apply(b"+ping")
    access.replace([user])
    assert ann.execute("PING") == b"+PONG\r\n"
    assert client.execute("PING") == b"+PONG\r\n"
    access.replace([])
    assert ann.closed and not client.closed
    assert access.is_untouched


def test_the_last_user_that_requirepass_makes_is_untouched() -> None:
    access = InProcessServer(requirepass="p").instance.feature(AccessControl)
    assert access.is_untouched and access.requires_login
    access.put(access.draft(b"ann"))
    assert not access.is_untouched


def test_a_rule_about_a_first_argument_is_logged_once(
    server: InProcessServer, client: InProcessClient
) -> None:
    for rule in ("+select|0", "+get", "(+select|0)"):
        client.execute("ACL", "SETUSER", "ann", rule)
    lines = [line for _, line in server.log_lines if "(offender: +select|0)" in line]
    assert len(lines) == 1 and lines[0].startswith("Deprecation warning: Allowing a first arg")


# -- client-side caching -------------------------------------------------------------------------


def test_broadcasts_name_no_key_that_the_user_may_not_use(
    client: InProcessClient, ann: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "ann", "+client", "%R~a*", "(~b)")
    ann.execute("HELLO", 3)
    ann.execute("CLIENT", "TRACKING", "ON", "BCAST")
    client.pipeline(("SET", "a1", 1), ("SET", "secret", 1), ("SET", "b", 1))
    assert ann.received() == b">2\r\n$10\r\ninvalidate\r\n*2\r\n$2\r\na1\r\n$1\r\nb\r\n"
    client.execute("SET", "secret", 2)
    assert ann.received() == b""
