"""MONITOR."""

from __future__ import annotations

import pytest

from commands.server.monitor import quoted
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import server_with


@pytest.fixture
def server() -> InProcessServer:
    return InProcessServer(now_ms=1_700_000_000_042)


@pytest.fixture
def watcher(server: InProcessServer) -> InProcessClient:
    watcher = server.connect()
    assert watcher.execute("MONITOR") == b"+OK\r\n"
    return watcher


def test_a_monitor_sees_time_database_address_and_words(
    server: InProcessServer, watcher: InProcessClient
) -> None:
    client = server.connect()
    client.execute("SELECT", "2")
    watcher.received()
    client.execute("set", "k", "v")
    line = b'+1700000000.042000 [2 %b] "set" "k" "v"\r\n' % client.state.address
    assert watcher.received() == line


def test_several_monitors_see_the_same(server: InProcessServer, watcher: InProcessClient) -> None:
    other = server.connect()
    other.execute("MONITOR")
    watcher.received()
    server.connect().execute("PING")
    assert watcher.received() == other.received() != b""


def test_passwords_are_hidden(client: InProcessClient, watcher: InProcessClient) -> None:
    client.execute("HELLO", "3", "AUTH", "default", "secret")
    client.execute("AUTH", "secret")
    seen = watcher.received()
    assert b"secret" not in seen
    assert seen.count(b'"(redacted)"') == 3


def test_requests_that_administer_the_server_are_not_shown(
    server: InProcessServer, watcher: InProcessClient
) -> None:
    server.connect().execute("CONFIG", "GET", "port")
    assert watcher.received() == b""


def test_a_unix_socket_is_named_by_its_path() -> None:
    server = server_with(unixsocket="/run/rillway.sock")
    watcher, client = server.connect(), server.connect()
    client.unix_socket = True
    watcher.execute("MONITOR")
    client.execute("PING")
    assert b'[0 unix:/run/rillway.sock] "PING"' in watcher.received()


def test_monitor_said_twice_answers_nothing_the_second_time(watcher: InProcessClient) -> None:
    assert watcher.execute("MONITOR") == b""


def test_reset_ends_it(server: InProcessServer, watcher: InProcessClient) -> None:
    watcher.execute("RESET")
    watcher.received()
    server.connect().execute("PING")
    assert watcher.received() == b""


def test_monitor_is_refused_inside_a_transaction(client: InProcessClient) -> None:
    client.pipeline(("MULTI",), ("MONITOR",))
    reply = client.execute("EXEC")
    assert reply == b"*1\r\n-ERR MONITOR isn't allowed for DENY BLOCKING client\r\n"


def test_a_monitor_that_leaves_is_forgotten(
    server: InProcessServer, watcher: InProcessClient
) -> None:
    watcher.disconnect()
    assert server.connect().execute("PING") == b"+PONG\r\n"
    assert not server.instance.monitors


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        (b"plain", b'"plain"'),
        (b"two words ~", b'"two words ~"'),
        (b"", b'""'),
        (b'a"b\\c', b'"a\\"b\\\\c"'),
        (b"\n\r\t\a\b", b'"\\n\\r\\t\\a\\b"'),
        (b"\x00\x7f\xc3\xa9", b'"\\x00\\x7f\\xc3\\xa9"'),
    ],
)
def test_words_are_quoted_as_redis_quotes_them(word: bytes, shown: bytes) -> None:
    assert quoted(word) == shown
