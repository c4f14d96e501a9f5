"""A reply in pieces has the same bytes as the reply at once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands.keys import scan
from commands.streams import info, ranges
from commands.streams.groups import pending
from server.inprocess.server import InProcessClient, InProcessServer, Word
from tests.support.examples import examples

LENGTH = 60


def client() -> InProcessClient:
    """Sixty entries in nodes of five, some of them deleted; two consumers have most of them."""
    server = InProcessServer(stream_node_max_entries="5")
    client = server.connect()
    for number in range(1, LENGTH + 1):
        client.execute("XADD", "s", f"{number}-1", "f", f"value {number}")
    client.execute("XADD", "other", "1-1", "f", "v")
    client.execute("XGROUP", "CREATE", "s", "g", "0")
    for number in range(10):
        name = "alice" if number % 3 else "bob"
        client.execute("XREADGROUP", "GROUP", "g", name, "COUNT", "5", "STREAMS", "s", ">")
        server.now_ms += 10
    client.execute("XDEL", "s", "1-1", "7-1", "8-1", "60-1")
    client.execute("XACK", "s", "g", "3-1", "4-1", "30-1")
    for number in range(30):
        client.execute("SET", f"key:{number}", "v", "PX", 10 + 40 * (number % 2))
    client.execute("XNACK", "s", "g", "FAIL", "IDS", "2", "20-1", "21-1")
    client.execute("XGROUP", "CREATECONSUMER", "s", "g", "idle")
    client.execute("XGROUP", "CREATE", "s", "unread", "5-1")
    server.now_ms += 20
    return client


@pytest.fixture(scope="module")
def shared() -> InProcessClient:
    """Nothing is changed through it."""
    return client()


def ids() -> st.SearchStrategy[str]:
    numbers = st.integers(0, LENGTH + 2)
    return st.one_of(
        st.sampled_from(["-", "+"]),
        numbers.map(str),
        numbers.map(lambda number: f"({number}-1"),
        numbers.map(lambda number: f"{number}-1"),
    )


def counts() -> st.SearchStrategy[list[Word]]:
    return st.one_of(st.just([]), st.integers(1, LENGTH + 2).map(lambda n: ["COUNT", n]))


NUMBERS = st.integers(0, LENGTH + 2)
REQUESTS: st.SearchStrategy[list[Word]] = st.one_of(
    st.tuples(st.sampled_from(["XRANGE", "XREVRANGE"]), ids(), ids(), counts()).map(
        lambda words: [words[0], "s", words[1], words[2], *words[3]]
    ),
    st.tuples(counts(), NUMBERS, NUMBERS).map(
        lambda words: ["XREAD", *words[0], "STREAMS", "s", "other", "no", words[1], words[2], "0"]
    ),
    st.tuples(ids(), ids(), NUMBERS, st.sampled_from([[], ["alice"], ["bob"], ["eve"]])).map(
        lambda words: ["XPENDING", "s", "g", *words[:3], *words[3]]
    ),
    st.tuples(st.integers(0, 120), NUMBERS).map(
        lambda words: ["XPENDING", "s", "g", "IDLE", words[0], "-", "+", words[1]]
    ),
    NUMBERS.map(lambda count: ["XINFO", "STREAM", "s", "FULL", "COUNT", count]),
)


@settings(max_examples=examples(300))
@given(REQUESTS, st.sampled_from(["2", "3"]))
def test_pieces_join_to_the_reply(
    shared: InProcessClient, request_words: list[Word], resp: str
) -> None:
    shared.execute("HELLO", resp)
    expected = shared.execute(*request_words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "MANY_NODES", 0)
        patch.setattr(ranges, "MANY_ENTRIES", 0)
        patch.setattr(ranges, "PIECE_BYTES", 100)
        patch.setattr(pending, "MANY_ENTRIES", 0)
        patch.setattr(info, "MANY_PENDING", 0)
        assert shared.execute(*request_words) == expected


@pytest.mark.parametrize("words", ["", "NOACK", "COUNT 7", "COUNT 100"])
def test_what_a_group_is_given_in_pieces_is_delivered_as_in_one_go(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once, in_pieces = client(), client()
    read = ["XREADGROUP", "GROUP", "g", "carol", *words.split(), "STREAMS", "s", "other", ">", ">"]
    looks = (["XPENDING", "s", "g", "-", "+", "99"], ["XINFO", "GROUPS", "s"])
    answers = []
    for one in (at_once, in_pieces):
        one.execute("XGROUP", "CREATE", "other", "g", "0")
        one.server.propagated.clear()
        reply = one.execute(*read)
        answers.append((reply, *(one.execute(*look) for look in looks), one.server.propagated))
        monkeypatch.setattr(ranges, "MANY_NODES", 0)
        monkeypatch.setattr(ranges, "MANY_ENTRIES", 0)
        monkeypatch.setattr(ranges, "PIECE_BYTES", 100)
    assert answers[0] == answers[1]
    assert b"value 59" in answers[1][0] or words == "COUNT 7"


@pytest.mark.parametrize("pattern", ["*", "key:1*", "no*", "key:[12]?"])
def test_keys_in_pieces_are_the_same_keys(
    shared: InProcessClient, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = shared.execute("KEYS", pattern)
    monkeypatch.setattr(scan, "MANY_KEYS", 0)
    reply = shared.execute("KEYS", pattern)
    assert sorted(reply.split(b"\r\n")) == sorted(expected.split(b"\r\n"))
    assert reply.startswith(expected.split(b"\r\n")[0])


@pytest.mark.parametrize("words", [(), ("MATCH", "key:1*"), ("TYPE", "string")])
@pytest.mark.parametrize("count", [1, 7, 20, 1000])
def test_scan_in_pieces_walks_as_far_as_in_one_go(
    words: tuple[str, ...], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = client().execute("SCAN", "0", "COUNT", count, *words)
    monkeypatch.setattr(scan, "MANY_KEYS", 0)
    monkeypatch.setattr(scan, "KEYS_PER_STEP", 3)
    assert client().execute("SCAN", "0", "COUNT", count, *words) == expected


def test_a_trim_of_many_nodes_is_answered_at_once_and_freed_later() -> None:
    server = InProcessServer(stream_node_max_entries="1")
    client = server.connect()
    client.pipeline(*[("XADD", "s", "*", "f", "v")] * 2000)
    assert client.execute("XTRIM", "s", "MAXLEN", "10") == b":1990\r\n"
    assert client.execute("XLEN", "s") == b":10\r\n"
    assert b"lazyfree_pending_objects:1\r\n" in client.execute("INFO", "memory")
    server.instance.background_work.finish()
    assert b"lazyfreed_objects:1\r\n" in client.execute("INFO", "memory")


@pytest.mark.parametrize(
    "words",
    [("DEL", "s"), ("UNLINK", "s"), ("SET", "s", "v"), ("FLUSHALL",), ("RENAME", "t", "s")],
    ids=lambda words: words[0],
)
def test_a_stream_of_many_nodes_is_freed_later(words: tuple[str, ...]) -> None:
    server = InProcessServer(stream_node_max_entries="1")
    client = server.connect()
    client.pipeline(*[("XADD", "s", "*", "f", "v")] * 2000)
    if words[0] == "RENAME":
        client.execute("XADD", "t", "*", "f", "v")
    client.execute(*words)
    assert server.instance.background_work
    server.instance.background_work.finish()
    assert server.instance.background_work.freed_objects == 1
