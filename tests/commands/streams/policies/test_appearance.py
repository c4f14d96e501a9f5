"""Scheduled entries appear when they are due: in which order, with which IDs, and for whom."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands.streams.policies import appearance
from server.inprocess.server import InProcessServer
from storage.entries.entry_id import MAX_ID, format_id
from tests.commands.streams.talk import NOW_MS, Talk, carrier
from tests.server.replication.pairs import PRIMARY, REPLICA, Cluster, follow
from tests.support.examples import examples

MAX = format_id(MAX_ID).decode()


def values(client: Talk, key: str = "s") -> list[bytes]:
    return [fields[1] for _, fields in client.do(f"XRANGE {key} - +")]


def test_an_entry_appears_when_it_is_due_and_never_early(
    client: Talk, server: InProcessServer
) -> None:
    client.do("XADD s DELAY 50 * f v")
    server.advance(49)
    assert client.ids("s") == []
    server.advance(1)
    assert client.ids("s") == [f"{NOW_MS + 50}-0"]
    server.advance(1000)
    assert len(client.ids("s")) == 1


def test_a_delay_of_nothing_and_a_past_time_appear_at_once(
    client: Talk, server: InProcessServer
) -> None:
    client.all("XADD s DELAY 0 * f 1", "XADD s AT 5 * f 2")
    server.tick()
    assert values(client) == [b"2", b"1"]
    assert client.ids("s") == [f"{NOW_MS}-0", f"{NOW_MS}-1"]


def test_overdue_entries_appear_in_the_order_of_their_times_with_ids_of_now(
    client: Talk, server: InProcessServer
) -> None:
    for number, delay in enumerate((3000, 10, 3000, 2000, 10)):
        client.do(f"XADD s DELAY {delay} * f {number}")
    server.advance(1_000_000)
    assert values(client) == [b"1", b"4", b"3", b"0", b"2"]
    now_ms = NOW_MS + 1_000_000
    assert client.ids("s") == [f"{now_ms}-{number}" for number in range(5)]


def test_an_entry_comes_after_one_with_an_id_of_the_future(
    client: Talk, server: InProcessServer
) -> None:
    client.all("XADD s DELAY 50 * f later", f"XADD s {NOW_MS + 99}-7 f v")
    server.advance(50)
    assert client.ids("s") == [f"{NOW_MS + 99}-7", f"{NOW_MS + 99}-8"]


def test_readers_and_groups_are_woken(client: Talk, server: InProcessServer) -> None:
    client.all("XADD s DELAY 50 * f v", "XGROUP CREATE s g $")
    reader, worker = Talk(server), Talk(server)
    assert reader.raw("XREAD BLOCK 0 STREAMS s $") == b""
    assert worker.raw("XREADGROUP GROUP g c BLOCK 0 STREAMS s >") == b""
    server.advance(50)
    entry = [f"{NOW_MS + 50}-0".encode(), [b"f", b"v"]]
    assert reader.received() == [[b"s", [entry]]]
    assert worker.received() == [[b"s", [entry]]]
    assert client.fields("XINFO STREAM s")["entries-added"] == 1


def test_an_appearance_is_an_event_and_one_unit_of_propagation(
    client: Talk, server: InProcessServer, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    client.all("XADD s DELAY 50 * f v g w", "XADD s DELAY 50 IDMP p 7 * f v")
    assert ("xadd", "s") not in events
    del propagated[:], events[:]
    server.advance(50)
    assert events == [("xadd", "s"), ("xadd", "s")]
    now_ms = NOW_MS + 50
    assert propagated == [
        "MULTI",
        f"XADD s {now_ms}-0 f v g w",
        carrier(f"XPOLICY s unscheduled {now_ms} 1"),
        "EXEC",
        "MULTI",
        f"XADD s {now_ms}-1 f v",
        carrier(f"XPOLICY s unscheduled {now_ms} 2"),
        carrier(f"XIDMPRECORD s p 7 {now_ms}-1"),
        "EXEC",
    ]


def test_a_clock_that_is_set_back_makes_nothing_early_or_twice(
    client: Talk, server: InProcessServer
) -> None:
    client.do("XADD s DELAY 50 * f 1")
    server.advance(10)
    server.now_ms -= 3_600_000
    server.advance(0)
    client.do("XADD s DELAY 50 * f 2")
    server.advance(60)
    assert values(client) == []
    server.advance(3_600_000)
    assert values(client) == [b"1", b"2"]


def test_a_clock_that_is_a_year_ahead_makes_each_entry_due_once(
    client: Talk, server: InProcessServer
) -> None:
    year_ms = 365 * 86_400_000
    for days in (1, 400):
        client.do(f"XADD s DELAY {days * 86_400_000} * f {days}")
    server.advance(year_ms)
    assert values(client) == [b"1"]
    server.now_ms -= year_ms
    server.advance(1000)
    assert values(client) == [b"1"]
    assert len(client.do("XSCHEDULED s")) == 1


def test_a_turn_adds_a_thousand_entries_at_most(
    client: Talk, server: InProcessServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appearance, "ENTRIES_A_TURN", 10)
    for number in range(25):
        client.do(f"XADD s DELAY 50 * f {number}")
    server.advance(50)
    seen = [client.do("XLEN s")]
    while seen[-1] < 25:
        server.advance(1)
        seen.append(client.do("XLEN s"))
    assert all(later - earlier <= 20 for earlier, later in pairwise(seen))
    assert values(client) == [b"%d" % number for number in range(25)]


def test_other_streams_appear_in_their_own_databases(client: Talk, server: InProcessServer) -> None:
    client.all("XADD s DELAY 50 * f v", "SELECT 3", "XADD s DELAY 60 * f w", "SELECT 0")
    server.advance(60)
    assert values(client) == [b"v"]
    client.do("SELECT 3")
    assert values(client) == [b"w"]


def test_a_stream_without_ids_keeps_its_schedule(client: Talk, server: InProcessServer) -> None:
    client.all("XADD s DELAY 50 * f v", f"XADD s {MAX} f last")
    server.advance(1000)
    assert values(client) == [b"last"]
    assert len(client.do("XSCHEDULED s")) == 1
    assert server.log_lines == []


def test_an_earlier_entry_that_is_added_later_appears_first(
    client: Talk, server: InProcessServer
) -> None:
    client.do("XADD s DELAY 900 * f late")
    client.do("XADD s DELAY 100 * f early")
    server.advance(100)
    assert values(client) == [b"early"]
    client.do("XADD s DELAY 10 * f between")  # in a bucket that is in use
    server.advance(10)
    assert values(client) == [b"early", b"between"]
    server.advance(900)
    assert values(client) == [b"early", b"between", b"late"]


def test_entries_cancelled_while_their_bucket_is_in_use_do_not_appear(
    client: Talk, server: InProcessServer
) -> None:
    tickets = [client.do(f"XADD s DELAY {delay} * f {delay}").decode() for delay in (10, 20, 30)]
    server.advance(10)
    assert client.do(f"XUNSCHEDULE s {tickets[1]} {tickets[0]}") == 1
    server.advance(20)
    assert values(client) == [b"10", b"30"]


# -- files and replicas ------------------------------------------------------------------------


@pytest.mark.parametrize("preamble", ["yes", "no"])
@pytest.mark.parametrize("appendonly", ["yes", "no"])
def test_a_schedule_is_there_after_a_restart(
    server: InProcessServer, preamble: str, appendonly: str
) -> None:
    server = InProcessServer(
        now_ms=NOW_MS, appendonly=appendonly, aof_use_rdb_preamble=preamble, save="1 1"
    )
    client = Talk(server)
    client.all("XADD s DELAY 900 * f 1", "XADD s DELAY 100 IDMP p 7 * f 2", "XADD t DELAY 5 * f v")
    last = client.do("XADD s DELAY 100 * f 3").decode()
    client.do(f"XUNSCHEDULE s {last}")
    expected = client.do("XSCHEDULED s")
    for request in ("BGREWRITEAOF", "SAVE"):
        assert not client.raw(request).startswith(b"-")
        server.tick()
    server.now_ms += 50
    server = server.restart(server.files.crash())
    client = Talk(server)
    assert client.do("XSCHEDULED s") == expected
    assert client.do("XADD s IDMP p 7 * f 2") == expected[0][0]
    server.tick()
    assert client.ids("t") == [f"{NOW_MS + 50}-0"]
    server.advance(50)
    assert values(client) == [b"2"]
    assert client.do("XADD s DELAY 900 * f 4").endswith(b"-4")  # no number is given twice


def test_a_file_that_ends_between_two_units_has_each_entry_once(server: InProcessServer) -> None:
    client = Talk(server)
    for number in range(4):
        client.do(f"XADD s DELAY {10 * number} * f {number}")
    for _ in range(4):
        server.advance(10)
    units = list(server.propagated)
    assert len(units) == 8
    for end in range(1, 9):
        twin = InProcessServer(now_ms=NOW_MS)
        replica = Talk(twin)
        replica.client.state.replays = True
        for _, unit in units[:end]:
            for argv in unit:
                assert not replica.client.execute(*argv).startswith(b"-")
        there = values(replica) + [fields[1] for _, fields in replica.do("XSCHEDULED s")]
        assert there == [b"%d" % number for number in range(min(end, 4))]


def test_a_replica_waits_for_its_primary_and_acts_once_it_is_promoted() -> None:
    cluster = Cluster()
    primary, replica = cluster.server(PRIMARY), cluster.server(REPLICA)
    client, there = Talk(primary), Talk(replica)
    start_ms = primary.now_ms
    client.do(f"XADD s AT {start_ms + 100_000} * f 1")  # before the synchronisation
    follow(replica)
    cluster.settle()
    client.do(f"XADD s AT {start_ms + 50_000} * f 2")
    client.do(f"XADD s AT {start_ms + 10_000} * f 3")
    cluster.settle(20)
    assert values(client) == values(there) == [b"3"]
    assert client.ids("s") == there.ids("s")
    cluster.network.is_open = False
    cluster.network.cut(replica)
    cluster.advance(200_000)
    assert len(there.do("XSCHEDULED s")) == 2
    there.do("REPLICAOF NO ONE")
    cluster.advance(1)
    assert values(there) == [b"3", b"2", b"1"]
    assert there.do("XSCHEDULED s") == []


def test_a_primary_that_becomes_a_replica_adds_nothing(server: InProcessServer) -> None:
    client = Talk(server)
    client.all("XADD s DELAY 100 * f v", "REPLICAOF 127.0.0.1 1")
    server.advance(1000)
    assert client.do("XLEN s") == 0
    client.do("REPLICAOF NO ONE")
    server.advance(1)
    assert client.do("XLEN s") == 1


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("delay"), st.sampled_from([0, 1, 5, 30, 2000])),
        st.tuples(st.just("add"), st.just(0)),
        st.tuples(st.just("cancel"), st.integers(0, 9)),
        st.tuples(st.just("advance"), st.sampled_from([0, 1, 4, 25, 3000])),
        st.tuples(st.just("restart"), st.just(0)),
        st.tuples(st.just("rewrite"), st.just(0)),
    ),
    max_size=30,
)


@settings(max_examples=examples(100))
@given(steps=STEPS)
def test_a_stream_with_a_schedule_does_what_two_lists_do(steps: list[tuple[str, int]]) -> None:
    """Also over restarts; each entry is scheduled or in the stream, once."""
    server = InProcessServer(now_ms=NOW_MS, appendonly="yes", appendfsync="always")
    client = Talk(server)
    waiting, appeared = list[tuple[int, int]](), list[int]()
    given_tickets = number = 0
    for step, argument in steps:
        if step == "delay":
            number, given_tickets = number + 1, given_tickets + 1
            due_ms = server.now_ms + argument
            reply = client.do(f"XADD s DELAY {argument} * f {number}")
            assert reply == b"%d-%d" % (due_ms, given_tickets)
            waiting.append((due_ms, number))
        elif step == "add":
            number += 1
            client.do(f"XADD s * f {number}")
            appeared.append(number)
        elif step == "cancel" and waiting:
            waiting.sort()
            rows = client.do("XSCHEDULED s")
            place = argument % len(waiting)
            assert rows[place][1][1] == b"%d" % waiting.pop(place)[1]
            assert client.do(f"XUNSCHEDULE s {rows[place][0].decode()}") == 1
        elif step == "advance":
            server.advance(argument)
        elif step == "restart":
            server = server.restart(server.files.crash())
            client = Talk(server)
        elif step == "rewrite":
            client.raw("BGREWRITEAOF")
            server.tick()
        if step in ("advance", "restart", "rewrite"):
            server.tick()
            due = sorted(one for one in waiting if one[0] <= server.now_ms)
            appeared += [one[1] for one in due]
            waiting = [one for one in waiting if one not in due]
        assert [int(text) for text in values(client)] == appeared
        assert len(client.do("XSCHEDULED s")) == len(waiting)
