"""`Value`: the base class of all types that a key can hold.

A value has its own last access time (OBJECT IDLETIME), how often it is used (OBJECT FREQ), its
position in the keyspace's SCAN order and the memory that the keyspace has counted for it, so that
the keyspace needs no second table for them.

To add a type: subclass `Value`, and add the class to the tables of other modules: the snapshot
format (storage/snapshot/values/), the requests that rebuild it (storage/append_only/rewrite.py)
and the digest (storage/digest.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import cython

from storage.keyspace.deferred_free import NO_WASTE, RemovedData
from storage.redis_format.listpack_size import plain_integer

if TYPE_CHECKING:
    from storage.nodes.entry_cache import EntryCache


# `counted_bytes` of a value that is in no database.
UNCOUNTED = -1
_UNCOUNTED: cython.longlong = UNCOUNTED
# The frequency of a new key (Redis: LFU_INIT_VAL): so that it is not the next to be evicted.
NEW_FREQUENCY = 5


@cython.cclass
class Value:
    """The base class of values."""

    __slots__ = ("access_ms", "counted_bytes", "frequency", "has_changed", "serial")

    type_name: ClassVar[bytes]  # what TYPE answers: b"string", b"hash", ...

    def __init__(self, access_ms: int = 0) -> None:
        self.access_ms = access_ms  # the last access, Unix ms; set by each look-up
        # The keyspace sets these: the place in SCAN's order; memory (storage/keyspace/
        # memory_count.py); a logarithmic count of accesses (commands/eviction/frequency.py).
        self.serial = 0
        self.counted_bytes = _UNCOUNTED
        self.has_changed = False
        self.frequency = 0

    @property
    def encoding(self) -> bytes:
        """The encoding that OBJECT ENCODING returns."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The number of items: bytes of a string, entries of a stream, fields of a hash."""
        raise NotImplementedError

    @property
    def effort(self) -> int:
        """The time to copy or write the value, in steps of about 0.1 ms."""
        return 1

    def first_deadline_ms(self) -> int | None:
        """The first deadline of its items (Unix ms); None if no item expires by itself."""
        return None

    def copy(self) -> Value:
        """An independent value with the same content and access time."""
        raise NotImplementedError

    def memory_bytes(self) -> int:
        """The memory that the value takes, in bytes, allocator overhead included."""
        raise NotImplementedError

    def use_cache(self, cache: EntryCache) -> None:
        """The value is stored in a database: this cache is for what it unpacks for readers."""
        return

    def release(self) -> RemovedData:
        """Give up the content when the value is removed; return the data to free.

        Only values that are large or have reference cycles return any.
        """
        return NO_WASTE


def type_name(value: Value | None) -> bytes:
    """Return the type as TYPE does: b"string", b"stream", ..., or b"none"."""
    return b"none" if value is None else value.type_name


def as_int64(text: bytes) -> int | None:
    """The 64-bit integer of which `text` is the canonical decimal form, or None (string2ll)."""
    number: cython.longlong = plain_integer(text, 0, len(text))
    return number if number != 0 or text == b"0" else None
