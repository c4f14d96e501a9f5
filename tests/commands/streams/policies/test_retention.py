"""Retention: which entries go, when, and what is propagated."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands.streams.policies.retention import CUT_EVERY_MS, HELD_MS, LOOK_EVERY_MS
from commands.streams.policies.timer import PolicyTimer
from server.inprocess.server import InProcessServer
from storage.stream import Stream
from tests.commands.streams.talk import NOW_MS, Talk, carrier
from tests.support.examples import examples

SECOND = CUT_EVERY_MS


def fill(client: Talk, count: int, key: str = "s", every_ms: int = 0) -> None:
    """Entries of 5 bytes, from now on."""
    for _ in range(count):
        client.do(f"XADD {key} * f abcd")
        client.server.now_ms += every_ms


def settle(client: Talk) -> None:
    """Two seconds: whatever may go is gone."""
    for _ in range(3):
        client.server.advance(SECOND)


def policy(client: Talk, key: str = "s") -> dict[str, Any]:
    return client.fields(f"XINFO POLICY {key}")


# -- settings ----------------------------------------------------------------------------------


def test_settings_are_listed(client: Talk) -> None:
    client.do("XADD s * f v")
    client.do("XCFGSET s RETAIN-LEN 5 RETAIN-REFS acked GROUP-MAX-IDLE 1000 RETAIN-ACKED NO")
    assert policy(client) == {
        "retain-len": 5,
        "retain-refs": b"ACKED",
        "group-max-idle": 1000,
        "retained-removed": 0,
        "groups-passed-over": 0,
        "unread-trimmed": 0,
    }
    client.do("XCFGSET s RETAIN-REFS KEEPREF GROUP-MAX-IDLE 0")
    assert policy(client)["retain-len"] == 5
    client.do("XCFGSET s RETAIN-LEN 0")
    assert policy(client) == {}


def test_only_what_is_named_changes(client: Talk) -> None:
    client.all("XADD s * f v", "XCFGSET s RETAIN-LEN 5 RETAIN-BYTES 100")
    client.all("XCFGSET s RETAIN-HARD-BYTES 200", "XCFGSET s IDMP-DURATION 10 RETAIN-LEN 6")
    names = ("retain-len", "retain-bytes", "retain-hard-bytes")
    assert [policy(client)[name] for name in names] == [6, 100, 200]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("RETAIN-MS 1000000000001", "ERR RETAIN-MS must be between 0 and 1000000000000"),
        ("RETAIN-MS -1", "ERR RETAIN-MS must be between 0 and 1000000000000"),
        ("RETAIN-LEN x", "ERR value is not an integer or out of range"),
        ("RETAIN-LEN 1 retain-len 2", "ERR RETAIN-LEN specified multiple times"),
        ("RETAIN-LEN", "ERR syntax error"),
        ("RETAIN-REFS NONE", "ERR RETAIN-REFS must be one of KEEPREF, DELREF, ACKED"),
        ("RETAIN-ACKED 1", "ERR RETAIN-ACKED must be one of yes, no"),
        (
            "RETAIN-BYTES 10 RETAIN-HARD-BYTES 9",
            "ERR RETAIN-HARD-BYTES must not be below RETAIN-BYTES",
        ),
        ("GROUP-MAX-IDLE 10", "ERR GROUP-MAX-IDLE requires RETAIN-REFS ACKED"),
        ("GROUP-MAX-IDLE 10 RETAIN-REFS DELREF", "ERR GROUP-MAX-IDLE requires RETAIN-REFS ACKED"),
    ],
)
def test_bad_settings_change_nothing(
    client: Talk, propagated: list[str], options: str, error: str
) -> None:
    client.do("XADD s 1700000000000-0 f v")
    propagated.clear()
    assert client.error(f"XCFGSET s IDMP-DURATION 7 {options}") == error
    assert policy(client) == {}
    assert client.fields("XINFO STREAM s")["idmp-duration"] == 100
    assert propagated == []


def test_options_are_parsed_before_the_key_is_looked_up(client: Talk) -> None:
    assert "must be between" in client.error("XCFGSET none RETAIN-LEN -1")
    assert client.error("XCFGSET none RETAIN-LEN 1") == "ERR no such key"


def test_settings_are_propagated_in_a_carrier(client: Talk, propagated: list[str]) -> None:
    client.all("XADD s 1700000000000-0 f v", "XCFGSET s RETAIN-LEN 5 RETAIN-ACKED yes")
    client.all("XCFGSET s RETAIN-LEN 5", "XCFGSET s RETAIN-LEN 0 RETAIN-ACKED no")
    client.do("XCFGSET s RETAIN-LEN 0")
    assert propagated[1:] == [
        carrier("XPOLICY s retain RETAIN-LEN 5 RETAIN-ACKED yes"),
        carrier("XPOLICY s retain"),
    ]


# -- age ---------------------------------------------------------------------------------------


def test_old_entries_go(client: Talk, server: InProcessServer, propagated: list[str]) -> None:
    fill(client, 3, every_ms=10_000)
    client.do("XCFGSET s RETAIN-MS 60000")
    propagated.clear()
    server.advance(29_999)
    assert client.do("XLEN s") == 3
    server.advance(1)
    assert client.ids("s") == [f"{NOW_MS + 10_000}-0", f"{NOW_MS + 20_000}-0"]
    assert propagated == [f"XTRIM s MINID = {NOW_MS + 1}-0"]
    server.advance(20_000)
    assert client.do("XLEN s") == 0
    assert policy(client)["retained-removed"] == 3


def test_the_first_node_is_cut_once_a_second(client: Talk, server: InProcessServer) -> None:
    fill(client, 50, every_ms=100)
    client.do("XCFGSET s RETAIN-MS 10000")
    left = []
    for _ in range(50):
        server.advance(100)
        left.append(client.do("XLEN s"))
    assert left[-2] == 50
    changes = set()
    for _ in range(50):
        server.advance(100)
        changes.add(client.do("XLEN s"))
    assert len(changes) <= 7


def test_whole_nodes_go_at_once(client: Talk, server: InProcessServer) -> None:
    fill(client, 350)
    client.do("XCFGSET s RETAIN-LEN 220")
    server.advance(1)
    assert client.do("XLEN s") == 220
    fill(client, 100)
    server.advance(LOOK_EVERY_MS)
    assert client.do("XLEN s") == 250  # the rest of the first node; the next one is cut later
    server.advance(SECOND)
    assert client.do("XLEN s") == 220


def test_ids_that_are_no_times_are_never_too_old(client: Talk, server: InProcessServer) -> None:
    client.do("XADD counted 7-1 f v")
    assert (
        client.error("XCFGSET counted RETAIN-MS 1000")
        == "ERR RETAIN-MS requires IDs that are timestamps"
    )
    client.do("XCFGSET counted RETAIN-LEN 5")
    client.all("XGROUP CREATE later g 0 MKSTREAM", "XCFGSET later RETAIN-MS 1000")
    client.do("XADD later 7-1 f v")
    server.advance(10_000)
    assert client.do("XLEN later") == 1


def test_a_jump_of_the_clock_removes_nothing_for_a_while(
    client: Talk, server: InProcessServer
) -> None:
    policies = server.instance.feature(PolicyTimer)
    monotonic_us = NOW_MS * 1000
    policies.elapsed_us = lambda: monotonic_us
    fill(client, 3)
    client.do("XCFGSET s RETAIN-MS 3600000 RETAIN-LEN 2")
    server.advance(1)
    assert client.do("XLEN s") == 2
    server.advance(365 * 86_400_000)
    assert client.do("XLEN s") == 2
    assert "retention_paused:1" in client.do("INFO policies").decode()
    monotonic_us += 600_000_000
    server.advance(600_000)
    assert client.do("XLEN s") == 0


def test_a_clock_that_is_set_back_removes_nothing(client: Talk, server: InProcessServer) -> None:
    fill(client, 3)
    client.do("XCFGSET s RETAIN-MS 10000")
    server.advance(-3_600_000)
    settle(client)
    assert client.do("XLEN s") == 3


# -- number and bytes --------------------------------------------------------------------------


def test_the_oldest_entries_above_a_number_go(client: Talk, events: list[tuple[str, str]]) -> None:
    fill(client, 10)
    client.do("XCFGSET s RETAIN-LEN 4")
    events.clear()
    settle(client)
    assert client.do("XLEN s") == 4
    assert events == [("xtrim", "s")]


def test_bytes_are_those_of_fields_and_values(client: Talk) -> None:
    fill(client, 300)
    client.do("XCFGSET s RETAIN-BYTES 1003")
    settle(client)
    assert client.do("XLEN s") == 200
    assert policy(client)["bytes"] == 1000
    client.do("XADD s * f abc")
    settle(client)
    assert (client.do("XLEN s"), policy(client)["bytes"]) == (200, 999)


def test_deleted_entries_do_not_count_as_bytes(client: Talk) -> None:
    fill(client, 300)
    client.do("XCFGSET s RETAIN-BYTES 1500")
    settle(client)
    ids = client.ids("s")
    client.do("XDEL s " + " ".join(ids[150:250]))
    fill(client, 100)
    settle(client)
    assert (client.do("XLEN s"), policy(client)["bytes"]) == (300, 1500)


def test_removed_entries_leave_readers_nothing_unread(
    client: Talk, server: InProcessServer
) -> None:
    client.do("XGROUP CREATE s g $ MKSTREAM")
    client.do("XCFGSET s RETAIN-LEN 1")
    reader = Talk(server)
    assert reader.raw("XREADGROUP GROUP g c BLOCK 0 STREAMS s >") == b""
    client.pipeline("XADD s * f 1", "XADD s * f 2", "XADD s * f 3")
    settle(client)
    assert reader.client.received().count(b"$1\r\nf\r\n") == 3


def test_the_greatest_id_goes_as_well(client: Talk, propagated: list[str]) -> None:
    greatest = 2**64 - 1
    client.all(f"XADD s {greatest}-{greatest} f v", "XCFGSET s RETAIN-BYTES 1")
    settle(client)
    assert client.do("XLEN s") == 0
    assert propagated[-1] == "XTRIM s MAXLEN = 0"


# -- pending entries ---------------------------------------------------------------------------


def test_removed_entries_stay_pending(client: Talk) -> None:
    fill(client, 5)
    client.all("XGROUP CREATE s g 0", "XREADGROUP GROUP g c STREAMS s >", "XCFGSET s RETAIN-LEN 2")
    settle(client)
    assert client.do("XPENDING s g")[0] == 5


def test_delref_acknowledges_in_words_that_an_old_redis_knows(
    client: Talk, propagated: list[str]
) -> None:
    fill(client, 5)
    client.all("XGROUP CREATE s g 0", "XREADGROUP GROUP g c COUNT 4 STREAMS s >")
    client.do("XCFGSET s RETAIN-LEN 2 RETAIN-REFS DELREF")
    ids = client.ids("s")
    propagated.clear()
    settle(client)
    assert client.do("XPENDING s g")[0] == 1
    assert propagated == [
        "MULTI",
        f"XTRIM s MINID = {ids[3]}",
        f"XACK s g {' '.join(ids[:3])}",
        "EXEC",
    ]


def test_acked_keeps_what_a_group_has_not_acknowledged(client: Talk) -> None:
    fill(client, 5)
    client.all("XGROUP CREATE s g 0", "XGROUP CREATE s other 0")
    client.do("XCFGSET s RETAIN-LEN 1 RETAIN-REFS ACKED")
    ids = client.ids("s")
    settle(client)
    assert client.ids("s") == ids
    client.all("XREADGROUP GROUP g c STREAMS s >", f"XACK s g {ids[0]} {ids[1]} {ids[3]}")
    client.do("XREADGROUP GROUP other c NOACK COUNT 3 STREAMS s >")
    settle(client)
    assert client.ids("s") == ids[2:]
    client.do(f"XACK s g {ids[2]}")
    settle(client)
    assert client.ids("s") == ids[3:]
    client.do("XGROUP DESTROY s other")
    settle(client)
    assert client.ids("s") == ids[4:]


def test_without_a_group_acked_keeps_everything(client: Talk) -> None:
    fill(client, 5)
    client.do("XCFGSET s RETAIN-LEN 1 RETAIN-REFS ACKED")
    client.server.advance(HELD_MS)
    assert client.do("XLEN s") == 5


def test_retain_acked_makes_a_work_queue(client: Talk, server: InProcessServer) -> None:
    fill(client, 250)
    client.all("XGROUP CREATE s g 0", "XCFGSET s RETAIN-ACKED yes")
    settle(client)
    ids = client.ids("s")
    assert len(ids) == 250
    client.do("XREADGROUP GROUP g c STREAMS s >")
    client.do(f"XACK s g {' '.join(ids[:120])}")
    server.advance(LOOK_EVERY_MS)
    assert client.ids("s") == ids[120:]
    client.do(f"XACK s g {' '.join(ids[121:])}")
    settle(client)
    assert client.ids("s") == ids[120:]
    client.do(f"XACKDEL s g KEEPREF IDS 1 {ids[120]}")
    settle(client)
    assert client.ids("s") == []
    assert policy(client)["retained-removed"] == 249


def test_a_group_that_is_idle_for_too_long_holds_nothing(
    client: Talk, server: InProcessServer
) -> None:
    fill(client, 5)
    client.all("XGROUP CREATE s live 0", "XGROUP CREATE s idle 0")
    client.all("XREADGROUP GROUP idle c COUNT 1 STREAMS s >")
    client.do("XCFGSET s RETAIN-LEN 1 RETAIN-REFS ACKED GROUP-MAX-IDLE 60000")
    settle(client)
    for _ in range(8):
        client.do("XREADGROUP GROUP live c NOACK STREAMS s >")
        server.advance(10_000)
    assert client.do("XLEN s") == 1
    assert [policy(client)[name] for name in ("groups-passed-over", "unread-trimmed")] == [1, 3]
    assert sum("has not been used" in line for _, line in server.log_lines) == 1


def test_a_group_with_a_consumer_that_waits_is_alive(client: Talk, server: InProcessServer) -> None:
    fill(client, 5)
    ids = client.ids("s")
    client.all("XGROUP CREATE s g 0", "XREADGROUP GROUP g c STREAMS s >", f"XACK s g {ids[0]}")
    waiting = Talk(server)
    assert waiting.raw("XREADGROUP GROUP g c BLOCK 0 STREAMS s >") == b""
    client.do("XCFGSET s RETAIN-LEN 1 RETAIN-REFS ACKED GROUP-MAX-IDLE 1000")
    for _ in range(10):
        server.advance(HELD_MS)
    assert client.ids("s") == ids[1:]


def test_a_hard_limit_overrides_acked(client: Talk) -> None:
    fill(client, 10)
    client.all("XGROUP CREATE s g 0")
    client.do("XCFGSET s RETAIN-BYTES 10 RETAIN-HARD-BYTES 30 RETAIN-REFS ACKED")
    settle(client)
    assert client.do("XLEN s") == 6


@pytest.mark.parametrize("limit", ["RETAIN-LEN 1", "RETAIN-HARD-BYTES 5", "RETAIN-ACKED yes"])
def test_the_last_archived_entry_is_never_removed(client: Talk, limit: str) -> None:
    fill(client, 6)
    ids = client.ids("s")
    client.do(f"XGROUP CREATE s __archive:0123abcd:1 {ids[3]}")
    client.do(f"XDEL s {ids[3]}")
    client.do(f"XCFGSET s {limit}")
    settle(client)
    assert client.ids("s") == [ids[2], ids[4], ids[5]]
    client.do("XGROUP SETID s __archive:0123abcd:1 $")
    client.server.advance(HELD_MS)
    settle(client)
    assert client.ids("s") == ids[5:]


# -- elsewhere ---------------------------------------------------------------------------------


def stream_at(server: InProcessServer, key: bytes = b"s") -> Stream:
    stream = server.instance.databases[0].values[key]
    assert isinstance(stream, Stream)
    return stream


def test_counters_of_info(client: Talk) -> None:
    fill(client, 10)
    assert "Policies" not in client.do("INFO").decode()
    client.do("XCFGSET s RETAIN-LEN 4")
    settle(client)
    text = client.do("INFO").decode()
    assert "streams_with_policy:1" in text
    assert "retention_removed_total:6" in text


@pytest.mark.parametrize("preamble", ["yes", "no"])
def test_policies_are_there_after_a_restart_and_a_rewrite(preamble: str) -> None:
    server = InProcessServer(NOW_MS, appendonly="yes", aof_use_rdb_preamble=preamble)
    client = Talk(server)
    fill(client, 10)
    client.do("XCFGSET s RETAIN-LEN 8 RETAIN-REFS DELREF")
    settle(client)
    first = server.restart()
    assert policy(Talk(first))["retain-len"] == 8
    client = Talk(first)
    client.do("BGREWRITEAOF")
    first.advance(1000)
    second = first.restart()
    client = Talk(second)
    assert policy(client)["retain-refs"] == b"DELREF"
    fill(client, 10)
    settle(client)
    assert client.do("XLEN s") == 8
    client.do("XCFGSET s RETAIN-LEN 0 RETAIN-REFS KEEPREF")
    assert policy(Talk(second.restart())) == {}


def test_policies_are_in_snapshots() -> None:
    server = InProcessServer(NOW_MS, enable_debug_command="yes")
    client = Talk(server)
    fill(client, 10)
    client.do("XCFGSET s RETAIN-LEN 8")
    settle(client)
    before = policy(client)
    client.do("DEBUG RELOAD")
    assert policy(client) == before
    fill(client, 10)
    settle(client)
    assert client.do("XLEN s") == 8


def test_nothing_waits_where_there_is_no_policy(client: Talk, server: InProcessServer) -> None:
    fill(client, 10)
    client.all("XCFGSET s RETAIN-LEN 4", "XCFGSET s RETAIN-LEN 0")
    settle(client)
    timer = server.instance.feature(PolicyTimer)
    assert not timer.soon
    assert timer.next_ms() is None


# -- beside a model ----------------------------------------------------------------------------

OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 40), st.integers(0, 9)),
        st.tuples(st.just("pass"), st.integers(0, 5000), st.just(0)),
        st.tuples(st.just("delete"), st.integers(0, 30), st.integers(1, 10)),
        st.tuples(st.just("read"), st.integers(1, 30), st.just(0)),
        st.tuples(st.just("ack"), st.integers(0, 20), st.integers(1, 20)),
    ),
    max_size=12,
)


@settings(max_examples=examples(300))
@given(
    st.sampled_from(["KEEPREF", "DELREF", "ACKED"]),
    st.integers(0, 60),
    st.integers(0, 300),
    st.sampled_from([0, 4000]),
    st.booleans(),
    OPERATIONS,
)
def test_what_stays_is_what_the_limits_say(
    refs: str, length: int, size: int, age: int, acked: bool, operations: list[Any]
) -> None:
    server = InProcessServer(NOW_MS, stream_node_max_entries="7")
    client = Talk(server)
    client.do("XGROUP CREATE s g 0 MKSTREAM")
    limits = f"RETAIN-REFS {refs} RETAIN-LEN {length} RETAIN-BYTES {size} RETAIN-MS {age}"
    client.do(f"XCFGSET s {limits} RETAIN-ACKED {'yes' if acked else 'no'}")
    entries: dict[str, int] = {}  # what must be there: the bytes of each
    for name, first, second in operations:
        if name == "add":
            for _ in range(first):
                entry_id = client.do(f"XADD s * f {'x' * second or 'y'}").decode()
                entries[entry_id] = 1 + max(second, 1)
        elif name == "pass":
            server.advance(first)
        elif name == "read":
            client.do(f"XREADGROUP GROUP g c COUNT {first} STREAMS s >")
        else:
            chosen = client.ids("s")[first : first + second]
            if chosen and name == "delete":
                client.do("XDEL s " + " ".join(chosen))
            elif chosen:
                client.do("XACK s g " + " ".join(chosen))
    for _ in range(13):  # what groups hold is looked at every ten seconds
        server.advance(SECOND)
    there = client.ids("s")
    floor = _floor(client, there)
    total = sum(entries[entry_id] for entry_id in there)
    oldest = int(there[0].split("-")[0]) if there else server.now_ms
    too_much = (
        (length and len(there) > length)
        or (size and total > size)
        or (age and oldest <= server.now_ms - age - SECOND)
    )
    if too_much:
        assert refs == "ACKED"
        assert floor == there[0]
    if acked and there:
        assert floor == there[0]


def _floor(client: Talk, there: list[str]) -> str | None:
    """The first entry that g has not read or not acknowledged."""
    pending = {row[0].decode() for row in client.do("XPENDING s g - + 10000")}
    last = client.do("XINFO GROUPS s")[0][7].decode()
    key = tuple(map(int, last.split("-")))
    return next(
        (each for each in there if each in pending or tuple(map(int, each.split("-"))) > key), None
    )
