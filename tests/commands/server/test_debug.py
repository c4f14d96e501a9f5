"""DEBUG."""

from __future__ import annotations

import re

import pytest

from server.inprocess import InProcessClient, InProcessServer
from tests.commands.server.decoding import decode, server_with

NOT_ALLOWED = b"-ERR DEBUG command not allowed. If the enable-debug-command option is set to"


@pytest.fixture
def server() -> InProcessServer:
    return server_with(enable_debug_command="yes")


@pytest.fixture
def client(server: InProcessServer) -> InProcessClient:
    return server.connect()


def test_debug_is_off_by_default() -> None:
    client = InProcessServer().connect()
    assert client.execute("DEBUG", "HELP").startswith(NOT_ALLOWED)


def test_debug_can_be_on_for_local_connections_only() -> None:
    server = server_with(enable_debug_command="local")
    near, far = server.connect(), server.connect()
    far.state.address = b"10.0.0.1:4711"
    assert near.execute("DEBUG", "SLEEP", "0") == b"+OK\r\n"
    assert far.execute("DEBUG", "SLEEP", "0").startswith(NOT_ALLOWED)


def test_sleep_stops_the_server_for_fractions_of_a_second(
    server: InProcessServer, client: InProcessClient
) -> None:
    before_ms = server.now_ms
    assert client.execute("DEBUG", "SLEEP", "0.25") == b"+OK\r\n"
    assert server.now_ms == before_ms + 250


@pytest.mark.parametrize("seconds", ["abc", "-1", "nan", "inf"])
def test_a_sleep_that_makes_no_sense_is_none(
    server: InProcessServer, client: InProcessClient, seconds: str
) -> None:
    before_ms = server.now_ms
    assert client.execute("DEBUG", "SLEEP", seconds) == b"+OK\r\n"
    assert server.now_ms == before_ms


def test_object_tells_encoding_and_idle_time(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("SET", "k", "text")
    client.execute("XADD", "s", "1-1", "f", "v")
    server.advance(5000)
    line = client.execute("DEBUG", "OBJECT", "k")
    assert re.fullmatch(
        rb"\+Value at:0x[0-9a-f]+ refcount:1 encoding:embstr lru:\d+ lru_seconds_idle:5\r\n", line
    )
    assert b"encoding:stream" in client.execute("DEBUG", "OBJECT", "s")
    # Looking does not count as access.
    assert b"lru_seconds_idle:5\r\n" in client.execute("DEBUG", "OBJECT", "k")


def test_object_of_a_missing_key_is_an_error(client: InProcessClient) -> None:
    assert client.execute("DEBUG", "OBJECT", "missing") == b"-ERR no such key\r\n"


def test_active_expiry_can_be_switched_off(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("DEBUG", "SET-ACTIVE-EXPIRE", "0")
    client.execute("SET", "k", "v", "PX", "10")
    server.advance(1000)
    assert client.execute("DBSIZE") == b":1\r\n"
    client.execute("DEBUG", "SET-ACTIVE-EXPIRE", "1")
    server.tick()
    assert client.execute("DBSIZE") == b":0\r\n"


def test_patterns_can_be_tried(client: InProcessClient) -> None:
    assert client.execute("DEBUG", "STRINGMATCH-LEN", "a*[0-9]", "abc7") == b":1\r\n"
    assert client.execute("DEBUG", "STRINGMATCH-LEN", "a*[0-9]", "abc") == b":0\r\n"


@pytest.mark.parametrize("words", [("NONSENSE",), ("SLEEP",), ("OBJECT", "a", "b")])
def test_unknown_tools_and_wrong_arguments_are_refused(
    client: InProcessClient, words: tuple[str, ...]
) -> None:
    assert client.execute("DEBUG", *words) == (
        b"-ERR unknown subcommand or wrong number of arguments for '%b'. Try DEBUG HELP.\r\n"
        % words[0].encode()
    )


def test_help_names_every_tool(client: InProcessClient) -> None:
    words = {line.split()[0] for line in decode(client.execute("DEBUG", "HELP"))}
    assert {b"SLEEP", b"OBJECT", b"SET-ACTIVE-EXPIRE", b"STRINGMATCH-LEN", b"HELP"} <= words
