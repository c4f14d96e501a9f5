"""What becomes of the references that groups hold to an entry when it is deleted (Redis 8.2)."""

from __future__ import annotations

from enum import Enum


class References(Enum):
    """What a deletion does about pending entries lists (reference 2.1)."""

    KEEP = "KEEPREF"  # the entry goes, and stays pending where it is pending
    DELETE = "DELREF"  # the entry goes, and is pending nowhere any more
    ACKED = "ACKED"  # the entry only goes if every group was given and has acknowledged it
