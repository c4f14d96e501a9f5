"""The table of a database's keys: it finds the value of each.

A small value takes no object of Python while no one refers to it: its content is packed in the
record of its key, or its block of memory is kept there (storage/keyspace/packing.pxd). A look-up
makes the object (`Value`), and when the last reference to it goes, what it has become is packed
again. Until then all look-ups return this object. So strings, lists, sets, hashes and sorted sets
of some hundred bytes take little more than their content. The record of any other value, a stream
for example, keeps its object. This is decided after each change, when its memory is counted
(`MemoryCount.settle`, storage/keyspace/database.py), which keeps the object until then.

    table = KeyTable()
    table.put(b"key", StringValue(b"text"))
    table.get(b"key")                        # a StringValue
    table.pop(b"key")

The time of the last access, the frequency, the form, the serial and the slot of the deadline are in
the record, too, or in the object if there is one.

`memory_bytes` is what records and packed values take, the table included; what objects take that a
`MemoryCount` has counted is subtracted from it when they are packed, and so the sum of both is the
memory of all keys and values. The order of the keys is another matter
(storage/keyspace/creation_order.py).

Interpreted, all values are objects.
"""

from __future__ import annotations

from collections.abc import Iterator

import cython

from storage.types.value import Keeper, Value

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.keyspace.key_records import (
        bytes_of,
        code_of_key,
        counted_of,
        entries,
        exists,
        find,
        find_serial,
        forget_all,
        free_all,
        free_record,
        has_object,
        hold,
        key_of,
        let_go,
        new_keys,
        new_record,
        record_in,
        slots,
        span,
        take_back,
        take_segment,
        value_of,
        weigh,
    )


@cython.no_gc  # what its records keep is freed with them
@cython.cclass
class KeyTable(Keeper):
    """Values by key."""

    __slots__ = ("_keys", "count", "record_bytes")

    def __init__(self) -> None:
        self._keys = new_keys()
        self.count = 0
        self.record_bytes = 0

    def __dealloc__(self) -> None:
        free_all(self)

    def __len__(self) -> int:
        return self.count

    def __contains__(self, key: bytes) -> bool:
        return exists(find(self._keys, key, code_of_key(key)))

    def __getitem__(self, key: bytes) -> Value:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.keys())

    def get(self, key: bytes) -> Value | None:
        """The value of a key, or None."""
        record = find(self._keys, key, code_of_key(key))
        return value_of(self, record) if exists(record) else None

    def held(self, key: bytes) -> Value | None:
        """The value of a key if it is an object at the moment."""
        record = find(self._keys, key, code_of_key(key))
        return value_of(self, record) if exists(record) and has_object(record) else None

    def key_at(self, code: cython.ulonglong, serial: cython.long) -> bytes | None:
        """The key with a hash and a serial, or None."""
        record = find_serial(self._keys, code, serial)
        return key_of(record) if exists(record) else None

    # -- changing ------------------------------------------------------------------------------

    def put(self, key: bytes, value: Value) -> None:
        """Set the value of a key; it has its serial already."""
        code: cython.ulonglong = code_of_key(key)
        record = find(self._keys, key, code)
        if exists(record):
            let_go(self, record)
        else:
            record = new_record(self, key, code, value)
            self.count += 1
            self.record_bytes += bytes_of(record)
        hold(self, record, value)

    def pop(self, key: bytes) -> Value | None:
        """Remove a key; return its value, None if there is none."""
        code: cython.ulonglong = code_of_key(key)
        record = find(self._keys, key, code)
        if not exists(record):
            return None
        value: Value = let_go(self, record)
        self.count -= 1
        self.record_bytes -= bytes_of(record)
        free_record(self._keys, record, code)
        return value

    def settle(self, value: Value) -> None:
        """A value of the table has changed, and the caller refers to it."""
        weigh(self, value)

    def give_back(self, value: Value) -> None:
        """The object of a value is freed."""
        take_back(self, value)

    def forget(self) -> None:
        """Let go of the objects that are kept for a while; they would keep the table."""
        forget_all(self)

    # -- the whole -----------------------------------------------------------------------------

    def keys(self) -> list[bytes]:
        """All keys, in no promised order."""
        return [key for key, _ in self.items()]

    def values(self) -> Iterator[Value]:
        """All values, in no promised order, as long as no key is added or removed."""
        for _, value in self.items():
            yield value

    def items(self) -> Iterator[tuple[bytes, Value]]:
        """All keys with their values in the same way."""
        entry: cython.Py_ssize_t = 0
        slot: cython.Py_ssize_t
        while entry < entries(self._keys):
            slot = 0
            while slot < slots(self._keys, entry):
                record = record_in(self._keys, entry, slot)
                slot += 1
                if exists(record):
                    yield key_of(record), value_of(self, record)
            entry += span(self._keys, entry)

    def take_all(self) -> Iterator[list[Value]]:
        """Steps that remove everything; each returns the objects that some hundred records kept."""
        entry: cython.Py_ssize_t = 0
        while entry < entries(self._keys):
            values: list[Value] = []
            entry = take_segment(self, entry, values)
            yield values
        self.count = 0

    def counted_bytes(self) -> int:
        """What has been counted of all keys and values, here and elsewhere: for checks."""
        total = 0
        entry: cython.Py_ssize_t = 0
        while entry < entries(self._keys):
            for slot in range(slots(self._keys, entry)):
                record = record_in(self._keys, entry, slot)
                if exists(record):
                    total += counted_of(record)
            entry += span(self._keys, entry)
        return total

    def index_bytes(self) -> int:
        """The memory of the hash table alone."""
        return self._keys.bytes

    def memory_bytes(self) -> int:
        """The memory of the table in bytes."""
        return self.record_bytes + self._keys.bytes
