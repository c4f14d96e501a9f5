"""A hash: fields with values, and, for some of them, a time at which they expire.

A field and its value are one record of a packed table. Redis's compact encodings are a flag, with
the effects that clients see: OBJECT ENCODING, and the order of the fields. In a listpack they are
in the order of insertion, and a field keeps its position when its value changes. In a listpack with
times (listpackex) fields are ordered by their time, those without one last. A hash table has no
defined order.

Expired fields stay until they are removed: methods that take `now_ms` skip them, the others ignore
expiry.

Leaves out: notifications, and the removal of expired fields (commands/hashes/fields.py,
server/loop/cron.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

import cython

from storage.keyspace.deferred_free import NO_WASTE, SMALL_ITEMS, RemovedData
from storage.memory import COMPUTED_INT_BYTES, allocated_bytes
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.key_part import PAIRS
from storage.types.packed_table import PackedTable
from storage.types.records import field_of, value_of

if not cython.compiled:
    # Compiled, it is a C function, which the module's C types import.
    from storage.memory import bytes_object_bytes

LISTPACK = b"listpack"
LISTPACK_EX = b"listpackex"
HASHTABLE = b"hashtable"
# By the form of a hash.
_ENCODINGS = (LISTPACK, LISTPACK_EX, HASHTABLE)
FORM_LISTPACK = 0
FORM_LISTPACK_EX = 1
FORM_HASHTABLE = 2
_LISTPACK: cython.uchar = FORM_LISTPACK
_LISTPACK_EX: cython.uchar = FORM_LISTPACK_EX
_HASHTABLE: cython.uchar = FORM_HASHTABLE

# The number of fields that are copied or written in a step of Value.effort.
FIELDS_PER_EFFORT = 500

# Up to this many stale times in the heap are tolerated before it is built again.
FEW_ALARMS = 64

# A time after all others, for the order of fields without one.
NEVER_MS = 1 << 64

_TIME_BYTES: cython.long = COMPUTED_INT_BYTES
# An entry of the heap: a tuple of a time and a field that are elsewhere as well.
_ALARM_BYTES: cython.long = allocated_bytes((0, b""))


@cython.no_gc  # it refers to bytes and numbers only, and there may be very many
@cython.cclass
class HashValue(PackedTable):
    """One hash. `expires` is there to be read; the methods change it."""

    __slots__ = ("_alarms", "_times_bytes", "expires")

    type_name = b"hash"

    def __init__(self, access_ms: int = 0) -> None:
        super().__init__(PAIRS, access_ms)
        self.expires: dict[bytes, int] | None = None  # field -> Unix ms, if any has a time
        self._times_bytes = 0  # of its fields and times
        self._alarms: list[tuple[int, bytes]] | None = None  # a heap, once it is asked for

    def __dealloc__(self) -> None:
        if self._keeper is not None:
            self._keeper.give_back(self)

    @property
    def encoding(self) -> bytes:
        """The encoding that OBJECT ENCODING returns."""
        encoding: bytes = _ENCODINGS[self.form]
        return encoding

    @property
    def size(self) -> int:
        """The number of fields, expired ones included."""
        return self._count

    @property
    def effort(self) -> int:
        """A step for some hundred fields."""
        return 1 + self._count // FIELDS_PER_EFFORT

    # -- encodings -----------------------------------------------------------------------------

    def prepare(self, fields_and_values: list[bytes], limits: EncodingLimits) -> None:
        """Convert to a hash table before a request with these fields and values if Redis would.

        As in Redis, the number of pairs counts, new or not, and the length of each word.
        """
        if self.form == _HASHTABLE:
            return
        longest: cython.Py_ssize_t = 0
        word: bytes
        for word in fields_and_values:
            longest = max(longest, len(word))
        if (
            len(fields_and_values) > 2 * limits.hash_max_listpack_entries
            or longest > limits.hash_max_listpack_value
        ):
            self._become_table()

    @cython.cfunc
    def _become_table(self) -> None:
        self.form = _HASHTABLE
        self.is_ordered = False

    def expect(self, count: int, limits: EncodingLimits) -> None:
        """Convert to a hash table before `count` fields are loaded if Redis would."""
        if count > limits.hash_max_listpack_entries:
            self._become_table()
            self.expect_records(count)

    def adapt(self, limits: EncodingLimits) -> None:
        """Choose the encoding after the hash was loaded, from its content."""
        longest: cython.Py_ssize_t = limits.hash_max_listpack_value
        if self._count > limits.hash_max_listpack_entries:
            self._become_table()
            return
        record: bytes
        for record in self.all_records():
            if len(record) <= longest:
                continue
            if len(field_of(record)) > longest or len(value_of(record)) > longest:
                self._become_table()
                return

    # -- changing ------------------------------------------------------------------------------

    def set(self, field: bytes, value: bytes, limits: EncodingLimits) -> bool:
        """Set a field; its time to live stays. True if the field is new."""
        is_new: cython.bint = self.load(field, value)
        if self.is_ordered and (  # it is no hash table yet
            max(len(field), len(value)) > limits.hash_max_listpack_value
            or self._count > limits.hash_max_listpack_entries
        ):
            self._become_table()
        return is_new

    def load(self, field: bytes, value: bytes) -> bool:
        """Set a field of a hash that is loaded; `adapt` follows. True if the field is new."""
        return self.put(field, value)

    def assign(self, field: bytes, value: bytes, limits: EncodingLimits) -> bool:
        """Set a field and remove its time. True if the field is new."""
        if self.expires is not None:
            self.persist([field])
        return self.set(field, value, limits)

    def update(self, fields_and_values: list[bytes], limits: EncodingLimits) -> int:
        """Set fields (field, value, ...) and remove their times; the number of new ones."""
        if len(fields_and_values) == 2:
            return self.assign(fields_and_values[0], fields_and_values[1], limits)
        self.prepare(fields_and_values, limits)
        if self.expires is not None:
            self.persist(fields_and_values[::2])
        added: cython.Py_ssize_t = 0
        place: cython.Py_ssize_t
        for place in range(0, len(fields_and_values), 2):
            added += self.load(fields_and_values[place], fields_and_values[place + 1])
        if self._count > limits.hash_max_listpack_entries:
            self._become_table()
        return added

    def delete(self, field: bytes) -> bool:
        """Remove a field with its time. False if it was not there."""
        if not self.discard(field):
            return False
        self._forget_time(field)
        return True

    # -- times ---------------------------------------------------------------------------------

    def keep_times(self) -> None:
        """Convert a listpack to listpackex, which has room for times, before a command sets one."""
        if self.form == _LISTPACK:
            self.form = _LISTPACK_EX

    def expire_at(self, field: bytes, when_ms: int) -> None:
        """Let an existing field expire at `when_ms` (Unix ms)."""
        self.keep_times()
        self.load_time(field, when_ms)
        if self._alarms is not None:
            heappush(self._alarms, (when_ms, field))

    def load_time(self, field: bytes, when_ms: int) -> None:
        """Give a field of a hash that is loaded its time."""
        if self.expires is None:
            self.expires = {}
        if field not in self.expires:
            self._times_bytes += bytes_object_bytes(len(field)) + _TIME_BYTES
        self.expires[field] = when_ms

    def time_of(self, field: bytes) -> int | None:
        """When a field expires (Unix ms); None if it does not."""
        return None if self.expires is None else self.expires.get(field)

    def _forget_time(self, field: bytes) -> bool:
        """Remove the time of a field; False if it has none."""
        expires = self.expires
        if expires is None or expires.pop(field, None) is None:
            return False
        self._times_bytes -= bytes_object_bytes(len(field)) + _TIME_BYTES
        if not expires:
            self.expires = self._alarms = None
        return True

    def persist(self, names: Iterable[bytes]) -> list[bytes]:
        """Remove the times of fields; return the fields that had one."""
        persisted = [name for name in names if self._forget_time(name)]
        if self.form == _LISTPACK_EX:
            for name in persisted:  # it moves to the fields without a time, at the end
                text = self.value(name)
                assert text is not None
                self.discard(name)
                self.put(name, text)
        return persisted

    def is_expired(self, field: bytes, now_ms: int) -> bool:
        """Return True if a field's time is past: as with keys, not in the millisecond itself."""
        when_ms = self.time_of(field)
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
        return None if self.expires is None else self._next_alarms()[0][0]

    def _next_alarms(self) -> list[tuple[int, bytes]]:
        """The heap of times, with a valid one on top.

        Stale times are dropped lazily: when they reach the top, or when they are too many.
        """
        alarms, expires = self._alarms, self.expires or {}
        if alarms is None or len(alarms) > 2 * len(expires) + FEW_ALARMS:
            alarms = self._alarms = [(when_ms, field) for field, when_ms in expires.items()]
            heapify(alarms)
        while alarms and expires.get(alarms[0][1]) != alarms[0][0]:
            heappop(alarms)
        return alarms

    # -- reading -------------------------------------------------------------------------------

    def get(self, field: bytes) -> bytes | None:
        """The value of a field, or None."""
        return self.value(field)

    def records(self, now_ms: int | None = None) -> list[bytes]:
        """The records of the fields that have not expired by `now_ms` (None: all), in order."""
        records = self.all_records()
        expires = self.expires
        if expires is None:
            return records
        if self.form == _LISTPACK_EX:
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
        if self.form != _HASHTABLE:
            return 0, self.records()
        return self.scan_records(cursor, count)

    # -- as a whole ----------------------------------------------------------------------------

    def copy(self) -> HashValue:
        """An independent hash with the same fields, times and encoding."""
        twin = HashValue(self.access_ms)
        self.share_with(twin)
        twin.expires = None if self.expires is None else self.expires.copy()
        twin._times_bytes = self._times_bytes
        twin.form = self.form
        return twin

    def release(self) -> RemovedData:
        """Give up the fields if they are many."""
        if self._count <= SMALL_ITEMS:
            return NO_WASTE
        removed_data = RemovedData()
        self.release_records(removed_data)
        if self.expires is not None:
            removed_data.add(self.expires, SMALL_ITEMS)
        self.expires = self._alarms = None
        self._times_bytes = 0
        return removed_data

    def memory_bytes(self) -> int:
        """The memory of the hash in bytes."""
        size: cython.long = self.table_bytes()
        if self.expires is not None:
            size += self._times_bytes + allocated_bytes(self.expires)
            if self._alarms is not None:
                size += allocated_bytes(self._alarms) + _ALARM_BYTES * len(self._alarms)
        return size
