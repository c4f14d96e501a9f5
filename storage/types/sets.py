"""Sets and sorted sets: distinct members, without an order or ordered by their scores.

A set is in one of the three forms that Redis names:

intset      only integers, and not too many of them; read in ascending order
listpack    few members, all of them short; read in the order in which they were added
hashtable   anything; read in no promised order

The members are the records of a packed table, whatever the form. The form is a flag: OBJECT
ENCODING reports it, and it determines the order, the steps of SSCAN and the encoding in a snapshot.
It only changes from smaller to larger forms; methods that may change it take the limits
(storage/redis_format/encoding_limits.py). Source: Redis 7.2 and later for the conversions.

A sorted set orders members by score, then by their bytes. A member with its score is a record, one
bytes object (storage/types/records.py). A few members are packed into one bytes object
(storage/types/few_records.py). The records of more are in a `RecordOrder`, and in a `RecordTable`,
which finds them by their members. That does not depend on OBJECT ENCODING: it is `listpack` for
few, short members and `skiplist` for all others, and only changes from the smaller to the larger
one. No score is NaN.

A span is a pair of ranks, [start, end). Ranges of ranks, scores or members are converted to spans:

    start, end = zset.span_of_scores(bounds)
    zset.records(start, end)

Leaves out: empty sets (commands remove the key); the parsing of ranges
(commands/sorted_sets/scores.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from math import inf
from typing import TypeAlias

import cython

from protocol.records import frozen_record
from storage.keyspace.deferred_free import NO_WASTE, SMALL_ITEMS, RemovedData
from storage.memory import instance_bytes
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.few_records import MOST_BYTES, NOTHING
from storage.types.key_part import MEMBERS, SCORED
from storage.types.packed_table import PackedTable
from storage.types.records import (
    SCORE_BYTES,
    Pair,
    Record,
    RecordOrder,
    RecordTable,
    make_record,
    member_of,
    pair_of,
    score_of,
    sort_records,
)
from storage.types.value import Value, as_int64

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from math import nextafter

    from storage.memory import bytes_object_bytes
    from storage.types.few_records import (
        find_packed,
        packed,
        packed_records,
        place_at,
        rank_at,
        rank_before,
        record_at,
        score_at,
        with_record,
        without_ranks,
    )


INTSET = b"intset"
LISTPACK = b"listpack"
HASHTABLE = b"hashtable"
# By the form of a set.
_ENCODINGS = (INTSET, LISTPACK, HASHTABLE)
_INTSET: cython.uchar = 0
_LISTPACK: cython.uchar = 1
_HASHTABLE: cython.uchar = 2

# A sample of fewer than one in this number is drawn with retries until enough are different.
_FEW_OF = 4

# The number of members that are copied or written in about 0.1 ms.
MEMBERS_PER_STEP = 1000


@cython.no_gc  # it refers to bytes only
@cython.cclass
class SetValue(PackedTable):
    """The value of a key of type set."""

    __slots__ = ()

    type_name = b"set"

    def __init__(self, access_ms: int = 0, encoding: bytes = INTSET) -> None:
        super().__init__(MEMBERS, access_ms)
        self._take_form(_ENCODINGS.index(encoding))

    def __dealloc__(self) -> None:
        if self._keeper is not None:
            self._keeper.give_back(self)

    @cython.cfunc
    def _take_form(self, form: cython.uchar) -> None:
        self.form = form
        self.is_ordered = form != _HASHTABLE

    @classmethod
    def of(cls, members: Iterable[bytes], limits: EncodingLimits, access_ms: int = 0) -> SetValue:
        """A set of these members, in the smallest possible form."""
        made: SetValue = cls(access_ms)
        texts = members if isinstance(members, list) else list(members)
        small: cython.Py_ssize_t = max(
            limits.set_max_intset_entries, limits.set_max_listpack_entries
        )
        is_small: cython.bint = len(texts) <= small
        if not is_small:
            made._take_form(_HASHTABLE)
            made.expect_records(len(texts))
        member: bytes
        for member in texts:
            made.put(member, b"")
        if is_small:
            made._take_form(_smallest_form(made.all_records(), limits))
        return made

    @classmethod
    def sized(
        cls, first: bytes, expected: int, limits: EncodingLimits, access_ms: int = 0
    ) -> SetValue:
        """An empty set in the form that suits its `first` member and how many are `expected`."""
        if expected <= limits.set_max_intset_entries and as_int64(first) is not None:
            return cls(access_ms, INTSET)
        is_small = expected <= limits.set_max_listpack_entries
        return cls(access_ms, LISTPACK if is_small else HASHTABLE)

    @property
    def encoding(self) -> bytes:
        """intset, listpack or hashtable."""
        encoding: bytes = _ENCODINGS[self.form]
        return encoding

    @property
    def size(self) -> int:
        """The number of members."""
        return self._count

    @property
    def effort(self) -> int:
        """The time to copy or write the set, in steps of about 0.1 ms."""
        return 1 + self._count // MEMBERS_PER_STEP

    def members(self) -> list[bytes]:
        """All members in the order in which Redis would return them."""
        return self._sorted(self.all_records())

    def __iter__(self) -> Iterator[bytes]:
        """The members in the same order, as long as the set does not change."""
        if self.form == _INTSET:
            return iter(self.members())
        return chain.from_iterable(self.batches())

    def members_in(self, others: list[SetValue], limit: int) -> list[bytes]:
        """Up to `limit` of the members that all others have, too."""
        return self._sorted(self.filtered(others, True, limit))

    def members_outside(self, others: list[SetValue], limit: int) -> list[bytes]:
        """Up to `limit` of the members that none of the others has."""
        return self._sorted(self.filtered(others, False, limit))

    def _sorted(self, members: list[bytes]) -> list[bytes]:
        """The members in the order in which Redis would return them."""
        if self.form == _INTSET:
            members.sort(key=int)
        return members

    # -- changing ------------------------------------------------------------------------------

    def expect(self, count: cython.Py_ssize_t, limits: EncodingLimits) -> None:
        """Prepare for `count` more members: convert to the large form if they need it."""
        if (self.form == _LISTPACK and count > limits.set_max_listpack_entries) or (
            self.form == _INTSET and count > limits.set_max_intset_entries
        ):
            self._take_form(_HASHTABLE)

    def add(self, member: bytes, limits: EncodingLimits) -> bool:
        """Add a member; False if it was there already."""
        if not self.put(member, b""):
            return False
        if self.is_ordered:  # it is no hashtable yet
            self._adapt_to(member, limits)
        return True

    @cython.cfunc
    def _adapt_to(self, member: bytes, limits: EncodingLimits) -> None:
        """Choose the form of a small set after a new member."""
        count: cython.Py_ssize_t = self._count
        longest: cython.Py_ssize_t
        if self.form == _LISTPACK:  # the others are short enough already
            longest = len(member)
        elif as_int64(member) is not None:
            if count > limits.set_max_intset_entries:
                self._take_form(_HASHTABLE)
            return
        else:
            longest = max(map(len, self.all_records()))
        if count > limits.set_max_listpack_entries or longest > limits.set_max_listpack_value:
            self._take_form(_HASHTABLE)
        elif self.form == _INTSET:
            self._take_form(_LISTPACK)
            # A listpack begins with the integers in ascending order.
            integers = sorted(self.all_records()[:-1], key=int)
            for other in [*integers, member]:
                self.discard(other)
                self.put(other, b"")

    def remove(self, member: bytes) -> bool:
        """Remove a member; False if it was not there."""
        return self.discard(member)

    # -- picking and walking -------------------------------------------------------------------

    def sample(self, count: int, below: Callable[[int], int]) -> list[bytes]:
        """`count` different members, no more than there are, chosen with `below`."""
        size = self._count
        if self.form == _HASHTABLE and count < size // _FEW_OF:
            chosen: dict[bytes, bool] = {}
            while len(chosen) < count:
                chosen[self.pick(below)] = True
            return list(chosen)
        members = self.members()
        return [members[position] for position in distinct_numbers(count, size, below)]

    def scan(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """One step of SSCAN: (next cursor, members). The small forms are returned whole."""
        if self.form == _HASHTABLE:
            return self.scan_records(cursor, count)
        return 0, self.members()

    # -- as a whole ----------------------------------------------------------------------------

    def copy(self) -> SetValue:
        """An independent set with the same members, form and access time."""
        twin = SetValue(self.access_ms)
        twin.form = self.form
        self.share_with(twin)
        return twin

    def release(self) -> RemovedData:
        """Give up the members when the set is removed; the data to free."""
        if self._count <= SMALL_ITEMS:
            return NO_WASTE
        removed_data = RemovedData()
        self.release_records(removed_data)
        return removed_data


def _smallest_form(members: list[bytes], limits: EncodingLimits) -> cython.uchar:
    count = len(members)
    if count <= limits.set_max_intset_entries and None not in map(as_int64, members):
        return _INTSET
    if count <= limits.set_max_listpack_entries:
        longest = max(map(len, members), default=0)
        if longest <= limits.set_max_listpack_value:
            return _LISTPACK
    return _HASHTABLE


SKIPLIST = b"skiplist"
# By the form of a sorted set.
_SCORED_ENCODINGS = (LISTPACK, SKIPLIST)
_FEW: cython.uchar = 0
_MANY: cython.uchar = 1

Span: TypeAlias = "tuple[int, int]"  # [start, end) of ranks

# Up to this many members, none of them long, are packed. They are searched one by one.
FEW_MEMBERS = 32
_FEW_MEMBERS: cython.Py_ssize_t = FEW_MEMBERS
_MOST_RECORD_BYTES: cython.Py_ssize_t = SCORE_BYTES + MOST_BYTES

# The number of members that are copied or written in about 0.1 ms.
SCORED_PER_STEP = 400

# Up to this many members are removed one by one, and freed at once.
FEW_REMOVED = 100

_INFINITY: cython.double = inf


@frozen_record
class ScoreBounds:
    """A range of scores."""

    low: float
    high: float
    excludes_low: bool = False
    excludes_high: bool = False

    @property
    def is_empty(self) -> bool:
        """True if no score can be within it."""
        is_open = self.excludes_low or self.excludes_high
        return self.low > self.high or (self.low == self.high and is_open)


@frozen_record
class LexBounds:
    """A range of members by their bytes. None: without a bound at that end."""

    low: bytes | None
    high: bytes | None
    excludes_low: bool = False
    excludes_high: bool = False
    is_empty: bool = False

    def reaches(self, member: bytes) -> bool:
        """Return True if `member` is not before the lower end."""
        if self.low is None:
            return True
        return member > self.low if self.excludes_low else member >= self.low

    def passes(self, member: bytes) -> bool:
        """Return True if `member` is after the upper end."""
        if self.high is None:
            return False
        return member >= self.high if self.excludes_high else member > self.high


@cython.no_gc  # it refers to bytes and what has bytes only
@cython.cclass
class SortedSetValue(Value):
    """The value of a key of type zset."""

    __slots__ = ("_few", "_order", "_table")

    type_name = b"zset"

    def __init__(self, access_ms: int = 0, encoding: bytes = LISTPACK) -> None:
        super().__init__(access_ms)
        self.form = _SCORED_ENCODINGS.index(encoding)
        self._few: bytes = NOTHING
        # Once there have been more than a few members: in place of what is packed.
        self._order: RecordOrder | None = None
        self._table: RecordTable | None = None

    def __dealloc__(self) -> None:
        if self._keeper is not None:
            self._keeper.give_back(self)

    @classmethod
    def of_records(
        cls, records: list[Record], limits: EncodingLimits, access_ms: int = 0
    ) -> SortedSetValue:
        """A sorted set of these records, in the smallest possible form.

        It takes over the list, which need not be sorted. Raises ValueError if a member comes twice.
        """
        longest = max(map(len, records), default=SCORE_BYTES) - SCORE_BYTES
        is_small = _is_small(len(records), longest, limits)
        made = cls(access_ms, LISTPACK if is_small else SKIPLIST)
        if is_small:
            records = [_without_sign(record) for record in records]
        made._take(records)
        return made

    @classmethod
    def of_table(cls, table: RecordTable, limits: EncodingLimits) -> SortedSetValue:
        """A sorted set that takes over a table of records, in the smallest possible form."""
        records = table.records()
        if len(records) <= max(FEW_MEMBERS, limits.zset_max_listpack_entries):
            return cls.of_records(records, limits)
        made = cls(0, SKIPLIST)
        made._take(records, table)
        return made

    @classmethod
    def sized(
        cls, expected: int, first_bytes: int, limits: EncodingLimits, access_ms: int = 0
    ) -> SortedSetValue:
        """An empty sorted set in the form for `expected` members, the first of `first_bytes`
        bytes.
        """
        is_small = _is_small(expected, first_bytes, limits)
        return cls(access_ms, LISTPACK if is_small else SKIPLIST)

    def __len__(self) -> int:
        return self._count()

    def __contains__(self, member: bytes) -> bool:
        return self.find(member) is not None

    def _count(self) -> cython.Py_ssize_t:
        """The number of members."""
        if self._order is None:
            return self._few[0]
        return self._order.count

    @property
    def encoding(self) -> bytes:
        """listpack or skiplist."""
        encoding: bytes = _SCORED_ENCODINGS[self.form]
        return encoding

    @property
    def size(self) -> int:
        """The number of members."""
        return self._count()

    @property
    def effort(self) -> int:
        """The time to copy or write the sorted set, in steps of about 0.1 ms."""
        return 1 + self._count() // SCORED_PER_STEP

    def _take(self, records: list[Record], table: RecordTable | None = None) -> None:
        """Take records, of which there may be a table, in an empty value. Raises ValueError."""
        sort_records(records)
        count = len(records)
        longest = max(map(len, records), default=0)
        if count <= _FEW_MEMBERS and longest <= _MOST_RECORD_BYTES:
            are_different = len(set(map(member_of, records))) == count
            self._few = packed(records)
        else:
            self._table = _table_of(records) if table is None else table
            are_different = len(self._table) == count
            self._order = _order_of(records)
        if not are_different:
            raise ValueError("a member comes twice in a sorted set")

    @cython.cfunc
    def _unpack(self) -> None:
        """Take the members out of their packed form, for good."""
        records = packed_records(self._few, 0, _FEW_MEMBERS)
        self._table = _table_of(records)
        self._order = _order_of(records)
        self._few = NOTHING

    # -- reading -------------------------------------------------------------------------------

    def find(self, member: bytes) -> Record | None:
        """The record of a member, None if it is not there."""
        if self._table is not None:
            return self._table.get(member)
        place: cython.Py_ssize_t = find_packed(self._few, member)
        return None if place < 0 else record_at(self._few, place)

    def score(self, member: bytes) -> float | None:
        """The score of a member, None if it is not there."""
        if self._table is not None:
            record = self._table.get(member)
            return None if record is None else score_of(record)
        place: cython.Py_ssize_t = find_packed(self._few, member)
        return None if place < 0 else score_at(self._few, place)

    def rank(self, member: bytes) -> int | None:
        """Return the number of members before `member`; None if it is not in the set."""
        if self._order is not None:
            record = self.find(member)
            return None if record is None else self._order.rank_of(record)
        place: cython.Py_ssize_t = find_packed(self._few, member)
        return None if place < 0 else rank_at(self._few, place)

    def at(self, rank: cython.Py_ssize_t) -> Record:
        """The record at a rank from 0 on."""
        if self._order is None:
            return record_at(self._few, place_at(self._few, rank))
        return self._order.at(rank)

    def records(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> list[Record]:
        """The records of a span in order, in a list of their own."""
        if self._order is None:
            return packed_records(self._few, start, end)
        return self._order.records(start, end)

    def unordered(self) -> list[Record]:
        """All records in no promised order, in a list of their own.

        That of a table is the order in which they were made, in which memory is read fastest.
        """
        if self._table is not None:
            return self._table.records()
        return self.records(0, self._count())

    def pairs(self, start: int = 0, end: int | None = None) -> list[Pair]:
        """The (score, member) pairs of a span, by default of all members, in order."""
        end = self._count() if end is None else end
        return list(map(pair_of, self.records(start, end)))

    def span_of_scores(self, bounds: ScoreBounds) -> Span:
        """The ranks of the members whose scores are within the bounds."""
        if bounds.is_empty:
            return 0, 0
        start = self.rank_from(bounds.low, bounds.excludes_low)
        return start, self.rank_from(bounds.high, not bounds.excludes_high)

    def rank_from(self, score: cython.double, is_after: cython.bint) -> cython.Py_ssize_t:
        """The number of members with a lower score; `is_after`: with no higher one."""
        if is_after:
            if score == _INFINITY:
                return self._count()
            score = nextafter(score, _INFINITY)
        bound = make_record(score, b"")
        if self._order is None:
            return rank_before(self._few, bound)
        return self._order.rank_of(bound)

    def span_of_members(self, bounds: LexBounds) -> Span:
        """The ranks of the members within the bounds; defined only where all scores are equal."""
        if bounds.is_empty:
            return 0, 0
        order = self._order
        if order is None:
            order = _order_of(packed_records(self._few, 0, _FEW_MEMBERS))
        start = order.rank_where(bounds.reaches)
        return start, max(start, order.rank_where(bounds.passes))

    # -- changing ------------------------------------------------------------------------------

    def expect(self, count: cython.Py_ssize_t, limits: EncodingLimits) -> None:
        """Prepare for `count` more members: convert to the large form if they need it."""
        if self.form == _FEW and count > limits.zset_max_listpack_entries:
            self.form = _MANY

    def become_skiplist(self) -> None:
        """Convert to the large form (SORT)."""
        self.form = _MANY

    def set(self, member: bytes, score: cython.double, limits: EncodingLimits) -> None:
        """Give `member` a score; it is added if it is not there."""
        self.put(make_record(score, member), self.find(member), limits)

    def put(self, record: Record, former: Record | None, limits: EncodingLimits) -> None:
        """Add a record, or put it in the place of the former one of its member (`find`)."""
        if self.form == _FEW:
            size: cython.Py_ssize_t = len(record) - SCORE_BYTES
            if former is None and not _is_small(self._count() + 1, size, limits):
                self.form = _MANY
            else:
                record = _without_sign(record)
        if self._order is None:
            if former is not None:
                self._remove_packed(find_packed(self._few, member_of(record)))
            if self._few[0] < _FEW_MEMBERS and len(record) <= _MOST_RECORD_BYTES:
                self._few = with_record(self._few, record)
                return
            self._unpack()
            former = None
        assert self._table is not None and self._order is not None
        self._table.put(record)
        if former is not None:
            self._order.replace(former, record)
        else:
            self._order.add(record)

    @cython.cfunc
    def _remove_packed(self, place: cython.Py_ssize_t) -> None:
        rank: cython.Py_ssize_t = rank_at(self._few, place)
        self._few = without_ranks(self._few, rank, rank + 1)

    def fill(self, records: list[Record], limits: EncodingLimits) -> bool:
        """Take records while it is empty. False, and none is taken, if a member comes twice, or if
        its form would change in between: what comes before that loses the sign of a zero.
        """
        try:
            made: SortedSetValue = SortedSetValue.of_records(records, limits)
        except ValueError:
            return False
        if made.form != self.form:
            return False
        self._few = made._few
        self._order, self._table = made._order, made._table
        return True

    def remove(self, member: bytes) -> bool:
        """Remove a member; False if it was not there."""
        if self._order is None:
            place: cython.Py_ssize_t = find_packed(self._few, member)
            if place >= 0:
                self._remove_packed(place)
            return place >= 0
        assert self._table is not None
        record = self._table.remove(member)
        if record is None:
            return False
        self._order.remove(record)
        return True

    def remove_span(self, start: int, end: int) -> RemovedData:
        """Remove the members at these ranks; the data to free."""
        count, table, order = max(end - start, 0), self._table, self._order
        if order is None or table is None:
            if count:
                self._few = without_ranks(self._few, start, end)
            return NO_WASTE
        if count <= FEW_REMOVED:
            for record in order.records(start, end):
                table.remove(member_of(record))
                order.remove(record)
            return NO_WASTE
        gone = order.remove_span(start, end)
        removed = RemovedData()
        if 2 * count < len(table):
            for part in gone:
                table.discard_all(part)
        else:
            self._table = table.selected(order.records(0, order.count))
            table.release(removed)
        for part in gone:
            removed.add(part, SMALL_ITEMS)
        return removed

    # -- walking -------------------------------------------------------------------------------

    def scan(self, cursor: int, count: int) -> tuple[int, list[Record]]:
        """One step of ZSCAN: (next cursor, records). The small form is returned whole, and so are
        few members.
        """
        if self.form == _FEW or self._table is None:
            return 0, self.records(0, self._count())
        return self._table.scan(cursor, count)

    # -- as a whole ----------------------------------------------------------------------------

    def copy(self) -> SortedSetValue:
        """An independent sorted set with the same members, form and access time."""
        twin = SortedSetValue(self.access_ms)
        twin.form = self.form
        twin._few = self._few
        twin._order = None if self._order is None else self._order.copy()
        twin._table = None if self._table is None else self._table.copy()
        return twin

    def copy_of_span(self, start: int, end: int, limits: EncodingLimits) -> SortedSetValue:
        """Another sorted set of the members at these ranks, in the smallest possible form."""
        count = self._count()
        if end - start <= limits.zset_max_listpack_entries or 2 * (end - start) < count:
            return SortedSetValue.of_records(self.records(start, end), limits)
        twin = self.copy()  # a table is copied faster than it is made from records
        twin.form = _MANY
        twin.remove_span(end, count)
        twin.remove_span(0, start)
        return twin

    def memory_bytes(self) -> int:
        """The memory of the sorted set in bytes."""
        if self._table is None or self._order is None:
            return _SORTED_SET_BYTES + bytes_object_bytes(len(self._few))
        # The table counts the records.
        return _SORTED_SET_BYTES + self._order.memory_bytes() + self._table.memory_bytes()

    def release(self) -> RemovedData:
        """Give up the members when the sorted set is removed; the data to free."""
        if self._table is None or self._order is None or self._order.count <= SMALL_ITEMS:
            return NO_WASTE
        removed_data = RemovedData()
        self._table.release(removed_data)
        for part in self._order.take_parts():
            removed_data.add(part, SMALL_ITEMS)
        self._order = self._table = None
        return removed_data


_SORTED_SET_BYTES: cython.long = instance_bytes(SortedSetValue)


def _table_of(records: list[Record]) -> RecordTable:
    table: RecordTable = RecordTable(SCORED)
    table.put_all(records)
    return table


def _order_of(records: list[Record]) -> RecordOrder:
    order: RecordOrder = RecordOrder()
    order.fill(records)
    return order


def _without_sign(record: Record) -> Record:
    """The record as a listpack stores it: -0 becomes 0, because whole numbers are integers."""
    return make_record(0.0, member_of(record)) if score_of(record) == 0 else record


def _is_small(
    count: cython.Py_ssize_t, longest: cython.Py_ssize_t, limits: EncodingLimits
) -> cython.bint:
    return count <= limits.zset_max_listpack_entries and longest <= limits.zset_max_listpack_value


def distinct_numbers(count: int, limit: int, below: Callable[[int], int]) -> list[int]:
    """`count` different numbers in [0, limit), chosen with `below(n)`, which gives one in [0, n).

    Every set is equally likely, but not every order: Floyd's algorithm, which draws `count` times,
    however close to `limit` that is.
    """
    chosen: dict[int, bool] = {}
    for last in range(limit - count, limit):
        number = below(last + 1)
        chosen[last if number in chosen else number] = True
    return list(chosen)
