"""A database: its keys, their deadlines, and the order in which SCAN returns them.

Guarantees: a key that exists during a whole SCAN is returned by it, exactly once. A SCAN always
ends, however fast keys are added, because it goes from the newest key to the oldest, and added keys
are newer than its start. The cursor is a number (the serial of the next key) and needs no state in
the server. Apart from the growth of a dict, no operation depends on the number of keys beyond a
binary search.

Leaves out: notifications (commands/core/client.py), and the removal of expired keys (lazily by
lookups, actively by the server's cron through `due`).

A removed value is released (Value.release): a stream has reference cycles, and the garbage
collector ignores objects that were loaded at the start (gc.freeze). Large data is freed
incrementally (storage/keyspace/deferred_free.py), and so are the keys of FLUSHALL.

A `MemoryCount` counts what keys and values take. Each value knows its own size in constant time
(`Value.memory_bytes`). A command changes a value in many small steps, and so the difference is
added later, once for all of them: what looks a value up to change it calls `note`, and `settle`
adds up what has become of the noted values.

    count.note(value)     before or after a change; cheap if it is noted already
    count.settle()
    count.bytes           of all values, as of the last `settle`, less what is packed since

A `KeyWalk` is a consistent snapshot of the keys, read incrementally (KEYS over many keys). It keeps
references to the blocks of the order of creation, two thousand for a million keys, and reads one
after the other. The database reports each key that is removed meanwhile (`keep`); the walk
keeps it if its block was not read yet. A key that is added meanwhile has a greater serial number
than any at the beginning, and is skipped. So the result is that of the beginning, whatever happens
in between, FLUSHALL included, without keys that had expired at that moment.

A `SlotIndex` has the keys of each hash slot: in cluster mode, where slots move with their keys.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from sys import getsizeof

import cython

from protocol.request import key_slot
from storage.keyspace.creation_order import SLOTS, CreationOrder
from storage.keyspace.deadlines import Deadlines
from storage.keyspace.deferred_free import BLOCK_ITEMS, NO_WASTE, SMALL_ITEMS, RemovedData
from storage.keyspace.key_table import KeyTable
from storage.keyspace.ordered_index import Chance, OrderedIndex
from storage.nodes.entry_cache import EntryCache
from storage.stream import Stream
from storage.types.value import NEW_FREQUENCY, UNCOUNTED, Value

# At this number of noted values the older half is settled: the command that runs may still change
# the others.
MOST_NOTED = 16384
# How far back a removed value is searched among the noted ones.
RECENT = 64
_MOST_NOTED: cython.Py_ssize_t = MOST_NOTED
_RECENT: cython.Py_ssize_t = RECENT
_UNCOUNTED: cython.long = UNCOUNTED


@cython.cclass
class MemoryCount:
    """The bytes of one database's values."""

    __slots__ = ("_noted", "_table", "bytes")

    def __init__(self, table: KeyTable) -> None:
        self._table = table
        self.bytes = 0
        self._noted: list[Value] = []

    def note(self, value: Value) -> None:
        """The size of a value may change, or has changed."""
        if not value.has_changed:
            value.has_changed = True
            self._noted.append(value)
            if len(self._noted) >= _MOST_NOTED:
                self._settle_older(_MOST_NOTED // 2)

    def settle(self) -> None:
        """Count what has become of the noted values. Not while a command changes them."""
        value: Value
        for value in self._noted:
            value.has_changed = False
            if value.counted_bytes != _UNCOUNTED:
                size_bytes: cython.long = value.memory_bytes()
                self.bytes += size_bytes - value.counted_bytes
                value.counted_bytes = size_bytes
                self._table.settle(value)
        self._noted.clear()

    def add(self, value: Value) -> None:
        """A value is stored at a new key."""
        value.counted_bytes = 0
        self.note(value)

    def exchange(self, old: Value, new: Value) -> None:
        """A value is replaced at its key, by itself perhaps."""
        if old is not new:
            self.subtract(old)
            new.counted_bytes = 0
        self.note(new)

    def subtract(self, value: Value) -> None:
        """A value is removed."""
        if value.has_changed:
            self._drop(value)  # so that it is not kept alive
        self.bytes -= value.counted_bytes
        value.counted_bytes = _UNCOUNTED

    @cython.cfunc
    def _drop(self, value: Value) -> None:
        noted = self._noted
        place: cython.Py_ssize_t = len(noted) - 1
        for _ in range(min(_RECENT, len(noted))):
            if noted[place] is value:
                value.has_changed = False
                del noted[place]
                return
            place -= 1
        self._settle_older(_RECENT)

    @cython.cfunc
    def _settle_older(self, recent: cython.Py_ssize_t) -> None:
        """Settle all but the last values."""
        kept = self._noted[-recent:]
        del self._noted[-recent:]
        self.settle()
        self._noted += kept


class SlotIndex:
    """The keys of a database by slot, each slot's in the order in which they were added."""

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        self._keys: dict[int, dict[bytes, None]] = {}
        for key in keys:
            self.add(key)

    def add(self, key: bytes) -> None:
        self._keys.setdefault(key_slot(key), {})[key] = None

    def discard(self, key: bytes) -> None:
        slot = key_slot(key)
        keys = self._keys.get(slot)
        if keys is not None:
            keys.pop(key, None)
            if not keys:
                del self._keys[slot]

    def clear(self) -> None:
        self._keys = {}

    def count(self, slot: int) -> int:
        return len(self._keys.get(slot, ()))

    def first(self, slot: int, limit: int) -> list[bytes]:
        """Up to `limit` keys of a slot."""
        return list(islice(self._keys.get(slot, ()), limit))

    def slots(self) -> list[int]:
        """The slots that have keys."""
        return list(self._keys)


class KeyWalk:
    """A consistent snapshot of a database's keys, read incrementally."""

    __slots__ = (
        "_blocks",
        "_deadlines",
        "_end",
        "_expired",
        "_firsts",
        "_kept",
        "_position",
        "_rest",
        "_rest_bounds",
        "_values",
        "is_over",
        "now_ms",
    )

    def __init__(
        self,
        order: CreationOrder,
        end: int,
        values: KeyTable,
        deadlines: Deadlines,
        now_ms: int,
    ) -> None:
        """Keys with serials from `end` on are new."""
        self._blocks = order.blocks()
        self._firsts = [block.first for block in self._blocks]
        rest = order.rest.blocks()
        self._rest_bounds = [bound for bound, _ in rest]
        self._rest = [block for _, block in rest]
        self._end = end
        self._values, self._deadlines = values, deadlines
        self._expired: Collection[bytes] | None = None  # once the database is empty
        self.now_ms = now_ms
        # By position of the block; those of the rest follow the others.
        self._kept: dict[int, dict[int, bytes]] = {}
        self._position = 0  # of the block that is read next
        self.is_over = False

    def _block_of(self, serial: int) -> int:
        """The position of the block that had a serial at the beginning; -1: it was in the rest."""
        position = bisect_right(self._firsts, serial) - 1
        return position if position >= 0 and serial < self._firsts[position] + SLOTS else -1

    def keep(self, key: bytes, serial: int) -> None:
        """A key is about to be removed: keep it if the walk must still return it."""
        position = self._block_of(serial)
        if position < 0:
            position = len(self._firsts) + bisect_right(self._rest_bounds, serial) - 1
        if serial < self._end and position >= self._position and not self._had_expired(key):
            self._kept.setdefault(position, {})[serial] = key

    def read(self) -> Iterator[list[bytes]]:
        """The keys, some hundreds at a time; each is given once, expired or not."""
        blocks = chain((block.items() for block in self._blocks), map(self._unmoved, self._rest))
        for block in blocks:
            # A block that was split or merged meanwhile still has keys that are removed later.
            items = self._kept.pop(self._position, {})
            for serial, code in block.items():
                key = self._values.key_at(code, serial)
                if key is not None:
                    items[serial] = key
            self._position += 1
            if max(items, default=0) >= self._end:
                yield [key for serial, key in items.items() if serial < self._end]
            else:
                yield list(items.values())

    def _unmoved(self, rest: dict[int, int]) -> dict[int, int]:
        """What was in the rest at the beginning: what has moved there since is in its block."""
        return {serial: code for serial, code in rest.items() if self._block_of(serial) < 0}

    def unexpired(self, keys: Iterable[bytes]) -> list[bytes]:
        """Those of the keys that `read` has just given that had not expired at the beginning."""
        if not self._deadlines.count and self._expired is None:
            return list(keys)
        return [key for key in keys if not self._had_expired(key)]

    def _had_expired(self, key: bytes) -> bool:
        if self._expired is not None:
            return key in self._expired
        value = self._values.get(key)
        return (
            value is not None
            and value.deadline != 0
            and self._deadlines.at(value.deadline) < self.now_ms
        )

    def keep_expired(self, keys: Collection[bytes]) -> None:
        """All keys are about to be removed; these had expired."""
        self._expired = keys

    def end(self) -> None:
        """End the walk: nothing more is read."""
        self.is_over = True
        self._blocks, self._rest = [], []
        self._kept = {}


# The number in `field_expires` beside each of its keys.
_NUMBER_BYTES = 32
# The tables are measured again when the number of keys has changed by one part in this many.
_NOTABLE_PART: cython.Py_ssize_t = 64
_NEW_FREQUENCY: cython.int = NEW_FREQUENCY

# The attributes of a database that are its content.
CONTENT = (
    "values",
    "expires",
    "field_expires",
    "_order",
    "_next_serial",
    "_field_deadlines",
    "_walks",
    "streams",
    "slots",
    "memory",
    "_tables_bytes",
    "_measured_keys",
)

# Frees the data of a number of values, in steps: at once, or in the background.
Free = Callable[[Iterator[None], int], object]


def free_now(steps: Iterator[None], objects: int) -> None:
    """Run all steps at once."""
    for _ in steps:
        pass


@cython.cclass
class Database:
    """One of the numbered databases (SELECT). Methods neither notify nor propagate."""

    __slots__ = (
        "_cache",
        "_field_deadlines",
        "_free",
        "_measured_keys",
        "_next_serial",
        "_order",
        "_recounted",
        "_tables_bytes",
        "_walks",
        "expires",
        "field_expires",
        "index",
        "memory",
        "slots",
        "streams",
        "values",
    )

    def __init__(self, index: int, free: Free = free_now, cache: EntryCache | None = None) -> None:
        """`cache`: of the instance, for entries that readers need unpacked."""
        self.index = index
        self._cache = cache or EntryCache()
        self._free = free
        self.values: KeyTable = KeyTable()
        self.expires: Deadlines = Deadlines()
        self._order: CreationOrder = CreationOrder(self.values)
        self._next_serial = 1
        # Keys of values with items that expire by themselves -> the first deadline (Unix ms).
        self.field_expires: dict[bytes, int] = {}
        self._field_deadlines: OrderedIndex = OrderedIndex()  # Unix ms << 64 | serial -> key
        self._walks: list[KeyWalk] = []  # walks in progress
        # The keys of streams by serial: in the order in which they were created.
        self.streams: OrderedIndex = OrderedIndex()
        self.slots: SlotIndex | None = None  # in cluster mode
        self.memory = MemoryCount(self.values)
        self._tables_bytes = self._measured_keys = 0
        self._recounted = 0  # the cursor of `recount`

    def __len__(self) -> int:
        return len(self.values)

    def __contains__(self, key: bytes) -> bool:
        return key in self.values

    def __iter__(self) -> Iterator[bytes]:
        return self.keys()

    def get(self, key: bytes) -> Value | None:
        """The value, expired or not."""
        return self.values.get(key)

    def set(self, key: bytes, value: Value) -> None:
        """Set `key` to `value`, new or replaced. A time to live stays.

        The value must not be stored at another key.
        """
        old: Value | None = self.values.get(key)
        if old is None:
            value.serial = self._next_serial
            if not value.frequency:  # from a snapshot it may have one
                value.frequency = _NEW_FREQUENCY
            self._next_serial += 1
            self._order.append(value.serial, key)
            if self.slots is not None:
                self.slots.add(key)
            self.memory.add(value)
        else:
            value.serial = old.serial
            value.frequency = old.frequency
            value.deadline = old.deadline
            self.memory.exchange(old, value)
            if type(old) is Stream:
                self.streams.pop(old.serial)
            if old is not value:
                self._release(old)
        if type(value) is Stream:
            self.streams[value.serial] = key
        value.use_cache(self._cache)
        self.values.put(key, value)
        if self.field_expires or value.first_deadline_ms() is not None:
            self.watch_fields(key)

    def add_all(self, keys: list[bytes], values: Sequence[Value]) -> bool:
        """Add new keys, all or none: False if one exists already or occurs twice.

        A batch form of `set` at a fraction of its time, used to load snapshots.
        """
        table = self.values
        if len(set(keys)) != len(keys) or (len(table) and any(key in table for key in keys)):
            return False
        serial = self._next_serial
        self._next_serial += len(keys)
        memory = self.memory
        for key, value in zip(keys, values, strict=True):
            value.serial = serial
            if not value.frequency:
                value.frequency = _NEW_FREQUENCY
            value.use_cache(self._cache)
            memory.add(value)
            table.put(key, value)
            if type(value) is Stream:
                self.streams.append(serial, key)
            serial += 1
        if self.slots is not None:
            for key in keys:
                self.slots.add(key)
        self._order.extend(serial - len(keys), keys)
        return True

    def remove(self, key: bytes) -> Value | None:
        """Delete `key` with its time to live; return the value, None if there was none."""
        value = self.take(key)
        if value is not None:
            self._release(value)
        return value

    def _release(self, value: Value) -> None:
        removed_data = value.release()
        if removed_data is not NO_WASTE and removed_data.is_large:
            self._free(removed_data.free(), 1)

    def take(self, key: bytes) -> Value | None:
        """Remove `key` with its time to live, to move its value elsewhere; None if it was
        missing.
        """
        value: Value | None = self.values.get(key)
        if value is None:
            return None
        if self._walks:
            self._tell_walks(key, value.serial)
        if value.deadline:
            self._drop_deadline(value)
        self.values.pop(key)
        self.memory.subtract(value)
        value.frequency = 0  # under another name it begins again
        if key in self.field_expires:
            self._unwatch_fields(key, value.serial)
        self._order.remove(value.serial)
        if self.slots is not None:
            self.slots.discard(key)
        if type(value) is Stream:
            self.streams.pop(value.serial)
        return value

    def _tell_walks(self, key: bytes, serial: int) -> None:
        self._walks = [walk for walk in self._walks if not walk.is_over]
        for walk in self._walks:
            walk.keep(key, serial)

    def clear(self) -> int:
        """Remove all keys; return their number."""
        count = len(self.values)
        if count:
            for walk in self._walks:
                walk.keep_expired(set(self.due(walk.now_ms, self.expires.count)))
            self._free(self._leftovers(), count)
        self.values = KeyTable()
        self.expires = Deadlines()
        self._order = CreationOrder(self.values)
        self.field_expires = {}
        self._field_deadlines = OrderedIndex()
        self._walks = []  # they have references to what they need
        self.streams = OrderedIndex()
        if self.slots is not None:
            self.slots.clear()
        self.memory = MemoryCount(self.values)
        self._tables_bytes = self._measured_keys = 0
        return count

    def _leftovers(self) -> Iterator[None]:
        """Steps that free the present content; to be created before it is replaced."""
        removed_data = RemovedData()
        removed_data.add(self._order.take_blocks(), BLOCK_ITEMS)
        removed_data.add(self._field_deadlines.take_blocks(), BLOCK_ITEMS)
        removed_data.add(self.streams.take_blocks(), BLOCK_ITEMS)
        removed_data.add(self.field_expires, SMALL_ITEMS)
        if self._walks:  # they still need the keys
            held = [self.values.held(key) for key in self.values]
            self.values.forget()
            return _free_values([held], removed_data)
        return _free_values(self.values.take_all(), removed_data)

    def swap_content(self, other: Database) -> None:
        """SWAPDB: the two databases exchange everything but their index."""
        for name in CONTENT:
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, theirs)
            setattr(other, name, mine)

    # -- memory --------------------------------------------------------------------------------

    def memory_bytes(self) -> int:
        """The memory of all keys, values and tables, as of now."""
        self.memory.settle()
        keys: cython.Py_ssize_t = self.values.count + self.expires.count
        changed: cython.Py_ssize_t = keys - self._measured_keys
        if (changed if changed > 0 else -changed) * _NOTABLE_PART > keys:
            self._measured_keys = keys
            self._shrink_tables()
            self._tables_bytes = self._measure_tables()
        return self.memory.bytes + self.values.memory_bytes() + self._tables_bytes

    def recount(self, limit: int) -> None:
        """Note the next `limit` values in turn, so that they are counted again; small ones, which
        are packed, do not change by themselves.
        """
        cursor, keys = self.scan(self._recounted, limit)
        self._recounted = cursor
        for key in keys:
            value = self.values.held(key)
            if value is not None:
                self.memory.note(value)

    def _shrink_tables(self) -> None:
        """Make a table again that removals have left nearly empty."""
        if self.expires.is_sparse and not self._walks:  # which refer to it
            former, self.expires = self.expires, Deadlines()
            for serial, when_ms in former.items():
                value = self.values[self._key(serial)]
                value.deadline = self.expires.add(when_ms, serial)

    def _measure_tables(self) -> int:
        """The memory of the tables, without keys and values."""
        return (
            getsizeof(self.field_expires)
            + _NUMBER_BYTES * len(self.field_expires)
            + self.expires.memory_bytes()
            + self._order.memory_bytes()
            + self._field_deadlines.memory_bytes()
            + self.streams.memory_bytes()
        )

    # -- expiry --------------------------------------------------------------------------------

    def expire_at(self, key: bytes, when_ms: cython.long) -> None:
        """Let an existing `key` expire at `when_ms` (Unix ms, not negative)."""
        value: Value = self.values[key]
        if value.deadline:
            self.expires.move(value.deadline, when_ms)
        else:
            value.deadline = self.expires.add(when_ms, value.serial)

    def persist(self, key: bytes) -> bool:
        """Remove the time to live; False if there was none."""
        value: Value | None = self.values.get(key)
        if value is None or not value.deadline:
            return False
        self._drop_deadline(value)
        return True

    @cython.cfunc
    def _drop_deadline(self, value: Value) -> None:
        self.expires.drop(value.deadline)
        value.deadline = 0

    def deadline(self, key: bytes) -> int | None:
        """When a key expires (Unix ms); None without a deadline or a key."""
        value: Value | None = self.values.get(key)
        if value is None or not value.deadline:
            return None
        return self.expires.at(value.deadline)

    def deadlines(self) -> dict[bytes, int]:
        """All deadlines by key, in no promised order: for checks."""
        return {self._key(serial): when_ms for serial, when_ms in self.expires.items()}

    def _key(self, serial: int) -> bytes:
        """The key with a serial."""
        key = self._order.get(serial)
        assert key is not None
        return key

    def is_expired(self, key: bytes, now_ms: cython.long) -> bool:
        """Redis calls a key expired once its time is past, not in the millisecond itself."""
        value: Value | None = self.values.get(key)
        return value is not None and self.has_passed(value, now_ms)

    def has_passed(self, value: Value, now_ms: cython.long) -> bool:
        """`is_expired` for the key of a value of this database."""
        return value.deadline != 0 and now_ms > self.expires.at(value.deadline)

    def due(self, now_ms: int, limit: int) -> list[bytes]:
        """Up to `limit` expired keys, earliest first. They stay until removed."""
        return [self._key(serial) for serial in self.expires.before(now_ms, limit)]

    def watch_fields(self, key: bytes) -> None:
        """Update the index after deadlines of items of the value at `key` have changed."""
        value = self.values[key]
        when_ms, old_ms = value.first_deadline_ms(), self.field_expires.get(key)
        if when_ms == old_ms:
            return
        if old_ms is not None:
            self._unwatch_fields(key, value.serial)
        if when_ms is not None:
            self.field_expires[key] = when_ms
            self._field_deadlines[when_ms << 64 | value.serial] = key

    def _unwatch_fields(self, key: bytes, serial: int) -> None:
        self._field_deadlines.pop(self.field_expires.pop(key) << 64 | serial)

    def due_fields(self, now_ms: int) -> bytes | None:
        """The key of the value with the item that expired first, if any has."""
        for deadline, key in self._field_deadlines.items():
            return key if deadline >> 64 < now_ms else None
        return None

    # -- walking -------------------------------------------------------------------------------

    def start_walk(self, now_ms: int) -> KeyWalk:
        """A walk over the present keys that have not expired.

        Until it ends, it is notified of each removed key.
        """
        walk = KeyWalk(self._order, self._next_serial, self.values, self.expires, now_ms)
        self._walks.append(walk)
        return walk

    def keys(self) -> Iterator[bytes]:
        """All keys, expired ones too, from the oldest to the newest."""
        return self._order.ascending()

    def items(self) -> Iterator[tuple[bytes, Value]]:
        """The same with their values."""
        return ((key, self.values[key]) for key in self)

    def scan(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """One step of SCAN: (next cursor, up to `count` keys). Cursor 0 begins and ends."""
        start = min(cursor, self._next_serial) if cursor else self._next_serial
        return self._order.keys_down_from(start, count)

    def random_key(self, chance: Chance) -> bytes | None:
        """A key, each equally likely; None if there is none."""
        return self._order.random_key(chance)

    def random_volatile_key(self, chance: Chance) -> bytes | None:
        """A key with a time to live, each equally likely; None if there is none."""
        serial = self.expires.random(chance)
        return None if serial is None else self._key(serial)

    def first_deadline(self) -> tuple[int, bytes] | None:
        """(Unix ms, key) of the key that expires first, expired or not; None if none does."""
        serial = self.expires.first()
        if serial is None:
            return None
        key = self._key(serial)
        return self.expires.at(self.values[key].deadline), key


def _free_values(
    steps: Iterable[list[Value | None]] | Iterable[list[Value]], removed_data: RemovedData
) -> Iterator[None]:
    """Steps that free values of a database, some at a time, and its indexes."""
    for values in steps:
        for value in values:
            parts = NO_WASTE if value is None else value.release()
            if parts is not NO_WASTE:
                yield from parts.free()
        yield
    yield from removed_data.free()
