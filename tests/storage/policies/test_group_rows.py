"""The policies of groups as rows: what a row restores, and what is refused."""

from __future__ import annotations

import pytest

from storage.entries.entry_id import EntryIDs, make_id
from storage.groups.group import Group
from storage.policies.due_entries import DeliveryOptions
from storage.policies.rows import UnknownPolicy, restore, rows_of, texts_of
from storage.policies.stream_policy import StreamPolicy
from storage.stream import Stream

OPTIONS = DeliveryOptions(1000, (10, 20), 5, b"dead", b"bob", 7, 2000)
WORDS = (
    b"ACK-WAIT 1000 BACKOFF 10 20 MAX-DELIVERIES 5 DEAD-LETTER dead MAX-PENDING 7"
    b" CONSUMER-EXPIRY 2000"
).split()


def stream_with(number: int) -> tuple[Stream, Group]:
    """A stream with a group, of which a consumer has released entries."""
    stream = Stream()
    group = Group(b"g", 0)
    stream.add_group(group)
    stream.policy = StreamPolicy()
    ids = [make_id(place, 1) for place in range(1, number + 1)]
    group.deliver(group.create_consumer(b"a", 5), EntryIDs.of(ids), 5)
    group.make_policy()
    rows = [row for row in group.pending.rows_of(ids) if row is not None]
    group.release_all(rows, [1] * number, [900] * number)
    return stream, group


def test_rows_have_options_delays_reasons_and_counters() -> None:
    stream, group = stream_with(2)
    policy = group.make_policy()
    policy.configure(OPTIONS)
    policy.set_reason([make_id(2, 1)], b"no route")
    policy.redelivered, policy.consumers_expired = 3, 4
    assert list(rows_of(stream)) == [
        [b"group", b"g", b"bob", *WORDS],
        [b"delays", b"g", b"1-1", b"900", b"2-1", b"900"],
        [b"reasons", b"g", b"2-1", b"no route"],
        [b"deliveries", b"g", b"3", b"0", b"0", b"0", b"4"],
    ]


def test_rows_restore_what_they_were_made_of() -> None:
    stream, group = stream_with(1200)
    policy = group.make_policy()
    policy.configure(OPTIONS)
    policy.set_reason([row[0] for row in group.pending.rows_from(0)], b"x" * 512)
    policy.dead_lettered = 9
    twin, _ = stream_with(1200)
    for row in rows_of(stream):
        restore(twin, row)
    assert list(rows_of(twin)) == list(rows_of(stream))
    assert all(len(text) <= 64 * 1024 for text in texts_of(stream))


def test_a_group_without_policy_has_no_rows() -> None:
    stream, group = stream_with(0)
    group.end_policy()
    assert list(rows_of(stream)) == []


def test_options_that_are_all_off_end_a_policy() -> None:
    stream, group = stream_with(0)
    group.make_policy().configure(OPTIONS)
    restore(stream, [b"group", b"g", b"", *DeliveryOptions().words()])
    assert group.policy is None


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([b"group", b"none", b"", *WORDS], "no group"),
        ([b"group", b"g", b"", b"FILTER", *WORDS[1:]], "options of a group"),
        ([b"group", b"g", b"", b"ACK-WAIT", b"x", *WORDS[2:]], "invalid literal"),
        ([b"group", b"g"], "not enough values"),
        ([b"delays", b"g", b"1-1"], "shorter"),
        ([b"delays", b"g", b"x", b"5"], "is no ID"),
        ([b"deliveries", b"g", b"1"], "zip"),
    ],
)
def test_what_cannot_be_read_is_refused(row: list[bytes], reason: str) -> None:
    stream, _ = stream_with(1)
    with pytest.raises(UnknownPolicy, match=reason):
        restore(stream, row)


def test_rows_say_what_is_reserved_and_how_far_entries_were_looked_at() -> None:
    stream, group = stream_with(3)
    group.make_policy().configure(DeliveryOptions(1000, key_field=b"k", key_lookahead=5))
    keys = group.make_policy().keys
    assert keys is not None
    alice = group.consumers[b"a"]
    group.reserve(alice, [make_id(4, 1), make_id(5, 1)])
    keys.mark([make_id(number, 1) for number in (1, 4, 5, 6)])  # 1 was released, 6 is not pending
    keys.set_position(make_id(9, 1))
    keys.pass_over(b"hot", make_id(7, 1))
    rows = [row for row in rows_of(stream) if row[0] != b"delays"]
    assert rows == [
        [
            b"group", b"g", b"", *WORDS[:2], b"BACKOFF", b"0", b"MAX-DELIVERIES", b"0",
            b"DEAD-LETTER", b"", b"MAX-PENDING", b"0", b"CONSUMER-EXPIRY", b"0", b"KEY-FIELD", b"k",
            b"KEY-LOOKAHEAD", b"5", b"KEY-LOOKAHEAD-KEY", b"0",
        ],
        [b"reserved", b"g", b"4-1", b"5-1"],
        [b"ahead", b"g", b"9-1"],
        [b"passed", b"g", b"hot", b"7-1"],
    ]  # fmt: skip
    other, twin = stream_with(3)
    twin.reserve(twin.consumers[b"a"], [make_id(4, 1), make_id(5, 1)])
    for row in rows:
        restore(other, row)
    assert [row for row in rows_of(other) if row[0] != b"delays"] == rows
    copy = group.copy()
    assert copy.policy is not None and copy.policy.keys is not None
    assert copy.policy.keys.reserved == {make_id(4, 1), make_id(5, 1)}
    assert copy.policy.keys.passed == {b"hot": make_id(7, 1)}


@pytest.mark.parametrize("row", [b"reserved g 1-1", b"ahead g 5-1", b"passed g hot 5-1"])
def test_rows_of_keys_need_a_key_field(row: bytes) -> None:
    stream, _ = stream_with(1)
    with pytest.raises(UnknownPolicy, match="KEY-FIELD"):
        restore(stream, row.split())
