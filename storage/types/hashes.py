"""A hash: fields with values, and, for some of them, a time at which they expire.

Everything is in one dict, in the order of insertion. Redis's compact encodings are a flag, with the
effects that clients see: OBJECT ENCODING, and the order of the fields. In a listpack a field keeps
its position when its value changes. In a listpack with times (listpackex) fields are ordered by
their time, those without one last. A hash table has no defined order.

Expired fields stay until they are removed: methods that take `now_ms` skip them, the others ignore
expiry.

Leaves out: notifications, and the removal of expired fields (commands/hashes/lookup.py,
server/loop/cron.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice
from sys import getsizeof

import cython

from storage.keyspace.deferred_free import FEW_STEPS, NO_WASTE, SMALL_ITEMS, RemovedData
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.scan_order import ScanOrder
from storage.types.value import Value

LISTPACK = b"listpack"
LISTPACK_EX = b"listpackex"
HASHTABLE = b"hashtable"

# A field with its value is two objects to free.
FIELDS_PER_STEP = SMALL_ITEMS // 2
# The number of fields that are copied or written in a step of Value.effort.
FIELDS_PER_EFFORT = 500

# Up to this many stale times in the heap are tolerated before it is built again.
FEW_ALARMS = 64

# A time after all others, for the order of fields without one.
NEVER_MS = 1 << 64


@cython.cclass
class HashValue(Value):
    """One hash. `fields` and `expires` are there to be read; the methods change them."""

    __slots__ = ("_alarms", "_order", "encoding_name", "expires", "fields")

    type_name = b"hash"

    def __init__(self, access_ms: int = 0) -> None:
        super().__init__(access_ms)
        self.fields: dict[bytes, bytes] = {}
        self.expires: dict[bytes, int] = {}  # field -> Unix ms; few fields have one
        self.encoding_name = LISTPACK
        self._order: ScanOrder | None = None  # until a large hash is scanned
        self._alarms: list[tuple[int, bytes]] | None = None  # a heap, once it is asked for

    def __len__(self) -> int:
        return len(self.fields)

    @property
    def encoding(self) -> bytes:
        """The encoding that OBJECT ENCODING returns."""
        return self.encoding_name

    @property
    def size(self) -> int:
        """The number of fields, expired ones included."""
        return len(self.fields)

    @property
    def effort(self) -> int:
        """A step for some hundred fields."""
        return 1 + len(self.fields) // FIELDS_PER_EFFORT

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
        fields = self.fields
        longest = max(max(map(len, fields), default=0), max(map(len, fields.values()), default=0))
        if (
            len(fields) > limits.hash_max_listpack_entries
            or longest > limits.hash_max_listpack_value
        ):
            self.encoding_name = HASHTABLE

    # -- changing ------------------------------------------------------------------------------

    def set(self, field: bytes, value: bytes, limits: EncodingLimits) -> bool:
        """Set a field; its time to live stays. True if the field is new."""
        fields = self.fields
        is_new = field not in fields
        fields[field] = value
        if is_new and self._order is not None:
            self._order.add(field)
        if self.encoding_name is not HASHTABLE and (
            len(fields) > limits.hash_max_listpack_entries
            or len(field) > limits.hash_max_listpack_value
            or len(value) > limits.hash_max_listpack_value
        ):
            self.encoding_name = HASHTABLE
        return is_new

    def update(self, fields_and_values: list[bytes], limits: EncodingLimits) -> int:
        """Set fields (field, value, ...) and remove their times; the number of new ones."""
        if len(fields_and_values) == 2:
            if self.expires:
                self.persist(fields_and_values[:1])
            return self.set(fields_and_values[0], fields_and_values[1], limits)
        self.prepare(fields_and_values, limits)
        names = fields_and_values[::2]
        if self.expires:
            self.persist(names)
        fields = self.fields
        if self._order is not None:
            for name in dict.fromkeys(names):
                if name not in fields:
                    self._order.add(name)
        before = len(fields)
        fields.update(zip(names, fields_and_values[1::2], strict=True))
        if len(fields) > limits.hash_max_listpack_entries:
            self.encoding_name = HASHTABLE
        return len(fields) - before

    def delete(self, field: bytes) -> bool:
        """Remove a field with its time. False if it was not there."""
        if self.fields.pop(field, None) is None:
            return False
        if self.expires:
            self.expires.pop(field, None)
        if self._order is not None:
            self._order.remove(field)
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
                self.fields[name] = self.fields.pop(name)
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

    def live_fields(self, now_ms: int | None) -> dict[bytes, bytes]:
        """The fields that have not expired by `now_ms` (None: all), in order. Do not modify it."""
        fields = self.fields
        expires = self.expires
        if not expires:
            return fields
        if self.encoding_name is LISTPACK_EX:
            names = sorted(fields, key=lambda name: expires.get(name, NEVER_MS))
            fields = {name: fields[name] for name in names}
        if now_ms is None or now_ms <= self._next_alarms()[0][0]:
            return fields
        due = [name for name, when_ms in expires.items() if now_ms > when_ms]
        live = fields.copy()
        for name in due:
            del live[name]
        return live

    def scan(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """One step of HSCAN: (next cursor, fields, expired ones too). Cursor 0 begins and ends.

        A compact hash is returned whole.
        """
        if self.encoding_name is not HASHTABLE:
            return 0, list(self.live_fields(None))
        return self._ordered().scan(cursor, count)

    def pick(self, below: Callable[[int], int]) -> bytes:
        """A field chosen with `below(n)`, which gives a number in [0, n). There must be one."""
        return self._ordered().pick(below)

    def _ordered(self) -> ScanOrder:
        if self._order is None:
            self._order = ScanOrder(self.fields)
        return self._order

    # -- as a whole ----------------------------------------------------------------------------

    def copy(self) -> HashValue:
        """An independent hash with the same fields, times and encoding."""
        twin = HashValue(self.access_ms)
        twin.fields = self.fields.copy()
        twin.expires = self.expires.copy()
        twin.encoding_name = self.encoding_name
        return twin

    def release(self) -> RemovedData:
        """Give up the fields if they are many."""
        if len(self.fields) <= FEW_STEPS * FIELDS_PER_STEP:
            return NO_WASTE
        removed_data = RemovedData()
        removed_data.add(self.fields, FIELDS_PER_STEP)
        removed_data.add(self.expires, SMALL_ITEMS)
        self.fields, self.expires = {}, {}
        self._order = self._alarms = None
        return removed_data

    def memory_bytes(self, samples: int = 5) -> int:
        """An estimate of the memory the hash takes, from `samples` of its fields (0: from all)."""
        count = len(self.fields)
        size = getsizeof(self) + getsizeof(self.fields) + getsizeof(self.expires)
        if self._order is not None:
            size += self._order.memory_bytes()
        sampled = min(samples, count) if samples else count
        if not sampled:
            return size
        pairs: Iterator[tuple[bytes, bytes]] = islice(self.fields.items(), sampled)
        content = sum(getsizeof(name) + getsizeof(value) for name, value in pairs)
        return size + content * count // sampled
