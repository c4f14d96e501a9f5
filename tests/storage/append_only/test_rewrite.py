"""The requests that rebuild a key: their form, and that they create an equal key."""

from __future__ import annotations

from server.inprocess.server import InProcessServer
from storage.append_only.rewrite import rebuild_requests
from storage.entries.entry_id import make_id
from storage.stream import Stream

NOW_MS = 1_700_000_000_000


def run(server: InProcessServer, *requests: str) -> None:
    client = server.connect()
    for request in requests:
        reply = client.execute(*request.split())
        assert not reply.startswith(b"-"), (request, reply)


def rebuilt(server: InProcessServer, key: bytes = b"s") -> list[str]:
    requests = rebuild_requests(server.instance.databases[0], key, server.now_ms)
    return [b" ".join(argv).decode() for argv in requests]


def made_again(server: InProcessServer, *asked: str) -> None:
    """What the requests make answers as the original does."""
    twin = InProcessServer(server.now_ms)
    client = twin.connect()
    client.state.replays = True
    for argv in rebuild_requests(server.instance.databases[0], b"s", server.now_ms):
        reply = client.execute(*argv)
        assert not reply.startswith(b"-"), (argv, reply)
    for request in asked:
        expected = server.connect().execute(*request.split())
        assert twin.connect().execute(*request.split()) == expected, request


def test_a_string() -> None:
    server = InProcessServer()
    run(server, "SET s v")
    assert rebuilt(server) == ["SET s v"]


def test_a_list_takes_a_request_for_each_64_elements() -> None:
    server = InProcessServer()
    run(server, "RPUSH s " + " ".join(map(str, range(130))), "PEXPIREAT s 1800000000000")
    lengths = [len(request.split()) - 2 for request in rebuilt(server)]
    assert lengths == [64, 64, 2, 1]
    assert rebuilt(server)[2:] == ["RPUSH s 128 129", "PEXPIREAT s 1800000000000"]
    made_again(server, "LRANGE s 0 -1", "PEXPIRETIME s", "OBJECT ENCODING s")


def test_a_time_to_live_comes_last_even_when_it_is_over() -> None:
    server = InProcessServer()
    run(server, "SET s v PXAT 1700000000001")
    server.now_ms += 10
    assert rebuilt(server) == ["SET s v", "PEXPIREAT s 1700000000001"]


def test_entries_then_counters() -> None:
    server = InProcessServer()
    run(server, "XADD s 1-1 a 1 b 2", "XADD s 2-1 c 3", "XADD s 3-0 d 4", "XDEL s 2-1")
    assert rebuilt(server) == [
        "XADD s 1-1 a 1 b 2",
        "XADD s 3-0 d 4",
        "XSETID s 3-0 ENTRIESADDED 3 MAXDELETEDID 2-1",
    ]
    made_again(server, "XRANGE s - +", "XINFO STREAM s")


def test_many_nodes() -> None:
    server = InProcessServer(stream_node_max_entries="3")
    run(server, *[f"XADD s {i}-0 f v{i}" for i in range(1, 20)], "XDEL s 4-0 5-0 6-0 9-0")
    made_again(server, "XRANGE s - +", "XLEN s")


def test_a_stream_that_was_not_read_since_it_was_loaded_is_rebuilt() -> None:
    server = InProcessServer(stream_node_max_entries="3")
    run(server, *[f"XADD s {i}-0 f v{i}" for i in range(1, 10)], "SAVE")
    expected = rebuilt(server)
    assert rebuilt(server.restart()) == expected


def test_an_empty_stream_is_made_by_an_entry_that_is_trimmed_away() -> None:
    server = InProcessServer()
    run(server, "XADD s 5-5 f v", "XDEL s 5-5")
    assert rebuilt(server) == [
        "XADD s MAXLEN 0 0-1 x y",
        "XSETID s 5-5 ENTRIESADDED 1 MAXDELETEDID 5-5",
    ]
    made_again(server, "XINFO STREAM s")


def test_a_stream_that_never_had_an_entry() -> None:
    server = InProcessServer()
    run(server, "XGROUP CREATE s g $ MKSTREAM")
    made_again(server, "XINFO STREAM s", "XINFO GROUPS s")


def test_a_stream_that_ends_below_what_was_deleted_from_it() -> None:
    server = InProcessServer()
    run(server, "XADD s 1-1 f v", "XADD s 5-1 f v", "XDEL s 5-1")
    stream = server.instance.databases[0].values[b"s"]
    assert isinstance(stream, Stream)
    stream.last_id = make_id(3, 0)  # XSETID s 3-0 in Redis 7.0
    made_again(server, "XRANGE s - +", "XLEN s")
    assert "XSETID s 3-0 ENTRIESADDED 2 MAXDELETEDID 3-0" in rebuilt(server)


def test_groups_with_consumers_and_pending_entries() -> None:
    server = InProcessServer()
    run(
        server,
        *[f"XADD s {i}-0 f v" for i in range(1, 6)],
        "XGROUP CREATE s g 0",
        "XGROUP CREATECONSUMER s g idle",
        "XREADGROUP GROUP g alice COUNT 2 STREAMS s >",
        "XREADGROUP GROUP g bob COUNT 1 STREAMS s >",
        "XCLAIM s g bob 0 2-0 RETRYCOUNT 7 TIME 1600000000000",
        "XGROUP CREATE s unknown 3-0",
    )
    assert rebuilt(server)[6:] == [
        "XGROUP CREATE s g 3-0 ENTRIESREAD 3",
        "XGROUP CREATECONSUMER s g idle",
        "XGROUP CREATECONSUMER s g alice",
        "XCLAIM s g alice 0 1-0 TIME 1700000000000 RETRYCOUNT 1 JUSTID FORCE",
        "XGROUP CREATECONSUMER s g bob",
        "XCLAIM s g bob 0 2-0 TIME 1600000000000 RETRYCOUNT 7 JUSTID FORCE",
        "XCLAIM s g bob 0 3-0 TIME 1700000000000 RETRYCOUNT 1 JUSTID FORCE",
        "XGROUP CREATE s unknown 3-0 ENTRIESREAD -1",
    ]
    made_again(server, "XINFO GROUPS s", "XPENDING s g", "XPENDING s g - + 10")


def test_released_entries_keep_their_order_and_counts() -> None:
    server = InProcessServer()
    run(
        server,
        *[f"XADD s {i}-0 f v" for i in range(1, 6)],
        "XGROUP CREATE s g 0",
        "XREADGROUP GROUP g alice STREAMS s >",
        "XNACK s g FAIL IDS 1 3-0 RETRYCOUNT 2",
        "XNACK s g FAIL IDS 2 1-0 2-0 RETRYCOUNT 5",
    )
    assert rebuilt(server)[-2:] == [
        "XNACK s g FAIL IDS 1 3-0 RETRYCOUNT 2 FORCE",
        "XNACK s g FAIL IDS 2 1-0 2-0 RETRYCOUNT 5 FORCE",
    ]
    made_again(server, "XPENDING s g - + 10", "XREADGROUP GROUP g bob CLAIM 0 STREAMS s >")


def test_many_released_entries_take_several_requests() -> None:
    server = InProcessServer()
    run(server, *[f"XADD s {i}-0 f v" for i in range(1, 131)], "XGROUP CREATE s g 0")
    run(server, "XREADGROUP GROUP g alice STREAMS s >")
    ids = " ".join(f"{i}-0" for i in range(1, 131))
    run(server, f"XNACK s g FAIL IDS 130 {ids}")
    requests = [request.split() for request in rebuilt(server) if request.startswith("XNACK")]
    assert [int(words[5]) for words in requests] == [64, 64, 2]
    made_again(server, "XPENDING s g - + 200")


def test_what_producers_have_sent_is_remembered_as_long_as_its_entry_is_there() -> None:
    server = InProcessServer(now_ms=NOW_MS)
    run(
        server,
        "XADD s IDMP p one * f v",
        "XADD s IDMP p two * f v",
        "XCFGSET s IDMP-DURATION 50 IDMP-MAXSIZE 20",
        "XADD s IDMP p three * f v",
        "XADD s IDMP p four * f v",
    )
    stream = server.instance.databases[0].values[b"s"]
    assert make_id(NOW_MS, 3) in stream  # type: ignore[operator]
    run(server, f"XDEL s {NOW_MS}-2")
    assert rebuilt(server)[-2:] == [
        "XCFGSET s IDMP-DURATION 50 IDMP-MAXSIZE 20",
        f"XIDMPRECORD s p four {NOW_MS}-3",
    ]
    made_again(server, "XADD s IDMP p four * f v")
    server.advance(50_001)
    assert rebuilt(server)[-1] == "XCFGSET s IDMP-DURATION 50 IDMP-MAXSIZE 20"
