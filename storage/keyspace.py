"""A database: its keys, when they expire, and the order in which SCAN walks them.

Guarantees: a key that exists during a whole SCAN is returned by it, exactly once; a SCAN always
ends, however fast keys are added, because it walks from the newest key towards the oldest and a
new key is newer than where the walk began. The cursor is a number (the serial of the next key to
look at) and needs no state in the server. Only a dict that grows takes longer the more keys there
are, beyond a binary search.

Leaves out: who is told about a change (commands/core/client.py), and when expired keys are removed
(lazily by lookups, actively by the server's cron through `due`).

A value that goes for good is released (Value.release): what a stream holds goes in circles, and the
collector of garbage does not look at what was loaded at the start. What is large is handed to
whoever frees it incrementally (storage/deferred_free.py), and so are the keys when all of them go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

try:
    import cython
except ImportError:
    from protocol import uncompiled as cython  # type: ignore[no-redef]

from storage.deferred_free import BLOCK_ITEMS, NO_WASTE, SMALL_ITEMS, RemovedData
from storage.key_walk import KeyWalk
from storage.nodes.entry_cache import EntryCache
from storage.ordered_index import OrderedIndex
from storage.values import Value

# How `random_key` looks for a key: so many numbers are tried, then so many neighbours compared.
RANDOM_TRIES = 32
RANDOM_NEIGHBOURS = 16


# Values that are freed in one step.
VALUES_PER_STEP = 1000

# The attributes of a database that are its content.
CONTENT = (
    "values",
    "expires",
    "field_expires",
    "_order",
    "_next_serial",
    "_deadlines",
    "_field_deadlines",
    "_walks",
)

# Frees what so many values were made of, in steps: all at once, or some other time.
Free = Callable[[Iterator[None], int], object]


def free_now(steps: Iterator[None], objects: int) -> None:
    """All at once."""
    for _ in steps:
        pass


@cython.cclass
class Database:
    """One of the numbered databases (SELECT). Methods neither notify nor propagate."""

    __slots__ = (
        "_cache",
        "_deadlines",
        "_field_deadlines",
        "_free",
        "_next_serial",
        "_order",
        "_walks",
        "expires",
        "field_expires",
        "index",
        "values",
    )

    def __init__(self, index: int, free: Free = free_now, cache: EntryCache | None = None) -> None:
        """`cache`: of the instance, for entries that readers need unpacked."""
        self.index = index
        self._cache = cache or EntryCache()
        self._free = free
        self.values: dict[bytes, Value] = {}
        self.expires: dict[bytes, int] = {}  # key -> Unix ms
        self._order: OrderedIndex[bytes] = OrderedIndex()  # serial -> key
        self._next_serial = 1
        self._deadlines: OrderedIndex[bytes] = OrderedIndex()  # Unix ms << 64 | serial -> key
        # Keys of values some of whose items expire by themselves -> when the first one does.
        self.field_expires: dict[bytes, int] = {}
        self._field_deadlines: OrderedIndex[bytes] = OrderedIndex()  # as _deadlines
        self._walks: list[KeyWalk] = []  # that are under way

    def __len__(self) -> int:
        return len(self.values)

    def __contains__(self, key: bytes) -> bool:
        return key in self.values

    def get(self, key: bytes) -> Value | None:
        """The value, expired or not."""
        return self.values.get(key)

    def set(self, key: bytes, value: Value) -> None:
        """Put `value` at `key`, in the place of what was there. A time to live stays.

        The value must not be at another key.
        """
        old = self.values.get(key)
        if old is None:
            value.serial = self._next_serial
            self._next_serial += 1
            self._order.append(value.serial, key)
        else:
            value.serial = old.serial
            if old is not value:
                self._release(old)
        value.use_cache(self._cache)
        self.values[key] = value
        if self.field_expires or value.deadline_ms is not None:
            self.watch_fields(key)

    def add_all(self, keys: list[bytes], values: Sequence[Value]) -> bool:
        """Put new keys in, all or none: False if one is there already or comes twice.

        What `set` does for each, at a fraction of the time: that is how snapshots are loaded.
        """
        added = dict(zip(keys, values, strict=True))
        if len(added) != len(keys) or not self.values.keys().isdisjoint(added):
            return False
        serial = self._next_serial
        self._next_serial += len(keys)
        for value in values:
            value.serial = serial
            value.use_cache(self._cache)
            serial += 1
        self.values |= added
        self._order.extend(list(range(serial - len(keys), serial)), keys)
        return True

    def remove(self, key: bytes) -> Value | None:
        """Remove `key` with its time to live, for good. What was there, None if nothing was."""
        value = self.take(key)
        if value is not None:
            self._release(value)
        return value

    def _release(self, value: Value) -> None:
        removed_data = value.release()
        if removed_data is not NO_WASTE and removed_data.is_large:
            self._free(removed_data.free(), 1)

    def take(self, key: bytes) -> Value | None:
        """Take `key` out with its time to live, to put its value elsewhere; None if it was not
        there."""
        value = self.values.get(key)
        if value is None:
            return None
        if self._walks:
            self._tell_walks(key, value.serial)
        if key in self.expires:
            self.persist(key)
        del self.values[key]
        if key in self.field_expires:
            self._unwatch_fields(key, value.serial)
        self._order.pop(value.serial)
        return value

    def _tell_walks(self, key: bytes, serial: int) -> None:
        self._walks = [walk for walk in self._walks if not walk.is_over]
        for walk in self._walks:
            walk.keep(key, serial, self.expires.get(key))

    def clear(self) -> int:
        """Remove all keys; how many there were."""
        count = len(self.values)
        if count:
            self._free(self._leftovers(), count)
        self.values = {}
        self.expires = {}
        self._order = OrderedIndex()
        self._deadlines = OrderedIndex()
        self.field_expires = {}
        self._field_deadlines = OrderedIndex()
        self._walks = []  # they have hold of what they need
        return count

    def _leftovers(self) -> Iterator[None]:
        """Steps that free what there is now. To be made before it is replaced."""
        removed_data = RemovedData()
        removed_data.add(self._order.take_blocks(), BLOCK_ITEMS)
        removed_data.add(self._deadlines.take_blocks(), BLOCK_ITEMS)
        removed_data.add(self._field_deadlines.take_blocks(), BLOCK_ITEMS)
        removed_data.add(self.field_expires, SMALL_ITEMS)
        # A walk that is under way still has to know what had expired.
        return _free_content(self.values, {} if self._walks else self.expires, removed_data)

    def swap_content(self, other: Database) -> None:
        """SWAPDB: the two databases exchange everything but their index."""
        for name in CONTENT:
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, theirs)
            setattr(other, name, mine)

    # -- expiry --------------------------------------------------------------------------------

    def expire_at(self, key: bytes, when_ms: int) -> None:
        """Let an existing `key` expire at `when_ms` (Unix ms, not negative)."""
        self.persist(key)
        self.expires[key] = when_ms
        self._deadlines[when_ms << 64 | self.values[key].serial] = key

    def persist(self, key: bytes) -> bool:
        """Take the time to live away; False if there was none."""
        when_ms = self.expires.pop(key, None)
        if when_ms is None:
            return False
        self._deadlines.pop(when_ms << 64 | self.values[key].serial)
        return True

    def is_expired(self, key: bytes, now_ms: int) -> bool:
        """Redis calls a key expired once its time is past, not in the millisecond itself."""
        when_ms = self.expires.get(key)
        return when_ms is not None and now_ms > when_ms

    def due(self, now_ms: int, limit: int) -> list[bytes]:
        """Up to `limit` keys whose time is past, earliest first. They stay until removed."""
        keys: list[bytes] = []
        for deadline, key in islice(self._deadlines.items(), limit):
            if deadline >> 64 >= now_ms:
                break
            keys.append(key)
        return keys

    def watch_fields(self, key: bytes) -> None:
        """The times at which items of the value at `key` expire have changed."""
        value = self.values[key]
        when_ms, old_ms = value.deadline_ms, self.field_expires.get(key)
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
        """The key of the value with the item whose time has been past for longest, if any."""
        for deadline, key in self._field_deadlines.items():
            return key if deadline >> 64 < now_ms else None
        return None

    # -- walking -------------------------------------------------------------------------------

    def start_walk(self, now_ms: int) -> KeyWalk:
        """A walk over the keys that there are now, but for those that have expired.

        It is told of what goes until it is over.
        """
        walk = KeyWalk(self._order.blocks(), self._next_serial, self.expires, now_ms)
        self._walks.append(walk)
        return walk

    def keys(self) -> Iterator[bytes]:
        """All keys, expired ones too, in no promised order."""
        return iter(self.values)

    def scan(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """One step of SCAN: (next cursor, up to `count` keys). Cursor 0 begins and ends."""
        start = cursor if cursor else self._next_serial
        keys: list[bytes] = []
        for serial, key in self._order.items_down_from(start):
            if len(keys) >= count:
                return serial, keys
            keys.append(key)
        return 0, keys

    def random_key(self, below: Callable[[int], int]) -> bytes | None:
        """A key chosen with `below(n)`, which gives a number in [0, n); None if there is none.

        Every key has the same chance, as long as not nearly all keys there ever were are gone;
        then a key beside a wide gap has a greater one.
        """
        if not self.values:
            return None
        for _ in range(RANDOM_TRIES):
            serial = below(self._next_serial)
            key = self._order.get(serial)
            if key is not None:
                return key
        older = islice(self._order.items_down_from(serial), RANDOM_NEIGHBOURS)
        newer = islice(self._order.items_from(serial), RANDOM_NEIGHBOURS)
        neighbours = [*older, *newer]
        return neighbours[below(len(neighbours))][1]


def _free_content(
    values: dict[bytes, Value], expires: dict[bytes, int], removed_data: RemovedData
) -> Iterator[None]:
    """Steps that free all values of a database, and what else it was made of."""
    while values:
        for _ in range(min(len(values), VALUES_PER_STEP)):
            _, value = values.popitem()
            parts = value.release()
            if parts is not NO_WASTE:
                yield from parts.free()
        yield
    while expires:
        for _ in range(min(len(expires), SMALL_ITEMS)):
            expires.popitem()
        yield
    yield from removed_data.free()
