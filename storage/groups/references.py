"""References of groups to entries that are deleted (Redis 8.2)."""

from __future__ import annotations

from enum import Enum

from storage.entries.entry_id import EntryID
from storage.entries.entry_ids import EntryIDs
from storage.groups.group import Group


class References(Enum):
    """The options of a deletion for pending entries lists (Redis 8.2)."""

    KEEP = "KEEPREF"  # delete the entry; it stays pending
    DELETE = "DELREF"  # delete the entry, also from all pending entries lists
    ACKED = "ACKED"  # delete the entry if every group has read and acknowledged it


class Traces:
    """What a trim with DELREF or ACKED has removed, for those that must do the same."""

    __slots__ = ("dropped", "removed")

    def __init__(self) -> None:
        self.removed: list[EntryID] = []  # entries
        self.dropped: dict[bytes, list[EntryID]] = {}  # references, by group

    def drop_references(self, groups: dict[bytes, Group], start: EntryID, end: EntryID) -> None:
        """Remove what is pending from `start` to below `end`, whether the entries exist or not."""
        for name, group in groups.items():
            ids = group.pending.ids_between(start, end)
            if ids:
                group.acknowledge_all(EntryIDs.of(ids))
                self.dropped[name] = ids
