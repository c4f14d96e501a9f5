"""What a key can hold: the base of all types of values.

A value carries its own last access time (OBJECT IDLETIME) and its place in the keyspace's SCAN
order, so that the keyspace needs no second table for them.

To add a type: subclass `Value`, and enter the class into the tables of what is kept outside it: the
snapshot format (storage/snapshot/values/), the requests that rebuild it
(storage/append_only/rewriting.py) and the digest (storage/digest.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

try:
    import cython
except ImportError:
    from protocol import uncompiled as cython  # type: ignore[no-redef]

from storage.deferred_free import NO_WASTE, RemovedData

if TYPE_CHECKING:
    from storage.nodes.entry_cache import EntryCache


@cython.cclass
class Value:
    """What a key holds."""

    __slots__ = ("access_ms", "serial")

    type_name: ClassVar[bytes]  # what TYPE answers: b"string", b"hash", ...

    def __init__(self, access_ms: int = 0) -> None:
        self.access_ms = access_ms  # the last access, Unix ms; whoever looks the key up sets it
        self.serial = 0  # the place in the keyspace's SCAN order; the keyspace sets it

    @property
    def encoding(self) -> bytes:
        """What OBJECT ENCODING answers."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """How many items there are: bytes of a string, entries of a stream, fields of a hash."""
        raise NotImplementedError

    @property
    def effort(self) -> int:
        """How many steps of about 0.1 ms it takes to copy the value or to write it."""
        return 1

    @property
    def deadline_ms(self) -> int | None:
        """When the first of its items expires by itself (Unix ms); None if none does."""
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
        """Give up the content when the value goes for good; what it was made of.

        Only what is large, or goes in circles, has anything to give.
        """
        return NO_WASTE


def type_name(value: Value | None) -> bytes:
    """What TYPE answers: b"string", b"stream", ..., or b"none"."""
    return b"none" if value is None else value.type_name


def as_int64(text: bytes) -> int | None:
    """The number that `text` is the canonical form of, or None (Redis's string2ll)."""
    if not 0 < len(text) <= 20:
        return None
    digits = text[1:] if text[:1] == b"-" else text
    if not digits.isdigit() or (digits[:1] == b"0" and text != b"0"):
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None
