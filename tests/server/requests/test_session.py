"""server/requests/session.py: requests run in order, and wait if they must."""

from __future__ import annotations

import pytest

from protocol import replies
from server.inprocess.server import InProcessClient, InProcessServer
from server.requests.command_clock import NEVER_NS


def test_a_broken_request_is_answered_after_those_before_it_and_ends_the_connection() -> None:
    client = InProcessServer().connect()
    reply = client.feed(b"PING\r\n*1\r\n:1\r\n")
    assert reply == b"+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n"
    assert client.closed


def test_requests_after_a_blocking_one_wait_for_it() -> None:
    server = InProcessServer()
    client = server.connect()
    client.pipeline(("XREAD", "BLOCK", "10", "STREAMS", "s", "$"), ("ECHO", "1"), ("ECHO", "2"))
    assert client.received() == b""
    server.advance(10)
    assert client.received() == b"*-1\r\n$1\r\n1\r\n$1\r\n2\r\n"


def test_two_blocking_requests_of_one_pipeline_block_one_after_the_other() -> None:
    server = InProcessServer()
    client = server.connect()
    block = ("XREAD", "BLOCK", "10", "STREAMS", "s", "$")
    client.pipeline(block, block, ("PING",))
    server.advance(10)
    assert client.received() == b"*-1\r\n"
    server.advance(10)
    assert client.received() == b"*-1\r\n+PONG\r\n"


def test_a_paused_client_runs_its_request_when_the_pause_ends(server: InProcessServer) -> None:
    writer, admin = server.connect(), server.connect()
    admin.execute("CLIENT", "PAUSE", "100", "WRITE")
    assert writer.execute("GET", "k") == b"$-1\r\n"
    assert writer.pipeline(("SET", "k", "v"), ("GET", "k")) == b""
    server.advance(100)
    assert writer.received() == b"+OK\r\n$1\r\nv\r\n"


def test_nothing_runs_after_quit(server: InProcessServer, client: InProcessClient) -> None:
    assert client.pipeline(("QUIT",), ("SET", "k", "v")) == b"+OK\r\n"
    assert client.closed
    assert server.connect().execute("GET", "k") == b"$-1\r\n"


def test_what_a_blocked_client_sends_is_read_when_it_may_go_on() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("XREAD", "BLOCK", "10", "STREAMS", "s", "$")
    assert client.feed(b"ECHO 1\r\n*2\r\n$4\r\nEC") == b""
    assert client.feed(b"HO\r\n$1\r\n2\r\nPING") == b""
    server.advance(10)
    assert client.received() == b"*-1\r\n$1\r\n1\r\n$1\r\n2\r\n"
    assert client.feed(b"\r\n") == b"+PONG\r\n"


def test_a_blocked_client_that_sends_more_than_the_query_buffer_holds_is_closed() -> None:
    server = InProcessServer(client_query_buffer_limit="1mb")
    client = server.connect()
    client.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    for _ in range(10):
        client.feed(b"PING\r\n" * 17_000)
    assert not client.closed
    client.feed(b"PING\r\n" * 17_000)
    assert client.closed
    assert server.instance.stats.client_query_buffer_limit_disconnections == 1


def test_an_invalid_request_after_a_blocking_one_waits_for_it() -> None:
    server = InProcessServer()
    client = server.connect()
    assert client.feed(b"XREAD BLOCK 10 STREAMS s $\r\nPING\r\n*x\r\n") == b""
    assert not client.closed
    server.advance(10)
    broken = b"-ERR Protocol error: invalid multibulk length\r\n"
    assert client.received() == b"*-1\r\n+PONG\r\n" + broken
    assert client.closed


def test_a_bulk_string_is_no_longer_than_proto_max_bulk_len() -> None:
    server = InProcessServer(proto_max_bulk_len="1mb")
    longest, longer = server.connect(), server.connect()
    request = b"*2\r\n$4\r\nECHO\r\n$%d\r\n%b\r\n"
    text = b"x" * (1 << 20)
    assert longest.feed(request % (len(text), text)) == b"$%d\r\n%b\r\n" % (len(text), text)
    answer = longer.feed(request % (len(text) + 1, b""))
    assert answer == b"-ERR Protocol error: invalid bulk length\r\n"
    assert longer.closed


def test_a_pipeline_ends_where_its_replies_pass_the_output_buffer_limit() -> None:
    limit = "normal 1mb 0 0"
    server = InProcessServer(client_output_buffer_limit=limit)
    client = server.connect()
    client.execute("SET", "k", "x" * 100_000)
    client.pipeline(*[("GET", "k")] * 10, ("SET", "n", "1"))
    assert not client.closed
    client.pipeline(*[("GET", "k")] * 11, ("SET", "n", "2"))
    assert client.closed
    assert server.connect().execute("GET", "n") == b"$1\r\n1\r\n"
    assert server.instance.stats.client_output_buffer_limit_disconnections == 1


def test_a_pause_holds_back_what_a_transaction_would_queue(server: InProcessServer) -> None:
    writer, admin = server.connect(), server.connect()
    writer.execute("MULTI")
    admin.execute("CLIENT", "PAUSE", "100", "WRITE")
    assert writer.execute("GET", "k") == b"+QUEUED\r\n"
    assert writer.pipeline(("SET", "k", "v"), ("EXEC",)) == b""
    server.advance(100)
    assert writer.received() == b"+QUEUED\r\n*2\r\n$-1\r\n+OK\r\n"


def test_what_a_transaction_queues_counts_towards_the_query_buffer_limit() -> None:
    server = InProcessServer(client_query_buffer_limit="1mb")
    client = server.connect()
    big = "x" * 300_000
    for _ in range(2):  # what was discarded does not count
        client.execute("MULTI")
        for _ in range(3):
            assert client.execute("SET", "k", big) == b"+QUEUED\r\n"
        client.execute("DISCARD")
    client.execute("MULTI")
    for _ in range(4):
        client.execute("SET", "k", big)
    assert client.closed


# -- turns ---------------------------------------------------------------------------------------


def test_a_batch_that_has_used_up_its_time_slice_yields_to_others(server: InProcessServer) -> None:
    first, second = server.connect(), server.connect()
    server.dispatcher.clock.slice_ns = -1
    server.dispatcher.start_batch()
    first.session.receive(b"INCR n\r\n" * 3)
    server.cycle.touch(first.state)
    server.cycle.finish()
    assert first.received() == b":1\r\n"
    assert second.execute("INCR", "n") == b":2\r\n"
    assert first.received() == b":3\r\n:4\r\n"


def test_requests_sent_while_others_have_their_turn_run_after_the_batch() -> None:
    server = InProcessServer()
    client = server.connect()
    server.dispatcher.clock.slice_ns = -1
    server.dispatcher.start_batch()
    client.session.receive(b"ECHO 1\r\nECHO 2\r\nECHO 3\r\n")
    assert client.feed(b"ECHO 4\r\n") == b"".join(b"$1\r\n%d\r\n" % n for n in (1, 2, 3, 4))


def test_clients_whose_turn_is_over_go_on_one_after_the_other(server: InProcessServer) -> None:
    clients = [server.connect() for _ in range(3)]
    server.dispatcher.clock.slice_ns = -1
    server.dispatcher.start_batch()
    for client in clients:
        client.session.receive(b"INCR n\r\n" * 3)
        server.cycle.touch(client.state)
    server.finish_cycle()
    assert [client.received() for client in clients] == [
        b":1\r\n:4\r\n:7\r\n",
        b":2\r\n:5\r\n:8\r\n",
        b":3\r\n:6\r\n:9\r\n",
    ]


def test_a_client_that_closes_before_its_next_turn_has_none() -> None:
    server = InProcessServer()
    client = server.connect()
    server.dispatcher.clock.slice_ns = -1
    server.dispatcher.start_batch()
    client.session.receive(b"INCR n\r\n" * 3)
    client.disconnect()
    server.finish_cycle()
    assert server.connect().execute("GET", "n") == b"$1\r\n1\r\n"


@pytest.mark.parametrize("slice_ns", [NEVER_NS, -1])
def test_a_long_pipeline_runs_in_order_however_it_is_cut(slice_ns: int) -> None:
    server = InProcessServer()
    client, admin = server.connect(), server.connect()
    server.dispatcher.clock.slice_ns = slice_ns
    client.execute("XREAD", "BLOCK", "10", "STREAMS", "s", "$")
    ids = [b"%d-%d" % (10**12 + number, number) for number in range(3000)]
    sent = b"".join(replies.command([b"XADD", b"s", entry_id, b"f", b"v"]) for entry_id in ids)
    client.feed(sent)
    admin.execute("CLIENT", "PAUSE", "100", "WRITE")
    server.advance(10)
    assert client.received() == b"*-1\r\n"
    assert client.feed(b"*1\r\n$4\r\nPING\r\n") == b""
    server.advance(90)
    assert client.received() == b"".join(map(replies.bulk, ids)) + b"+PONG\r\n"


@pytest.mark.parametrize("chunk_bytes", [*range(1, 50), 100, 200, 299])
def test_a_pipeline_has_the_same_replies_however_its_reads_end(chunk_bytes: int) -> None:
    requests = (
        [b"SET", b"k", b"v" * 120],
        [b"GET", b"k"],
        [b"APPEND", b"k", b"\r\n*1\r\n"],
        [b"PING"],
    )
    sent = b"".join(map(replies.command, requests * 3)) + b"PING\r\n*1\r\n:1\r\n"
    whole, parts = InProcessServer().connect(), InProcessServer().connect()
    chunks = [sent[start : start + chunk_bytes] for start in range(0, len(sent), chunk_bytes)]
    assert b"".join(map(parts.feed, chunks)) == whole.feed(sent)
    assert parts.closed and whole.closed


def test_an_unfinished_request_is_not_read_again_after_login_was_lost() -> None:
    server = InProcessServer(requirepass="secret")
    client = server.connect()
    client.feed(b"AUTH secret\r\n" + b"*2\r\n$4\r\nECHO\r\n")
    client.state.authenticated = False
    client.feed(b"$1\r\n")
    client.state.authenticated = True
    assert client.feed(b"a\r\n" + b"PING\r\n" * 9) == b"$1\r\na\r\n" + b"+PONG\r\n" * 9


def test_what_follows_a_password_runs_in_order_however_it_is_cut() -> None:
    server = InProcessServer(requirepass="secret")
    client = server.connect()
    numbers = range(1_000)
    sent = b"AUTH secret\r\n" + b"".join(b"ECHO %060d\r\n" % number for number in numbers)
    expected = b"+OK\r\n" + b"".join(b"$60\r\n%060d\r\n" % number for number in numbers)
    server.dispatcher.clock.slice_ns = -1
    assert client.feed(sent) == expected


def test_one_long_request_is_read_in_turns_too(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    client.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    client.feed(replies.command([b"EXISTS", *[b"key"] * 50_000]))
    server.dispatcher.clock.slice_ns = -1
    other.send(replies.command([b"XADD", b"s", b"1-1", b"f", b"v"]))
    server.cycle.finish()
    left = []
    while server.dispatcher.queues.has_yielded:
        left.append(client.session.reader.unread_bytes())
        server.cycle.go_on()
        server.cycle.finish()
    assert len(left) >= 3
    assert left == sorted(left, reverse=True)
    assert client.received().endswith(b":0\r\n")


# -- before login --------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [b"GET k\r\n", b"nonsense\r\n", b"*1\r\n$4\r\nPING\r\n"])
@pytest.mark.parametrize("password", ["", "secret"])
def test_each_has_its_turns_whether_logged_in_or_not(word: bytes, password: str) -> None:
    server = InProcessServer()
    other = server.connect()
    server.instance.config.requirepass = password
    clients = [server.connect() for _ in range(2)]
    server.dispatcher.clock.slice_ns = -1
    server.dispatcher.start_batch()
    for client in clients:
        client.session.receive(word * 3)
        server.cycle.touch(client.state)
    server.cycle.finish()
    assert [client.received().count(b"\r\n") for client in clients] == [1, 1]
    assert other.feed(b"PING\r\n") == b"+PONG\r\n"
    assert [client.received().count(b"\r\n") for client in clients] == [2, 2]


def test_lines_are_read_one_at_a_time_as_long_as_the_slice_lasts(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    server.dispatcher.clock.slice_ns = -1
    server.dispatcher.start_batch()
    client.session.receive(b"INCR n\r\n" * 10_000)
    assert client.session.reader.unread_bytes() == 9_999 * len(b"INCR n\r\n")
    server.cycle.touch(client.state)
    server.cycle.finish()
    assert other.execute("GET", "n") == b"$1\r\n1\r\n"
    assert client.received().endswith(b":10000\r\n")


NOAUTH = b"-NOAUTH Authentication required.\r\n"
# Its error reply has 300 bytes.
LONG_LINE = b"n" * 128 + b" " + b"a" * 128 + b"\r\n"


def test_replies_pile_up_before_login_however_many_slices_they_take() -> None:
    server = InProcessServer(requirepass="secret")
    stranger = server.connect()
    server.dispatcher.clock.slice_ns = -1  # a slice for each request, after which its reply leaves
    stranger.feed(LONG_LINE * 90)
    assert stranger.closed
    assert server.instance.stats.client_output_buffer_limit_disconnections == 1


def test_replies_do_not_pile_up_before_login() -> None:
    server = InProcessServer(requirepass="secret")
    stranger, other = server.connect(), server.connect()
    stranger.feed(LONG_LINE * 30 + b"\r\n" * 10_000)
    assert not stranger.closed
    stranger.feed(LONG_LINE * 60)
    assert stranger.closed
    assert server.instance.stats.client_output_buffer_limit_disconnections == 1
    wrong = other.feed(b"AUTH secret\r\n" + b"nonsense\r\n" * 1000)
    assert wrong.count(b"unknown command") == 1000


@pytest.mark.parametrize(
    "line",
    [
        *(b"PING", b"AUTH wrong", b"AUTH default wrong", b"AUTH", b"HELLO 3", b"HELLO 9"),
        *(b"HELLO 3 AUTH default wrong", b"nonsense", b"MULTI", b"RESET", b"GET", b"SUBSCRIBE c"),
        *(b"CLIENT REPLY OFF", b"*1\r\n$4\r\nPING", b"*2\r\n$4\r\nAUTH\r\n$5\r\nwrong"),
    ],
)
def test_a_stranger_is_closed_after_a_hundred_requests_that_do_not_log_it_in(line: bytes) -> None:
    server = InProcessServer(requirepass="secret")
    stranger, later = server.connect(), server.connect()
    for _ in range(3):
        assert stranger.feed((line + b"\r\n") * 33) and not stranger.closed
    assert stranger.feed((line + b"\r\n") * 10) and stranger.closed
    closing = [text for _, text in server.log_lines if "before login" in text]
    assert closing == [f"too many requests before login: closing {stranger.state.address.decode()}"]
    assert later.feed(b"PING\r\n" * 200) == NOAUTH * 100


def test_a_stranger_that_is_refused_less_often_is_not_closed() -> None:
    server = InProcessServer(requirepass="secret")
    check, often = server.connect(), server.connect()
    for _ in range(300):
        assert check.execute("PING") == NOAUTH
        assert often.feed(b"PING\r\n" * 99) == NOAUTH * 99
        server.advance(1000)


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_a_change_of_the_time_of_day_neither_closes_a_stranger_nor_spares_it(step_ms: int) -> None:
    server = InProcessServer(requirepass="secret")
    stranger = server.connect()
    assert stranger.feed(b"PING\r\n" * 99) == NOAUTH * 99 and not stranger.closed
    server.environment.unix_ms += step_ms
    assert stranger.execute("PING") == NOAUTH and stranger.closed


@pytest.mark.parametrize(
    "login", [b"AUTH secret", b"HELLO 2 AUTH default secret", b"hello 3 auth default secret"]
)
@pytest.mark.parametrize("slice_ns", [NEVER_NS, -1])
def test_refusals_before_the_right_password_do_no_harm(login: bytes, slice_ns: int) -> None:
    server = InProcessServer(requirepass="secret")
    client = server.connect()
    server.dispatcher.clock.slice_ns = slice_ns
    lines = [*[b"AUTH wrong"] * 20, login, *[b"INCR n"] * 100, *[b"nonsense"] * 200, b"GET n"]
    received = client.feed(b"".join(line + b"\r\n" for line in lines))
    assert received.count(b"-WRONGPASS") == 20
    assert received.endswith(b"$3\r\n100\r\n") and not client.closed


def test_strangers_share_one_time_slice_in_a_cycle() -> None:
    server = InProcessServer(requirepass="secret")
    server.dispatcher.clock.slice_ns = -1  # each slice ends after one request
    client, *strangers = [server.connect() for _ in range(4)]
    client.execute("AUTH", "secret")
    every = [client, *strangers]
    server.dispatcher.start_batch()
    for each in every:
        each.session.receive(b"PING\r\n" * 3)
        server.cycle.touch(each.state)
    server.cycle.finish()
    assert [each.received().count(b"\r\n") for each in every] == [1, 1, 0, 0]
    received = []
    while server.dispatcher.queues.has_yielded:
        server.cycle.go_on()
        server.cycle.finish()
        received.append([each.received().count(b"\r\n") for each in every])
    totals = [sum(each) for each in zip(*received, strict=True)]
    assert totals == [2, 2, 3, 3]
    assert max(sum(of_strangers) for _, *of_strangers in received) == 1
    assert [of_client for of_client, *_ in received[:2]] == [1, 1]


def test_a_stranger_that_comes_later_waits_for_those_before_it() -> None:
    server = InProcessServer(requirepass="secret")
    server.dispatcher.clock.slice_ns = -1
    noisy, late = server.connect(), server.connect()
    server.dispatcher.start_batch()
    noisy.session.receive(b"PING\r\n" * 50)
    server.cycle.finish()
    late.session.receive(b"AUTH secret\r\nPING\r\n")
    assert list(server.dispatcher.queues.strangers) == [noisy.state, late.state]
    server.finish_cycle()
    assert late.received() == b"+OK\r\n+PONG\r\n"


def test_a_stranger_that_leaves_waits_no_longer() -> None:
    server = InProcessServer(requirepass="secret")
    server.dispatcher.clock.slice_ns = -1
    stranger, other = server.connect(), server.connect()
    server.dispatcher.start_batch()
    stranger.session.receive(b"PING\r\n" * 50)
    stranger.disconnect()
    server.finish_cycle()
    assert other.execute("PING") == NOAUTH
