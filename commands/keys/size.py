"""How much memory a key takes: what MEMORY USAGE answers."""

from __future__ import annotations

from sys import getsizeof

from storage.values import StringValue, Value

# A key's part of the database's two tables: values, and SCAN's order with the key's serial.
# Measured with a million keys.
TABLE_ENTRY_BYTES = 100


def value_bytes(key: bytes, value: Value, samples: int) -> int:
    """An estimate of what a key and its value occupy in memory.

    Of a stream, `samples` nodes are looked at and the others taken to be like them; 0: all.
    """
    if isinstance(value, StringValue):
        size = value.memory_bytes()
    else:
        size = value.memory_bytes(samples)
    return getsizeof(key) + TABLE_ENTRY_BYTES + size
