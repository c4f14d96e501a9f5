"""Entry IDs: one int each, `ms << 64 | seq`, their text form `<ms>-<seq>`, and rows of them.

As plain ints they are compact, hashable and compare in stream order. Both halves are unsigned
64-bit numbers, so every ID lies between MIN_ID (0-0) and MAX_ID. Compiled, an ID is a C number of
128 bits where it has the type `entry_id_t`: no object is made of it, and MAX_ID + 1 is 0.

The parsers accept the same texts as Redis 7.0.15. It copies the text into a C
string and reads each half with `strtoull`, which has effects that clients can see:

* leading zeros, leading blanks and one leading `+` are tolerated (`007-1` is 7-1);
* everything from a NUL byte on is ignored;
* the sequence may carry a minus sign that wraps around (`1--05` is 1-18446744073709551611),
  except where the plain 64-bit reader that is tried first already sees a negative number (`1--5`).

The commands parse special IDs (`-`, `+`, `$`, `>`, `*` and the `(` prefix).

`EntryIDs` is a row of IDs as pairs of numbers. IDs take this form on their way from the nodes of a
stream to a group's pending entries and into the append-only file, and from a request to the pending
entries that it acknowledges. Compiled, no object is made of an ID there. Other code reads a row as
it would a list.

`NodeIDs` are the IDs of a frozen node, relative to its key. Most nodes have one ID in each
millisecond, or consecutive IDs of one millisecond: an IDProgression, which all such nodes share.
Other nodes have IDColumns: for each entry the distance of its millisecond to that of the key, and
its sequence number. Both have the same methods.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import eq
from typing import TypeAlias

import cython

from storage.memory import instance_bytes

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import array_bytes, bytes_object_bytes

EntryID: TypeAlias = int

SEQ_BITS = 64
MAX_SEQ = 2**64 - 1
MIN_ID: EntryID = 0
MAX_ID: EntryID = 2**128 - 1

_LAST_SEQ: cython.ulonglong = MAX_SEQ

# Longer texts do not fit into the buffer of Redis's parser, and are refused.
MAX_TEXT_BYTES = 127

# Two numbers and a dash below this length have at most 19 digits each, less than 2**64.
PLAIN_TEXT_BYTES = 22

# Numbers of up to this many digits are less than 2**64.
_PLAIN_DIGITS: cython.Py_ssize_t = 19

# The syntax of C's strtoull: blanks as in isspace(), one sign, decimal digits.
_NUMBER = rb"[ \t\n\v\f\r]*([+-]?)([0-9]+)"
# The texts that Redis's own 64-bit parser, tried first, accepts as negative numbers.
_PLAIN_NEGATIVE = rb"-[1-9][0-9]*"


def make_id(ms: cython.ulonglong, seq: cython.ulonglong) -> EntryID:
    """The ID of millisecond `ms` and sequence number `seq`."""
    entry_id = ms  # compiled, it has 128 bits from here on
    return entry_id << 64 | seq


def id_ms(entry_id: EntryID) -> cython.ulonglong:
    """The millisecond half of an ID."""
    return entry_id >> 64


def id_seq(entry_id: EntryID) -> cython.ulonglong:
    """The sequence half of an ID."""
    return entry_id & _LAST_SEQ


def format_id(entry_id: EntryID) -> bytes:
    """The text clients see, such as b"1700000000000-0"."""
    return b"%d-%d" % (entry_id >> SEQ_BITS, entry_id & MAX_SEQ)


def parse_id(text: bytes, missing_seq: int = 0) -> EntryID | None:
    """The ID that `text` names, or None where Redis calls it invalid.

    `<ms>` alone stands for `<ms>-<missing_seq>`: 0, or MAX_SEQ at the end of a range.
    """
    ms, dash, seq = text.partition(b"-")
    # Nearly every ID is plain digits; isdigit() of bytes knows only the ASCII ones.
    if dash and ms.isdigit() and seq.isdigit() and len(text) <= MAX_TEXT_BYTES:
        if len(text) < PLAIN_TEXT_BYTES:
            return int(ms) << SEQ_BITS | int(seq)
        entry_id = int(ms) << SEQ_BITS | int(seq)
        if entry_id <= MAX_ID and int(seq) <= MAX_SEQ:
            return entry_id
        return None
    parts = parse_partial_id(text, missing_seq)
    if parts is None or parts[1] is None:
        return None
    return make_id(parts[0], parts[1])


@cython.cclass
class PlainID:
    """Reads IDs in canonical form without making an object; `ms` and `seq` are the last one's."""

    def __init__(self) -> None:
        self.ms = self.seq = 0

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def read(self, text: bytes) -> bool:
        """Read an ID; False for any text in another form, an ID or not."""
        data: cython.p_const_uchar = text
        length: cython.Py_ssize_t = len(text)
        if length < 3 or length > 2 * _PLAIN_DIGITS + 1:
            return False
        place: cython.Py_ssize_t = 0
        start: cython.Py_ssize_t
        half: cython.Py_ssize_t
        digit: cython.int
        number: cython.ulonglong = 0
        for half in range(2):
            start = place
            number = 0
            while place < length:
                digit = data[place] - 48
                if digit < 0 or digit > 9:
                    break
                number = number * 10 + digit
                place += 1
            digits: cython.Py_ssize_t = place - start
            if digits == 0 or digits > _PLAIN_DIGITS or (data[start] == 48 and digits > 1):
                return False
            if half == 0:
                self.ms = number
                if place == length or data[place] != 45:  # -
                    return False
                place += 1
        self.seq = number
        return place == length


_PLAIN_ID = PlainID()


@cython.ccall
def parse_plain_id(text: bytes) -> EntryID | None:
    """The ID if `text` is in canonical form; None for any other text, an ID or not."""
    plain: PlainID = _PLAIN_ID
    return make_id(plain.ms, plain.seq) if plain.read(text) else None


def parse_partial_id(text: bytes, missing_seq: int = 0) -> tuple[int, int | None] | None:
    """(ms, seq) of an ID as XADD takes it; seq is None for `<ms>-*`. None where it is invalid."""
    if len(text) > MAX_TEXT_BYTES:
        return None
    ms_text, dash, seq_text = text.partition(b"\0")[0].partition(b"-")
    ms = _parse_number(ms_text)
    if ms is None:
        return None
    if not dash:
        return ms, missing_seq
    if seq_text == b"*":
        return ms, None
    seq = _parse_number(seq_text)
    return None if seq is None else (ms, seq)


def _parse_number(text: bytes) -> int | None:
    """An unsigned 64-bit number as Redis reads it from one half of an ID, or None."""
    match = re.fullmatch(_NUMBER, text)
    if match is None:
        return None
    sign, digits = match.groups()
    value = int(digits)
    if value > MAX_SEQ:
        return None
    if sign == b"-":
        if re.fullmatch(_PLAIN_NEGATIVE, text) and value <= 2**63:
            return None
        return -value % 2**64
    return value


@cython.cclass
class EntryIDs:
    """IDs in any order; `count` is their number."""

    __slots__ = ("_numbers", "count")

    def __init__(self) -> None:
        self.count = 0
        self._numbers: array[int] = array("Q")  # the halves of each ID, and room for more

    @staticmethod
    def of(ids: Iterable[EntryID]) -> EntryIDs:
        """A row of these IDs."""
        row = EntryIDs()
        row.extend(ids)
        return row

    def clear(self) -> None:
        """Remove all, to use the row again."""
        self.count = 0

    def cut(self, count: cython.Py_ssize_t) -> None:
        """Keep only the first `count` IDs."""
        self.count = min(count, self.count)

    def add(self, entry_id: EntryID) -> None:
        """Append an ID."""
        place: cython.Py_ssize_t = 2 * self.count
        if place == len(self._numbers):
            self._numbers.frombytes(bytes(16 * max(4, self.count)))
        numbers: cython.p_ulonglong = numbers_of(self._numbers)
        numbers[place] = id_ms(entry_id)
        numbers[place + 1] = id_seq(entry_id)
        self.count += 1

    def add_plain(self, text: bytes) -> bool:
        """Append an ID in canonical form; False for any other text, an ID or not."""
        plain: PlainID = _PLAIN_ID
        if not plain.read(text):
            return False
        self.add(make_id(plain.ms, plain.seq))
        return True

    def extend(self, ids: Iterable[EntryID]) -> None:
        """Append IDs."""
        for entry_id in ids:
            self.add(entry_id)

    def at(self, place: cython.Py_ssize_t) -> EntryID:
        """The ID at a place, which must be one of [0, count)."""
        numbers: cython.p_ulonglong = numbers_of(self._numbers)
        return make_id(numbers[2 * place], numbers[2 * place + 1])

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: cython.Py_ssize_t) -> EntryID:
        if place < 0:
            place += self.count
        if not 0 <= place < self.count:
            raise IndexError(place)
        return self.at(place)

    def __iter__(self) -> Iterator[EntryID]:
        return iter([self.at(place) for place in range(self.count)])

    def __eq__(self, other: object) -> bool:
        """Return True for a sequence of the same IDs in the same order."""
        if not isinstance(other, EntryIDs | list):
            return NotImplemented
        return self.count == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


def numbers_of(numbers: object) -> cython.p_ulonglong:
    """An array of numbers; compiled, a pointer to them, valid until the array is resized."""
    if cython.compiled:
        # The module's C types have it.
        return pointer_to(numbers)  # type: ignore[name-defined]  # noqa: F821
    return numbers


Column: TypeAlias = "bytes | array[int]"

# The distance of IDs in successive milliseconds with the same sequence number.
MS_STEP = 1 << SEQ_BITS

# The number of different columns and progressions that are cached for sharing.
SHARED = 1024


@cython.cclass
class NodeIDs:
    """The IDs of a frozen node, which ascend. They are relative to its key, an argument of all."""

    __slots__ = ("count",)

    count: int

    def __len__(self) -> int:
        return self.count

    def at(self, key: EntryID, place: cython.Py_ssize_t) -> EntryID:
        """The ID at a place, which may be counted from the end."""
        raise NotImplementedError

    def place(self, key: EntryID, entry_id: EntryID) -> cython.Py_ssize_t:
        """The place of the first ID that is not below `entry_id`."""
        raise NotImplementedError

    def add_to(
        self, ids: EntryIDs, key: EntryID, low: cython.Py_ssize_t, high: cython.Py_ssize_t
    ) -> None:
        """Append the IDs at places [low, high) to a row."""
        raise NotImplementedError

    def between(
        self, key: EntryID, low: cython.Py_ssize_t, high: cython.Py_ssize_t
    ) -> list[EntryID]:
        """The IDs at places [low, high)."""
        ids = EntryIDs()
        self.add_to(ids, key, low, high)
        return list(ids)

    def memory_bytes(self) -> int:
        """The memory in bytes, except for what nodes share."""
        raise NotImplementedError


@cython.cclass
class IDProgression(NodeIDs):
    """An arithmetic progression of IDs; nodes share it."""

    __slots__ = ("_offset", "step")

    def __init__(self, offset: int, step: int, count: int) -> None:
        """`offset`: of the first ID, to the key. `step`: 1 or MS_STEP."""
        self._offset = offset
        self.step = step
        self.count = count

    def at(self, key: EntryID, place: cython.Py_ssize_t) -> EntryID:
        """Return the ID at a place, which may be counted from the end."""
        if place < 0:
            place += self.count
        return key + self._offset + self.step * place

    def place(self, key: EntryID, entry_id: EntryID) -> cython.Py_ssize_t:
        """Return the place of the first ID that is not below `entry_id`."""
        first = key + self._offset
        if entry_id <= first:
            return 0
        count = self.count
        place = entry_id - first
        if self.step != 1:  # it is MS_STEP; rounded up
            place = (place - 1 >> 64) + 1
        return place if place < count else count

    def add_to(
        self, ids: EntryIDs, key: EntryID, low: cython.Py_ssize_t, high: cython.Py_ssize_t
    ) -> None:
        """Append the IDs at places [low, high) to a row."""
        entry_id = key + self._offset + self.step * low
        for _ in range(low, high):
            ids.add(entry_id)
            entry_id += self.step

    def memory_bytes(self) -> int:
        """Return 0: all nodes with the same progression share it."""
        return 0


@cython.cclass
class IDColumns(NodeIDs):
    """IDs that are not a progression."""

    __slots__ = ("_ms", "_seq")

    def __init__(self, ms: Column, seq: Column) -> None:
        self._ms = ms
        self._seq = seq
        self.count = len(ms)

    def at(self, key: EntryID, place: cython.Py_ssize_t) -> EntryID:
        """Return the ID at a place, which may be counted from the end."""
        return make_id(id_ms(key) + self._ms[place], self._seq[place])

    def place(self, key: EntryID, entry_id: EntryID) -> cython.Py_ssize_t:
        """Return the place of the first ID that is not below `entry_id`."""
        if entry_id <= key:
            return 0
        ms = id_ms(entry_id) - id_ms(key)
        low = bisect_left(self._ms, ms)
        high = bisect_right(self._ms, ms, low)
        return bisect_left(self._seq, id_seq(entry_id), low, high)

    def add_to(
        self, ids: EntryIDs, key: EntryID, low: cython.Py_ssize_t, high: cython.Py_ssize_t
    ) -> None:
        """Append the IDs at places [low, high) to a row."""
        base_ms: cython.ulonglong = id_ms(key)
        place: cython.Py_ssize_t
        ms: cython.ulonglong
        for place in range(low, high):
            ms = self._ms[place]
            ids.add(make_id(base_ms + ms, self._seq[place]))

    def memory_bytes(self) -> int:
        """Return the memory in bytes, without columns of equal numbers, which nodes share."""
        size: cython.long = _COLUMNS_BYTES
        for numbers in (self._ms, self._seq):
            if not is_uniform(numbers):
                size += column_bytes(numbers)
        return size


_COLUMNS_BYTES: cython.long = instance_bytes(IDColumns)


def column_bytes(numbers: Column) -> cython.long:
    """The memory of a column in bytes."""
    if type(numbers) is bytes:
        return bytes_object_bytes(len(numbers))
    return array_bytes(numbers)  # type: ignore[arg-type]


def pack_ids(
    key: EntryID,
    ms: array[int],
    seqs: array[int],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> NodeIDs:
    """The compact form of `count` ascending IDs, at least one, none below the key.

    Their halves are in two arrays, from index `first` on.
    """
    all_ms: cython.p_ulonglong = numbers_of(ms)
    all_seqs: cython.p_ulonglong = numbers_of(seqs)
    if _is_run(all_ms, first, count, 0) and _is_run(all_seqs, first, count, 1):
        return progression(make_id(ms[first], seqs[first]) - key, 1, count)
    if _is_run(all_ms, first, count, 1) and _is_run(all_seqs, first, count, 0):
        return progression(make_id(ms[first], seqs[first]) - key, MS_STEP, count)
    base_ms: cython.ulonglong = id_ms(key)
    return IDColumns(
        _column_of(all_ms, first, count, base_ms), _column_of(all_seqs, first, count, 0)
    )


@cython.cfunc
def _is_run(
    numbers: cython.p_ulonglong,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    step: cython.ulonglong,
) -> cython.bint:
    """Return True if each number is the one before it plus `step`."""
    index: cython.Py_ssize_t
    for index in range(first + 1, first + count):
        if numbers[index] - numbers[index - 1] != step:
            return False
    return True


@cython.cfunc
def _column_of(
    numbers: cython.p_ulonglong,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    base: cython.ulonglong,
) -> Column:
    """`column()` of `count` numbers from index `first` on, each less `base`."""
    top: cython.ulonglong = 0
    index: cython.Py_ssize_t
    if _is_run(numbers, first, count, 0):
        return _uniform_column(numbers[first] - base, count)
    for index in range(first, first + count):
        if numbers[index] - base > top:
            top = numbers[index] - base
    if top >= 2**8:
        return _packed_column([numbers[index] - base for index in range(first, first + count)], top)
    column = bytearray(count)
    data: cython.p_uchar = column
    for index in range(count):
        data[index] = numbers[first + index] - base
    return bytes(column)


@lru_cache(SHARED)
def progression(offset: int, step: int, count: int) -> IDProgression:
    """`count` IDs in equal steps, the first at `offset` from the key; shared by all nodes."""
    return IDProgression(offset, step, count)


def column(numbers: list[int]) -> Column:
    """The numbers in the smallest array type that holds them; shared if all are equal."""
    if is_uniform(numbers):
        return _uniform_column(numbers[0], len(numbers))
    return _packed_column(numbers, max(numbers))


def is_uniform(numbers: list[int] | Column) -> bool:
    """Return True if all numbers are equal; there must be at least one."""
    first = numbers[0]
    return first == numbers[-1] and numbers.count(first) == len(numbers)


@lru_cache(SHARED)
def _uniform_column(number: int, count: int) -> Column:
    return _packed_column([number] * count, number)


def _packed_column(numbers: list[int], top: int) -> Column:
    if top < 2**8:
        return bytes(numbers)
    return array("H" if top < 2**16 else "I" if top < 2**32 else "Q", numbers)
