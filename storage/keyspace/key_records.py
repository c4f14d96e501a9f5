"""The records of a database's keys, and the hash table that finds them.

A record has a key and what a value needs whose object does not exist at the moment
(storage/keyspace/key_table.py). Compiled, it is one block of memory, which ends in the key and the
content of a small value, and these are C functions, which the module's C types import from
key_records.pxd:

    0   8   the value's object, or what stands for it
    8   6   its serial
    14  1   its kind
    15  1   its form
    16  6   the time of its last access
    22  1   its frequency
    23  1   whether it is an object
    24  4   the slot of its deadline
    28  4   the length of the content
    32  4   the length of the key
    36      the key, and then the content

The hash table is divided into segments, each with up to 1024 slots, by the first bits of the keys'
hashes (extendible hashing, as in storage/types/packed_table.py): it grows and shrinks a segment at
a time, and only the directory, 8 bytes for some hundred keys, is ever copied as a whole. A slot has
the address of a record in its low 48 bits, and the last 16 bits of the hash above: its place is
where these say, or the next free one (linear probing), and most comparisons with other keys are
spared. The hash is keyed with a random number by each process, so that clients cannot choose keys
that collide.

Interpreted, a record is an object, which always has its value.
"""

from __future__ import annotations

from typing import Any

_MASK = (1 << 64) - 1


class Record:
    """One key."""

    __slots__ = ("key", "serial", "value")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.serial = 0
        self.value: Any = None


class Keys:
    """The table: the records by the hashes of their keys."""

    def __init__(self) -> None:
        self.bytes = 0
        self.by_code: dict[int, list[Record]] = {}
        self.listed: list[Record] = []


def code_of_key(key: bytes) -> int:
    """The hash of a key, which is never 0."""
    return hash(key) & _MASK or 1


def exists(record: Record | None) -> bool:
    """Return True if a record was found."""
    return record is not None


def new_keys() -> Keys:
    """An empty table."""
    return Keys()


def find(keys: Keys, key: bytes, code: int) -> Any:
    """The record of a key, whose hash is `code`."""
    return next((record for record in keys.by_code.get(code, ()) if record.key == key), None)


def find_serial(keys: Keys, code: int, serial: int) -> Any:
    """The record with a serial; `code` is the hash of its key."""
    found = keys.by_code.get(code, ())
    return next((record for record in found if record.serial == serial), None)


def free_record(keys: Keys, record: Record, code: int) -> None:
    """Remove a record."""
    records = keys.by_code[code]
    records.remove(record)
    if not records:
        del keys.by_code[code]


def key_of(record: Record) -> bytes:
    """The key of a record."""
    return record.key


def entries(keys: Keys) -> int:
    """The number of entries of the directory: where all records are found."""
    keys.listed = [record for records in keys.by_code.values() for record in records]
    return 1


def span(keys: Keys, entry: int) -> int:
    """How many entries have the segment of this one."""
    return 1


def slots(keys: Keys, entry: int) -> int:
    """The number of slots of a segment."""
    return len(keys.listed)


def record_in(keys: Keys, entry: int, slot: int) -> Any:
    """The record in a slot."""
    return keys.listed[slot]


# -- what records hold: compiled, in storage/keyspace/packing.pxd --------------------------------


def hold(table: Any, record: Record, value: Any) -> None:
    """Let a record, which has no value, have one."""
    record.value, record.serial = value, value.serial


def new_record(table: Any, key: bytes, code: int, value: Any) -> Record:
    """A record for a key that has none, with room for the content of a small value."""
    record = Record(key)
    table._keys.by_code.setdefault(code, []).append(record)
    return record


def value_of(table: Any, record: Record) -> Any:
    """The value of a record, which is unpacked if it has none."""
    return record.value


def let_go(table: Any, record: Record) -> Any:
    """Take the value of a record that is removed, or gets another one."""
    return record.value


def weigh(table: Any, value: Any) -> None:
    """A value has changed: from now on its record keeps its object, or packs it once it is free."""


def take_back(table: Any, value: Any) -> None:
    """The object of a value is freed: pack it."""


def forget_all(table: Any) -> None:
    """Let go of the objects of a table that were made last."""


def has_object(record: Record) -> bool:
    """Return True if a value is an object at the moment."""
    return True


def bytes_of(record: Record) -> int:
    """The memory of a record in bytes."""
    return 33 + len(record.key) + 15 & ~15


def counted_of(record: Record) -> int:
    """What has been counted of a key and its value."""
    counted: int = record.value.counted_bytes
    return bytes_of(record) + counted


def take_segment(table: Any, entry: int, values: list[Any]) -> int:
    """Remove the records of a segment, append the objects that they kept; the next entry."""
    values += [record.value for records in table._keys.by_code.values() for record in records]
    table._keys.by_code.clear()
    return 1


def free_all(table: Any) -> None:
    """Free everything."""
