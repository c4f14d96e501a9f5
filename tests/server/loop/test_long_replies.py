"""server/loop/long_replies.py: long replies are sent in pieces, while other clients are served."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from commands.connection.client_memory import MAX_UNSENT_BYTES
from commands.core.client import ClientEvent
from commands.core.long_reply import LongReply
from protocol import replies
from server.inprocess.server import InProcessClient
from server.loop.long_replies import SLICE_BYTES
from server.requests.command_clock import NEVER_NS
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
    await_part(server, client)
    return client


def await_part(server: SlicingServer, client: InProcessClient) -> None:
    """Go on until the client has got a first part of the reply."""
    while not client.buffer:
        server.turn()


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


def test_a_transaction_answers_in_pieces_what_each_of_its_requests_saw(
    server: SlicingServer,
) -> None:
    before = at_once(server, *XRANGE)
    client, other = server.connect(), server.connect()
    requests = (("MULTI",), ("PING",), XRANGE, ("XTRIM", "s", "MAXLEN", "15000"), XRANGE, ("EXEC",))
    head = client.pipeline(*requests, ("PING",))
    server.turn()
    assert server.turns, "it is not complete"
    other.execute("XTRIM", "s", "MAXLEN", "10")
    other.execute("XADD", "s", "*", "f", "late")
    server.finish()
    server.cycle.finish()
    reply = head + client.received()
    start = b"+OK\r\n" + b"+QUEUED\r\n" * 4 + b"*4\r\n+PONG\r\n" + before + b":5000\r\n*15000\r\n"
    assert reply.startswith(start)
    assert reply.endswith(before[-100:] + b"+PONG\r\n")


def test_a_transaction_that_skips_the_next_reply_is_answered(server: SlicingServer) -> None:
    client = server.connect()
    skip = ("CLIENT", "REPLY", "SKIP")
    head = client.pipeline(("MULTI",), XRANGE, skip, ("EXEC",), ("ECHO", "1"), ("ECHO", "2"))
    server.finish()
    server.cycle.finish()
    reply = head + client.received()
    assert reply.startswith(b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n*20000\r\n")
    assert reply.endswith(b"\r\n$1\r\n2\r\n") and not reply.endswith(b"$1\r\n1\r\n$1\r\n2\r\n")


def test_a_transaction_scans_at_once(server: SlicingServer) -> None:
    client = server.connect()
    for start in range(0, 5000, 1000):
        client.execute("MSET", *(f"{start + key // 2}:{key % 2}" for key in range(2000)))
    scan = ("SCAN", "0", "COUNT", "9000")
    expected = at_once(server, *scan)
    reply = client.pipeline(("MULTI",), scan, ("EXEC",))
    assert reply == b"+OK\r\n+QUEUED\r\n*1\r\n" + expected


def test_a_blocked_client_is_answered_in_pieces(server: SlicingServer) -> None:
    reader, writer = server.connect(), server.connect()
    assert reader.execute("XREAD", "BLOCK", "0", "STREAMS", "new", "$") == b""
    adds = [("XADD", "new", f"{number}-1", "f", PART) for number in range(1, 31)]
    writer.pipeline(("MULTI",), *adds, ("EXEC",))
    await_part(server, reader)
    assert len(reader.buffer) < MAX_UNSENT_BYTES
    head = reader.feed(b"PING\r\n")
    assert b"PONG" not in head
    writer.execute("DEL", "new")
    server.finish()
    server.cycle.finish()
    reply = head + reader.received()
    assert reply.startswith(b"*1\r\n*2\r\n$3\r\nnew\r\n*30\r\n")
    assert reply.count(PART.encode()) == 30
    assert reply.endswith(b"+PONG\r\n")


@pytest.mark.parametrize(
    "script",
    [
        "return string.rep('text', 1000000)",
        "local t = {} for i = 1, 40 do t[i] = string.rep('text', 25000) end return t",
        "return {'first', {string.rep('text', 600000), 5}}",
    ],
)
def test_scripts_answer_in_pieces(server: SlicingServer, script: str) -> None:
    expected = at_once(server, "EVAL", script, "0")
    client = begin(server, "EVAL", script, "0")
    assert len(client.buffer) < MAX_UNSENT_BYTES
    server.finish()
    assert client.received() == expected


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


# -- few entries, many bytes ---------------------------------------------------------------------

LARGE_ITEMS = 30
PART = "x" * 100_000


@pytest.mark.parametrize(
    "words",
    [
        ("XRANGE", "stream", "-", "+"),
        ("XRANGE", "stream", "3", "29-1", "COUNT", "20"),
        ("XREVRANGE", "stream", "+", "-", "COUNT", "20"),
        ("XREVRANGE", "stream", "29-1", "2", "COUNT", "20"),
        ("XREAD", "COUNT", "20", "STREAMS", "stream", "0"),
        ("XREAD", "STREAMS", "stream", "stream", "0", "3"),
        ("XREADGROUP", "GROUP", "g", "c", "COUNT", "20", "NOACK", "STREAMS", "stream", ">"),
        ("XREADGROUP", "GROUP", "given", "c", "STREAMS", "stream", "0"),
        (
            "XREADGROUP",
            "GROUP",
            "given",
            "c",
            "COUNT",
            "20",
            "STREAMS",
            "stream",
            "stream",
            "0",
            "9",
        ),
        (
            "XCLAIM",
            "stream",
            "given",
            "d",
            "0",
            *(f"{20 - number}-1" for number in range(20)),
            "9-1",
        ),
        ("XAUTOCLAIM", "stream", "given", "d", "0", "3", "COUNT", "20"),
        ("LRANGE", "list", "0", "-1"),
        ("LRANGE", "list", "-20", "-3"),
        ("MGET", *(f"key:{number}" for number in range(20)), "list", "none"),
        ("SMEMBERS", "set"),
        ("HGETALL", "hash"),
        ("HKEYS", "hash"),
        ("HVALS", "hash"),
        ("HMGET", "hash", *[f"{number}{PART}" for number in range(20)], "none"),
        ("HMGET", "hash", "none", *["few"] * 20),
        ("HGETEX", "hash", "PERSIST", "FIELDS", "20", *["few"] * 20),
    ],
    ids=lambda words: " ".join(words[:6])[:100],
)
def test_few_entries_with_many_bytes_go_in_pieces(words: tuple[str, ...]) -> None:
    server = SlicingServer()
    writer = server.connect()
    for number in range(LARGE_ITEMS):
        item = f"{number}{PART}"
        writer.execute("XADD", "stream", f"{number + 1}-1", "f", item)
        writer.execute("RPUSH", "list", item)
        writer.execute("SET", f"key:{number}", item)
        writer.execute("SADD", "set", item)
        writer.execute("HSET", "hash", item, item, "few", PART)
    for group in ("g", "given"):
        writer.execute("XGROUP", "CREATE", "stream", group, "0")
    at_once(server, "XREADGROUP", "GROUP", "given", "c", "STREAMS", "stream", ">")
    expected = at_once(server, *words)
    writer.execute("XGROUP", "SETID", "stream", "g", "0")
    client = server.connect()
    assert client.execute(*words) == b""
    server.turn()
    server.turn()
    assert len(client.buffer) < 2 * MAX_UNSENT_BYTES
    for key in ("stream", "list", "set", "hash"):
        writer.execute("DEL", key)
    server.finish()
    assert client.received() == expected
    assert len(expected) > MAX_UNSENT_BYTES


# -- unread replies ----------------------------------------------------------------------------

WIRE = replies.bulk(PART.encode())


def test_deleted_entries_of_a_history_in_pieces_are_null() -> None:
    server = SlicingServer()
    writer = server.connect()
    for number in range(1, LARGE_ITEMS + 1):
        writer.execute("XADD", "s", f"{number}-1", "f", PART)
    writer.execute("XGROUP", "CREATE", "s", "g", "0")
    at_once(server, "XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    writer.execute("XDEL", "s", "7-1")
    client = begin(server, "XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", "0")
    writer.execute("XDEL", "s", "8-1", "30-1")
    server.finish()
    reply = client.received()
    assert reply.count(PART.encode()) == LARGE_ITEMS - 1
    assert b"*2\r\n$3\r\n7-1\r\n*-1\r\n*2\r\n$3\r\n8-1\r\n*2\r\n" in reply
    counts = writer.execute("XPENDING", "s", "g", "7-1", "8-1", "9").split()
    assert counts.count(b":1") == counts.count(b":2") == 1, "a deleted one was not delivered again"


@pytest.mark.parametrize(
    "words",
    [
        ("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", "0"),
        ("XAUTOCLAIM", "s", "g", "d", "0", "0"),
        ("XCLAIM", "s", "g", "d", "0", *(f"{number}-1" for number in range(1, 31))),
    ],
    ids=lambda words: words[0],
)
def test_pending_entries_are_held_as_nodes(words: tuple[str, ...]) -> None:
    server = SlicingServer()
    client = server.connect()
    for number in range(1, LARGE_ITEMS + 1):
        client.execute("XADD", "s", f"{number}-1", "f", PART)
    client.execute("XGROUP", "CREATE", "s", "g", "0")
    at_once(server, "XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    client.unsent = MAX_UNSENT_BYTES
    tracemalloc.start()
    client.execute(*words)
    server.dispatcher.start_batch()
    server.finish()
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most_bytes < MAX_UNSENT_BYTES


@pytest.mark.parametrize("command", ["SRANDMEMBER set", "HRANDFIELD hash", "ZRANDMEMBER sorted"])
def test_few_members_that_are_picked_very_often_go_in_pieces(command: str) -> None:
    server = SlicingServer()
    writer = server.connect()
    writer.execute("SADD", "set", PART)
    writer.execute("HSET", "hash", PART, "v")
    writer.execute("ZADD", "sorted", "1", PART)
    client = begin(server, *command.split(), "-100")
    assert len(client.buffer) < 2 * MAX_UNSENT_BYTES
    server.finish()
    assert client.received() == b"*100\r\n" + WIRE * 100


def test_a_transaction_holds_no_copies_of_what_it_answers() -> None:
    server = SlicingServer()
    client = server.connect()
    for _ in range(LARGE_ITEMS):
        client.execute("RPUSH", "list", PART)
    requests = [("LRANGE", "list", "0", "-1")] * 4  # of three megabytes each
    client.pipeline(("MULTI",), *requests)
    client.unsent = MAX_UNSENT_BYTES
    tracemalloc.start()
    client.execute("EXEC")
    server.finish()
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most_bytes < MAX_UNSENT_BYTES
    client.unsent = 0
    server.long_replies.schedule_if_needed()
    server.finish()
    assert client.received().count(PART.encode()) == len(requests) * LARGE_ITEMS


@pytest.fixture
def filled() -> SlicingServer:
    """A server with a reply of a tenth of a megabyte."""
    server = SlicingServer()
    server.connect().execute("SET", "k", PART)
    return server


def gets(number: int) -> bytes:
    return b"GET k\r\n" * number


def test_requests_wait_while_a_megabyte_of_replies_is_unread(filled: SlicingServer) -> None:
    client = filled.connect()
    assert client.feed(gets(100)) == WIRE * 11, "the reply that goes beyond it is the last one"
    client.unsent = MAX_UNSENT_BYTES
    filled.finish()
    assert client.received() == b""
    client.feed(b"SET other v\r\n")
    assert filled.connect().execute("EXISTS", "other") == b":0\r\n"
    client.unsent = 0
    filled.long_replies.schedule_if_needed()
    filled.finish()
    assert client.received() == WIRE * 89 + b"+OK\r\n"


def test_a_request_waits_that_arrives_while_output_is_unread(filled: SlicingServer) -> None:
    client = filled.connect()
    client.unsent = MAX_UNSENT_BYTES
    assert client.feed(gets(1)) == b""
    client.unsent = MAX_UNSENT_BYTES - 1
    filled.finish()
    assert client.received() == WIRE


def test_whatever_is_sent_before_it_is_read_is_kept(filled: SlicingServer) -> None:
    """A query buffer limit is for requests that are not complete."""
    filled.instance.config.set("client-query-buffer-limit", ["1mb"])
    client = filled.connect()
    client.unsent = MAX_UNSENT_BYTES
    for _ in range(30):
        client.feed(b"ECHO %b\r\n" % (b"e" * 50_000))
    assert not client.closed
    assert client.state.query_buffer_bytes > 1_500_000
    filled.dispatcher.clock.slice_ns = -1  # and then it takes several time slices
    client.unsent = 0
    filled.finish()
    while filled.dispatcher.queues.has_yielded or filled.turns:
        filled.finish()
        filled.cycle.go_on()
        filled.cycle.finish()
    assert client.received() == replies.bulk(b"e" * 50_000) * 30
    filled.dispatcher.clock.slice_ns = NEVER_NS
    client.feed(b"*2\r\n$4\r\nECHO\r\n$2000000\r\n" + b"e" * 1_100_000)
    assert client.closed, "the limit holds again"


@pytest.mark.parametrize(
    "directive",
    [
        ("client-output-buffer-limit", "normal 100mb 0 0"),
        ("client-output-buffer-limit", "normal 0 100mb 60"),
        ("maxmemory-clients", "100mb"),
    ],
)
def test_where_a_limit_closes_clients_nothing_waits(
    filled: SlicingServer, directive: tuple[str, str]
) -> None:
    client = filled.connect()
    filled.connect().execute("CONFIG", "SET", *directive)
    assert client.feed(gets(100)) == WIRE * 100


@pytest.mark.parametrize("mode", [("SUBSCRIBE", "c"), ("MONITOR",)])
def test_subscribers_and_monitors_do_not_wait(filled: SlicingServer, mode: tuple[str, ...]) -> None:
    client = filled.connect()
    client.execute("HELLO", "3")
    client.execute(*mode)
    client.unsent = MAX_UNSENT_BYTES
    assert b"PONG" in client.feed(b"PING\r\n")


def test_messages_do_not_wait(filled: SlicingServer) -> None:
    client = filled.connect()
    client.execute("HELLO", "3")
    client.execute("CLIENT", "TRACKING", "ON")
    client.feed(gets(100))
    client.unsent = MAX_UNSENT_BYTES
    filled.connect().execute("SET", "k", "v")
    assert client.received() == b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"


def test_transactions_and_blocked_clients_go_on_once_output_is_read(filled: SlicingServer) -> None:
    client = filled.connect()
    client.unsent = MAX_UNSENT_BYTES
    client.feed(b"MULTI\r\nSET a 1\r\nEXEC\r\nBLPOP l 0\r\nQUIT\r\n")
    assert filled.connect().execute("EXISTS", "a") == b":0\r\n"
    client.unsent = 0
    filled.finish()
    assert client.received() == b"+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n"
    client.unsent = MAX_UNSENT_BYTES
    filled.connect().execute("RPUSH", "l", "v")
    assert client.received() == b"*2\r\n$1\r\nl\r\n$1\r\nv\r\n"
    assert not client.closed
    client.unsent = 0
    filled.finish()
    assert client.received() == b"+OK\r\n"
    assert client.closed


def test_replies_that_are_switched_off_do_not_count(filled: SlicingServer) -> None:
    client = filled.connect()
    requests = b"CLIENT REPLY OFF\r\n" + gets(100) + b"CLIENT REPLY ON\r\nPING\r\n"
    assert client.feed(requests) == b"+OK\r\n+PONG\r\n"


def test_a_client_that_is_killed_waits_no_longer(filled: SlicingServer) -> None:
    client = filled.connect()
    client.feed(gets(100))
    client.unsent = MAX_UNSENT_BYTES
    assert filled.connect().execute("CLIENT", "KILL", "ID", client.state.id) == b":1\r\n"
    filled.finish()
    assert client.closed and not filled.turns


def test_a_client_that_reads_is_not_idle(filled: SlicingServer) -> None:
    filled.instance.config.set("timeout", ["10"])
    client = filled.connect()
    client.feed(gets(100))
    for _ in range(3):
        filled.advance(9_000)
        filled.turn()
    assert not client.closed


def failing(pieces: list[bytes]) -> Iterator[bytes]:
    yield from pieces
    raise RuntimeError("a defect")


def send(server: SlicingServer, reply: LongReply) -> InProcessClient:
    client = server.connect()
    reply.request = [b"PING"]
    client.state.long_reply = reply
    client.state.enter(ClientEvent.ANSWER)
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
