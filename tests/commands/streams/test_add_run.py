"""commands/streams/add_run.py: a pipeline of XADDs does what they do one after the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commands.registry import COMMANDS
from commands.streams.add_run import count_shared, find_run_end
from protocol import replies
from protocol.request_runs import RequestRun, TailRun
from server.inprocess import InProcessClient, InProcessServer
from storage.entry_id import MAX_SEQ

Request = tuple[bytes, ...]

VALUES = st.one_of(
    st.sampled_from([b"", b"0", b"-5", b"007", b"12345678901234567890"]),
    st.binary(max_size=12),
    st.integers(min_value=60, max_value=5000).map(lambda size: b"x" * size),
)
PLAIN = st.builds(
    lambda key, names, values: (
        b"XADD", key, b"*", *(word for pair in zip(names, values, strict=False) for word in pair)
    ),
    st.sampled_from([b"s", b"s", b"s", b"t"]),
    st.sampled_from([(b"f",), (b"f",), (b"f", b"g%d"), (b"g%d", b"f")]),
    st.tuples(VALUES, VALUES),
)  # fmt: skip
OTHERS = st.sampled_from(
    [
        (b"XADD", b"s", b"MAXLEN", b"5", b"*", b"f", b"v"),
        (b"XADD", b"s", b"1-1", b"f", b"v"),
        (b"XADD", b"s", b"*", b"f"),
        (b"xadd", b"s", b"*", b"f", b"v"),
        (b"XDEL", b"s", b"1700000000000-1"),
        (b"DEL", b"s"),
        (b"SET", b"t", b"v"),
        (b"PEXPIRE", b"s", b"100"),
        (b"XGROUP", b"CREATE", b"s", b"g", b"$"),
    ]
)
BATCHES = st.lists(
    st.lists(PLAIN, min_size=1, max_size=30).flatmap(
        lambda run: st.lists(OTHERS, max_size=2).map(lambda others: [*run, *others])
    ),
    min_size=1,
    max_size=5,
)


def small_nodes(entries: str) -> InProcessServer:
    return InProcessServer(stream_node_max_entries=entries, stream_node_max_bytes="512")


def state_of(server: InProcessServer) -> list[object]:
    """All that clients, files and statistics can tell of the data."""
    client = server.connect()
    shown: list[object] = [
        client.execute(*words.split())
        for words in ("XINFO STREAM s", "XINFO STREAM s FULL COUNT 0", "XRANGE s - +", "TYPE t")
    ]
    calls = server.instance.stats.of(COMMANDS[b"xadd"]).calls
    return [*shown, server.propagated, server.instance.dirty, calls]


@given(batches=BATCHES, node_entries=st.sampled_from(["0", "3", "100"]))
def test_the_replies_and_the_data_are_those_of_single_requests(
    batches: list[list[Request]], node_entries: str
) -> None:
    together, alone = small_nodes(node_entries), small_nodes(node_entries)
    at_once, one_by_one = together.connect(), alone.connect()
    for batch in batches:
        assert at_once.pipeline(*batch) == b"".join(one_by_one.execute(*words) for words in batch)
        together.advance(7)
        alone.advance(7)
    assert state_of(together) == state_of(alone)


CAPS = st.sampled_from(
    [
        (b"MAXLEN", b"~", b"12"),
        (b"MAXLEN", b"40"),
        (b"maxlen", b"=", b"13"),
        (b"MAXLEN", b"~", b"20", b"LIMIT", b"7"),
        (b"LIMIT", b"0", b"MAXLEN", b"~", b"12"),
        (b"MAXLEN", b"3"),
        (b"MAXLEN", b"~", b"12", b"DELREF"),
        (b"NOMKSTREAM", b"MAXLEN", b"x"),
        (b"MINID", b"~", b"1700000000000"),
        (b"NOMKSTREAM",),
    ]
)


@given(caps=st.lists(CAPS, min_size=1, max_size=4), sizes=st.lists(st.integers(5, 12), min_size=4))
def test_capped_runs_leave_what_single_requests_leave(
    caps: list[tuple[bytes, ...]], sizes: list[int]
) -> None:
    together, alone, copy = small_nodes("3"), small_nodes("3"), small_nodes("3")
    at_once, one_by_one, copying = together.connect(), alone.connect(), copy.connect()
    for client in (at_once, one_by_one, copying):
        for number in range(25):
            client.execute("XADD", "s", f"1-{number + 1}", "f", "v")
        client.execute("XGROUP", "CREATE", "s", "g", "0")
        client.execute("XREADGROUP", "GROUP", "g", "c", "COUNT", "9", "STREAMS", "s", ">")
    together.propagated.clear()
    for number, size in enumerate(sizes):
        words = (b"XADD", b"s", *caps[number % len(caps)], b"*", b"f")
        batch = [
            (*words, b"%d" % (value * (number % 2)), b"f", b"%d" % value) for value in range(size)
        ]
        assert at_once.pipeline(*batch) == b"".join(one_by_one.execute(*each) for each in batch)
        together.advance(7)
        alone.advance(7)
    for _, unit in together.propagated:
        for request in unit:
            copying.execute(*request)
    state = state_of(alone)[:-3]  # without what was propagated, and counts
    assert state_of(together)[:-3] == state
    assert state_of(copy)[:-3] == state


def xadds(count: int) -> list[Request]:
    return [(b"XADD", b"s", b"*", b"f", b"%d" % number) for number in range(count)]


def is_taken_at_once(client: InProcessClient) -> bool:
    """Whether a pipeline of plain XADDs to a stream that is there goes as a whole."""
    client.execute("XADD", "s", "*", "f", "v")
    requests = [list(request) for request in xadds(8)]
    return client.server.dispatcher.execute_run(client.state, requests)


def test_a_pipeline_is_taken_at_once() -> None:
    assert is_taken_at_once(InProcessServer().connect())


def test_a_pipeline_of_entries_that_are_not_alike_is_taken_at_once() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("XADD", "s", "*", "f", "v")
    for cap in ((), (b"MAXLEN", b"~", b"100")):
        requests = [
            [b"XADD", b"s", *cap, b"*", b"f%d" % (number % 3), b"%d" % number, b"g", b"v"]
            for number in range(8)
        ]
        run, rest = client.session.reader.take_run(b"".join(map(replies.command, requests)))
        assert isinstance(run, TailRun)
        assert rest == b""
        assert server.dispatcher.execute_run(client.state, run)


def test_where_the_ids_stand_is_the_same_in_a_run() -> None:
    assert count_shared([b"XADD", b"s", b"*", b"f", b"v"]) == 3
    assert count_shared([b"xadd", b"*", b"MAXLEN", b"5", b"*", b"*", b"v"]) == 5
    assert count_shared([b"XADD", b"s", b"1-1", b"f", b"v"]) == 0
    assert count_shared([b"SET", b"k", b"*"]) == 0
    client = InProcessServer().connect()
    client.execute("XADD", "s", "1-1", "f", "v")
    batch = [("XADD", "s", f"2-{number}", "*", number) for number in range(8)]
    assert client.pipeline(*batch) == b"".join(b"$3\r\n2-%d\r\n" % n for n in range(8))
    bad = [("XADD", "s", "MAXLEN", "*", number, "f", "v") for number in range(8)]
    assert client.pipeline(*bad).count(b"-ERR value is not an integer") == 8


def test_a_capped_pipeline_is_taken_at_once() -> None:
    client = InProcessServer().connect()
    client.execute("XADD", "s", "*", "f", "v")
    words = [b"XADD", b"s", b"MAXLEN", b"~", b"100", b"*", b"f"]
    dispatcher = client.server.dispatcher
    assert dispatcher.execute_run(client.state, RequestRun(words, [b"$1\r\nv"] * 9))
    assert not dispatcher.execute_run(client.state, RequestRun(words, [b"$1\r\nv"] * 100))
    client.server.connect().execute("XREAD", "BLOCK", "0", "STREAMS", "t", "$")
    assert not dispatcher.execute_run(client.state, RequestRun(words, [b"$1\r\nv"] * 9))


def test_who_is_told_of_single_changes_gets_each() -> None:
    observed = InProcessServer(notify_keyspace_events="KEA")
    assert not is_taken_at_once(observed.connect())
    watched = InProcessServer()
    watched.connect().execute("WATCH", "s")
    assert not is_taken_at_once(watched.connect())
    monitored = InProcessServer()
    monitored.connect().execute("MONITOR")
    assert not is_taken_at_once(monitored.connect())
    logged = InProcessServer(slowlog_log_slower_than="0")
    assert not is_taken_at_once(logged.connect())


def test_a_waiter_gets_the_whole_run() -> None:
    server = InProcessServer()
    reader, writer = server.connect(), server.connect()
    writer.execute("XADD", "s", "*", "f", "v")
    reader.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    writer.pipeline(*xadds(6))
    assert reader.received().count(b"$1\r\nf\r\n") == 6


def test_ids_that_leave_the_millisecond_are_chosen_one_by_one() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("XADD", "s", f"{server.now_ms}-{MAX_SEQ - 2}", "f", "v")
    client.pipeline(*xadds(5))
    last = client.execute("XREVRANGE", "s", "+", "-", "COUNT", "1")
    assert b"%d-2\r\n" % (server.now_ms + 1) in last


def test_a_run_ends_where_a_request_is_another_one() -> None:
    requests = [list(request) for request in xadds(6)]
    assert find_run_end(requests, 0) == 6
    assert find_run_end(requests, 3) == 3  # too short
    assert find_run_end([*requests[:4], [b"PING"], *requests], 0) == 4
    assert find_run_end([[b"XADD", b"s", b"*", b"f"]] * 6, 0) == 0  # a word is missing
    assert find_run_end([[b"PING"]] * 6, 0) == 0
