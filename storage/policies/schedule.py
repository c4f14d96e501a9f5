"""Entries that are added to a stream later: its schedule (XADD DELAY and AT).

Each has a ticket, `<due-ms>-<n>`: the Unix ms at which it is due, and a number that the stream
never gives twice. So tickets have the form of IDs, and their order is that in which entries appear:
by time, and in the order of the requests where the times are equal.

Entries lie in buckets of 1.024 s, by their times. A bucket is three numbers for each entry and one
buffer for the fields of all, as they will be in the stream: 24 bytes and the fields. Adding takes
constant time, and what is not due costs nothing. Cancelling leaves a hole; a bucket that is mostly
holes is packed. Buckets are in an ordered index rather than in a dict with a heap: lists and
files need them in order, too, and empty buckets are removed from it.

A bucket is in order of the numbers. It is put in order of the times when its first entry is due, in
steps of a fraction of a millisecond; where the times ascend already, as they do if all
delays are equal, there is nothing to do. Entries that are added to it after that are in a heap.

    schedule.add(due_ms, fields, words) -> number
    while schedule.is_due(now_ms):
        entry = schedule.take(now_ms)             # None: it was a step of sorting

A producer's name for an entry (IDMP) is kept until the entry appears.

Leaves out: when entries appear, and how (commands/streams/policies/appearance.py).
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from storage.entries.entry import decode_words, encode_fields, fields_header
from storage.keyspace.ordered_index import OrderedIndex
from storage.memory import allocated_bytes, array_bytes, bytearray_bytes, instance_bytes

# The bits of a time within a bucket.
BUCKET_BITS = 10
# Times and numbers are below this: they are halves of a ticket, and C's signed numbers.
LIMIT = 1 << 63
# The number of entries that are put in order at once, in a quarter of a millisecond.
SORTED_AT_ONCE = 1000
# A bucket is packed if it has more holes than entries, and more than this.
FEW_HOLES = 64
ROW_KINDS = (b"tickets", b"scheduled", b"named", b"unscheduled")
_HOLE = 0  # in place of the first byte of an entry, which is the `*` of its array of fields


class Scheduled(NamedTuple):
    """An entry of a schedule."""

    due_ms: int
    number: int
    words: int  # how many names and values there are
    fields: bytes  # the same as bulk strings

    def decoded(self) -> list[bytes]:
        """Names and values, as objects."""
        return decode_words(self.fields, self.words)


class _Order:
    """The places of a bucket in the order of their times; see the module."""

    def __init__(self, due: array[int], *, is_ascending: bool) -> None:
        self._due = due
        self._count = len(due)  # later places are in the heap
        self._sorted = self._count if is_ascending else 0
        self._chunks: list[list[int]] = []
        self._places: Iterator[int] | None = iter(range(self._count)) if is_ascending else None
        self._late: list[tuple[int, int]] = []  # (time, place)

    def add(self, due_ms: int, place: int) -> None:
        """Add a place after the bucket began to be sorted."""
        heapq.heappush(self._late, (due_ms, place))

    def is_ready(self) -> bool:
        """Sort some places; True once all are sorted."""
        if self._sorted < self._count:
            end = min(self._sorted + SORTED_AT_ONCE, self._count)
            self._chunks.append(sorted(range(self._sorted, end), key=self._due.__getitem__))
            self._sorted = end
            return False
        if self._places is None:
            self._places = heapq.merge(*self._chunks, key=self._due.__getitem__)
        return True

    def places(self) -> Iterator[int]:
        """All places in order, those that are added meanwhile included; `is_ready` is true."""
        assert self._places is not None
        place = next(self._places, None)
        while place is not None or self._late:
            if place is None or (self._late and self._late[0] < (self._due[place], place)):
                yield heapq.heappop(self._late)[1]
            else:
                following = place
                place = next(self._places, None)
                yield following


class Bucket:
    """The entries of one stretch of time."""

    __slots__ = (
        "_bodies",
        "_due",
        "_is_ascending",
        "_numbers",
        "_order",
        "_places",
        "_starts",
        "_upcoming",
        "counted_bytes",
        "earliest_ms",
        "live",
    )

    def __init__(self) -> None:
        # In the order in which they were added, which is that of their numbers.
        self._due = array("Q")
        self._numbers = array("Q")
        self._starts = array("Q")  # where their bodies begin
        self._bodies = bytearray()
        self.live = 0
        self.earliest_ms = LIMIT  # no entry is due before
        self.counted_bytes = 0  # its memory, as far as the schedule has counted it
        self._is_ascending = True
        self._order: _Order | None = None  # while entries are taken
        self._places: Iterator[int] | None = None
        self._upcoming = -1  # the place that is next, once it is known

    def add(self, due_ms: int, number: int, words: int, fields: bytes) -> None:
        """Add an entry, whose number is above all others."""
        place = len(self._due)
        if place and due_ms < self._due[-1]:
            self._is_ascending = False
        self._due.append(due_ms)
        self._numbers.append(number)
        self._starts.append(len(self._bodies))
        self._bodies += fields_header(words)
        self._bodies += fields
        self.live += 1
        self.earliest_ms = min(self.earliest_ms, due_ms)
        if self._order is not None:
            self._order.add(due_ms, place)
            if self._upcoming >= 0 and due_ms < self._due[self._upcoming]:
                self._order.add(self._due[self._upcoming], self._upcoming)
                self._upcoming = -1

    @property
    def last_number(self) -> int:
        """The greatest number that it had."""
        return self._numbers[-1]

    def find(self, due_ms: int, number: int) -> int:
        """The place of an entry; -1 if there is none."""
        place = bisect_left(self._numbers, number)
        if place == len(self._numbers) or self._numbers[place] != number:
            return -1
        return place if self._due[place] == due_ms and self._is_live(place) else -1

    def _is_live(self, place: int) -> bool:
        return self._bodies[self._starts[place]] != _HOLE

    def remove(self, place: int) -> None:
        """Remove the entry at a place."""
        self._bodies[self._starts[place]] = _HOLE
        self.live -= 1
        if place == self._upcoming:
            self._upcoming = -1
        if self._order is None and len(self._due) - self.live > max(self.live, FEW_HOLES):
            self._pack()

    def _pack(self) -> None:
        rows = list(self.rows())
        self._due, self._numbers, self._starts = array("Q"), array("Q"), array("Q")
        self._bodies = bytearray()
        self.live, self.earliest_ms, self._is_ascending = 0, LIMIT, True
        for row in rows:
            self.add(*row)

    def row(self, place: int) -> Scheduled:
        """The entry at a place."""
        following = place + 1
        ends_at = self._starts[following] if following < len(self._starts) else len(self._bodies)
        start = self._starts[place]
        header_end = self._bodies.index(b"\r", start)
        words = int(self._bodies[start + 1 : header_end])
        fields = bytes(memoryview(self._bodies)[header_end + 2 : ends_at])
        return Scheduled(self._due[place], self._numbers[place], words, fields)

    def rows(self) -> Iterator[Scheduled]:
        """The entries in the order of their numbers."""
        return map(self.row, filter(self._is_live, range(len(self._due))))

    def rows_in_order(self) -> Iterator[Scheduled | None]:
        """The entries as they will appear; None after each step of sorting."""
        order = _Order(self._due, is_ascending=self._is_ascending)
        while not order.is_ready():
            yield None
        yield from map(self.row, filter(self._is_live, order.places()))

    def copy(self) -> Bucket:
        """An independent bucket with the same entries."""
        twin = Bucket()
        twin._due, twin._numbers, twin._starts = self._due[:], self._numbers[:], self._starts[:]
        twin._bodies = self._bodies[:]
        twin.live, twin.earliest_ms = self.live, self.earliest_ms
        twin._is_ascending = self._is_ascending
        return twin

    def is_ready(self) -> bool:
        """Put some entries in order; True once the first one is known."""
        if self._order is None:
            self._order = _Order(self._due, is_ascending=self._is_ascending)
        if not self._order.is_ready():
            return False
        if self._places is None:
            self._places = self._order.places()
        while self._upcoming < 0:
            place = next(self._places, None)
            if place is None:  # it was at its end when the last entries were added
                self._places = self._order.places()
            elif self._is_live(place):
                self._upcoming = place
        self.earliest_ms = self._due[self._upcoming]
        return True

    def take(self) -> Scheduled:
        """Remove the first entry, and return it; the bucket is ready."""
        row = self.row(self._upcoming)
        self.remove(self._upcoming)
        return row

    def memory_bytes(self) -> int:
        """The memory in bytes; what puts entries in order is not counted."""
        columns = sum(map(array_bytes, (self._due, self._numbers, self._starts)))
        return _BUCKET_BYTES + columns + bytearray_bytes(self._bodies)


_BUCKET_BYTES = instance_bytes(Bucket)


class Schedule:
    """The entries of one stream that are added later."""

    __slots__ = (
        "_buckets",
        "_changed",
        "_counted_bytes",
        "_names_bytes",
        "_producers",
        "_tickets",
        "count",
        "last_number",
    )

    def __init__(self) -> None:
        self._buckets = OrderedIndex()
        self._counted_bytes = 0  # the memory of all buckets, but for changes of these:
        self._changed: set[int] = set()
        self.count = 0
        self.last_number = 0  # of the last ticket that was given
        # The names that producers gave (IDMP): by number, and the tickets by name.
        self._names_bytes = 0
        self._producers: dict[int, tuple[bytes, bytes]] = {}
        self._tickets: dict[tuple[bytes, bytes], tuple[int, int]] = {}

    # -- changing ------------------------------------------------------------------------------

    def add(self, due_ms: int, fields: bytes, words: int) -> int:
        """Add an entry of encoded names and values; returns its number."""
        self.last_number += 1
        self._put(due_ms, self.last_number, words, fields)
        return self.last_number

    def restore(self, due_ms: int, number: int, fields: list[bytes]) -> None:
        """Add an entry that has a ticket. Raises ValueError if there cannot be such an entry."""
        bucket: Bucket | None = self._buckets.get(due_ms >> BUCKET_BITS)
        if not 0 <= due_ms < LIMIT or not 0 < number < LIMIT or not fields or len(fields) % 2:
            raise ValueError("a scheduled entry that cannot be")
        if bucket is not None and number <= bucket.last_number:
            raise ValueError("scheduled entries that are out of order")
        self.last_number = max(self.last_number, number)
        self._put(due_ms, number, len(fields), encode_fields(fields))

    def _put(self, due_ms: int, number: int, words: int, fields: bytes) -> None:
        key = due_ms >> BUCKET_BITS
        bucket: Bucket | None = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = Bucket()
        bucket.add(due_ms, number, words, fields)
        self._changed.add(key)
        self.count += 1

    def remove(self, due_ms: int, number: int) -> bool:
        """Remove an entry; False if there is none."""
        key = due_ms >> BUCKET_BITS
        bucket: Bucket | None = self._buckets.get(key)
        place = -1 if bucket is None else bucket.find(due_ms, number)
        if bucket is None or place < 0:
            return False
        bucket.remove(place)
        self._note_loss(key, bucket)
        self.forget_name(number)
        return True

    def take(self, now_ms: int) -> Scheduled | None:
        """Remove the entry that is due first, and return it; its name stays known.

        None if no entry is due, or if it is not known yet which one (`is_due`): call it again.
        """
        key = self._buckets.first_key()
        if key is None:
            return None
        bucket: Bucket = self._buckets[key]
        if bucket.earliest_ms > now_ms or not bucket.is_ready() or bucket.earliest_ms > now_ms:
            return None
        entry = bucket.take()
        self._note_loss(key, bucket)
        return entry

    def _note_loss(self, key: int, bucket: Bucket) -> None:
        """Account for an entry that was removed from a bucket."""
        if bucket.live:
            self._changed.add(key)
        else:
            self._buckets.pop(key)
            self._changed.discard(key)
            self._counted_bytes -= bucket.counted_bytes
        self.count -= 1

    # -- producers -----------------------------------------------------------------------------

    def name(self, due_ms: int, number: int, pid: bytes, iid: bytes) -> None:
        """Note the name that its producer gave an entry."""
        name = pid, iid
        self._producers[number] = name
        self._tickets[name] = due_ms, number
        self._names_bytes += _name_bytes(name)

    def forget_name(self, number: int) -> tuple[bytes, bytes] | None:
        """Forget the name of an entry, and return it; None if it has no name."""
        name = self._producers.pop(number, None)
        if name is not None:
            del self._tickets[name]
            self._names_bytes -= _name_bytes(name)
        return name

    def find(self, pid: bytes, iid: bytes) -> tuple[int, int] | None:
        """The ticket of an entry by its name."""
        return self._tickets.get((pid, iid))

    # -- taking --------------------------------------------------------------------------------

    @property
    def next_ms(self) -> int | None:
        """A time before which no entry is due; None if the schedule is empty."""
        bucket = self._first_bucket()
        return None if bucket is None else bucket.earliest_ms

    def is_due(self, now_ms: int) -> bool:
        """Return True if the first entry is due, or may be."""
        bucket = self._first_bucket()
        return bucket is not None and bucket.earliest_ms <= now_ms

    def _first_bucket(self) -> Bucket | None:
        key = self._buckets.first_key()
        return None if key is None else self._buckets[key]

    # -- looking -------------------------------------------------------------------------------

    def first_ms(self) -> int | None:
        """When the first entry is due; None if there is none. Looks at its whole bucket."""
        bucket = self._first_bucket()
        return None if bucket is None else min(row.due_ms for row in bucket.rows())

    def buckets_between(self, start_ms: int, end_ms: int) -> Iterator[Bucket]:
        """The buckets that may have entries that are due then, in order."""
        for key, bucket in self._buckets.items_from(start_ms >> BUCKET_BITS):
            if key > end_ms >> BUCKET_BITS:
                return
            yield bucket

    def memory_bytes(self) -> int:
        """The memory in bytes."""
        for key in self._changed:
            bucket: Bucket = self._buckets[key]
            self._counted_bytes -= bucket.counted_bytes
            bucket.counted_bytes = bucket.memory_bytes()
            self._counted_bytes += bucket.counted_bytes
        self._changed.clear()
        size = _OWN_BYTES + self._buckets.memory_bytes() + self._counted_bytes
        size += sum(map(allocated_bytes, (self._changed, self._producers, self._tickets)))
        return size + self._names_bytes

    # -- rows (storage/policies/rows.py) -------------------------------------------------------

    def rows(self) -> Iterator[list[bytes]]:
        """What restores the schedule."""
        yield [b"tickets", b"%d" % self.last_number]
        for bucket in self._buckets.values():
            for row in bucket.rows():
                ticket = b"%d" % row.due_ms, b"%d" % row.number
                yield [b"scheduled", *ticket, *row.decoded()]
                if row.number in self._producers:
                    yield [b"named", *ticket, *self._producers[row.number]]

    def take_row(self, kind: bytes, words: list[bytes]) -> None:
        """Take a row of one of ROW_KINDS. Raises ValueError."""
        if kind == b"tickets":
            number = int(b" ".join(words))
            self.last_number = max(self.last_number, number)
        elif kind == b"scheduled":
            self.restore(int(words[0]), int(words[1]), words[2:])
        elif kind == b"named":
            pid, iid = words[2:]
            self.name(int(words[0]), int(words[1]), pid, iid)
        else:
            tickets = map(int, words)
            for due_ms, number in zip(tickets, tickets, strict=True):
                self.remove(due_ms, number)


_OWN_BYTES = instance_bytes(Schedule)


def _name_bytes(name: tuple[bytes, bytes]) -> int:
    """The memory of a producer's name for an entry, and of the ticket in the other table."""
    ticket = allocated_bytes((0, 0)) + 2 * allocated_bytes(LIMIT >> 1)
    return allocated_bytes(name) + sum(map(allocated_bytes, name)) + ticket
