"""The ways of treating a group's references to entries that are deleted (Redis 8.2)."""

from __future__ import annotations

from enum import Enum


class References(Enum):
    """The options of a deletion for pending entries lists (Redis 8.2)."""

    KEEP = "KEEPREF"  # delete the entry; it stays pending
    DELETE = "DELREF"  # delete the entry, also from all pending entries lists
    ACKED = "ACKED"  # delete the entry if every group has read and acknowledged it
