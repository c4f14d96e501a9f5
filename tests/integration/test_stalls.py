"""One client's huge command does not block the others: over real sockets, without a stopwatch."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from tests.support.programs.servers import RunningServer
from tests.support.resp import RespClient
from tests.support.waiting import until

pytestmark = pytest.mark.integration

DEADLINE_SECONDS = 60.0
ENTRIES = 60_000
KEYS = 50_000


def info(client: RespClient, section: str, field: str) -> int:
    lines = client.send("INFO", section).decode().splitlines()
    return int(next(line for line in lines if line.startswith(field + ":")).partition(":")[2])


def calls(client: RespClient, command: str) -> int:
    lines = client.send("INFO", "commandstats").decode().splitlines()
    start = f"cmdstat_{command}:calls="
    return next((int(x[len(start) :].split(",")[0]) for x in lines if x.startswith(start)), 0)


def begin(reader: RespClient, other: RespClient, *words: str) -> None:
    """Send a request, and wait until it has run; its reply is on its way then."""
    before = calls(other, words[0].lower())
    reader.write(*words)
    until(lambda: calls(other, words[0].lower()) == before + 1)


def fill(client: RespClient, key: str, entries: int = ENTRIES) -> None:
    for _ in range(entries // 1000):
        for _ in range(1000):
            client.write("XADD", key, "*", "field", "value")
        for _ in range(1000):
            client.read_reply()


def resident_bytes(server: RunningServer) -> int:
    with open(f"/proc/{server.process.pid}/statm") as fields:
        return int(fields.read().split()[1]) * 4096


@pytest.fixture
def server(run_rillway: Callable[..., RunningServer]) -> RunningServer:
    return run_rillway()


def test_an_unread_long_reply_costs_neither_time_nor_memory(
    server: RunningServer,
) -> None:
    with server.connect() as slow, server.connect() as other:
        fill(other, "s")
        before = resident_bytes(server)
        expected = other.send("XRANGE", "s", "-", "+")
        for _ in range(5):
            slow.write("XRANGE", "s", "-", "+")
        slow.write("PING")
        for _ in range(100):
            assert other.send("PING") == b"+PONG\r\n"
        # Of 16 megabytes, only as much waits as a socket and a buffer hold.
        assert resident_bytes(server) - before < 2 * len(expected)
        assert other.send("DEL", "s") == b":1\r\n"
        for _ in range(5):
            first = slow.read_reply()
            assert first == expected or first == b"*0\r\n"
        assert slow.read_reply() == b"+PONG\r\n"


def test_a_long_reply_is_that_of_one_moment_while_others_write(server: RunningServer) -> None:
    with server.connect() as reader, server.connect() as writer:
        fill(writer, "s")
        writer.send("XGROUP", "CREATE", "s", "g", "0")
        for words in (("XRANGE", "s", "-", "+"), ("XREVRANGE", "s", "+", "-"), ("DUMP", "s")):
            expected = writer.send(*words)
            begin(reader, writer, *words)
            writer.send("XADD", "s", "*", "field", "late")
            writer.send("XTRIM", "s", "MAXLEN", str(ENTRIES - 20_000))
            assert reader.read_reply() == expected
            fill(writer, "s", 20_000)


def test_a_client_that_has_closed_its_side_is_answered_completely(server: RunningServer) -> None:
    with server.connect() as other:
        fill(other, "s")
        expected = other.send("XRANGE", "s", "-", "+")
        with socket.create_connection(("127.0.0.1", server.port), DEADLINE_SECONDS) as half:
            half.sendall(b"XRANGE s - +\r\nSET after 1\r\nXRANGE s - +\r\nPING\r\n")
            half.shutdown(socket.SHUT_WR)
            until(lambda: calls(other, "xrange") >= 2)
            received = b"".join(iter(lambda: half.recv(1 << 20), b""))
        assert received == expected + b"+OK\r\n" + expected + b"+PONG\r\n"
        assert other.send("GET", "after") == b"$1\r\n1\r\n"
        assert info(other, "clients", "connected_clients") == 1


def test_a_client_that_disconnects_during_a_long_reply_is_forgotten(server: RunningServer) -> None:
    with server.connect() as other:
        fill(other, "s")
        with server.connect() as slow:
            begin(slow, other, "XRANGE", "s", "-", "+")
        until(lambda: info(other, "clients", "connected_clients") == 1)


def test_keys_answers_all_keys_while_they_go(server: RunningServer) -> None:
    with server.connect() as reader, server.connect() as writer:
        for start in range(0, KEYS, 1000):
            pairs = [f"key:{number} v".split() for number in range(start, start + 1000)]
            writer.send("MSET", *(word for pair in pairs for word in pair))
        expected = sorted(writer.send("KEYS", "*").split(b"\r\n"))
        begin(reader, writer, "KEYS", "*")
        writer.send("FLUSHALL")
        assert sorted(reader.read_reply().split(b"\r\n")) == expected
        assert writer.send("DBSIZE") == b":0\r\n"


def test_removed_data_is_freed_incrementally(server: RunningServer) -> None:
    with server.connect() as client:
        fill(client, "s", 2 * ENTRIES)
        before = info(client, "memory", "lazyfreed_objects")
        assert client.send("DEL", "s") == b":1\r\n"
        until(lambda: info(client, "memory", "lazyfreed_objects") == before + 1)
        assert info(client, "memory", "lazyfree_pending_objects") == 0
        assert info(client, "stats", "chores_pending") == 0
        assert info(client, "stats", "chores_steps") > 0


def test_a_server_with_work_left_ends_at_once(run_rillway: Callable[..., RunningServer]) -> None:
    server = run_rillway()
    with server.connect() as slow, server.connect() as client:
        fill(client, "s")
        fill(client, "t")
        slow.write("XRANGE", "s", "-", "+")
        client.send("DEL", "t")
        client.write("SHUTDOWN", "NOSAVE")
        assert server.process.wait(timeout=DEADLINE_SECONDS) == 0


def test_a_full_description_is_that_of_one_moment_while_others_work(server: RunningServer) -> None:
    with server.connect() as reader, server.connect() as other:
        fill(other, "s")
        other.send("XGROUP", "CREATE", "s", "g", "0")
        for name in ("one", "two"):
            size = str(ENTRIES // 2)
            other.send("XREADGROUP", "GROUP", "g", name, "COUNT", size, "STREAMS", "s", ">")
        words = ("XINFO", "STREAM", "s", "FULL", "COUNT", "0")
        expected = other.send(*words)
        assert len(expected) > 4 * 1024 * 1024
        before = calls(other, "xinfo|stream")
        reader.write(*words)
        until(lambda: calls(other, "xinfo|stream") == before + 1)
        # No client reads yet, so not all of it can have been made.
        other.send("XGROUP", "DELCONSUMER", "s", "g", "two")
        assert other.send("XTRIM", "s", "MAXLEN", "0") == b":%d\r\n" % ENTRIES
        assert reader.read_reply() == expected


def test_invalid_input_before_login_delays_no_other_client(
    run_rillway: Callable[..., RunningServer],
) -> None:
    server = run_rillway()
    with server.connect() as client:
        client.send("CONFIG", "SET", "requirepass", "secret")
        for rubbish, remaining in ((b"\r\n", 5), (b"*0\r\n", 5), (b"nonsense\r\n", 0)):
            strangers = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
            for stranger in strangers:
                stranger.sendall(rubbish * 2000)
            connected = remaining + 1
            until(lambda: info(client, "clients", "connected_clients") == connected)  # noqa: B023
            for stranger in strangers:
                stranger.close()
            until(lambda: info(client, "clients", "connected_clients") == 1)
