"""A stream with consumer groups as plain lists and dicts: slow, and right at a glance.

What Redis 8 added is here as well: entries without an owner, the order in which pending entries are
claimed, deletions that look at references, and messages that are known by their names.

Nodes are lists of entries, because approximate trims and XINFO show where they end. They are
opened by the number of entries alone; what bytes do to them is tested with numbers from Redis.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from storage.groups.group import References


@dataclass
class ModelEntry:
    entry_id: int
    fields: list[bytes]
    alive: bool = True


@dataclass
class ModelPending:
    consumer: bytes | None  # None: released
    delivery_ms: int
    delivery_count: int


@dataclass
class ModelGroup:
    last_delivered_id: int
    entries_read: int
    pending: dict[int, ModelPending] = field(default_factory=dict)
    consumers: set[bytes] = field(default_factory=set)
    released: list[int] = field(default_factory=list)  # the first release first

    def claim(self, entry_id: int, consumer: bytes, delivery_ms: int, count: int) -> None:
        """Whether it was pending or not, with any owner."""
        self.drop(entry_id)
        self.pending[entry_id] = ModelPending(consumer, delivery_ms, count)

    def release(self, entry_id: int, count: int) -> None:
        self.drop(entry_id)
        self.pending[entry_id] = ModelPending(None, 0, count)
        self.released.append(entry_id)

    def drop(self, entry_id: int) -> bool:
        if entry_id in self.released:
            self.released.remove(entry_id)
        return self.pending.pop(entry_id, None) is not None

    def owned(self) -> list[tuple[int, int]]:
        """(time, ID), the oldest delivery first."""
        pending = self.pending.items()
        return sorted((p.delivery_ms, i) for i, p in pending if p.consumer is not None)

    def claimable(self, now_ms: int, min_idle_ms: int) -> list[int]:
        old = [i for ms, i in self.owned() if not min_idle_ms or now_ms - ms >= min_idle_ms]
        return self.released + old


@dataclass
class ModelMessages:
    """What a stream remembers of its producers' messages."""

    maxsize: int
    known: list[tuple[bytes, bytes, int]] = field(default_factory=list)  # pid, iid, entry

    def find(self, pid: bytes, iid: bytes) -> int | None:
        return next((e for p, i, e in self.known if (p, i) == (pid, iid)), None)

    def record(self, pid: bytes, iid: bytes, entry_id: int) -> None:
        self.known.append((pid, iid, entry_id))
        of_producer = [message for message in self.known if message[0] == pid]
        if len(of_producer) > self.maxsize:
            self.known.remove(of_producer[0])

    def expire(self, oldest_ms: int) -> None:
        self.known = [message for message in self.known if message[2] >> 64 >= oldest_ms]


class StreamModel:
    """What storage.stream.Stream should do."""

    def __init__(self) -> None:
        self.nodes: list[list[ModelEntry]] = []
        self.last_id = 0
        self.max_deleted_id = 0
        self.entries_added = 0
        self.groups: dict[bytes, ModelGroup] = {}

    # -- entries -------------------------------------------------------------------------------

    def entries(self) -> list[ModelEntry]:
        return [entry for node in self.nodes for entry in node if entry.alive]

    def live(self, node: list[ModelEntry]) -> int:
        return sum(entry.alive for entry in node)

    @property
    def length(self) -> int:
        return len(self.entries())

    @property
    def first_id(self) -> int:
        return self.entries()[0].entry_id if self.entries() else 0

    def append(self, entry_id: int, fields: list[bytes], max_node_entries: int) -> None:
        if not self.nodes or 0 < max_node_entries <= len(self.nodes[-1]):
            self.nodes.append([])
        self.nodes[-1].append(ModelEntry(entry_id, fields))
        self.last_id = entry_id
        self.entries_added += 1

    def range(self, start: int, end: int, count: int) -> list[ModelEntry]:
        found = [entry for entry in self.entries() if start <= entry.entry_id <= end]
        return found if count < 0 else found[:count]

    def reverse_range(self, end: int, start: int, count: int) -> list[ModelEntry]:
        found = self.range(start, end, -1)[::-1]
        return found if count < 0 else found[:count]

    def delete(self, entry_id: int) -> bool:
        for node in self.nodes:
            for entry in node:
                if entry.entry_id == entry_id and entry.alive:
                    entry.alive = False
                    self.max_deleted_id = max(self.max_deleted_id, entry_id)
                    if not self.live(node):
                        self.nodes.remove(node)
                    return True
        return False

    def trim_to_length(self, max_length: int, approximate: bool, limit: int) -> int:
        removed = 0
        while self.length > max_length:
            live = self.live(self.nodes[0])
            if limit and removed + live > limit:
                break
            if self.length - live >= max_length:
                del self.nodes[0]
                removed += live
            elif approximate:
                break
            else:
                next(entry for entry in self.nodes[0] if entry.alive).alive = False
                removed += 1
        return removed

    def trim_before(self, min_id: int, approximate: bool, limit: int) -> int:
        removed = 0
        while self.nodes:
            node = self.nodes[0]
            if limit and removed + self.live(node) > limit:
                break
            if node[-1].entry_id >= min_id:
                if not approximate:
                    for entry in node:
                        if entry.alive and entry.entry_id < min_id:
                            entry.alive = False
                            removed += 1
                    if not self.live(node):
                        del self.nodes[0]
                break
            removed += self.live(node)
            del self.nodes[0]
        return removed

    # -- references ----------------------------------------------------------------------------

    def is_referenced(self, entry_id: int) -> bool:
        groups = self.groups.values()
        return any(entry_id > g.last_delivered_id or entry_id in g.pending for g in groups)

    def drop_references(self, entry_id: int) -> int:
        return sum(group.drop(entry_id) for group in self.groups.values())

    def trim_by_references(
        self, end: int, max_length: int, limit: int, references: References
    ) -> int:
        """Entries below `end`, as long as there are more than `max_length`."""
        removed = 0
        reached: list[int] = []
        stop = end
        for node in list(self.nodes):
            if self.length <= max_length or node[0].entry_id >= end:
                break
            if limit and removed + self.live(node) > limit:
                stop = min(stop, node[0].entry_id)
                break
            for entry in node:
                if (self.length <= max_length and self.live(node)) or entry.entry_id >= end:
                    break
                reached.append(entry.entry_id)
                is_kept = references is References.ACKED and self.is_referenced(entry.entry_id)
                if entry.alive and not is_kept:
                    entry.alive = False
                    removed += 1
            if not self.live(node):
                self.nodes.remove(node)
        if references is References.DELETE and reached:
            stop = reached[-1] + 1 if max_length else stop
            for group in self.groups.values():
                for entry_id in [i for i in group.pending if reached[0] <= i < stop]:
                    group.drop(entry_id)
        return removed

    def delete_range(self, start: int, end: int, count: int, references: References) -> list[int]:
        """The first `count` entries of a range; returns their IDs."""
        deleted: list[int] = []
        for entry in self.range(start, end, -1):
            is_kept = references is References.ACKED and self.is_referenced(entry.entry_id)
            if not is_kept and len(deleted) < count:
                deleted.append(entry.entry_id)
                self.delete(entry.entry_id)
        if references is References.DELETE:
            reached = deleted[-1] if len(deleted) == count else end
            for group in self.groups.values():
                for entry_id in [i for i in group.pending if start <= i <= reached]:
                    group.drop(entry_id)
        return deleted

    # -- groups --------------------------------------------------------------------------------

    def estimate_entries_read(self, entry_id: int) -> int:
        """-1 for unknown; the rules of Redis 7.4, one after the other."""
        if self.entries_added == 0:
            return 0
        if self.length == 0 and entry_id <= self.last_id:
            return self.entries_added
        if entry_id != 0 and entry_id < self.max_deleted_id:
            return -1
        if entry_id == self.last_id:
            return self.entries_added
        if entry_id > self.last_id:
            return -1
        if self.max_deleted_id == 0 or self.max_deleted_id < self.first_id:
            if entry_id < self.first_id:
                return self.entries_added - self.length
            if entry_id == self.first_id:
                return self.entries_added - self.length + 1
        return -1

    def has_tombstone_after(self, entry_id: int) -> bool:
        return self.length > 0 and self.max_deleted_id != 0 and entry_id <= self.max_deleted_id

    def lag(self, group: ModelGroup) -> int | None:
        last_id = group.last_delivered_id
        if self.entries_added == 0 or self.length == 0:
            return 0
        if last_id < self.first_id and self.max_deleted_id < self.first_id:
            return self.length
        if group.entries_read != -1 and not self.has_tombstone_after(last_id):
            return self.entries_added - group.entries_read
        estimate = self.estimate_entries_read(last_id)
        return None if estimate == -1 else self.entries_added - estimate

    def deliver_new(self, name: bytes, consumer: bytes, count: int, now_ms: int) -> list[int]:
        """XREADGROUP with `>`: one entry after the other."""
        group = self.groups[name]
        group.consumers.add(consumer)
        delivered = self.range(group.last_delivered_id + 1, 2**128 - 1, count)
        for entry in delivered:
            last_id = group.last_delivered_id
            certain = group.entries_read != -1 and last_id >= self.first_id
            if certain and not self.has_tombstone_after(last_id):
                group.entries_read = min(group.entries_read + 1, self.entries_added)
            elif self.entries_added:
                group.entries_read = self.estimate_entries_read(entry.entry_id)
            group.last_delivered_id = entry.entry_id
            group.claim(entry.entry_id, consumer, now_ms, 1)
        return [entry.entry_id for entry in delivered]

    def transfer(self, name: bytes, consumer: bytes, heir: bytes) -> None:
        for pending in self.groups[name].pending.values():
            if pending.consumer == consumer:
                pending.consumer = heir

    def delete_consumer(self, name: bytes, consumer: bytes) -> int:
        group = self.groups[name]
        mine = [i for i, pending in group.pending.items() if pending.consumer == consumer]
        for entry_id in mine:
            del group.pending[entry_id]
        group.consumers.discard(consumer)
        return len(mine)
