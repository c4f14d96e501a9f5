"""Runs of XCLAIM and XACK: the same result as from the handlers, or nothing done."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands.registry import COMMANDS, Argv
from protocol.errors import ReplyError
from server.inprocess import InProcessServer, to_argv
from server.persistence.delivery_runs import (
    find_acks_end,
    find_claims_end,
    take_acks,
    take_claims,
)
from server.persistence.replay import Replay
from storage.append_only.reader import Batch
from storage.entry_id import format_id
from storage.group import Group
from storage.stream import Stream
from tests.support.consistency import contradictions
from tests.support.replaying import replaying_client

ENTRIES = 30
TIMES = st.sampled_from([b"1000", b"1000", b"2000", b"0", b"-5", b"9" * 16, b"x"])


def server_with_a_group() -> InProcessServer:
    """Entries 1-0 to 30-0 of `s`, without 11-0; its groups `g` and `h` have read none."""
    server = InProcessServer(stream_node_max_entries="7")
    client = server.connect()
    for number in range(1, ENTRIES + 1):
        client.execute("XADD", "s", f"{number}-0", "f", "v")
    client.execute("XDEL", "s", "11-0")
    client.execute("XGROUP", "CREATE", "s", "g", "0")
    client.execute("XGROUP", "CREATE", "s", "h", "12-0")
    client.execute("SET", "text", "no stream")
    return server


def claim(
    entry_id: bytes,
    *,
    consumer: bytes = b"c",
    group: bytes = b"g",
    key: bytes = b"s",
    time: bytes = b"1000",
    count: bytes = b"1",
    last_id: bytes | None = None,
) -> Argv:
    """As a delivery is in a file."""
    return [
        *(b"XCLAIM", key, group, consumer, b"0", entry_id, b"TIME", time),
        *(b"RETRYCOUNT", count, b"FORCE", b"JUSTID", b"LASTID", last_id or entry_id),
    ]


def run_by_handlers(server: InProcessServer, requests: list[Argv]) -> None:
    client = replaying_client(server)
    for argv in requests:
        handler = COMMANDS[argv[0].lower()].handler
        if handler is not None and argv[0] not in (b"MULTI", b"EXEC"):
            with contextlib.suppress(ReplyError):
                handler(client, list(argv))


def stream_of(server: InProcessServer) -> Stream:
    stream = server.instance.databases[0].get(b"s")
    assert isinstance(stream, Stream)
    return stream


def group_state(group: Group) -> object:
    pending = [
        (entry_id, entry.consumer and entry.consumer.name, entry.delivery_ms, entry.delivery_count)
        for entry_id, entry in group.pending.items()
    ]
    order = [format_id(row[0]) for row in group.claimable(0, 0)]
    consumers = [
        (name, consumer.seen_ms, consumer.active_ms, list(consumer.pending))
        for name, consumer in group.consumers.items()
    ]
    return pending, order, consumers, group.last_delivered_id, group.entries_read


def state(server: InProcessServer) -> object:
    groups = stream_of(server).groups
    return {name: group_state(group) for name, group in groups.items()}, server.instance.dirty


@st.composite
def traffic(draw: st.DrawFn) -> list[Argv]:
    """Deliveries and acknowledgements as they may be in a file, most of them plain."""
    requests: list[Argv] = []
    number = 1
    for _ in range(draw(st.integers(1, 12))):
        size = draw(st.integers(1, 6))
        first = draw(st.integers(1, ENTRIES)) if draw(st.integers(0, 5)) == 0 else number
        ids = [b"%d-0" % (first + step) for step in range(size)]
        group = draw(st.sampled_from([b"g", b"g", b"g", b"h", b"none"]))
        if draw(st.booleans()):
            requests += [[b"XACK", b"s", group, entry_id] for entry_id in ids]
            continue
        consumer = draw(st.sampled_from([b"a", b"b"]))
        time, count = draw(TIMES), draw(st.sampled_from([b"1", b"1", b"1", b"7", b"-1"]))
        last_id = draw(st.sampled_from([None, None, ids[-1], b"3-0", b"x"]))
        claims = [
            claim(entry_id, consumer=consumer, group=group, time=time, count=count, last_id=last_id)
            for entry_id in ids
        ]
        is_unit = draw(st.booleans())
        requests += [[b"MULTI"], *claims, [b"EXEC"]] if is_unit else claims
        number = first + size
    return requests


@settings(deadline=None)
@given(traffic())
def test_a_replay_gives_what_the_handlers_give_one_by_one(requests: list[Argv]) -> None:
    replayed, handled = server_with_a_group(), server_with_a_group()
    Replay(replayed.instance, "file").run(Batch(0, 0, [list(argv) for argv in requests]))
    run_by_handlers(handled, requests)
    assert state(replayed) == state(handled)
    assert contradictions(stream_of(replayed)) == []


def test_a_plain_run_is_a_delivery() -> None:
    server = server_with_a_group()
    run = [claim(b"%d-0" % number) for number in (1, 2, 3)]
    assert find_claims_end(run, 0) == 3
    assert take_claims(replaying_client(server), run)
    client = server.connect()
    shown = client.execute("XPENDING", "s", "g", "IDLE", "0", "-", "+", "9")
    assert shown.startswith(b"*3\r\n")
    assert b"2-0" in shown
    assert stream_of(server).groups[b"g"].last_delivered_id == 3 << 64
    # The consumer, three times LASTID, three entries.
    assert server.instance.dirty == server_with_a_group().instance.dirty + 7


@pytest.mark.parametrize(
    "odd",
    [
        claim(b"1-0"),  # not above the one before
        claim(b"4-0"),  # one is left out
        claim(b"11-0"),  # its entry is gone
        claim(b"99-0"),  # there never was one
        claim(b"9"),
        claim(b"9-0", last_id=b"20-0"),
    ],
)
def test_a_run_that_holds_something_else_is_left_alone(odd: Argv) -> None:
    server = server_with_a_group()
    run = [claim(b"1-0"), claim(b"2-0"), odd]
    before = state(server)
    assert not take_claims(replaying_client(server), run)
    assert state(server) == before


@pytest.mark.parametrize(
    "other",
    [
        claim(b"3-0", consumer=b"d"),
        claim(b"3-0", group=b"h"),
        claim(b"3-0", key=b"t"),
        claim(b"3-0", time=b"2000"),
        [*claim(b"3-0"), b"JUSTID"],
        claim(b"3-0")[:-2],
        [b"XACK", b"s", b"g", b"1-0"],
    ],
)
def test_a_run_ends_where_another_delivery_begins(other: Argv) -> None:
    assert find_claims_end([claim(b"1-0"), claim(b"2-0"), other], 0) == 2


@pytest.mark.parametrize(
    "odd",
    [
        claim(b"1-0", count=b"2"),
        [word if word != b"FORCE" else b"force" for word in claim(b"1-0")],
        [word if word != b"0" else b"5" for word in claim(b"1-0")],
    ],
)
def test_what_is_no_delivery_begins_no_run(odd: Argv) -> None:
    assert find_claims_end([odd, odd], 0) == 0


@pytest.mark.parametrize(("key", "group"), [(b"text", b"g"), (b"none", b"g"), (b"s", b"none")])
def test_without_stream_or_group_the_handlers_refuse(key: bytes, group: bytes) -> None:
    client = replaying_client(server_with_a_group())
    assert not take_claims(client, [claim(b"1-0", key=key, group=group)])
    assert not take_acks(client, [[b"XACK", key, group, b"1-0"]])


def test_a_run_of_acknowledgements_counts_what_was_pending() -> None:
    server = server_with_a_group()
    server.connect().execute("XREADGROUP", "GROUP", "g", "c", "COUNT", 3, "STREAMS", "s", ">")
    dirty = server.instance.dirty
    run = [
        to_argv(words) for words in (("XACK", "s", "g", "1-0", "2-0"), ("XACK", "s", "g", "2-0"))
    ]
    assert find_acks_end(run, 0) == 2
    assert take_acks(replaying_client(server), run)
    assert list(stream_of(server).groups[b"g"].pending) == [3 << 64]
    assert server.instance.dirty == dirty + 2


def test_a_run_with_an_id_that_is_none_is_left_alone() -> None:
    server = server_with_a_group()
    server.connect().execute("XREADGROUP", "GROUP", "g", "c", "COUNT", 3, "STREAMS", "s", ">")
    before = state(server)
    run = [[b"XACK", b"s", b"g", b"1-0"], [b"XACK", b"s", b"g", b"x"]]
    assert not take_acks(replaying_client(server), run)
    assert state(server) == before


def test_one_acknowledgement_is_no_run() -> None:
    assert find_acks_end([[b"XACK", b"s", b"g", b"1-0"], [b"XACK", b"s", b"h", b"1-0"]], 0) == 0


def test_what_writes_down_who_acknowledged_is_left_to_the_handler() -> None:
    server = server_with_a_group()
    server.connect().execute("XCFGSET", "s", "ACK-JOURNAL", "journal")
    assert stream_of(server).ack_journal is not None
    assert not take_acks(replaying_client(server), [[b"XACK", b"s", b"g", b"1-0"]] * 2)
