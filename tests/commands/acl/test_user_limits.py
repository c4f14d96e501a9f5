"""The limits of users: connections, requests per second, unread output."""

from __future__ import annotations

import pytest

from commands.acl.access_control import AccessControl
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import server_with

USER = "ann on nopass ~* &* +@all"


def limited(limit: str, **directives: str) -> InProcessServer:
    return server_with(user=USER, user_limit=limit, **directives)


def logged_in(server: InProcessServer) -> InProcessClient:
    client = server.connect()
    assert client.execute("AUTH", "ann", "x") == b"+OK\r\n"
    return client


def refused(client: InProcessClient) -> dict[str, int]:
    text = client.execute("INFO", "access").decode()
    prefix = "user_limit_refused_"
    fields = [line.split(":") for line in text.splitlines() if line.startswith(prefix)]
    return {name.removeprefix(prefix): int(value) for name, value in fields}


# -- connections ---------------------------------------------------------------------------------


def test_a_login_too_many_is_refused_and_changes_nothing() -> None:
    server = limited("ann connections 2")
    first, second, third = logged_in(server), logged_in(server), server.connect()
    refusal = b"-LIMIT User ann has reached the limit of 2 connections\r\n"
    assert third.execute("AUTH", "ann", "x") == refusal
    assert third.execute("HELLO", "3", "AUTH", "ann", "x") == refusal
    assert third.execute("ACL", "WHOAMI") == b"$7\r\ndefault\r\n"
    assert first.execute("AUTH", "ann", "x") == b"+OK\r\n"  # it is one of the two
    assert refused(third)["connections"] == 2
    second.disconnect()
    assert third.execute("AUTH", "ann", "x") == b"+OK\r\n"


@pytest.mark.parametrize("leave", [("RESET",), ("AUTH", "default", "x")])
def test_a_client_that_becomes_another_user_leaves_its_place(leave: tuple[str, ...]) -> None:
    server = limited("ann connections 1")
    first, second = logged_in(server), server.connect()
    first.execute(*leave)
    assert second.execute("AUTH", "ann", "x") == b"+OK\r\n"


def test_requests_of_a_connection_too_many_of_the_default_user_are_refused() -> None:
    server = limited("default connections 1")
    first, second = server.connect(), server.connect()
    assert first.execute("PING") == b"+PONG\r\n"
    assert second.execute("PING").startswith(b"-LIMIT User default has reached the limit of 1 conn")
    assert second.execute("AUTH", "ann", "x") == b"+OK\r\n"
    assert second.execute("PING") == b"+PONG\r\n"
    third = server.connect()
    assert third.execute("PING").startswith(b"-LIMIT")
    first.disconnect()
    assert third.execute("PING") == b"+PONG\r\n"


def test_connections_that_have_not_logged_in_do_not_count() -> None:
    server = limited("default connections 1", requirepass="p")
    strangers = [server.connect() for _ in range(3)]
    assert strangers[2].execute("PING").startswith(b"-NOAUTH")
    assert strangers[0].execute("AUTH", "p") == b"+OK\r\n"
    assert strangers[1].execute("AUTH", "p").startswith(b"-LIMIT")
    strangers[0].execute("RESET")
    assert strangers[1].execute("AUTH", "p") == b"+OK\r\n"


# -- requests ------------------------------------------------------------------------------------


def test_requests_beyond_the_rate_are_refused_until_time_passes() -> None:
    server = limited("ann requests-per-second 10")
    client, other = logged_in(server), server.connect()
    replies = client.pipeline(*[("PING",)] * 15).splitlines()
    assert replies.count(b"+PONG") == 10
    assert replies.count(b"-LIMIT User ann has reached the limit of 10 requests per second") == 5
    assert other.pipeline(*[("PING",)] * 50) == b"+PONG\r\n" * 50
    server.advance(300)
    assert client.pipeline(*[("PING",)] * 5).count(b"+PONG") == 3
    server.advance(60_000)
    assert client.pipeline(*[("PING",)] * 15).count(b"+PONG") == 10
    assert refused(other)["requests"] == 12


def test_connections_of_a_user_share_the_rate() -> None:
    server = limited("ann requests-per-second 4")
    first, second = logged_in(server), logged_in(server)
    assert first.pipeline(*[("PING",)] * 3).count(b"+PONG") == 3
    assert second.pipeline(*[("PING",)] * 3).count(b"+PONG") == 1


def test_a_refused_request_aborts_a_transaction_whose_parts_count() -> None:
    server = limited("ann requests-per-second 3")
    client = logged_in(server)
    client.pipeline(("MULTI",), ("SET", "a", "1"), ("SET", "b", "1"), ("SET", "c", "1"))
    server.advance(400)
    assert client.execute("EXEC").startswith(b"-EXECABORT")
    server.advance(1000)
    client.execute("MULTI")
    client.execute("SET", "a", "1")
    assert client.execute("EXEC") == b"*1\r\n+OK\r\n"


def test_what_logs_in_or_leaves_is_never_refused() -> None:
    server = limited("ann requests-per-second 1")
    client = logged_in(server)
    client.execute("PING")
    for words in (["HELLO", "2"], ["AUTH", "ann", "x"], ["RESET"], ["QUIT"]):
        assert not client.execute(*words).startswith(b"-")


# -- output --------------------------------------------------------------------------------------


def test_a_user_with_much_unread_output_waits_until_it_is_read() -> None:
    server = limited("ann output-buffer 1000")
    first, second, other = logged_in(server), logged_in(server), server.connect()
    first.unsent = 600
    assert first.execute("PING") == b"+PONG\r\n"
    second.unsent = 600
    refusal = b"-LIMIT User ann has reached the limit of 1000 bytes of unread output\r\n"
    assert second.execute("PING") == first.execute("PING") == refusal
    assert other.execute("PING") == b"+PONG\r\n"
    first.unsent = 0
    assert second.execute("PING") == b"+PONG\r\n"
    second.unsent = 1000
    assert first.execute("PING") == refusal  # the reply to the other was the last
    assert second.execute("PING") == refusal
    second.disconnect()
    assert first.execute("PING") == b"+PONG\r\n"
    assert refused(other)["output"] == 4


def test_unread_messages_of_an_idle_subscriber_count_soon() -> None:
    server = limited("ann output-buffer 1000")
    subscriber, client = logged_in(server), logged_in(server)
    for _ in range(2):
        client.execute("PING")
    subscriber.unsent = 1000
    assert client.execute("PING") == b"+PONG\r\n"
    server.advance(100)
    assert client.execute("PING").startswith(b"-LIMIT")
    subscriber.unsent = 0
    assert client.execute("PING") == b"+PONG\r\n"


# -- the directive -------------------------------------------------------------------------------


def test_limits_change_while_clients_are_connected() -> None:
    server = limited("")
    first, second, admin = logged_in(server), logged_in(server), server.connect()
    assert not first.state.gates
    set_limit = ("CONFIG", "SET", "user-limit")
    assert admin.execute(*set_limit, "ann connections 1 requests-per-second 5") == b"+OK\r\n"
    assert first.execute("PING") == second.execute("PING") == b"+PONG\r\n"  # both stay
    third = server.connect()
    assert third.execute("AUTH", "ann", "x").startswith(b"-LIMIT")
    assert admin.execute(*set_limit, "ann connections 3") == b"+OK\r\n"  # of that alone
    assert third.execute("AUTH", "ann", "x") == b"+OK\r\n"
    assert third.pipeline(*[("PING",)] * 50).count(b"+PONG") == 50
    assert admin.execute(*set_limit, "ann connections 0") == b"+OK\r\n"
    assert not first.state.gates
    assert admin.execute("CONFIG", "GET", "user-limit") == b"*2\r\n$10\r\nuser-limit\r\n$0\r\n\r\n"


def test_several_users_have_limits_of_their_own() -> None:
    server = limited("ann connections 1\nbob output-buffer 1mb requests-per-second 2")
    admin = server.connect()
    admin.execute("CONFIG", "SET", "user-limit", "connections connections 7")
    assert server.instance.config.get("user-limit") == (
        "ann connections 1 requests-per-second 0 output-buffer 0"
        " bob connections 0 requests-per-second 2 output-buffer 1048576"
        " connections connections 7 requests-per-second 0 output-buffer 0"
    )
    # CONFIG REWRITE writes that, and a start reads it.
    text = server.instance.config.get("user-limit")
    assert limited(text).instance.config.get("user-limit") == text


@pytest.mark.parametrize(
    "text", ["ann", "ann connections", "ann connections x", "ann connections -1", "ann nodes 1"]
)
def test_invalid_limits_are_refused(text: str) -> None:
    client = limited("ann connections 1").connect()
    assert client.execute("CONFIG", "SET", "user-limit", text).startswith(b"-ERR CONFIG SET failed")
    assert b"ann connections 1 " in client.execute("CONFIG", "GET", "user-limit")


def test_users_without_a_limit_have_no_gate() -> None:
    server = limited("ann connections 1")
    client = server.connect()
    assert not client.state.gates


def test_requests_of_a_certificate_too_many_are_refused() -> None:
    server = limited("ann connections 1")
    access = server.instance.feature(AccessControl)
    first, second = server.connect(), server.connect()
    for client in (first, second):
        access.log_in_by_certificate(client.state, [b"ann"])
    assert first.execute("PING") == b"+PONG\r\n"
    assert second.execute("PING").startswith(b"-LIMIT User ann")
    first.disconnect()
    assert second.execute("PING") == b"+PONG\r\n"
