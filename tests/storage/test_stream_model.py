"""A stream and its groups beside a model: after any operations both are equal."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from storage.entries.entry_id import MAX_ID, MIN_ID, EntryIDs, format_id
from storage.groups.group import MAX_DELIVERIES, Consumer, Group, References, Traces
from storage.nodes.frozen_node import FrozenNode
from storage.range_deletion import RangeDeletion
from storage.stream import (
    MAX_COUNT,
    Stream,
    advance_group,
    lag,
    set_entries_added,
    set_entries_read,
)
from tests.storage.stream_model import ModelEntry, ModelGroup, StreamModel
from tests.support.consistency import contradictions
from tests.support.examples import examples

GROUPS = st.sampled_from([b"one", b"two"])
CONSUMERS = st.sampled_from([b"alice", b"bob", b"carol"])
# Mostly the next ID or millisecond; sometimes far away.
GAPS = st.sampled_from([1, 1, 1 << 64, 3 << 64, (1 << 64) - 1, 300 << 64, 1 << 100])
FIELDS = st.lists(st.binary(max_size=6), min_size=2, max_size=6).map(
    lambda parts: parts[: len(parts) // 2 * 2]
)
LIMITS = st.sampled_from([0, 0, 1, 2, 10, 15])
REFERENCES = st.sampled_from([References.KEEP, References.DELETE, References.ACKED])
COUNTS = st.sampled_from([-1, 0, 1, 3, 10, 100])


def wire(entries: list[ModelEntry]) -> bytes:
    parts = []
    for entry in entries:
        id_text = format_id(entry.entry_id)
        parts.append(b"*2\r\n$%d\r\n%b\r\n*%d\r\n" % (len(id_text), id_text, len(entry.fields)))
        parts += [b"$%d\r\n%b\r\n" % (len(part), part) for part in entry.fields]
    return b"".join(parts)


class StreamMachine(RuleBasedStateMachine):
    """Does the same to a Stream and to a StreamModel."""

    def __init__(self) -> None:
        super().__init__()
        self.stream = Stream()
        self.model = StreamModel()
        self.node_entries = 100
        self.now_ms = 1000

    def teardown(self) -> None:
        assert contradictions(self.stream) == []

    @initialize(
        node_entries=st.sampled_from([1, 2, 10, 100]),
        start=st.sampled_from([0, 1 << 90]),
        with_groups=st.booleans(),
    )
    def choose(self, node_entries: int, start: int, with_groups: bool) -> None:
        self.node_entries = node_entries
        self.stream.last_id = self.model.last_id = start
        if with_groups:
            for name in (b"one", b"two"):
                self.stream.groups[name] = Group(name, start, 0)
                self.model.groups[name] = ModelGroup(start, 0)

    def some_id(self, data: st.DataObject) -> int:
        """An ID at, beside or far from one that is or was there."""
        known = [entry.entry_id for node in self.model.nodes for entry in node]
        near = st.sampled_from([MIN_ID, MAX_ID, self.model.last_id, *known])
        moved = data.draw(near) + data.draw(st.sampled_from([0, 0, 0, -1, 1]))
        return min(max(moved, MIN_ID), MAX_ID)

    # -- entries -------------------------------------------------------------------------------

    @rule(gap=GAPS, fields=FIELDS, repeats=st.sampled_from([1, 1, 5, 25]))
    def append(self, gap: int, fields: list[bytes], repeats: int) -> None:
        for _ in range(repeats):
            entry_id = self.model.last_id + gap
            if entry_id > MAX_ID:
                return
            reply = self.stream.append(entry_id, fields, self.node_entries, 0)
            id_text = format_id(entry_id)
            assert reply == b"$%d\r\n%b\r\n" % (len(id_text), id_text)
            self.model.append(entry_id, fields, self.node_entries)

    @rule(count=st.sampled_from([5, 9, 12, 30]))
    def append_many(self, count: int) -> None:
        self.append(1, [b"f", b"v"], count)

    @rule(data=st.data(), count=st.sampled_from([1, 1, 2, 12]))
    def delete(self, data: st.DataObject, count: int) -> None:
        for _ in range(count):
            entry_id = self.some_id(data)
            assert self.stream.delete(entry_id) == self.model.delete(entry_id)

    @rule(data=st.data(), share=st.sampled_from([0.2, 0.5, 1.0]))
    def delete_all(self, data: st.DataObject, share: float) -> None:
        """A stretch of entries, with gaps, and IDs that are none of these."""
        known = [entry.entry_id for node in self.model.nodes for entry in node]
        start = data.draw(st.integers(0, len(known)))
        stretch = known[start : start + data.draw(st.integers(1, 40))]
        chosen = {entry_id for entry_id in stretch if data.draw(st.floats(0, 1)) <= share}
        ids = sorted({self.some_id(data), self.some_id(data)} | chosen)
        expected = [entry_id for entry_id in ids if self.model.delete(entry_id)]
        assert self.stream.delete_all(ids) == expected

    @rule(data=st.data(), count=st.sampled_from([1, 3, 10, 25, 1000]), references=REFERENCES)
    def delete_range(self, data: st.DataObject, count: int, references: References) -> None:
        start, end = self.some_id(data), self.some_id(data)
        known = [entry.entry_id for entry in self.model.entries()]
        deletion = RangeDeletion(self.stream, start, end, count, references)
        removed = list(deletion.ids())
        deletion.apply(Traces())
        assert removed == self.model.delete_range(start, end, count, references)
        assert deletion.count == len(removed)
        if removed:
            assert deletion.last_id == removed[-1]
            assert deletion.is_head == (removed == known[: len(removed)])

    @rule(
        surplus=st.sampled_from([0, 1, 1, 2, 3, 5, 9, 10, 11, 50]),
        approximate=st.booleans(),
        limit=LIMITS,
        references=REFERENCES,
    )
    def trim_to_length(
        self, surplus: int, approximate: bool, limit: int, references: References
    ) -> None:
        limit = limit if approximate else 0
        max_length = max(0, self.model.length - surplus)
        removed = self.stream.trim_to_length(
            max_length, approximate=approximate, limit=limit, references=references
        )
        if references is References.KEEP:
            expected = self.model.trim_to_length(max_length, approximate, limit)
        else:
            expected = self.model.trim_by_references(MAX_ID + 1, max_length, limit, references)
        assert removed == expected

    @rule(data=st.data(), approximate=st.booleans(), limit=LIMITS, references=REFERENCES)
    def trim_before(
        self, data: st.DataObject, approximate: bool, limit: int, references: References
    ) -> None:
        limit = limit if approximate else 0
        min_id = self.some_id(data)
        removed = self.stream.trim_before(
            min_id, approximate=approximate, limit=limit, references=references
        )
        if references is References.KEEP:
            expected = self.model.trim_before(min_id, approximate, limit)
        else:
            expected = self.model.trim_by_references(min_id, 0, limit, references)
        assert removed == expected

    @rule(data=st.data())
    def drop_references(self, data: st.DataObject) -> None:
        entry_id = self.some_id(data)
        is_referenced = not self.stream.unreferenced([entry_id])
        assert is_referenced == self.model.is_referenced(entry_id)
        assert self.stream.drop_references([entry_id]) == self.model.drop_references(entry_id)

    @rule(data=st.data())
    def set_last_id(self, data: st.DataObject) -> None:
        """XSETID, which may go back to the last entry or the last deletion."""
        entries = self.model.entries()
        lowest = max(self.model.max_deleted_id, entries[-1].entry_id if entries else MIN_ID)
        self.stream.last_id = self.model.last_id = max(lowest, self.some_id(data))

    @rule(surplus=st.sampled_from([0, 1, 30]))
    def set_entries_added(self, surplus: int) -> None:
        """XSETID with ENTRIESADDED, which may be less than groups have read."""
        self.model.entries_added = self.model.length + surplus
        set_entries_added(self.stream, self.model.entries_added)
        for group in self.model.groups.values():
            group.entries_read = min(group.entries_read, self.model.entries_added)

    @rule(data=st.data(), count=COUNTS, max_bytes=st.sampled_from([0, 1, 30, 60, 200, 1000]))
    def read_within(self, data: st.DataObject, count: int, max_bytes: int) -> None:
        start = self.some_id(data)
        expected: list[ModelEntry] = []
        for entry in self.model.range(start, MAX_ID, count):
            if len(wire(expected)) < max_bytes:
                expected.append(entry)
        ids = EntryIDs()
        chunks, used_bytes = self.stream.read_within(ids, start, count, max_bytes)
        assert ids == [entry.entry_id for entry in expected]
        assert b"".join(chunks) == wire(expected)
        assert used_bytes == len(wire(expected))

    @rule(data=st.data(), count=COUNTS)
    def read(self, data: st.DataObject, count: int) -> None:
        start, end = self.some_id(data), self.some_id(data)
        expected = self.model.range(start, end, count)
        ids = [entry.entry_id for entry in expected]
        found, chunks = self.stream.range(start, end, count)
        assert (found, b"".join(chunks)) == (len(expected), wire(expected))
        assert self.stream.ids(start, end, count) == ids
        read = EntryIDs()
        chunks = self.stream.read_from(read, start, count)
        expected = self.model.range(start, MAX_ID, count)
        assert read == [entry.entry_id for entry in expected]
        assert b"".join(chunks) == wire(expected)
        expected = self.model.reverse_range(end, start, count)
        found, chunks = self.stream.reverse_range(end, start, count)
        assert (found, b"".join(chunks)) == (len(expected), wire(expected))

    @rule(data=st.data())
    def look_up(self, data: st.DataObject) -> None:
        entry_id = self.some_id(data)
        expected = wire(self.model.range(entry_id, entry_id, -1)) or None
        assert self.stream.get(entry_id) == expected
        assert (entry_id in self.stream) == (expected is not None)
        ids = [self.some_id(data) for _ in range(3)]
        assert self.stream.entries_of(ids) == list(map(self.stream.get, ids))

    @rule(node_entries=st.sampled_from([1, 2, 10, 100]))
    def configure(self, node_entries: int) -> None:
        self.node_entries = node_entries

    @rule()
    def go_on_with_a_copy(self) -> None:
        original, self.stream = self.stream, self.stream.copy()
        # Whatever becomes of the original must not show in the copy.
        original.trim_to_length(original.length // 2)
        original.delete(original.first_id)
        for group in original.groups.values():
            for entry in list(group.pending.values()):
                if entry.entry_id % 3:
                    group.release(entry, entry.delivery_count + 100)
                else:
                    entry.delivery_count += 100
        original.release()

    # -- groups --------------------------------------------------------------------------------

    @rule(name=GROUPS, data=st.data(), known=st.booleans())
    def create_group(self, name: bytes, data: st.DataObject, known: bool) -> None:
        if name not in self.model.groups:
            start = data.draw(st.just(MIN_ID)) if known else self.some_id(data)
            entries_read = 0 if known else -1
            self.stream.groups[name] = Group(name, start, entries_read)
            self.model.groups[name] = ModelGroup(start, entries_read)

    def groups(self, name: bytes) -> tuple[Group, ModelGroup] | None:
        if name not in self.model.groups:
            return None
        return self.stream.groups[name], self.model.groups[name]

    def consumer(self, group: Group, model: ModelGroup, name: bytes) -> Consumer:
        """The consumer, made where it is missing."""
        model.consumers.add(name)
        known = group.consumers.get(name)
        return known if known is not None else group.create_consumer(name, self.now_ms)

    @rule(name=GROUPS, consumer=CONSUMERS, count=st.sampled_from([1, 2, 10, -1]))
    def deliver(self, name: bytes, consumer: bytes, count: int) -> None:
        pair = self.groups(name)
        if pair is None:
            return
        group, model = pair
        self.now_ms += 1
        reader = self.consumer(group, model, consumer)
        start = min(group.last_delivered_id + 1, MAX_ID)
        if start == group.last_delivered_id:
            return  # nothing can come after the greatest ID
        ids = self.stream.ids(start, MAX_ID, count)
        group.deliver(reader, ids, self.now_ms)
        advance_group(self.stream, group, ids)
        assert ids == self.model.deliver_new(name, consumer, count, self.now_ms)

    @rule(count=st.sampled_from([1, 5, 12, -1]), kept=st.sets(st.integers(0, 11), max_size=4))
    def work(self, count: int, kept: set[int]) -> None:
        """All groups read and acknowledge, but for some entries."""
        for name, model in self.model.groups.items():
            self.deliver(name, b"alice", count)
            for position, entry_id in enumerate(sorted(model.pending)):
                if position not in kept:
                    assert self.stream.groups[name].acknowledge(entry_id)
                    model.drop(entry_id)

    @rule(name=GROUPS, data=st.data())
    def set_group_id(self, name: bytes, data: st.DataObject) -> None:
        """XGROUP SETID, mostly with an ENTRIESREAD that is wrong."""
        if pair := self.groups(name):
            group, model = pair
            entries_read = data.draw(st.sampled_from([-1, 0, 5, MAX_COUNT]))
            group.last_delivered_id = model.last_delivered_id = self.some_id(data)
            set_entries_read(self.stream, group, entries_read)
            model.entries_read = min(entries_read, self.model.entries_added)

    def pending_id(self, data: st.DataObject, model: ModelGroup) -> int:
        pending = sorted(model.pending)
        return data.draw(st.sampled_from(pending)) if pending else self.some_id(data)

    @rule(name=GROUPS, data=st.data(), count=st.integers(1, 8))
    def acknowledge(self, name: bytes, data: st.DataObject, count: int) -> None:
        if pair := self.groups(name):
            group, model = pair
            for _ in range(count):
                entry_id = self.pending_id(data, model)
                assert group.acknowledge(entry_id) == model.drop(entry_id)

    @rule(name=GROUPS, data=st.data(), count=st.integers(1, 8))
    def acknowledge_all(self, name: bytes, data: st.DataObject, count: int) -> None:
        if pair := self.groups(name):
            group, model = pair
            ids = [self.pending_id(data, model) for _ in range(count)]
            assert group.acknowledge_all(EntryIDs.of(ids)) == sum(map(model.drop, ids))

    @rule(
        name=GROUPS,
        consumer=CONSUMERS,
        data=st.data(),
        age_ms=st.sampled_from([0, 0, 1, 3, 50, 1000]),
        count=st.sampled_from([0, 1, 7, MAX_DELIVERIES, MAX_DELIVERIES + 1]),
    )
    def claim(
        self, name: bytes, consumer: bytes, data: st.DataObject, age_ms: int, count: int
    ) -> None:
        """XCLAIM with TIME, RETRYCOUNT and FORCE."""
        if pair := self.groups(name):
            group, model = pair
            entry_id = self.pending_id(data, model)
            claimer = self.consumer(group, model, consumer)
            delivery_ms = max(0, self.now_ms - age_ms)
            entry = group.pending.get(entry_id)
            if entry is not None:
                group.claim(entry, claimer, delivery_ms, count)
            else:
                group.add(entry_id, claimer, delivery_ms, count)
            model.claim(entry_id, consumer, delivery_ms, min(count, MAX_DELIVERIES))

    @rule(name=GROUPS, data=st.data(), count=st.sampled_from([0, 3, MAX_DELIVERIES]))
    def release(self, name: bytes, data: st.DataObject, count: int) -> None:
        """XNACK with FORCE."""
        if pair := self.groups(name):
            group, model = pair
            entry_id = self.pending_id(data, model)
            entry = group.pending.get(entry_id)
            if entry is not None:
                group.release(entry, count)
            else:
                group.add(entry_id, None, self.now_ms, count)
            model.release(entry_id, count)

    @rule(name=GROUPS, consumer=CONSUMERS, heir=CONSUMERS)
    def transfer(self, name: bytes, consumer: bytes, heir: bytes) -> None:
        """XGROUP DELCONSUMER with TRANSFER, without the deletion."""
        pair = self.groups(name)
        if pair is None or consumer not in pair[0].consumers or consumer == heir:
            return
        group, model = pair
        rows = list(group.consumers[consumer].pending.rows_from(MIN_ID))
        there = self.stream.existing([row[0] for row in rows])
        assert there == [row[0] for row in rows if row[0] in self.stream]
        group.transfer(rows, self.consumer(group, model, heir))
        self.model.transfer(name, consumer, heir)

    @rule(name=GROUPS)
    def destroy_group(self, name: bytes) -> None:
        if name in self.model.groups:
            self.stream.groups.pop(name).disband()
            del self.model.groups[name]

    @rule(name=GROUPS, consumer=CONSUMERS)
    def delete_consumer(self, name: bytes, consumer: bytes) -> None:
        if pair := self.groups(name):
            dropped = pair[0].delete_consumer(consumer)
            assert dropped == self.model.delete_consumer(name, consumer)

    # -- what must always hold -----------------------------------------------------------------

    @invariant()
    def counters_agree(self) -> None:
        stream, model = self.stream, self.model
        assert stream.length == model.length
        assert (stream.first_id, stream.last_id) == (model.first_id, model.last_id)
        assert stream.max_deleted_id == model.max_deleted_id
        assert stream.entries_added == model.entries_added
        entries = model.entries()
        assert stream.last_live_id == (entries[-1].entry_id if entries else MIN_ID)

    @invariant()
    def nodes_agree(self) -> None:
        expected = [
            (node[0].entry_id, self.model.live(node), len(node)) for node in self.model.nodes
        ]
        nodes = [
            (node.key, node.live, node.live + node.deleted) for node in self.stream.iter_nodes()
        ]
        assert nodes == expected
        assert self.stream.node_count == len(expected)

    @invariant()
    def contents_agree(self) -> None:
        entries = self.model.entries()
        found, chunks = self.stream.range(MIN_ID, MAX_ID)
        assert (found, b"".join(chunks)) == (len(entries), wire(entries))

    @invariant()
    def groups_agree(self) -> None:
        assert self.stream.groups.keys() == self.model.groups.keys()
        for name, model in self.model.groups.items():
            group = self.stream.groups[name]
            assert group.last_delivered_id == model.last_delivered_id
            assert group.entries_read == model.entries_read
            assert lag(self.stream, group) == self.model.lag(model)
            assert group.consumers.keys() == model.consumers
            pending = {
                entry_id: (
                    entry.consumer and entry.consumer.name,
                    entry.delivery_ms,
                    entry.delivery_count,
                )
                for entry_id, entry in group.pending.items()
            }
            assert list(pending) == sorted(model.pending)
            assert pending == {
                entry_id: (entry.consumer, entry.delivery_ms, entry.delivery_count)
                for entry_id, entry in model.pending.items()
            }
            assert [entry.entry_id for entry in group.nacked()] == model.released
            assert group.nacked_count == len(model.released)

    @invariant()
    def a_pel_is_the_union_of_what_consumers_own_and_what_nobody_does(self) -> None:
        for group in self.stream.groups.values():
            union = [entry for c in group.consumers.values() for entry in c.pending.values()]
            assert len(union) + group.nacked_count == len(group.pending)
            for consumer in group.consumers.values():
                for entry_id, entry in consumer.pending.items():
                    assert entry.consumer is consumer
                    assert group.pending.get(entry_id) == entry

    @precondition(lambda self: self.stream.node_count > 1)
    @invariant()
    def full_nodes_are_frozen_unless_little_is_left(self) -> None:
        *full, _ = self.stream.iter_nodes()
        for node in full:
            size = node.live + node.deleted
            assert isinstance(node, FrozenNode) or node.live < size / 10


def test_a_stream_does_what_its_model_does() -> None:
    run_state_machine_as_test(
        StreamMachine, settings=settings(max_examples=examples(150), stateful_step_count=50)
    )
