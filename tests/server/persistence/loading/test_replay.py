"""replay.py: which requests run, what stops a replay, and what it skips."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer, Word, to_argv
from server.persistence.loading.replay import Replay, UnreplayableRequest
from server.persistence.loading.snapshot_restore import UnfitContent
from storage.append_only.reader import BATCH_BYTES, RequestFile
from storage.append_only.requests import encode_request, encode_requests, wrap


def encoded_bytes(argv: list[bytes]) -> int:
    return len(encode_request(argv))


def replay_file(server: InProcessServer, data: bytes) -> Replay:
    replayed = Replay(server.instance, "some.aof")
    for batch in RequestFile(data).batches():
        replayed.run(batch)
    return replayed


def replay(server: InProcessServer, *requests: tuple[Word, ...]) -> Replay:
    return replay_file(server, encode_requests([to_argv(words) for words in requests]))


def warnings(server: InProcessServer) -> list[str]:
    return [text for level, text in server.log_lines if level == "warning"]


def test_requests_run_in_their_database(server: InProcessServer) -> None:
    replay(server, ("SET", "a", 1), ("SELECT", 3), ("SET", "b", 2), ("select", 0), ("INCR", "a"))
    client = server.connect()
    assert client.execute("GET", "a") == b"$1\r\n2\r\n"
    client.execute("SELECT", 3)
    assert client.execute("KEYS", "*") == b"*1\r\n$1\r\nb\r\n"


def test_a_transaction_runs_once_its_end_is_read() -> None:
    server = InProcessServer()
    requests = [("SET", "a", 1), ("MULTI",), ("SET", "a", 2), ("SET", "b", 2)]
    replayed = replay(server, *requests)
    assert server.connect().execute("MGET", "a", "b") == b"*2\r\n$1\r\n1\r\n$-1\r\n"
    assert replayed.open_unit_offset == encoded_bytes([b"SET", b"a", b"1"])
    assert replay(server, *requests, ("EXEC",)).open_unit_offset is None
    assert server.connect().execute("MGET", "a", "b") == b"*2\r\n$1\r\n2\r\n$1\r\n2\r\n"


# More than one batch of the reader has.
LONG_UNIT: list[tuple[Word, ...]] = [("XADD", "s", f"{n}-1", "f", "v") for n in range(1, 4000)]
MULTI = encode_requests([[b"MULTI"]])
EXEC = encode_requests([[b"exec"]])


@pytest.mark.parametrize("annotation", [b"", b"#TS:1700000000\r\n"])
def test_a_transaction_of_several_batches(annotation: bytes) -> None:
    adds = encode_requests([to_argv(words) for words in LONG_UNIT])
    assert len(adds) > 2 * BATCH_BYTES
    wide = encode_requests([to_argv(("RPUSH", "l", *range(300)))])  # more words than usual
    first = encode_requests([[b"SET", b"a", b"1"]])
    data = first + MULTI + adds + annotation + wide + adds.replace(b"$1\r\ns", b"$1\r\nt")
    server = InProcessServer()
    replayed = replay_file(server, data)
    assert replayed.open_unit_offset == len(first)
    assert server.connect().execute("EXISTS", "s", "t", "l") == b":0\r\n"
    server = InProcessServer()
    replayed = replay_file(server, data + EXEC + MULTI + EXEC + MULTI)
    assert replayed.open_unit_offset == len(data + EXEC + MULTI + EXEC)
    assert replayed.requests == 2 * len(LONG_UNIT) + 2
    client = server.connect()
    for key in ("s", "t"):
        assert client.execute("XLEN", key) == b":%d\r\n" % len(LONG_UNIT)
    assert client.execute("LLEN", "l") == b":300\r\n"


def test_what_stops_a_transaction_is_found_in_the_file() -> None:
    requests: list[tuple[Word, ...]] = [("SET", "a", 1), ("MULTI",), *LONG_UNIT, ("NOSUCH",)]
    with pytest.raises(UnreplayableRequest) as stopped:
        replay(InProcessServer(), *requests, ("SET", "a", 2), ("EXEC",))
    multi_offset = encoded_bytes([b"SET", b"a", b"1"])
    sizes = [encoded_bytes(to_argv(words)) for words in requests[:-1]]
    assert (stopped.value.unit_offset, stopped.value.offset) == (multi_offset, sum(sizes))


def test_a_request_of_a_raw_handler_with_too_few_words() -> None:
    for words in (
        ("SET",),
        ("XADD", "s", "*"),
        ("XACK", "s", "g"),
        ("XCLAIM", "s"),
        ("MULTI", "x"),
    ):
        with pytest.raises(UnreplayableRequest, match="Wrong number of arguments"):
            replay(InProcessServer(), ("SET", "a", "x" * 100), words)


def test_xadds_of_an_open_transaction_wait_for_its_end() -> None:
    server = InProcessServer()
    replay(server, ("MULTI",), *[("XADD", "s", f"{n}-1", "f", "v") for n in range(1, 50)])
    assert server.connect().execute("EXISTS", "s") == b":0\r\n"


def test_a_replay_notifies_no_client_and_propagates_nothing() -> None:
    server = InProcessServer(notify_keyspace_events="KEA")
    client = server.connect()
    client.execute("CONFIG", "RESETSTAT")
    watcher = server.connect()
    watcher.execute("PSUBSCRIBE", "*")
    sent = len(server.propagated)
    replay(server, ("SET", "a", 1), ("XADD", "s", "1-1", "f", "v"), ("GETEX", "a", "PERSIST"))
    assert watcher.received() == b""
    assert len(server.propagated) == sent
    assert b"keyspace_hits:0\r\n" in client.execute("INFO", "stats")
    assert b"cmdstat_set" not in client.execute("INFO", "commandstats")
    client.execute("SET", "a", 2)
    assert watcher.received() != b""


def test_a_key_that_expires_stays_until_the_replay_is_over() -> None:
    server = InProcessServer(now_ms=10_000)
    replay(
        server,
        ("XADD", "s", "1-1", "f", "v"),
        ("PEXPIREAT", "s", 9_000),
        ("XADD", "s", "2-1", "f", "v"),
    )
    assert server.instance.databases[0].deadlines() == {b"s": 9_000}
    assert server.connect().execute("EXISTS", "s") == b":0\r\n"


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (("NOSUCH", "x"), "Unknown command 'NOSUCH'"),
        (("XGROUP", "NOSUCH", "x"), "Unknown command 'XGROUP'"),
        (("XGROUP",), "Wrong number of arguments for 'XGROUP'"),
        (("SET", "a"), "Wrong number of arguments for 'SET a'"),
    ],
)
def test_what_no_handler_can_take_stops_the_replay(request_: tuple[str, ...], reason: str) -> None:
    server = InProcessServer()
    with pytest.raises(UnreplayableRequest) as stopped:
        replay(server, ("SET", "a", 1), request_, ("SET", "a", 2))
    assert stopped.value.reason == reason
    assert stopped.value.offset == encoded_bytes([b"SET", b"a", b"1"])
    assert server.connect().execute("GET", "a") == b"$1\r\n1\r\n"


def test_arguments_may_be_hidden() -> None:
    server = InProcessServer(hide_user_data_from_log="yes")
    replayed = replay(server, ("XADD", "s", "1-1", "f", "v"), ("XGROUP", "DESTROY", "none", "g"))
    assert "none" not in str(replayed.first_refusal)
    assert warnings(server)[-1].count("*redacted*") == 1
    with pytest.raises(UnreplayableRequest, match=r"'SET \*redacted\*'") as stopped:
        replay(server, ("SET", "secret"))
    assert "secret" not in str(stopped.value)


def test_a_refusal_is_logged_once_and_the_replay_goes_on() -> None:
    server = InProcessServer()
    replayed = replay(server, ("SET", "a", "x"), *[("INCR", "a")] * 3, ("SET", "b", 1))
    assert replayed.refusals == {"incr": 3}
    assert str(replayed.first_refusal) == (
        "'incr' at offset 27: ERR value is not an integer or out of range"
    )
    assert warnings(server) == [
        "== CRITICAL == This server is sending an error to its AOF-loading-client: 'value is not an"
        " integer or out of range' after processing the command 'incr' of some.aof at offset 27",
    ]
    assert server.connect().execute("GET", "b") == b"$1\r\n1\r\n"


@pytest.mark.parametrize(
    "words", [("SHUTDOWN", "NOSAVE"), ("PING",), ("EXEC",), ("GET", "a"), ("PUBLISH", "c", "m")]
)
def test_a_command_that_changes_no_data_is_passed_over(words: tuple[str, ...]) -> None:
    server = InProcessServer()
    replayed = replay(server, words, ("SET", "a", 1))
    assert replayed.passed_over.total() == 1
    assert replayed.refusals.total() == 0
    assert not server.shutdown_requested
    assert server.connect().execute("GET", "a") == b"$1\r\n1\r\n"


@pytest.mark.parametrize(
    ("trim", "after_xtrim", "after_xadd"),
    [
        ("MAXLEN = 2 LIMIT 1", 2, 2),  # Redis's form for `~ 2 LIMIT 1`
        ("LIMIT 1 MINID = 9-0", 1, 2),
        ("MAXLEN 2 LIMIT 0", 2, 2),
        ("MAXLEN ~ 0 LIMIT 1", 0, 0),
        ("MAXLEN ~ 0", 0, 0),
    ],
)
def test_a_trim_is_not_limited_again(trim: str, after_xtrim: int, after_xadd: int) -> None:
    server = InProcessServer(stream_node_max_entries="1")
    client = server.connect()
    for key in ("trimmed", "added"):
        for n in range(1, 10):
            client.execute("XADD", key, f"{n}-0", "f", "v")
    requests = [
        ("XTRIM", "trimmed", *trim.split()),
        ("XADD", "added", *trim.split(), "10-0", "f", "v"),
    ]
    assert replay(server, *requests).refusals == {}
    assert client.execute("XLEN", "trimmed") == b":%d\r\n" % after_xtrim
    assert client.execute("XLEN", "added") == b":%d\r\n" % after_xadd


def test_a_trim_of_very_many_entries_is_not_limited_by_default() -> None:
    server = InProcessServer(stream_node_max_entries="1")
    adds = [("XADD", "s", f"{n}-0", "f", "v") for n in range(1, 301)]
    replay(server, *adds, ("XTRIM", "s", "MAXLEN", "~", 10))
    assert server.connect().execute("XLEN", "s") == b":10\r\n"


def test_what_older_servers_took_and_we_would_refuse_is_replayed() -> None:
    server = InProcessServer(proto_max_bulk_len="1mb")
    replayed = replay(
        server,
        ("XADD", "s", "4-0", "f", "v"),
        ("XADD", "s", "5-0", "f", "v"),
        ("XDEL", "s", "5-0"),
        ("XSETID", "s", "4-5"),  # Redis 7.0
        ("SETRANGE", "text", 1 << 20, "x"),  # under a larger limit
    )
    assert replayed.refusals == {}
    client = server.connect()
    assert client.execute("STRLEN", "text") == b":1048577\r\n"
    assert b"$17\r\nlast-generated-id\r\n$3\r\n4-5\r\n" in client.execute("XINFO", "STREAM", "s")


def test_a_carrier_runs_what_it_carries_in_transactions_as_well() -> None:
    server = InProcessServer()
    carrier: tuple[Word, ...] = tuple(wrap([b"XCFGSET", b"s", b"ACK-JOURNAL", b"j"]))
    plain: list[tuple[Word, ...]] = [("XADD", "s", "1-1", "f", "v"), carrier]
    for requests in (plain, [("MULTI",), *plain, ("EXEC",)]):
        server.connect().execute("FLUSHALL")
        replayed = replay(server, *requests)
        assert (replayed.refusals, replayed.passed_over) == ({}, {})
        assert b"ack-journal" in server.connect().execute("XINFO", "POLICY", "s")


def test_an_ordinary_echo_is_passed_over_and_an_unknown_carrier_is_not() -> None:
    server = InProcessServer()
    assert replay(server, ("ECHO", "hello"), ("SET", "a", 1)).passed_over == {"echo": 1}
    for carrier in (("ECHO", b"rillway\x009*1"), tuple(wrap([b"NOSUCH", b"x"]))):
        with pytest.raises(UnreplayableRequest, match="Rillway's own state") as stopped:
            replay(server, ("SET", "a", 1), carrier)
        assert stopped.value.offset == 27


def test_a_script_that_an_older_server_appended_runs() -> None:
    server = InProcessServer()
    replayed = replay(
        server,
        ("EVAL", "return redis.call('SET', KEYS[1], ARGV[1])", 1, "a", "x"),
        ("EVAL", "return redis.call('INCR', KEYS[1])", 1, "a"),
    )
    assert server.connect().execute("GET", "a") == b"$1\r\nx\r\n"
    assert (replayed.refusals, replayed.passed_over) == ({"eval": 1}, {})


def test_nothing_blocks(server: InProcessServer) -> None:
    replay(
        server,
        ("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM"),
        ("XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", "s", ">"),
        ("SET", "a", 1),
    )
    assert server.connect().execute("GET", "a") == b"$1\r\n1\r\n"


def test_requests_never_run_in_another_database_than_they_were_for() -> None:
    server = InProcessServer(databases="4")
    with pytest.raises(UnfitContent, match="--databases 10"):
        replay(server, ("SET", "a", 1), ("SELECT", 9), ("SET", "a", 2))
    assert server.connect().execute("GET", "a") == b"$1\r\n1\r\n"


def test_a_claim_keeps_its_time_though_the_clock_was_set_back() -> None:
    server = InProcessServer()
    time_ms = server.now_ms + 1000
    replay(
        server,
        ("XADD", "s", "1-1", "f", "v"),
        ("XGROUP", "CREATE", "s", "g", "0"),
        ("XCLAIM", "s", "g", "a", 0, "1-1", "TIME", time_ms, "RETRYCOUNT", 1, "FORCE", "JUSTID"),
    )
    server.advance(1500)
    assert b":500\r\n" in server.connect().execute("XPENDING", "s", "g", "-", "+", "10")


@pytest.mark.parametrize(
    "trimming",
    [
        ("XADD", "s", "MAXLEN", "~", 1, "301-1", "f", "v"),
        ("XADD", "s", "maxlen", "~", "1", "LIMIT", 10, "301-1", "f", "v"),
        ("XTRIM", "s", "MAXLEN", "~", 1),
    ],
)
def test_nothing_limits_an_approximate_trim_that_is_replayed(trimming: tuple[Word, ...]) -> None:
    server = InProcessServer(stream_node_max_entries="1")
    client = server.connect()
    # A client's own cap of the same bytes has the default limit, and is remembered.
    client.execute("XADD", "other", "MAXLEN", "~", 1, "1-1", "f", "v")
    replay(server, *[("XADD", "s", f"{i}-1", "f", "v") for i in range(1, 301)], trimming)
    assert client.execute("XLEN", "s") == b":1\r\n"
