"""A hash: fields with values, and, for some of them, a time at which they expire.

A field and its value are one record of a table, in the order of insertion. Redis's compact
encodings are a flag, with the effects that clients see: OBJECT ENCODING, and the order of the
fields. In a listpack a field keeps its position when its value changes. In a listpack with times
(listpackex) fields are ordered by their time, those without one last. A hash table has no defined
order.

Expired fields stay until they are removed: methods that take `now_ms` skip them, the others ignore
expiry.

Leaves out: notifications, and the removal of expired fields (commands/hashes/lookup.py,
server/loop/cron.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from sys import getsizeof

import cython

from storage.keyspace.deferred_free import FEW_STEPS, NO_WASTE, SMALL_ITEMS, RemovedData
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.members.key_part import PAIRS
from storage.types.members.pairs import field_of, pair, value_of
from storage.types.members.record_table import RecordTable
from storage.types.value import Value

LISTPACK = b"listpack"
LISTPACK_EX = b"listpackex"
HASHTABLE = b"hashtable"

# The number of fields that are copied or written in a step of Value.effort.
FIELDS_PER_EFFORT = 500

# Up to this many stale times in the heap are tolerated before it is built again.
FEW_ALARMS = 64

# A time after all others, for the order of fields without one.
NEVER_MS = 1 << 64


@cython.cclass
class HashValue(Value):
    """One hash. `expires` is there to be read; the methods change it."""

    __slots__ = ("_alarms", "_table", "encoding_name", "expires")

    type_name = b"hash"

    def __init__(self, access_ms: int = 0) -> None:
        super().__init__(access_ms)
        self._table = RecordTable(PAIRS)
        self.expires: dict[bytes, int] = {}  # field -> Unix ms; few fields have one
        self.encoding_name = LISTPACK
        self._alarms: list[tuple[int, bytes]] | None = None  # a heap, once it is asked for

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, field: bytes) -> bool:
        return field in self._table

    @property
    def encoding(self) -> bytes:
        """The encoding that OBJECT ENCODING returns."""
        return self.encoding_name

    @property
    def size(self) -> int:
        """The number of fields, expired ones included."""
        return len(self._table)

    @property
    def effort(self) -> int:
        """A step for some hundred fields."""
        return 1 + len(self._table) // FIELDS_PER_EFFORT

    # -- encodings -----------------------------------------------------------------------------

    def prepare(self, fields_and_values: Sequence[bytes], limits: EncodingLimits) -> None:
        """Convert to a hash table before a request with these fields and values if Redis would.

        As in Redis, the number of pairs counts, new or not, and the length of each word.
        """
        if self.encoding_name is not HASHTABLE and (
            len(fields_and_values) > 2 * limits.hash_max_listpack_entries
            or max(map(len, fields_and_values)) > limits.hash_max_listpack_value
        ):
            self.encoding_name = HASHTABLE

    def adapt(self, limits: EncodingLimits) -> None:
        """Choose the encoding after the hash was loaded, from its content."""
        longest = limits.hash_max_listpack_value
        if len(self._table) > limits.hash_max_listpack_entries or any(
            len(record) > longest and max(len(field_of(record)), len(value_of(record))) > longest
            for record in self._table
        ):
            self.encoding_name = HASHTABLE

    # -- changing ------------------------------------------------------------------------------

    def set(self, field: bytes, value: bytes, limits: EncodingLimits) -> bool:
        """Set a field; its time to live stays. True if the field is new."""
        is_new: cython.bint = self.load(field, value)
        if self.encoding_name is not HASHTABLE and (
            max(len(field), len(value)) > limits.hash_max_listpack_value
            or len(self._table) > limits.hash_max_listpack_entries
        ):
            self.encoding_name = HASHTABLE
        return is_new

    def load(self, field: bytes, value: bytes) -> bool:
        """Set a field of a hash that is loaded; `adapt` follows. True if the field is new."""
        return self._table.put(pair(field, value)) is None

    def assign(self, field: bytes, value: bytes, limits: EncodingLimits) -> bool:
        """Set a field and remove its time. True if the field is new."""
        if self.expires:
            self.persist([field])
        return self.set(field, value, limits)

    def update(self, fields_and_values: list[bytes], limits: EncodingLimits) -> int:
        """Set fields (field, value, ...) and remove their times; the number of new ones."""
        if len(fields_and_values) == 2:
            return self.assign(fields_and_values[0], fields_and_values[1], limits)
        self.prepare(fields_and_values, limits)
        if self.expires:
            self.persist(fields_and_values[::2])
        added: cython.Py_ssize_t = 0
        place: cython.Py_ssize_t
        for place in range(0, len(fields_and_values), 2):
            added += self.load(fields_and_values[place], fields_and_values[place + 1])
        if len(self._table) > limits.hash_max_listpack_entries:
            self.encoding_name = HASHTABLE
        return added

    def delete(self, field: bytes) -> bool:
        """Remove a field with its time. False if it was not there."""
        if self._table.remove(field) is None:
            return False
        if self.expires:
            self.expires.pop(field, None)
        return True

    # -- times ---------------------------------------------------------------------------------

    def keep_times(self) -> None:
        """Convert a listpack to listpackex, which has room for times, before a command sets one."""
        if self.encoding_name is LISTPACK:
            self.encoding_name = LISTPACK_EX

    def expire_at(self, field: bytes, when_ms: int) -> None:
        """Let an existing field expire at `when_ms` (Unix ms)."""
        self.keep_times()
        self.expires[field] = when_ms
        if self._alarms is not None:
            heappush(self._alarms, (when_ms, field))

    def persist(self, names: Iterable[bytes]) -> list[bytes]:
        """Remove the times of fields; return the fields that had one."""
        persisted = [name for name in names if self.expires.pop(name, None) is not None]
        if self.encoding_name is LISTPACK_EX:
            for name in persisted:  # it moves to the fields without a time, at the end
                record = self._table.remove(name)
                assert record is not None
                self._table.put(record)
        return persisted

    def is_expired(self, field: bytes, now_ms: int) -> bool:
        """Return True if a field's time is past: as with keys, not in the millisecond itself."""
        when_ms = self.expires.get(field)
        return when_ms is not None and now_ms > when_ms

    def due(self, now_ms: int, limit: int) -> list[bytes]:
        """Up to `limit` expired fields, earliest first, each once.

        The caller must remove them: they are not returned again.
        """
        due: list[bytes] = []
        while len(due) < limit and (alarms := self._next_alarms()) and now_ms > alarms[0][0]:
            due.append(heappop(alarms)[1])
        return list(dict.fromkeys(due))

    def first_deadline_ms(self) -> int | None:
        """When the first field expires; None if none does."""
        if not self.expires:
            return None
        return self._next_alarms()[0][0]

    def _next_alarms(self) -> list[tuple[int, bytes]]:
        """The heap of times, with a valid one on top.

        Stale times are dropped lazily: when they reach the top, or when they are too many.
        """
        alarms, expires = self._alarms, self.expires
        if alarms is None or len(alarms) > 2 * len(expires) + FEW_ALARMS:
            alarms = self._alarms = [(when_ms, field) for field, when_ms in expires.items()]
            heapify(alarms)
        while alarms and expires.get(alarms[0][1]) != alarms[0][0]:
            heappop(alarms)
        return alarms

    # -- reading -------------------------------------------------------------------------------

    def get(self, field: bytes) -> bytes | None:
        """The value of a field, or None."""
        record = self._table.get(field)
        return None if record is None else value_of(record)

    def record(self, field: bytes) -> bytes | None:
        """The record of a field, or None."""
        return self._table.get(field)

    def records(self, now_ms: int | None = None) -> list[bytes]:
        """The records of the fields that have not expired by `now_ms` (None: all), in order."""
        records = self._table.records()
        expires = self.expires
        if not expires:
            return records
        if self.encoding_name is LISTPACK_EX:
            records.sort(key=lambda record: expires.get(field_of(record), NEVER_MS))
        if now_ms is None or now_ms <= self._next_alarms()[0][0]:
            return records
        return [record for record in records if not self.is_expired(field_of(record), now_ms)]

    def pairs(self) -> list[tuple[bytes, bytes]]:
        """All fields with their values, in order."""
        return [(field_of(record), value_of(record)) for record in self.records()]

    def scan(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """One step of HSCAN: (next cursor, records, expired ones too). Cursor 0 begins and ends.

        A compact hash is returned whole.
        """
        if self.encoding_name is not HASHTABLE:
            return 0, self.records()
        return self._table.scan(cursor, count)

    def pick(self, below: Callable[[int], int]) -> bytes:
        """A record chosen with `below(n)`, which gives a number in [0, n). There must be one."""
        return self._table.pick(below)

    # -- as a whole ----------------------------------------------------------------------------

    def copy(self) -> HashValue:
        """An independent hash with the same fields, times and encoding."""
        twin = HashValue(self.access_ms)
        twin._table = self._table.copy()
        twin.expires = self.expires.copy()
        twin.encoding_name = self.encoding_name
        return twin

    def release(self) -> RemovedData:
        """Give up the fields if they are many."""
        if len(self._table) <= FEW_STEPS * SMALL_ITEMS:
            return NO_WASTE
        removed_data = RemovedData()
        self._table.release(removed_data)
        removed_data.add(self.expires, SMALL_ITEMS)
        self.expires = {}
        self._alarms = None
        return removed_data

    def memory_bytes(self) -> int:
        """The memory of the hash in bytes."""
        return getsizeof(self) + getsizeof(self.expires) + self._table.memory_bytes()
