"""The scan order of a large sorted set: for ZSCAN and random picks.

A collection creates one when it is first needed, from its own table, and reports additions and
removals from then on. That costs a pointer for each member.

Guarantees: a member that exists during a whole scan is returned at least once. The cursor is a
position in the order, goes from the newest member to the oldest, and needs no state in the server;
a scan always ends, however fast members are added. Compaction moves members only towards the
oldest, so a scan misses none, but may return some twice.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from sys import getsizeof

from storage.keyspace.deferred_free import SMALL_ITEMS, RemovedData

# The order is compacted once it has as many gaps as members, and at least this many.
FEW_REMOVED = 64


class ScanOrder:
    """The members of one collection, in the order of insertion."""

    __slots__ = ("_members", "_removed")

    def __init__(self, members: Iterable[bytes]) -> None:
        self._members = list(members)
        self._removed: set[bytes] = set()  # the number of gaps: removed members

    def __len__(self) -> int:
        return len(self._members) - len(self._removed)

    def add(self, member: bytes) -> None:
        """The collection has a new member."""
        if member in self._removed:
            self._removed.remove(member)  # it keeps its old position
        else:
            self._members.append(member)

    def remove(self, member: bytes) -> None:
        """The collection has lost a member."""
        removed = self._removed
        removed.add(member)
        if len(removed) > FEW_REMOVED and 2 * len(removed) > len(self._members):
            self._members = [one for one in self._members if one not in removed]
            removed.clear()

    def keep(self, members: Container[bytes]) -> None:
        """The collection has lost all but these members."""
        self._members = [one for one in self._members if one in members]
        self._removed = set()

    def scan(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """(next cursor, members): up to `count` of them. Cursor 0 begins and ends."""
        members = self._members
        end = min(cursor, len(members)) if cursor else len(members)
        start = max(0, end - count)
        found = members[start:end]
        if self._removed:
            found = [member for member in found if member not in self._removed]
        return start, found

    def pick(self, below: Callable[[int], int]) -> bytes:
        """A member chosen with `below(n)`, which gives a number in [0, n). There must be one."""
        members, removed = self._members, self._removed
        while True:
            member = members[below(len(members))]
            if member not in removed:
                return member

    def members(self) -> list[bytes]:
        """All of them."""
        return [member for member in self._members if member not in self._removed]

    def release(self, removed_data: RemovedData) -> None:
        """Give up the order when the collection is removed."""
        removed_data.add(self._members, SMALL_ITEMS)
        removed_data.add(self._removed, SMALL_ITEMS)

    def memory_bytes(self) -> int:
        """The memory of the order in bytes, without the members."""
        return getsizeof(self) + getsizeof(self._members) + getsizeof(self._removed)
