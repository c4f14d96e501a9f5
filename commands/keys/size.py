"""How much memory a key takes: what MEMORY USAGE answers."""

from __future__ import annotations

from sys import getsizeof

from storage.values import Value

# A key's part of the database's two tables: values, and SCAN's order with the key's serial.
# Measured with a million keys.
TABLE_ENTRY_BYTES = 100


def value_bytes(key: bytes, value: Value, samples: int) -> int:
    """An estimate of what a key and its value occupy in memory.

    `samples` parts of it are looked at (nodes of a stream, fields of a hash), and the others taken
    to be like them; 0: all.
    """
    return getsizeof(key) + TABLE_ENTRY_BYTES + value.memory_bytes(samples)
