"""What commands share that hand entries to consumers."""

from __future__ import annotations

import pytest

from commands.core.client import Client
from commands.streams.groups import delivery
from protocol.requests import Argv
from storage.entries.entry_id import EntryIDs, make_id
from storage.groups.group import Group
from tests.commands.streams.talk import NOW_MS, Talk


@pytest.fixture
def state(client: Talk) -> Client:
    return client.client.state


def propagated(client: Talk) -> list[Argv]:
    """The requests of one unit that were propagated."""
    client.server.instance.propagation.end_unit()
    ((_, unit),) = client.server.propagated
    return unit[1:-1] if len(unit) > 1 else unit


def test_a_consumer_is_created_at_its_first_attempt_only(
    state: Client, events: list[tuple[str, str]]
) -> None:
    group = Group(b"g", 0)
    first = delivery.seen_consumer(state, b"s", group, b"c")
    assert delivery.seen_consumer(state, b"s", group, b"c") is first
    assert events == [("xgroup-createconsumer", "s")]
    assert state.instance.dirty == 1


def test_each_attempt_is_seen(state: Client) -> None:
    group = Group(b"g", 0)
    consumer = delivery.seen_consumer(state, b"s", group, b"c")
    assert consumer.seen_ms == state.instance.now_ms
    state.instance.now_ms += 5
    delivery.seen_consumer(state, b"s", group, b"c")
    assert consumer.seen_ms == state.instance.now_ms


def test_a_change_of_a_group_counts_and_invalidates_caches_but_fails_no_transaction(
    client: Talk, resp3: Talk
) -> None:
    client.all("XADD s 1-1 f v", "XGROUP CREATE s g 0", "XREADGROUP GROUP g c STREAMS s >")
    resp3.all("CLIENT TRACKING ON", "XPENDING s g", "WATCH s")
    dirty = client.server.instance.dirty
    client.do("XACK s g 1-1")
    assert client.server.instance.dirty == dirty + 1
    assert resp3.client.received() == b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\ns\r\n"
    resp3.do("MULTI")
    assert resp3.raw("EXEC") == b"*0\r\n"


def test_pending_entries_are_propagated_as_the_claims_that_would_make_them(
    client: Talk, state: Client
) -> None:
    """Neighbours that come to the same share one."""
    group = Group(b"g", make_id(9, 0))
    consumer = group.create_consumer(b"c", NOW_MS)
    ids = [make_id(5, 7), make_id(4, 0), make_id(8, 0), make_id(9, 0)]
    run = ids, NOW_MS - 10, [3, 3, 4, 3]
    delivery.propagate_claims(state, b"s", group, consumer, *run)
    rest = b"TIME 1699999999990 RETRYCOUNT %d FORCE JUSTID LASTID 9-0"
    assert propagated(client) == [
        (b"XCLAIM s g c 0 5-7 4-0 " + rest % 3).split(),
        (b"XCLAIM s g c 0 8-0 " + rest % 4).split(),
        (b"XCLAIM s g c 0 9-0 " + rest % 3).split(),
    ]


def test_requests_of_many_ids_are_cut(client: Talk, state: Client) -> None:
    group = Group(b"g", make_id(9, 0))
    consumer = group.create_consumer(b"c", NOW_MS)
    delivery.propagate_delivery(state, b"s", group, consumer, EntryIDs.of(range(2500)), NOW_MS)
    requests = propagated(client)
    counts = [len(request) - len(b"XCLAIM s g c 0 TIME".split()) for request in requests]
    assert counts == [1000 + 7, 1000 + 7, 500 + 7]
    ids = [text for request in requests for text in request if text[:2] == b"0-"]
    assert ids == [b"0-%d" % number for number in range(2500)]


def test_an_unknown_number_of_entries_read_is_propagated_as_minus_one(
    client: Talk, state: Client
) -> None:
    delivery.propagate_position(state, b"s", Group(b"g", make_id(9, 0)))
    assert propagated(client) == [b"XGROUP SETID s g 9-0 ENTRIESREAD -1".split()]
