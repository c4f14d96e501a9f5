"""`Value`: the base class of all types that a key can hold, and the simplest of them, strings.

A value has its own last access time (OBJECT IDLETIME), how often it is used (OBJECT FREQ), its
position in the keyspace's SCAN order and the memory that the keyspace has counted for it, so that
the keyspace needs no second table for them.

To add a type: subclass `Value`, and add the class to the tables of other modules: the snapshot
format (storage/snapshot/values/), the requests that rebuild it (storage/append_only/rewrite.py)
and the digest (storage/digest.py).

A string is bytes, and its encoding in Redis (int, embstr, raw). Commands check the limit on its
length, proto-max-bulk-len.

The bits of long strings are counted, searched and combined. Bit 0 is the highest bit of the first
byte, as in Redis. Strings are worked on in blocks, or in words of 64 bits where this is compiled,
and not as one number: a number of 512 MB takes seconds, and several times the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import cython

from storage.keyspace.deferred_free import NO_WASTE, RemovedData
from storage.memory import instance_bytes
from storage.redis_format.listpack_elements import plain_integer

if TYPE_CHECKING:
    from storage.nodes.entry_cache import EntryCache

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import bytearray_bytes, bytes_object_bytes

# `counted_bytes` of a value that is in no database.
UNCOUNTED = -1
_UNCOUNTED: cython.long = UNCOUNTED
# The frequency of a new key (Redis: LFU_INIT_VAL): so that it is not the next to be evicted.
NEW_FREQUENCY = 5


@cython.cclass
class Keeper:
    """What has lent the object of a value, and packs its content when the object is freed."""

    __slots__ = ()

    def give_back(self, value: Value) -> None:
        """The object of a value is freed."""
        raise NotImplementedError


@cython.no_gc  # a keeper does not refer to what it has lent
@cython.cclass
class Value:
    """The base class of values.

    Compiled, the object of a small value may exist only while someone refers to it
    (storage/keyspace/key_table.py). Its class then gives it back when the object is freed.
    """

    __slots__ = (
        "_keeper",
        "access_ms",
        "counted_bytes",
        "deadline",
        "form",
        "frequency",
        "has_changed",
        "serial",
    )

    type_name: ClassVar[bytes]  # what TYPE answers: b"string", b"hash", ...

    def __init__(self, access_ms: int = 0) -> None:
        self.access_ms = access_ms  # the last access, Unix ms; set by each look-up
        # The keyspace sets these: the place in SCAN's order; memory (storage/keyspace/
        # memory_count.py); a logarithmic count of accesses (commands/core/instance.py); the slot of
        # its deadline (storage/keyspace/deadlines.py), 0 without one; what has lent the object.
        self._keeper: Keeper | None = None
        self.serial = 0
        self.deadline = 0
        self.counted_bytes = _UNCOUNTED
        self.has_changed = False
        self.frequency = 0
        self.form = 0  # of the encoding: each type has its own numbers

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
    number: cython.long = plain_integer(text, 0, len(text))
    return number if number != 0 or text == b"0" else None


# Redis keeps strings up to this length in one allocation with their header ("embstr").
EMBEDDED_STRING_BYTES = 44


# By the form of a string. None: what follows from its content.
_ENCODINGS = (None, b"int", b"embstr", b"raw")
_RAW: cython.uchar = 3


@cython.no_gc  # bytes form no cycles: 16 bytes less for each string
@cython.cclass
class StringValue(Value):
    """A binary-safe string.

    `data` is bytes until the string is changed in place (`append`, `overwrite`), and a bytearray
    from then on, so that a growing string is not copied for every piece. Use `to_bytes()` to keep
    the content or hand it on.
    """

    __slots__ = ("data",)

    type_name = b"string"

    def __init__(
        self, data: bytes | bytearray, access_ms: int = 0, encoding: bytes | None = None
    ) -> None:
        self.access_ms = access_ms  # inlined, because snapshots create millions of strings
        self.serial = 0
        self.deadline = 0
        self.counted_bytes = _UNCOUNTED
        self.has_changed = False
        self.frequency = 0
        self.data: bytes | bytearray = data
        self.form = 0 if encoding is None else _ENCODINGS.index(encoding)

    def __dealloc__(self) -> None:
        if self._keeper is not None:
            self._keeper.give_back(self)

    def __len__(self) -> int:
        return len(self.data)

    def to_bytes(self) -> bytes:
        """The content as an immutable copy."""
        data = self.data
        return data if type(data) is bytes else bytes(data)

    def copy(self) -> StringValue:
        """An independent string with the same content, encoding and access time."""
        return StringValue(self.to_bytes(), self.access_ms, self.encoding)

    def replace(self, data: bytes, encoding: bytes | None = None) -> None:
        """Make `data` the content, as in a new string."""
        self.data = data
        self.form = 0 if encoding is None else _ENCODINGS.index(encoding)

    def append(self, tail: bytes) -> None:
        """Append `tail` to the content."""
        self.in_place().extend(tail)

    def overwrite(self, offset: int, patch: bytes) -> None:
        """Put `patch` over the content from `offset` on; a gap before it is filled with zeros."""
        data = self.in_place()
        gap = offset - len(data)
        if gap > len(data):
            # The system has zeros ready: a long gap is not written. Short ones grow in place.
            self.data = grown = bytearray(offset + len(patch))
            grown[: len(data)] = data
            data = grown
        elif gap > 0:
            data.extend(bytes(gap))
        data[offset : offset + len(patch)] = patch

    def in_place(self) -> bytearray:
        """The content as a mutable bytearray; the encoding is raw from then on."""
        if not isinstance(self.data, bytearray):
            self.data = bytearray(self.data)
            self.form = _RAW
        return self.data

    @property
    def encoding(self) -> bytes:
        """The encoding that OBJECT ENCODING returns in Redis 7: int, embstr or raw."""
        encoding = _ENCODINGS[self.form]
        if encoding is not None:
            return encoding
        if as_int64(self.to_bytes()) is not None:
            return b"int"
        return b"embstr" if len(self.data) <= EMBEDDED_STRING_BYTES else b"raw"

    @property
    def size(self) -> int:
        """The length in bytes."""
        return len(self.data)

    def memory_bytes(self) -> int:
        """The memory of the value in bytes."""
        data = self.data
        if type(data) is bytes:
            return _OWN_BYTES + bytes_object_bytes(len(data))
        return _OWN_BYTES + bytearray_bytes(data)  # type: ignore[arg-type]


_OWN_BYTES: cython.long = instance_bytes(StringValue)


Data: TypeAlias = bytes | bytearray

BLOCK_BYTES = 64 * 1024
_BLOCKS = {0: bytes(BLOCK_BYTES), 0xFF: b"\xff" * BLOCK_BYTES}

# How the bits of a string are merged into those of another one.
AND: cython.int = 0
OR: cython.int = 1
XOR: cython.int = 2
AND_NOT: cython.int = 3


def count_bits(data: Data, first: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The number of bits that are set in the bytes from `first` to before `last`."""
    if cython.compiled:
        text: cython.p_const_uchar = data  # type: ignore[assignment]
        return count_set_bits(text + first, last - first)  # type: ignore[name-defined,operator,no-any-return]  # noqa: F821
    found = 0
    for at in range(first, last, BLOCK_BYTES):
        found += int.from_bytes(data[at : min(at + BLOCK_BYTES, last)]).bit_count()
    return found


def find_other_byte(
    data: Data, byte: cython.uchar, first: cython.Py_ssize_t, last: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The index of the first byte that is not `byte`, from `first` to before `last`, or `last`.

    `byte` is 0 or 255.
    """
    if cython.compiled:
        text: cython.p_const_uchar = data  # type: ignore[assignment]
        return first + find_other(text + first, byte, last - first)  # type: ignore[name-defined,operator,no-any-return]  # noqa: F821
    block = _BLOCKS[byte]
    while last - first >= len(block) and data.startswith(block, first):
        first += len(block)
    rest = data[first : min(first + len(block), last)]
    return first + len(rest) - len(rest.lstrip(block[:1]))


def merge(
    how: cython.int,
    target: bytearray,
    target_at: cython.Py_ssize_t,
    source: Data,
    source_at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> None:
    """Merge `size` bytes of `source` into `target`. Both have zeros after their end."""
    there = max(min(size, len(source) - source_at), 0)
    if cython.compiled:
        into: cython.p_uchar = target
        text: cython.p_const_uchar = source  # type: ignore[assignment]
        merge_bits(how, into + target_at, text + source_at, there)  # type: ignore[name-defined,operator]  # noqa: F821
    else:
        end = target_at + there
        old = int.from_bytes(target[target_at:end])
        new = int.from_bytes(source[source_at : source_at + there])
        merged = (old & new, old | new, old ^ new, old & ~new)[how]
        target[target_at:end] = merged.to_bytes(there)
    if how == AND and there < size:
        target[target_at + there : target_at + size] = bytes(size - there)


def combine(name: bytes, sources: Sequence[Data]) -> bytearray:
    """The result of BITOP, as long as the longest source.

    `name`: AND, OR, XOR, NOT, DIFF, DIFF1, ANDOR or ONE. The others but the first are joined by OR
    for DIFF, DIFF1 and ANDOR; ONE keeps the bits that one source alone has.
    """
    length = max(map(len, sources))
    start, steps = _steps(name, sources)
    result = bytearray(start)
    if len(start) < length:
        result += bytes(length - len(start))
    for at in range(0, length, BLOCK_BYTES):
        size = min(BLOCK_BYTES, length - at)
        if name == b"ONE":
            _merge_one(result, sources, at, size)
        for how, source in steps:
            merge(how, result, at, source, at if source is not _BLOCKS[0xFF] else 0, size)
    return result


def _steps(name: bytes, sources: Sequence[Data]) -> tuple[Data, list[tuple[int, Data]]]:
    """Return the data that the result begins as, and the operations to merge into it, in order."""
    first, others = sources[0], sources[1:]
    if name == b"NOT":
        return first, [(XOR, _BLOCKS[0xFF])]
    if name == b"ONE":
        return b"", []
    if name in (b"DIFF1", b"ANDOR"):
        last = AND if name == b"ANDOR" else AND_NOT
        return others[0], [*[(OR, one) for one in others[1:]], (last, first)]
    how = {b"AND": AND, b"OR": OR, b"XOR": XOR, b"DIFF": AND_NOT}[name]
    return first, [(how, one) for one in others]


def _merge_one(result: bytearray, sources: Sequence[Data], at: int, size: int) -> None:
    """A block of ONE: the bits that are set, without those that are set more than once."""
    more = bytearray(size)
    for source in sources:
        both = result[at : at + size]
        merge(AND, both, 0, source, at, size)
        merge(OR, more, 0, both, 0, size)
        merge(OR, result, at, source, at, size)
    merge(AND_NOT, result, at, more, 0, size)
