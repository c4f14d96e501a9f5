"""The memory that a key takes, in bytes, for MEMORY USAGE."""

from __future__ import annotations

from sys import getsizeof

from storage.types.value import Value

# A key's part of the database's two tables: values, and SCAN's order with the key's serial.
# Measured with a million keys.
TABLE_ENTRY_BYTES = 100


def value_bytes(key: bytes, value: Value) -> int:
    """What a key and its value occupy in memory."""
    return getsizeof(key) + TABLE_ENTRY_BYTES + value.memory_bytes()
