"""A stream: entries in the order of their IDs, in nodes, with its consumer groups.

Entries are stored in the form in which they are sent (storage/entries/entry.py), so that a range
reply is a join of bytes. They are in nodes (storage/nodes/), whose boundaries are those of Redis.

Guarantees: IDs are ascending; `length`, `first_id`, `max_deleted_id` and `entries_added` are those
of Redis 7.4. Trimming never changes `max_deleted_id`.

The nodes of a stream that was loaded from a snapshot stay packed until they are first read. If one
turns out to be damaged, methods that need its content raise DamagedNode
(storage/nodes/listpack_node.py).

Leaves out: requests and replies (commands/streams), and the check that an appended ID is above
`last_id`, which is the caller's.

Entries-read and lag are the progress of groups in a stream (Redis 7.4). A group counts the entries
that it reads, as long as its position in the stream is known. If it is not, because the group was
set or entries were deleted, the stream's counters give it in some places: at the stream's ends, and
where nothing was deleted.

Guarantees: a group has never read more entries than were added, whatever number it was given and
whatever becomes of the stream's counter, so no lag is negative.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from operator import lt

import cython

from storage.entries.entry import decode_words, encode_fields, encode_id_parts
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, EntryIDs, id_ms, id_seq, make_id
from storage.entries.packed_form import Packing, Shape
from storage.groups.ack_journal import AckJournal
from storage.groups.group import UNKNOWN, Group, References, Traces
from storage.groups.pending_block import MemoryCounter
from storage.idempotence import Idempotence
from storage.keyspace.deferred_free import NODE_ITEMS, Discard, RemovedData
from storage.memory import allocated_bytes, instance_bytes
from storage.nodes.entry_cache import EntryCache
from storage.nodes.frozen_node import FrozenNode, Node, freeze
from storage.nodes.listpack_node import DamagedNode, ListpackNode
from storage.nodes.node_list import SPARSE_WANTED, AnyNode, NodeList, radix_node_count
from storage.nodes.open_node import EntryBuffer, OpenNode
from storage.nodes.ranges import PickedEntries, RangeSnapshot, Run, partition
from storage.policies.stream_policy import StreamPolicy
from storage.redis_format.listpack_elements import has_names
from storage.types.value import Value

# Where entries-added and entries-read stop: commands, files and replies have 64 bits with a sign.
# Redis goes on with negative numbers.
MAX_COUNT = 2**63 - 1


@cython.cclass
class Stream(Value):
    """One stream. XSETID and the snapshot reader set its plain attributes directly."""

    __slots__ = (
        "_first_id",
        "_first_live",
        "_first_node",
        "_groups_bytes",
        "_nodes",
        "_shape",
        "_tail",
        "_counter",
        "ack_journal",
        "entries_added",
        "groups",
        "idempotence",
        "last_id",
        "length",
        "max_deleted_id",
        "policy",
    )

    type_name = b"stream"

    def __init__(self) -> None:
        super().__init__()
        self.length = 0
        self.last_id: EntryID = MIN_ID  # the greatest ID there ever was, or what XSETID says
        self.max_deleted_id: EntryID = MIN_ID
        self.entries_added = 0
        self.groups: dict[bytes, Group] = {}  # changed by add_group and remove_group
        self._groups_bytes = _NO_GROUPS_BYTES
        self._counter: MemoryCounter = MemoryCounter()  # the memory of the groups
        self.idempotence: Idempotence | None = None  # None until there is an ID to remember
        self.ack_journal: AckJournal | None = None  # None unless acknowledgements are logged
        self.policy: StreamPolicy | None = None  # None unless it or one of its groups has one
        self._tail: OpenNode | None = None  # the last node, if it is open
        # The first node, how many entries it had, and the first ID, when that was looked up.
        self._first_node: FrozenNode | None = None
        self._first_live = 0
        self._first_id = MIN_ID
        self._shape = Shape([])  # of the first entry of the last node that was begun
        self._nodes = NodeList(self._shape.packing)

    # -- appending -----------------------------------------------------------------------------

    def append(
        self, entry_id: EntryID, fields: list[bytes], max_node_entries: int, max_node_bytes: int
    ) -> bytes:
        """append_raw() of a flat list of names and values."""
        return self.append_raw(
            id_ms(entry_id),
            id_seq(entry_id),
            encode_fields(fields),
            len(fields),
            max_node_entries,
            max_node_bytes,
        )

    def append_raw(
        self,
        ms: cython.ulonglong,
        seq: cython.ulonglong,
        fields: bytes,
        words: cython.Py_ssize_t,
        max_node_entries: cython.Py_ssize_t,
        max_node_bytes: cython.Py_ssize_t,
    ) -> bytes:
        """Add an entry; `fields` is `words` encoded bulk strings, names and values in turn.

        The limits are the directives stream-node-max-entries (0: none) and stream-node-max-bytes
        (0 or more than 1 GiB: 1 GiB). Returns the ID as an encoded bulk string, which is the reply
        to XADD.
        """
        id_bulk = encode_id_parts(ms, seq)
        tail: OpenNode | None = self._tail
        if tail is None or not tail.append(
            ms, seq, id_bulk, fields, words, max_node_entries, max_node_bytes
        ):
            self._append_elsewhere(
                ms, seq, id_bulk, fields, words, max_node_entries, max_node_bytes
            )
        self.last_id = make_id(ms, seq)
        self.length += 1
        if self.entries_added < MAX_COUNT:
            self.entries_added += 1
        return id_bulk

    def _append_elsewhere(
        self,
        ms: int,
        seq: int,
        id_bulk: bytes,
        fields: bytes,
        words: int,
        max_entries: int,
        max_bytes: int,
    ) -> None:
        """Add an entry to another node than the current tail, and make that node the tail."""
        if self._tail is None:
            reopened = self._reopened_last(max_entries)
            if reopened is not None and reopened.append(
                ms, seq, id_bulk, fields, words, max_entries, max_bytes
            ):
                self._nodes.replace(reopened)
                self._tail = reopened
                return
        if not has_names(fields, self._shape.names):
            self._shape = Shape(decode_words(fields, words)[::2], self._shape.packing)
        tail = OpenNode(make_id(ms, seq), self._shape, self._freeze_tail())
        tail.append(ms, seq, id_bulk, fields, words, max_entries, max_bytes)
        self._nodes.append(tail)
        self._tail = tail

    def _freeze_tail(self) -> EntryBuffer | None:
        """Freeze the last node, if it is open; its buffer, if another node may have that."""
        tail = self._tail
        if tail is None:
            return None
        frozen = freeze(tail)
        self._nodes.replace_last(frozen)
        self._tail = None
        if frozen is tail:
            tail.close()
            return None
        return tail.hand_over()

    def _reopened_last(self, max_entries: int) -> OpenNode | None:
        """The last node, reopened, if it is not open but may have room for another entry.

        That is so after all later nodes were removed, because Redis then appends to the node that
        is now the last, and after a load from a snapshot.
        """
        last = self._nodes.peek_last()
        if last is None or 0 < max_entries <= last.live + last.deleted:
            return None
        try:
            node = self._nodes.open(last)
        except DamagedNode:
            return None
        return node if isinstance(node, OpenNode) else node.reopen()

    # -- reading -------------------------------------------------------------------------------
    # A range is inclusive at both ends, and a negative count means all of it. In wire form it is
    # (number of entries, chunks), where the chunks join to the entries one after the other.

    @property
    def first_id(self) -> EntryID:
        """The smallest ID there is; 0-0 if the stream is empty."""
        return self._find_first()

    def begins_after(self, entry_id: EntryID) -> bool:
        """Return True if there are entries, and all have greater IDs than this one."""
        return entry_id < self._find_first()

    def _find_first(self) -> EntryID:
        # Groups ask at each read. What is full only loses entries: if it has as many as when it
        # was looked at, it begins with the same one.
        first = self._nodes.peek_first()
        known: FrozenNode | None = self._first_node
        if known is not None and known is first and known.live == self._first_live:
            return self._first_id
        if first is not None and first is self._tail:  # the only node
            return first.first_id
        if first is None:
            return MIN_ID
        first_id = self._first_id_of(first)
        node = self._nodes.peek_first()
        if type(node) is FrozenNode:
            self._first_node, self._first_live, self._first_id = node, node.live, first_id
        return first_id

    def _first_id_of(self, node: AnyNode) -> EntryID:
        try:
            return self._nodes.open(node).first_id
        except DamagedNode as damaged:
            # Groups must still be able to count the entries after it.
            return damaged.key

    @property
    def last_live_id(self) -> EntryID:
        """The greatest ID there is; 0-0 if the stream is empty."""
        last = self._nodes.peek_last()
        return MIN_ID if last is None else self._nodes.open(last).last_id

    def range(self, start: EntryID, end: EntryID, count: int = -1) -> tuple[int, list[bytes]]:
        """The first `count` entries of a range, ascending, in wire form."""
        return self._nodes.select(start, end, count if count >= 0 else self.length)

    def reverse_range(
        self, end: EntryID, start: EntryID, count: int = -1
    ) -> tuple[int, list[bytes]]:
        """The last `count` entries of a range, descending, in wire form."""
        return self._nodes.select_down(start, end, count if count >= 0 else self.length)

    def read_from(
        self, ids: EntryIDs, start: EntryID, count: cython.Py_ssize_t = -1
    ) -> list[bytes]:
        """The first `count` entries from an ID on in chunks; theirs are appended to `ids`."""
        return self._nodes.read_from(ids, start, count if count >= 0 else self.length)

    def read_within(
        self, ids: EntryIDs, start: EntryID, count: int, max_bytes: int
    ) -> tuple[list[bytes], int]:
        """read_from() that stops once the entries have at least `max_bytes` bytes.

        The entry that reaches the limit is the last one, so the first is always included if the
        limit is positive. The second result is the size of the entries in bytes.
        """
        end = ids.count + (count if count >= 0 else self.length)
        chunks: list[bytes] = []
        used_bytes = 0
        for node in self._nodes.between(start, MAX_ID):
            room, left_bytes, before = end - ids.count, max_bytes - used_bytes, ids.count
            if not room or left_bytes <= 0:
                break
            if isinstance(node, OpenNode):  # it may be large
                parts = node.read_within(ids, start, room, left_bytes)
            else:
                parts = node.read_from(ids, start, room)
            if sum(map(len, parts)) > left_bytes and isinstance(node, FrozenNode):
                parts = _entries_within(node, ids, before, left_bytes)
                ids.cut(before + len(parts))
            chunks += parts
            used_bytes += sum(map(len, parts))
        return chunks, used_bytes

    def snapshot(
        self, start: EntryID, end: EntryID, count: int = -1, *, reverse: bool = False
    ) -> RangeSnapshot:
        """A snapshot of a range, to be read incrementally.

        Release it, or nodes keep being copied.
        """
        return RangeSnapshot(self._nodes, start, end, count, reverse=reverse)

    def exceeds_bytes(
        self,
        start: EntryID,
        end: EntryID,
        count: cython.Py_ssize_t,
        max_bytes: cython.Py_ssize_t,
        reverse: cython.bint,
    ) -> bool:
        """Return True if the first `count` entries of a range (negative: all) are probably longer
        than `max_bytes`."""
        limit: cython.Py_ssize_t = count if count >= 0 else self.length
        return self._nodes.exceeds_bytes(start, end, limit, max_bytes, reverse)

    def count_nodes(self, start: EntryID, end: EntryID) -> int:
        """The number of nodes that may overlap a range."""
        return self._nodes.count_between(start, end)

    def ids(self, start: EntryID, end: EntryID, count: int = -1) -> EntryIDs:
        """The IDs of the first `count` entries of a range, ascending."""
        limit = count if count >= 0 else self.length
        ids = EntryIDs()
        for node in self._nodes.between(start, end) if limit else ():
            node.add_ids_to(ids, start, end, limit - ids.count)
            if ids.count == limit:
                break
        return ids

    def last_before(self, end: EntryID) -> EntryID | None:
        """The greatest ID there is below this one."""
        for node in self._nodes.down_between(end - 1, MIN_ID):
            ids = node.select_ids(MIN_ID, end - 1, node.live)
            if ids:
                return ids[-1]
        return None

    def split(self, start: EntryID, end: EntryID, every: int, count: int) -> list[Run]:
        """The first `count` entries of a range, partitioned into runs of `every`."""
        return partition(self._nodes.between(start, MAX_ID), start, end, every, count)

    def get(self, entry_id: EntryID) -> bytes | None:
        """The encoded entry with this ID, or None."""
        node = self._nodes.find(entry_id)
        return None if node is None else node.get(entry_id)

    def entries_of(self, ids: list[EntryID]) -> list[bytes | None]:
        """`get` for each of many IDs. Fastest for runs of consecutive entries."""
        return self._nodes.entries_of(ids)

    def presence_of(self, ids: list[EntryID]) -> list[bytes | None]:
        """`entries_of_any` with b"" for each entry: all that is there, for `pick`."""
        there = set(self.existing(sorted(ids)))
        return [b"" if entry_id in there else None for entry_id in ids]

    def pick(self, ids: list[EntryID]) -> PickedEntries:
        """The entries with these IDs in any order, to be read incrementally.

        Release it, or nodes keep being copied.
        """
        return PickedEntries(self._nodes.share(self._shape.packing), ids)

    def entries_of_any(self, ids: list[EntryID]) -> list[bytes | None]:
        """`entries_of` for IDs in any order, of which there may be very many."""
        if len(ids) == 1:
            return [self.get(ids[0])]
        if all(map(lt, ids, islice(ids, 1, None))):
            return self.entries_of(ids)
        ordered = sorted(ids)
        return list(map(dict(zip(ordered, self.entries_of(ordered), strict=True)).get, ids))

    def __contains__(self, entry_id: EntryID) -> bool:
        return self.get(entry_id) is not None

    def first_entry(self) -> bytes | None:
        """The encoded entry with the smallest ID, or None."""
        return self.get(self.first_id)

    def last_entry(self) -> bytes | None:
        """The encoded entry with the greatest ID, or None."""
        return self.get(self.last_live_id)

    # -- deleting ------------------------------------------------------------------------------

    def delete(self, entry_id: EntryID) -> bool:
        """Remove one entry (XDEL); False if there is none. PELs keep their references to it."""
        node = self._nodes.find(entry_id)
        if node is None:
            return False
        node = self._own(node)
        former_bytes = node.memory_bytes()
        if not node.delete(entry_id):
            return False
        self._nodes.note_change(node, former_bytes)
        self.length -= 1
        self.max_deleted_id = max(self.max_deleted_id, entry_id)
        self._tidy(node)
        return True

    def delete_all(self, ids: list[EntryID]) -> list[EntryID]:
        """`delete` for each of these ascending IDs; return those that existed.

        Batched by node: a fraction of the cost of single deletions.
        """
        self.unpack(ids)
        deleted: list[EntryID] = []
        for node, there in self._find_all(ids):
            self._take(node, there)
            deleted += there
        if deleted:
            self.max_deleted_id = max(self.max_deleted_id, deleted[-1])
        return deleted

    def existing(self, ids: list[EntryID]) -> list[EntryID]:
        """The IDs of entries that there are, among these ascending IDs."""
        return [entry_id for _, there in self._find_all(ids) for entry_id in there]

    def _find_all(self, ids: list[EntryID]) -> Iterator[tuple[Node, list[EntryID]]]:
        """The nodes that can hold these ascending IDs, each with those that it has.

        A node may be changed before the next one is asked for.
        """
        done = 0
        while done < len(ids):
            node = self._nodes.find(ids[done])
            end = done + 1
            if node is not None:
                end = max(end, bisect_right(ids, node.highest_id, done))
                yield node, _among(node, ids[done:end])
            done = end

    def unpack(self, ids: list[EntryID]) -> None:
        """Unpack the nodes of these ascending IDs. Raises DamagedNode before anything changes."""
        done = 0
        while done < len(ids):
            node = self._nodes.find(ids[done])
            highest_id = MIN_ID if node is None else node.highest_id
            done = max(done + 1, bisect_right(ids, highest_id, done))

    def _take(self, node: Node, ids: list[EntryID]) -> None:
        """Remove entries from a node, and the node with its last entry."""
        self.length -= len(ids)
        if len(ids) == node.live:
            self._nodes.remove(node)
            self._find_tail()
        elif ids:
            node = self._own(node)
            former_bytes = node.memory_bytes()
            node.delete_all(ids)
            self._nodes.note_change(node, former_bytes)
            self._tidy(node)

    def _own(self, node: Node) -> Node:
        """A node of the stream that may be modified: copied first if a reader holds it."""
        owned = self._nodes.own(node)
        # Not `node is self._tail`: the last node may have been copied since the caller found it.
        if isinstance(owned, OpenNode) and owned is self._nodes.peek_last():
            self._tail = owned
        return owned

    def _tidy(self, node: Node) -> None:
        """After entries were deleted from a node: drop it if it is empty, pack it if it is sparse.

        No loader of Redis 8.10 takes a node without a live entry, not even one whose deleted
        entries are above what a trim removes.
        """
        if node.live == 0:
            self._nodes.remove(node)
            self._find_tail()
        elif isinstance(node, FrozenNode) and node.is_sparse:
            self._nodes.replace(freeze(node.reopen()))

    def exceeds(self, max_length: cython.long, whole_nodes: cython.bint) -> bool:
        """Return True if a trim to this length would remove any entries, or any `whole_nodes`."""
        surplus = self.length - max_length
        if surplus <= 0 or not whole_nodes:
            return surplus > 0
        first = self._nodes.peek_first()
        return first is not None and first.live <= surplus

    def trim_to_length(
        self,
        max_length: int,
        *,
        approximate: bool = False,
        limit: int = 0,
        references: References = References.KEEP,
        discard: Discard | None = None,
        traces: Traces | None = None,
    ) -> int:
        """Remove the oldest entries beyond `max_length`; return the number removed.

        An approximate trim removes whole nodes only, and never more than `limit` entries (0: no
        limit). With References.DELETE and ACKED, each entry is checked by itself, and `approximate`
        only applies the limit, as in Redis 7.4. `discard` receives the dropped nodes;
        without it they are freed at once. `traces` receives what DELETE and ACKED remove.
        """
        if references is not References.KEEP:
            return self._trim_by_references(MAX_ID + 1, max_length, limit, references, traces)
        surplus = self.length - max_length
        first = self._nodes.peek_first()
        if surplus <= 0 or first is None:
            return 0
        most = min(surplus, limit) if limit else surplus
        removed = 0
        if first.live <= most:
            count, removed = self._nodes.count_droppable(most, self.length)
            self.drop_nodes(0, count, removed, discard)
        if not approximate and removed < surplus:
            removed += self._drop_first_entries(surplus - removed)
        return removed

    def trim_before(
        self,
        min_id: EntryID,
        *,
        approximate: bool = False,
        limit: int = 0,
        references: References = References.KEEP,
        discard: Discard | None = None,
        traces: Traces | None = None,
    ) -> int:
        """Remove the entries with IDs below `min_id`; return the number removed.

        The other arguments are as in trim_to_length.
        """
        if references is not References.KEEP:
            return self._trim_by_references(min_id, 0, limit, references, traces)
        count = self._nodes.count_before(min_id)
        if not count:
            return 0
        if not self._ends_before(self._nodes.peek(count - 1), min_id):
            count -= 1
        removed = 0
        if count and limit:
            count, removed = self._nodes.count_whole(count, limit)
        elif count:
            removed = self._nodes.count_live(count, self.length)
        self.drop_nodes(0, count, removed, discard)
        first = self._nodes.peek_first()
        if not approximate and first is not None and first.key < min_id:
            removed += self._drop_first_entries(self._nodes.open(first).count_below(min_id))
        return removed

    def _ends_before(self, node: AnyNode, entry_id: EntryID) -> bool:
        """Return True if all IDs that a node has or had are below `entry_id`."""
        if isinstance(node, ListpackNode) and node.end < entry_id:
            return True
        try:
            return self._nodes.open(node).highest_id < entry_id
        except DamagedNode:
            return False

    def _trim_by_references(
        self,
        end: EntryID,
        max_length: int,
        limit: int,
        references: References,
        traces: Traces | None,
    ) -> int:
        """Remove entries with IDs below `end`, as long as there are more than `max_length`.

        ACKED skips entries that a group still refers to. DELETE drops all references from the first
        node to where the trim ends, those to entries that were deleted before included.
        """
        traces = traces or Traces()
        chosen: list[tuple[Node, list[EntryID]]] = []
        removed = 0
        reached = end if max_length == 0 else MIN_ID  # all below it has been removed
        for packed in self._nodes:
            surplus = self.length - removed - max_length
            if surplus <= 0 or packed.key >= end:
                break
            if limit and removed + packed.live > limit:
                reached = min(reached, packed.key)
                break
            node = self._nodes.open(packed)
            if references is References.ACKED and self._was_not_read(node.key):
                break  # nor was any entry after it
            ids = node.select_ids(MIN_ID, end - 1, node.live)
            if references is References.ACKED:
                ids = self.unreferenced(ids)
            del ids[surplus:]
            chosen.append((node, ids))
            removed += len(ids)
            if max_length and ids:
                reached = (node.highest_id if len(ids) == node.live else ids[-1]) + 1
        if references is References.DELETE and chosen:
            traces.drop_references(self.groups, chosen[0][0].key, reached)
        for node, ids in chosen:
            traces.removed += ids
            self._take(node, ids)
        return removed

    def drop_nodes(self, place: int, count: int, entries: int, discard: Discard | None) -> None:
        """Drop `count` nodes from a place in the order on; they hold `entries` live entries."""
        if count:
            removed_data = self._nodes.drop(place, count)
            self._find_tail()
            self.length -= entries
            if discard is not None:
                discard(removed_data)

    def _drop_first_entries(self, count: int) -> int:
        """Drop entries of the first node, and the node with its last entry."""
        first = self._nodes.peek_first()
        if count and first is not None:
            node = self._own(self._nodes.open(first))
            former_bytes = node.memory_bytes()
            node.drop_first(count)
            self._nodes.note_change(node, former_bytes)
            self.length -= count
            if not node.live:
                self._nodes.remove(node)
                self._find_tail()
        return count

    def _find_tail(self) -> None:
        """Update the tail after the last node may have been removed or replaced."""
        last = self._nodes.peek_last()
        if last is not self._tail:
            owned = self._nodes.own(last) if isinstance(last, OpenNode) else None
            self._tail = owned if isinstance(owned, OpenNode) else None

    # -- groups --------------------------------------------------------------------------------

    def add_group(self, group: Group) -> None:
        """Add a group; there must be none with its name."""
        assert group.name not in self.groups
        self.groups[group.name] = group
        self._groups_bytes = allocated_bytes(self.groups)
        group.counter.join(self._counter)

    def remove_group(self, name: bytes) -> Group | None:
        """Remove the group with this name, and return it; None if there is none."""
        group = self.groups.pop(name, None)
        if group is not None:
            group.counter.leave()
        return group

    # -- references ----------------------------------------------------------------------------

    def unreferenced(self, ids: list[EntryID]) -> list[EntryID]:
        """The IDs (ascending) that every group was given and has acknowledged (ACKED).

        It depends on IDs alone: the entries need not exist.
        """
        for group in self.groups.values():
            ids = ids[: bisect_right(ids, group.last_delivered_id)]
            pending = group.pending.among(ids)
            if pending:
                ids = [entry_id for entry_id in ids if entry_id not in pending]
        return ids

    def _was_not_read(self, entry_id: EntryID) -> bool:
        """Return True if a group's last delivered ID is below `entry_id`."""
        return any(entry_id > group.last_delivered_id for group in self.groups.values())

    def drop_references(self, ids: list[EntryID]) -> int:
        """Remove entries from the PELs of all groups (DELREF); return the number removed."""
        row = EntryIDs.of(ids)
        return sum(group.acknowledge_all(row) for group in self.groups.values())

    # -- the whole -----------------------------------------------------------------------------

    @property
    def encoding(self) -> bytes:
        """The encoding that OBJECT ENCODING returns."""
        return b"stream"

    @property
    def size(self) -> int:
        """The number of entries, as `length`."""
        return self.length

    @property
    def effort(self) -> int:
        """The number of nodes: encoding one takes about 0.1 ms."""
        return len(self._nodes)

    @property
    def node_count(self) -> int:
        """The number of nodes (radix-tree-keys)."""
        return len(self._nodes)

    def radix_node_count(self) -> int:
        """The number of nodes of Redis's radix tree of the nodes' keys (radix-tree-nodes)."""
        return radix_node_count(self._nodes.keys())

    def iter_nodes(self) -> Iterator[AnyNode]:
        """The nodes in order, as they are: packed ones are not unpacked."""
        return iter(self._nodes)

    def node_items(self) -> tuple[list[AnyNode], int]:
        """The list of nodes itself, and the index of the first: see NodeList.items."""
        return self._nodes.items()

    def load_nodes(self, nodes: list[AnyNode]) -> None:
        """Add nodes to a stream that is loaded, in order; counters do not change."""
        for node in nodes:
            self._nodes.append(node)
        self._find_tail()

    def has_damage(self, key: EntryID) -> bool:
        """Return True if the node with this key was found to be damaged."""
        place = self._nodes.count_before(key)
        node = self._nodes.peek(place) if place < len(self._nodes) else None
        return isinstance(node, ListpackNode) and node.key == key and node.is_found

    def squeeze(self, node: ListpackNode) -> None:
        """Compress a packed node, if it is still there."""
        self._nodes.squeeze(node)

    def copy(self) -> Stream:
        """An independent stream with the same entries and groups (COPY)."""
        twin = Stream()
        for name in ("length", "last_id", "max_deleted_id", "entries_added", "access_ms"):
            setattr(twin, name, getattr(self, name))
        twin._nodes = self._nodes.share(twin._shape.packing)
        twin._find_tail()
        for group in self.groups.values():
            twin.add_group(group.copy())
        if self.idempotence is not None:
            twin.idempotence = self.idempotence.copy()
        if self.ack_journal is not None:
            twin.ack_journal = self.ack_journal.copy()
        if self.policy is not None:
            twin.policy = self.policy.copy()
        return twin

    def use_cache(self, cache: EntryCache) -> None:
        """Unpack entries of frozen nodes for readers into `cache`."""
        self._shape.packing.cache = cache

    def release(self) -> RemovedData:
        """Give up the nodes and groups when the stream is removed; the data to free.

        Breaks the reference cycles among groups and consumers.
        """
        removed_data = RemovedData()
        removed_data.add(self._nodes.take_all(), NODE_ITEMS)
        self._tail = self._first_node = None
        for group in self.groups.values():
            removed_data.merge(group.disband())
            group.counter.leave()
        self.groups = {}
        self._groups_bytes = _NO_GROUPS_BYTES
        return removed_data

    def memory_bytes(self) -> int:
        """The memory of the stream in bytes."""
        size: cython.long = _OWN_BYTES + self._nodes.memory_bytes()
        tail: OpenNode | None = self._tail
        if tail is None or tail.shape is not self._shape:
            size += self._shape.memory_bytes()
        size += self._groups_bytes + self._counter.total_bytes
        if self.idempotence is not None:
            size += self.idempotence.memory_bytes()
        if self.ack_journal is not None:
            size += _JOURNAL_BYTES + allocated_bytes(self.ack_journal.key)
        if self.policy is not None:
            size += self.policy.memory_bytes()
        return size


_NO_GROUPS_BYTES: cython.long = allocated_bytes({})
_JOURNAL_BYTES: cython.long = instance_bytes(AckJournal)
_OWN_BYTES: cython.long = sum(map(instance_bytes, (Stream, Packing, MemoryCounter)))


def _among(node: Node, ids: list[EntryID]) -> list[EntryID]:
    """The IDs among `ids` (ascending, at least one) that a node has."""
    if len(ids) * SPARSE_WANTED < node.live:
        return [entry_id for entry_id in ids if node.select_ids(entry_id, entry_id, 1)]
    there = node.select_ids(ids[0], ids[-1], node.live)
    return there if there == ids else sorted(set(there).intersection(ids))


def _entries_within(node: Node, ids: EntryIDs, start: int, max_bytes: int) -> list[bytes]:
    """Entries of a node, by the IDs from a place on, up to the one that uses up `max_bytes`."""
    entries: list[bytes] = []
    used_bytes = 0
    for place in range(start, ids.count):
        if used_bytes >= max_bytes:
            break
        entry = node.get(ids.at(place))
        assert entry is not None
        entries.append(entry)
        used_bytes += len(entry)
    return entries


def advance_group(stream: Stream, group: Group, ids: EntryIDs) -> None:
    """Move `group` past the entries `ids`, which are delivered to it now (Redis 7.4).

    `ids` ascend and are above the group's last ID. They are counted while
    the group's position is known, and from where it becomes known again.
    """
    place: cython.Py_ssize_t
    for place in range(ids.count):
        if (
            group.entries_read != UNKNOWN
            and not stream.begins_after(group.last_delivered_id)
            and not has_tombstone_after(stream, group.last_delivered_id)
        ):
            # From here on the same holds for each ID that follows. ENTRIESREAD may have been too
            # much for where the group was.
            left: cython.long = stream.entries_added - group.entries_read
            group.entries_read += min(left, ids.count - place)
            group.last_delivered_id = ids.at(ids.count - 1)
            return
        if stream.entries_added:
            group.entries_read = estimate_entries_read(stream, ids.at(place))
        group.last_delivered_id = ids.at(place)
        if group.entries_read == UNKNOWN:
            # The same holds for each that follows, up to the last one of the stream.
            if stream.entries_added:
                group.entries_read = estimate_entries_read(stream, ids.at(ids.count - 1))
            group.last_delivered_id = ids.at(ids.count - 1)
            return


def set_entries_read(stream: Stream, group: Group, entries_read: int) -> None:
    """Set the number of entries that a group has read, but to no more than were added."""
    group.entries_read = min(entries_read, stream.entries_added)


def set_entries_added(stream: Stream, entries_added: int) -> None:
    """Set the number of entries that were added; no group has read more."""
    stream.entries_added = entries_added
    for group in stream.groups.values():
        set_entries_read(stream, group, group.entries_read)


def has_tombstone_after(stream: Stream, entry_id: EntryID) -> bool:
    """Return True if an entry with this ID or a greater one may have been deleted."""
    return (
        stream.length > 0 and stream.max_deleted_id != MIN_ID and entry_id <= stream.max_deleted_id
    )


def estimate_entries_read(stream: Stream, entry_id: EntryID) -> int:
    """The number of entries ever added up to `entry_id`; UNKNOWN (-1) if it is not known."""
    if not stream.entries_added:
        return 0
    if not stream.length and entry_id <= stream.last_id:
        return stream.entries_added
    if entry_id != MIN_ID and entry_id < stream.max_deleted_id:
        return UNKNOWN
    if entry_id == stream.last_id:
        return stream.entries_added
    if entry_id > stream.last_id:
        return UNKNOWN
    first_id = stream.first_id
    if stream.max_deleted_id == MIN_ID or stream.max_deleted_id < first_id:
        if entry_id < first_id:
            return stream.entries_added - stream.length
        if entry_id == first_id:
            return stream.entries_added - stream.length + 1
    return UNKNOWN


def lag(stream: Stream, group: Group) -> int | None:
    """The number of entries that `group` has not read yet; None if it is not known."""
    if not stream.entries_added or not stream.length:
        return 0
    last_id = group.last_delivered_id
    if last_id < stream.first_id and stream.max_deleted_id < stream.first_id:
        return stream.length
    read = group.entries_read
    if read == UNKNOWN or has_tombstone_after(stream, last_id):
        read = estimate_entries_read(stream, last_id)
    return None if read == UNKNOWN else stream.entries_added - read
