"""A stream with consumer groups as plain lists and dicts: slow, and right at a glance.

Nodes are lists of entries, because approximate trims and XINFO show where they end. They are
opened by the number of entries alone; what bytes do to them is tested with numbers from Redis.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class ModelEntry:
    entry_id: int
    fields: list[bytes]
    alive: bool = True


@dataclass
class ModelPending:
    consumer: bytes
    delivery_ms: int
    delivery_count: int


@dataclass
class ModelGroup:
    last_delivered_id: int
    entries_read: int
    pending: dict[int, ModelPending] = field(default_factory=dict)
    consumers: set[bytes] = field(default_factory=set)


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
                break
            removed += self.live(node)
            del self.nodes[0]
        return removed

    # -- groups --------------------------------------------------------------------------------

    def estimate_entries_read(self, entry_id: int) -> int:
        """-1 for unknown; reference 1.12, line by line."""
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
                group.entries_read += 1
            elif self.entries_added:
                group.entries_read = self.estimate_entries_read(entry.entry_id)
            group.last_delivered_id = entry.entry_id
            group.pending[entry.entry_id] = ModelPending(consumer, now_ms, 1)
        return [entry.entry_id for entry in delivered]

    def delete_consumer(self, name: bytes, consumer: bytes) -> int:
        group = self.groups[name]
        mine = [i for i, pending in group.pending.items() if pending.consumer == consumer]
        for entry_id in mine:
            del group.pending[entry_id]
        group.consumers.discard(consumer)
        return len(mine)
