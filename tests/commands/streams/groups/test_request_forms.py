"""A handler cannot tell a view of received bytes from words: it does the same, also in MULTI."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commands.core.client import Client
from commands.core.registry import COMMANDS, Reply
from commands.transactions.transaction import Transaction
from protocol import replies
from protocol.request import Cutter, Request
from server.inprocess.server import InProcessClient, InProcessServer, to_argv

REQUESTS = [
    "XADD s * f v",
    "XADD s 1-1 f v",
    "XADD s MAXLEN = 3 * f v",
    "XADD s MAXLEN ~ 2 NOMKSTREAM * f v",
    "XADD s 9223372036854775808-* f v",
    "XADD s *",
    "XADD new 5 f v",
    "XREADGROUP GROUP g c COUNT 2 STREAMS s >",
    "XREADGROUP GROUP g c COUNT 2 STREAMS s >",
    "XREADGROUP GROUP g d NOACK STREAMS s >",
    "XREADGROUP GROUP h c COUNT 2 STREAMS s >",
    "XREAD COUNT 1 STREAMS s 0-1",
    "XREAD STREAMS s 9999999999999",
    "XREAD STREAMS s new 0 +",
    "XRANGE s 0-1 + COUNT 2",
    "XRANGE s - 5 COUNT x",
    "XACK s g 1-1 7 007-1",
    "XACK s g nonsense",
    "XACK text g 1-1",
    "SET text x",
    "SET text y NX GET",
    "SET s x",
    "GET text",
    "MGET text s",
    "INCR n",
]


def as_it_came(words: list[bytes]) -> Request:
    cutter = Cutter()
    cutter.load(replies.command(words))
    assert cutter.next()
    return cutter


FORMS: tuple[Callable[[list[bytes]], Request], ...] = (as_it_came, Request)


def taken(client: InProcessClient, request: Request) -> bytes:
    client.server.dispatcher.execute(client.state, request)
    client.server.dispatcher.clock.count_quick()
    return b"".join(client.state.output)


def test_both_forms_of_a_request_come_to_the_same() -> None:
    ways = [(InProcessServer(stream_node_max_entries="4"), form) for form in FORMS]
    clients = [server.connect() for server, _ in ways]
    for client in clients:
        client.execute("XADD", "s", "1-1", "f", "v")
        client.execute("XGROUP", "CREATE", "s", "g", "0")
    for request in REQUESTS:
        answers: list[object] = []
        for client, (server, form) in zip(clients, ways, strict=True):
            server.dispatcher.start_batch()
            answer = taken(client, form(to_argv(tuple(request.split(" ")))))
            stats = server.instance.stats
            counts = (stats.keyspace_hits, stats.keyspace_misses, server.instance.dirty)
            answers.append((answer, counts, server.propagated))
            client.state.output.clear()
            server.finish_cycle()
        assert answers[0] == answers[1], request


def transaction(client: InProcessClient, *requests: str) -> bytes:
    """The replies of a transaction whose requests arrive as bytes."""
    for request in ("MULTI", *requests, "EXEC"):
        client.state.output.clear()
        client.server.dispatcher.start_batch()
        taken(client, as_it_came(to_argv(tuple(request.split(" ")))))
    return b"".join(client.state.output)


def test_a_transaction_keeps_requests_as_they_came() -> None:
    client = InProcessServer().connect()
    transaction(client, "SET k v")
    for request in ("MULTI", "SET k w", "INCR n"):
        taken(client, as_it_came(to_argv(tuple(request.split(" ")))))
    queued = client.state.feature(Transaction).requests
    assert [request.words() for request in queued] == [[b"SET", b"k", b"w"], [b"INCR", b"n"]]


def test_their_changes_are_one_unit_in_the_order_in_which_they_ran() -> None:
    server = InProcessServer()
    client = server.connect()
    client.pipeline(("SET", "k", "v"), ("XADD", "s", "1-1", "f", "v"))
    server.propagated.clear()
    transaction(client, "SET k w", "INCR n", "SELECT 1", "SELECT 0", "XADD s MAXLEN = 1 1-2 f v")
    unit = [b"MULTI", b"SET k w", b"INCR n", b"XADD s MAXLEN = 1 1-2 f v", b"EXEC"]
    assert server.propagated == [(0, [request.split(b" ") for request in unit])]


def test_monitors_and_the_slow_log_see_the_words() -> None:
    server = InProcessServer(slowlog_log_slower_than="0")
    client, monitor = server.connect(), server.connect()
    client.execute("SET", "k", "v")
    client.execute("SLOWLOG", "RESET")
    transaction(client, "SET k w", "GET k")
    client.state.output.clear()
    logged = client.execute("SLOWLOG", "GET")
    assert replies.command([b"SET", b"k", b"w"]) in logged
    assert replies.command([b"GET", b"k"]) in logged
    monitor.execute("MONITOR")
    transaction(client, "SET k x")
    server.finish_cycle()
    assert b'"SET" "k" "x"' in monitor.received()


@pytest.mark.interpreted
def test_a_request_cannot_be_read_after_its_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    client, kept = InProcessServer().connect(), []

    def keeping(client: Client, request: Request) -> Reply:
        kept.append((request, request.keep()))
        return replies.OK

    monkeypatch.setattr(COMMANDS[b"ping"], "handler", keeping)
    client.execute("PING", "hello")
    lent, request = kept[0]
    assert request[1] == b"hello"
    for ask in (lambda: lent[1], lambda: lent.word(1), lambda: lent.whole(), lambda: list(lent)):
        with pytest.raises(AssertionError, match="after its handler"):
            ask()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("request_", ["XADD s 2-1 f v", "SET k v"])
def test_a_reply_comes_before_the_messages_that_its_command_has_caused(
    request_: str, form: Callable[[list[bytes]], Request]
) -> None:
    """As in redis-server 8.2.3."""
    client = InProcessServer(notify_keyspace_events="KEA").connect()
    for words in ("XADD s 1-1 f v", "SET k w", "HELLO 3", "PSUBSCRIBE *"):
        client.execute(*words.split(" "))
    answer = taken(client, form(to_argv(tuple(request_.split(" ")))))
    assert answer.startswith((b"$3\r\n2-1\r\n>", b"+OK\r\n>"))


# -- how quick requests are counted ----------------------------------------------------------------


def calls(server: InProcessServer, name: bytes) -> int:
    return server.instance.stats.of(COMMANDS[name]).calls


@pytest.mark.parametrize(
    ("request_", "is_quick"),
    [
        (("SET", "k", "x" * 4000), True),
        (("SET", "k", "v", "NX"), True),
        (("EXISTS", "k"), True),
        (("DEL", "long"), True),
        (("INFO",), False),
        (("ZUNION", "1", "k"), False),
        (("XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "s", "0"), False),
        (("SET", "k", "x" * 4097), False),
        (("GET", "long"), False),
        (("APPEND", "k", "v"), True),
        (("APPEND", "long", "v"), False),
        (("DIGEST", "long"), False),
        (("PING", "x" * 4097), False),
        (("XADD", "s", "*", "f", "x" * 5000), False),
        (("XACK", "s", "g", *["1-1"] * 29), True),
        (("XACK", "s", "g", *["1-1"] * 30), False),
        (("XAUTOCLAIM", "s", "g", "c", "0", "0"), False),
    ],
)
def test_what_may_take_long_is_counted_by_itself(
    server: InProcessServer, request_: tuple[str, ...], is_quick: bool
) -> None:
    client = server.connect()
    client.execute("SET", "long", "x" * 4097)
    client.execute("XADD", "s", "1-1", "f", "v")
    client.execute("XGROUP", "CREATE", "s", "g", "0")
    stats = server.instance.stats
    counted = stats.commands_processed
    server.dispatcher.execute(client.state, Request(to_argv(request_)))
    assert stats.commands_processed == counted + (not is_quick)


@pytest.mark.parametrize(
    ("request_", "depend"),
    [
        (("GET", "k"), False),
        (("XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "s", "0"), False),
        (("EVAL", "return redis.call('SET', 'k', 'v')", "0"), False),
        (("GET", "long"), True),  # in pieces
        (("BLPOP", "list", "1"), True),
        (("CONFIG", "SET", "maxmemory", "1mb"), True),
        (("WAIT", "0", "1"), True),
    ],
)
def test_steps_of_the_cycle_depend_on_what_is_not_on_data_or_not_answered_at_once(
    server: InProcessServer, request_: tuple[str, ...], depend: bool
) -> None:
    client = server.connect()
    client.execute("SET", "long", "x" * 2_000_000)
    client.execute("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
    server.dispatcher.has_run_handlers = False
    server.dispatcher.execute(client.state, Request(to_argv(request_)))
    assert server.dispatcher.has_run_handlers == depend


def test_no_time_is_lost_when_a_request_is_refused(server: InProcessServer) -> None:
    client = server.connect()
    server.dispatcher.start_batch()
    for words in (["GET", "k"], ["SET", "k", "v"], ["GET", "k"], ["GET", "k"], ["GET"]):
        server.dispatcher.execute(client.state, Request(to_argv(tuple(words))))
    assert calls(server, b"get") == 3


def test_config_set_is_counted_by_the_settings_that_it_makes(server: InProcessServer) -> None:
    """As in redis-server 8.2.3."""
    client = server.connect()
    client.execute("CONFIG", "SET", "slowlog-log-slower-than", "0")
    assert b"slowlog-log-slower-than" in client.execute("SLOWLOG", "GET")
    client.execute("CONFIG", "SET", "slowlog-log-slower-than", "-1")
    assert client.execute("SLOWLOG", "GET", "1").count(b"-1") == 0
