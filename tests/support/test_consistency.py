"""The checker of streams finds what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from storage.entries.entry_id import MAX_ID, MIN_ID, EntryIDs, make_id
from storage.groups.group import Consumer, Group
from storage.groups.pending_block import Block
from storage.idempotence import Idempotence
from storage.nodes.open_node import OpenNode
from storage.stream import Stream
from tests.support.consistency import contradictions


def whole() -> Stream:
    stream = Stream()
    for ms in range(1, 21):
        stream.append(make_id(ms, 0), [b"f", b"v"], 8, 4096)
    stream.delete(make_id(4, 0))
    group = stream.groups[b"g"] = Group(b"g", make_id(9, 0))
    for name in (b"a", b"b"):
        group.create_consumer(name, 5)
    group.deliver(group.consumers[b"a"], EntryIDs.of([1, 2, 3]), 50)
    group.deliver(group.consumers[b"b"], EntryIDs.of([4, 5]), 40)
    group.add(6, None, 0, 1)
    stream.idempotence = Idempotence()
    stream.idempotence.record(b"p", b"i", 1)
    return stream


def group_of(stream: Stream) -> Group:
    return stream.groups[b"g"]


def of(stream: Stream, name: bytes) -> Consumer:
    return group_of(stream).consumers[name]


def block_of(stream: Stream) -> Block:
    """The rows of the pending entries."""
    return group_of(stream).pending._blocks[0]


def lose_share(stream: Stream) -> None:
    of(stream, b"a").pending_count -= 1


def set_owner(stream: Stream) -> None:
    block_of(stream).owners[1] = of(stream, b"b")


def set_id(stream: Stream) -> None:
    block_of(stream).words[0] = 9


def set_time(stream: Stream) -> None:
    block_of(stream).words[-2] = 1  # the time in the last row


def set_count(stream: Stream) -> None:
    block_of(stream).large_counts[block_of(stream).id_at(0)] = -1


def turn_entries(stream: Stream) -> None:
    node = stream._tail
    assert node is not None
    ids, entries = (
        node.select_ids(MIN_ID, MAX_ID, node.live), node.select_entries(MIN_ID, MAX_ID)[::-1],
    )  # fmt: skip
    state = node.deleted, node.lost_end, node.entries_bytes
    stream._nodes.replace(OpenNode.filled(node.key, node.shape, ids, entries, *state))


BROKEN: dict[str, Callable[[Stream], object]] = {
    "length": lambda stream: setattr(stream, "length", 5),
    "last ID": lambda stream: setattr(stream, "last_id", make_id(19, 0)),
    "entries added": lambda stream: setattr(stream, "entries_added", 5),
    "an entry of another ID": turn_entries,
    "group name": lambda stream: setattr(group_of(stream), "name", b"h"),
    "entries read": lambda stream: setattr(group_of(stream), "entries_read", -2),
    "consumer name": lambda stream: setattr(of(stream, b"a"), "name", b"c"),
    "an entry of a consumer that is not pending": lambda stream: block_of(stream).cut(0, 1),
    "an entry that nobody has": lose_share,
    "an entry of another": set_owner,
    "an entry under another ID": set_id,
    "a delivery that the order does not know": set_time,
    "a negative count": set_count,
    "messages": lambda stream: setattr(stream.idempotence, "iids_tracked", 5),
    "limit of messages": lambda stream: setattr(stream.idempotence, "maxsize", 0),
}


def test_nothing_is_wrong_with_a_whole_stream() -> None:
    assert contradictions(whole()) == []
    assert contradictions(Stream()) == []


@pytest.mark.parametrize("what", BROKEN)
def test_a_contradiction_is_found(what: str) -> None:
    stream = whole()
    BROKEN[what](stream)
    assert contradictions(stream)
