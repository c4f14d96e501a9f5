"""A handler cannot tell a view of received bytes from words: it does the same, also in MULTI."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from commands.core.client import Client
from commands.core.registry import COMMANDS, Reply
from commands.transactions.transaction import Transaction
from protocol import replies
from protocol.cutter import Cutter
from protocol.request import Request
from server.inprocess.server import InProcessClient, InProcessServer, to_argv

REQUESTS = [
    *["XADD s * f v"] * 6,
    *["XREADGROUP GROUP g {c} COUNT {n} STREAMS s >"] * 6,
    *["XACK s g {id}", "XACK s g {id} {id} {id}"] * 3,
    "XREADGROUP GROUP g {c} COUNT 2 NOACK STREAMS s >",
    "XREADGROUP GROUP g {c} STREAMS s >",
    "XREADGROUP GROUP g {c} COUNT 2 STREAMS s 0",
    "XREADGROUP GROUP h {c} COUNT 2 STREAMS s >",
    "XREADGROUP GROUP g {c} COUNT x STREAMS s >",
    "XREADGROUP GROUP g {c} COUNT 1 STREAMS s other > >",
    "XACK s g nonsense",
    "XACK s h {id}",
    "XACK other g {id}",
    "XACK text g {id}",
    "XACK s g 0-1 {id} 7",
    "XNACK s g SILENT IDS 1 {id}",
    "XCLAIM s g {c} 0 {id}",
    "XDEL s {id}",
    "XTRIM s MAXLEN = 30",
    "XGROUP SETID s g {id}",
    "XGROUP DELCONSUMER s g {c}",
    "XCFGSET s ACK-JOURNAL journal",
    "XCFGSET s ACK-JOURNAL ''",
    "CLIENT NO-TOUCH ON",
    "HELLO 3",
    "HELLO 2",
    "PEXPIRE s 10000000",
    "PERSIST s",
    *["MULTI", "EXEC"] * 3,
    "DISCARD",
    "WATCH s",
    "WATCH text",
    "XADD s MAXLEN = 20 * f v",
    "XADD s 1-1 f v",
    "XADD new * f v",
    "XADD s *",
    "SET text {n}",
    "SET text {n} NX",
    "SET new{n} {n}",
    "DEL new1 new2 list",
    "SET list {n}",
    "RPUSH list x",
    "GET text",
    "GET text s",
    "PING",
    "SELECT 1",
    "SELECT 0",
    "CLIENT LIST",
    "CLIENT TRACKING ON",
    "CLIENT TRACKING OFF",
]


def as_it_came(words: list[bytes]) -> Request:
    cutter = Cutter()
    cutter.load(replies.command(words))
    assert cutter.next()
    return cutter


FORMS: tuple[Callable[[list[bytes]], Request], ...] = (as_it_came, Request)


def taken(client: InProcessClient, request: Request) -> bytes:
    client.server.dispatcher.execute(client.state, request)
    client.server.dispatcher.count_quick()
    return b"".join(client.state.output)


def state(server: InProcessServer, client: InProcessClient) -> object:
    instance = server.instance
    stream = instance.databases[0].values.get(b"s")
    return (
        instance.stats.keyspace_hits,
        instance.stats.keyspace_misses,
        instance.stats.commands_processed,
        instance.stats.total_error_replies,
        instance.dirty,
        instance.propagation.units,
        None if stream is None else stream.access_ms,
        client.state.write_offset,
        client.state.queued_bytes,
        client.state.last_command,
        {
            command.fullname: of_command.calls
            for command, of_command in instance.stats.commands.items()
        },
        client.state.propagates,
        server.propagated,
    )


@pytest.mark.parametrize("seed", range(30))
def test_both_ways_of_a_request_come_to_the_same(seed: int) -> None:
    chance = random.Random(seed)
    ways = [(InProcessServer(stream_node_max_entries="4"), form) for form in FORMS]
    clients = [server.connect() for server, _ in ways]
    for client in clients:
        client.execute("XADD", "s", "*", "f", "v")
        client.execute("SET", "text", "x")
        client.execute("XGROUP", "CREATE", "s", "g", "0")
    for step in range(150):
        last = chance.randrange(step + 2)
        words = {
            "c": chance.choice("ab"),
            "n": chance.choice([1, 2, 7]),
            "id": f"{clients[0].server.now_ms - last}-{chance.choice([0, 0, 0, 1])}",
        }
        argv = to_argv(tuple(chance.choice(REQUESTS).format(**words).replace("''", "").split(" ")))
        answers: list[object] = []
        for client, (server, form) in zip(clients, ways, strict=True):
            server.now_ms += chance.choice([0, 1, 1]) if client is clients[0] else 0
            server.now_ms = clients[0].server.now_ms
            server.dispatcher.start_batch(server.now_ms)
            answers.append((taken(client, form(list(argv))), state(server, client)))
            client.state.output.clear()
            server.finish_cycle()
        assert answers[0] == answers[1], argv


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("request_", "is_quick"),
    [
        ("PING", True),
        ("GET k", True),
        ("GET missing", True),
        ("SET k v", True),
        ("SET k v NX", False),
        ("XADD s * f v", True),
        ("XADD s 5-* f v", False),
        ("XACK s g 1-1", True),
        ("XREADGROUP GROUP g c COUNT 1 STREAMS s >", True),
        ("XREADGROUP GROUP g c COUNT 1 STREAMS s 0", False),
    ],
)
def test_usual_requests_are_quick_in_either_form(
    request_: str, is_quick: bool, form: Callable[[list[bytes]], Request]
) -> None:
    """Else the comparison above would compare nothing."""
    client = InProcessServer().connect()
    for words in ("XADD s 1-1 f v", "XADD s 1-2 f v", "XGROUP CREATE s g 0", "SET k v"):
        client.execute(*words.split(" "))
    client.execute("XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "s", ">")
    argv = to_argv(tuple(request_.split(" ")))
    handler = COMMANDS[argv[0].lower()].handler
    assert handler is not None
    if argv[0] == b"XREADGROUP":
        handler(client.state, form(argv))  # from now on it is known
        client.execute("XADD", "s", "1-3", "f", "v")
    request = form(argv)
    handler(client.state, request)
    assert request.is_quick == is_quick


def transaction(client: InProcessClient, *requests: str) -> bytes:
    """The replies of a transaction whose requests arrive as bytes."""
    for request in ("MULTI", *requests, "EXEC"):
        client.state.output.clear()
        client.server.dispatcher.start_batch(client.server.now_ms)
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
        (("SET", "k", "x" * 4096), True),
        (("SET", "k", "x" * 4097), False),
        (("GET", "long"), False),
        (("PING", "x" * 4097), False),
        (("XADD", "s", "*", "f", "x" * 5000), False),
        (("XACK", "s", "g", *["1-1"] * 97), True),
        (("XACK", "s", "g", *["1-1"] * 98), False),
    ],
)
def test_what_may_take_long_is_counted_by_itself(
    server: InProcessServer, request_: tuple[str, ...], is_quick: bool
) -> None:
    client = server.connect()
    client.execute("SET", "long", "x" * 4097)
    client.execute("XADD", "s", "1-1", "f", "v")
    client.execute("XGROUP", "CREATE", "s", "g", "0")
    request = Request(to_argv(request_))
    handler = COMMANDS[request[0].lower()].handler
    assert handler is not None
    handler(client.state, request)
    assert request.is_quick == is_quick


def test_no_time_is_lost_when_a_request_is_refused(server: InProcessServer) -> None:
    client = server.connect()
    server.dispatcher.start_batch(server.now_ms)
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
