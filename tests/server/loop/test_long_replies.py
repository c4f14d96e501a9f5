"""server/loop/long_replies.py: long replies are sent in pieces, while other clients are served."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commands.core.client import ClientEvent
from commands.core.long_reply import LongReply
from server.inprocess.server import InProcessClient
from server.loop.long_replies import MAX_UNSENT_BYTES, SLICE_BYTES
from tests.doubles.slicing_server import SlicingServer

ENTRIES = 20_000


@pytest.fixture
def server() -> SlicingServer:
    server = SlicingServer()
    writer = server.connect()
    for _ in range(ENTRIES // 1000):
        writer.pipeline(*[("XADD", "s", "*", "f", "v")] * 1000)
    return server


def at_once(server: SlicingServer, *words: str) -> bytes:
    """The reply as a server gives it that answers at once."""
    server.dispatcher.send_in_pieces = None
    reply = server.connect().execute(*words)
    server.dispatcher.send_in_pieces = server.long_replies.begin
    return reply


def begin(server: SlicingServer, *words: str) -> InProcessClient:
    """A client that has got a first part of the reply."""
    client = server.connect()
    assert client.execute(*words) == b""
    while not client.buffer:
        server.turn()
    return client


XRANGE = ("XRANGE", "s", "-", "+")


def test_the_reply_is_that_of_the_moment_at_which_the_command_ran(server: SlicingServer) -> None:
    expected = at_once(server, *XRANGE)
    client, other = begin(server, *XRANGE), server.connect()
    assert other.execute("XDEL", "s", "1700000000000-19000") == b":1\r\n"
    assert other.execute("XADD", "s", "*", "f", "late").startswith(b"$")
    assert other.execute("DEL", "s") == b":1\r\n"
    server.finish()
    assert client.received() == expected


def test_a_full_description_is_that_of_one_moment_too(server: SlicingServer) -> None:
    other = server.connect()
    other.execute("XGROUP", "CREATE", "s", "g", "0")
    for name in ("one", "two"):
        read = ("XREADGROUP", "GROUP", "g", name, "COUNT", "9000", "STREAMS", "s", ">")
        at_once(server, *read)
    info = ("XINFO", "STREAM", "s", "FULL", "COUNT", "0")
    expected = at_once(server, *info)
    client = begin(server, *info)
    last = "1700000000000-17000"
    assert other.execute("XDEL", "s", last) == b":1\r\n"
    assert other.execute("XACK", "s", "g", last, "1700000000000-0") == b":2\r\n"
    other.execute("XCLAIM", "s", "g", "two", "0", "1700000000000-8000")
    other.execute("XGROUP", "DELCONSUMER", "s", "g", "two")
    other.execute("XADD", "s", "*", "f", "late")
    server.finish()
    assert client.received() == expected
    assert at_once(server, *info) != expected


def test_requests_of_the_client_wait_for_its_reply(server: SlicingServer) -> None:
    expected = at_once(server, *XRANGE)
    client = begin(server, *XRANGE)
    assert b"PONG" not in client.feed(b"PING\r\n")
    client.feed(b"SET k v\r\n")
    assert server.connect().execute("EXISTS", "k") == b":0\r\n"
    server.finish()
    server.cycle.finish()
    assert client.buffer.endswith(expected[-10:] + b"+PONG\r\n+OK\r\n")


def test_messages_follow_the_reply_and_do_not_interrupt_it(server: SlicingServer) -> None:
    expected = at_once(server, *XRANGE)
    client = server.connect()
    client.execute("HELLO", "3")
    client.execute("SUBSCRIBE", "c")
    client.execute(*XRANGE)
    for _ in range(20):
        server.turn()
    assert server.connect().execute("PUBLISH", "c", "m") == b":1\r\n"
    server.finish()
    message = b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n"
    assert client.received() == expected + message


def test_clients_run_slices(server: SlicingServer) -> None:
    expected = at_once(server, *XRANGE)
    clients = [server.connect() for _ in range(3)]
    for client in clients:
        client.execute(*XRANGE)
    while any(len(client.buffer) < len(expected) for client in clients):
        server.turn()
        sizes = [len(client.buffer) for client in clients]
        assert max(sizes) - min(sizes) <= 2 * SLICE_BYTES
    assert all(client.received() == expected for client in clients)


def test_a_client_that_does_not_read_gets_no_more_and_delays_no_other(
    server: SlicingServer,
) -> None:
    expected = at_once(server, *XRANGE)
    slow = begin(server, *XRANGE)
    slow.unsent = MAX_UNSENT_BYTES
    size = len(slow.buffer)
    quick = server.connect()
    quick.execute(*XRANGE)
    server.finish()
    assert quick.received() == expected
    assert len(slow.buffer) == size
    slow.unsent = 0
    server.long_replies.schedule_if_needed()
    server.finish()
    assert slow.received() == expected


def test_a_client_that_leaves_ends_its_reply(server: SlicingServer) -> None:
    client = begin(server, *XRANGE)
    reply = client.state.long_reply
    assert reply is not None
    client.disconnect()
    server.finish()
    assert reply.next_piece() is None
    stream = server.instance.databases[0].values[b"s"]
    node = next(stream.iter_nodes())  # type: ignore[attr-defined]
    server.connect().execute("XDEL", "s", "1700000000000-0")
    assert next(stream.iter_nodes()) is node, "nobody needs a copy any more"  # type: ignore[attr-defined]


def test_a_transaction_answers_at_once(server: SlicingServer) -> None:
    expected = at_once(server, *XRANGE)
    client = server.connect()
    reply = client.pipeline(("MULTI",), XRANGE, ("EXEC",))
    assert reply == b"+OK\r\n+QUEUED\r\n*1\r\n" + expected


def test_a_reply_that_is_switched_off_is_not_made(server: SlicingServer) -> None:
    client = server.connect()
    client.execute("CLIENT", "REPLY", "OFF")
    assert client.execute(*XRANGE) == b""
    assert server.turns == []
    assert client.execute("CLIENT", "REPLY", "ON") == b"+OK\r\n"
    assert client.execute("PING") == b"+PONG\r\n"


def test_the_time_that_pieces_take_counts_as_the_commands(server: SlicingServer) -> None:
    server.instance.config.set("slowlog-log-slower-than", ["5000"])
    begin(server, *XRANGE)
    command = next(c for c in server.instance.stats.commands if c.fullname == b"xrange")
    before_us = server.instance.stats.of(command).usec
    server.finish()
    assert server.instance.stats.of(command).usec >= before_us + 5000
    assert server.instance.stats.of(command).calls == 1
    assert b"XRANGE" in server.connect().execute("SLOWLOG", "GET")


def failing(pieces: list[bytes]) -> Iterator[bytes]:
    yield from pieces
    raise RuntimeError("a defect")


def send(server: SlicingServer, reply: LongReply) -> InProcessClient:
    client = server.connect()
    reply.request = [b"PING"]
    client.state.long_reply = reply
    client.state.enter(ClientEvent.ANSWER_IN_PIECES)
    server.long_replies.begin(client.state)
    server.finish()
    return client


def test_a_defect_before_the_first_bytes_is_answered() -> None:
    server = SlicingServer()
    client = send(server, LongReply(failing([b""])))
    assert client.received().startswith(b"-ERR internal error")
    assert "a defect" in server.log_lines[-1][1]
    assert client.execute("PING") == b"+PONG\r\n"


def test_a_defect_in_the_middle_ends_the_connection() -> None:
    server = SlicingServer()
    client = send(server, LongReply(failing([b"*2\r\n"])))
    assert client.closed
    assert "a defect" in server.log_lines[-1][1]


def test_nothing_is_sent_after_the_end_of_the_server(server: SlicingServer) -> None:
    client = begin(server, *XRANGE)
    size = len(client.buffer)
    server.long_replies.stop()
    server.finish()
    assert len(client.buffer) == size
