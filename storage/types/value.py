"""`Value`: the base class of all types that a key can hold.

A value has its own last access time (OBJECT IDLETIME) and its position in the keyspace's SCAN
order, so that the keyspace needs no second table for them.

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


@cython.cclass
class Value:
    """The base class of values."""

    __slots__ = ("access_ms", "serial")

    type_name: ClassVar[bytes]  # what TYPE answers: b"string", b"hash", ...

    def __init__(self, access_ms: int = 0) -> None:
        self.access_ms = access_ms  # the last access, Unix ms; set by each look-up
        self.serial = 0  # the place in the keyspace's SCAN order; the keyspace sets it

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

    def memory_bytes(self, samples: int = 5) -> int:
        """An estimate of the memory the value takes, from `samples` of its parts (0: from all)."""
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
