"""The forms of a frozen node's packed entries: by a layout, by a frame, compressed, or as they are.

* By a layout if entries are short, of one length, and alike, and their IDs proceed in equal steps.
  It is only used if it restores exactly the same entries.
* By a frame (storage/entries/entry.py) and zstd if all of them have the same names: only the
  differences are compressed, and the result is a third smaller. Only compiled code does so;
  interpreted, stripping entries takes longer than it saves.
* Compressed by zstd as they are if that saves an eighth or more. Level 1 takes about as long as
  LZ4 to compress, and half the memory; it takes four times as long to open, which the cache of
  opened nodes (storage/nodes/entry_cache.py) makes up for.
* As they are otherwise.

A form that does not suit a node is not tried for the stream's next nodes (`Packing`).

Entries of a stream often have the same length and IDs that count up by one, and differ otherwise in
a few places only. Their common part is stored once, in a `Layout` that all such nodes of a stream
share, and IDs follow from the first one. The rest is packed, and entries are restored from it
without opening the whole node. There are two kinds:

* `NumberLayout`: the entries differ in one number of a fixed width, decimal or hexadecimal in lower
  case. Two digits take a byte: a value of twelve digits takes six bytes.
* `ColumnLayout`: for each offset where they differ, the byte of each entry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

import cython

from protocol.replies import bulk
from protocol.request import IS_COMPILED
from storage.entries.entry import ENTRY_HEADER, FieldRow, Frame
from storage.entries.entry_id import (
    MAX_SEQ,
    MS_STEP,
    SEQ_BITS,
    EntryID,
    IDProgression,
    NodeIDs,
    format_id,
)
from storage.memory import allocated_bytes, instance_bytes
from storage.redis_format.listpack_elements import header_bytes, integer_bytes
from storage.zstd import compress

if TYPE_CHECKING:
    from storage.nodes.entry_cache import EntryCache

# An entry begins with the header of an array of two, and that of its ID: *2 CRLF $<bytes> CRLF.
_LENGTH_OF_ID = 4

# The last digits of numbers that count up: all ones, all tens ... of two such periods. They are
# bytearrays, because to assign from these takes half the time.
PERIOD = 10_000
_DIGITS = [
    bytearray(b"".join([b"%d" % digit * unit for digit in range(10)]) * (2 * PERIOD // (10 * unit)))
    for unit in (1, 10, 100, 1000)
]


class Layout(ABC):
    """The common part of similar entries of one length."""

    __slots__ = (
        "_digits_end",
        "_head",
        "_id_bytes",
        "_id_end",
        "_memory_bytes",
        "length",
        "step",
    )

    def __init__(self, entry: bytes, id_text: bytes, step: int) -> None:
        """From one of the entries. `step`: from an ID to the next one, 1 or MS_STEP."""
        id_start = entry.index(b"\r\n", _LENGTH_OF_ID) + 2
        self.length = len(entry)
        self.step = step
        self._id_bytes = len(id_text)
        self._memory_bytes = 0  # once it was asked for
        self._id_end = id_start + len(id_text)
        self._head = entry[:id_start]
        # Where the number ends that counts up.
        counting = id_text.index(b"-") if step == MS_STEP else len(id_text)
        self._digits_end = id_start + counting

    def fits(self, length: int, id_text: bytes, step: int) -> bool:
        """Return True if entries of this length with such IDs may have this layout."""
        return (self.length, self._id_bytes, self.step) == (length, len(id_text), step)

    @abstractmethod
    def squeeze(self, payload: bytes, first_id: EntryID) -> bytes | None:
        """Return the differing parts of these entries, packed; None if part() cannot restore them.

        They have this layout's length, and IDs in its steps from the first one on, all with texts
        of the same length.
        """

    def gives_back(self, payload: bytes, first_id: EntryID, packed: bytes) -> bool:
        """Return True if part() restores exactly these entries from `packed`."""
        count = len(payload) // self.length
        return self.part(first_id, packed, count, 0, count) == payload

    def part(self, first_id: EntryID, packed: bytes, count: int, low: int, high: int) -> bytes:
        """The entries in places [low, high) of `count` that were squeezed.

        `first_id`: that of place `low`, which is below `high`.
        """
        number = first_id & MAX_SEQ if self.step == 1 else first_id >> SEQ_BITS
        start = number % PERIOD
        middle = low + PERIOD - start  # entries before it have the same digits before the last four
        if high <= middle:
            return self._alike(first_id, packed, count, low, high, start)
        later = self.part(first_id + (middle - low) * self.step, packed, count, middle, high)
        return self._alike(first_id, packed, count, low, middle, start) + later

    @abstractmethod
    def _alike(
        self, first_id: EntryID, packed: bytes, count: int, low: int, high: int, start: int
    ) -> bytes:
        """Return part() of entries whose IDs differ in their last four digits at most.

        `start`: these digits of the first ID.
        """

    @abstractmethod
    def row(self) -> FieldRow:
        """The fields of these entries, to be filled in one after the other."""

    def memory_bytes(self) -> int:
        """The memory in bytes."""
        if not self._memory_bytes:
            parts = sum(map(allocated_bytes, (self._head, *self._parts())))
            self._memory_bytes = instance_bytes(type(self)) + parts
        return self._memory_bytes

    @abstractmethod
    def _parts(self) -> Iterable[object]:
        """The objects of which the layout consists, beside its head; numbers are small."""

    def _count_up(self, entries: bytearray, start: int, count: int) -> None:
        """Write the digits that differ into the IDs of `count` entries, which all have the first.

        `start`: the last four digits of that.
        """
        low, high = start, start + count - 1
        length, column = self.length, self._digits_end
        for digits in _DIGITS:
            if low == high:
                break
            column -= 1
            entries[column::length] = digits[start : start + count]
            low, high = low // 10, high // 10


def row_of(fields: bytes, columns: Iterable[int], *, is_number: bool) -> FieldRow:
    """A FieldRow from what follows an entry's ID, and the columns in that."""
    start = fields.index(b"$")
    return FieldRow(fields[start:], [column - start for column in columns], is_number=is_number)


def differing_columns(payload: bytes, length: int, start: int) -> list[int]:
    """The columns from `start` on in which entries of this length are not all the same."""
    found = []
    for column in range(start, length):
        data = payload[column::length]
        if data.count(data[0]) != len(data):
            found.append(column)
    return found


_HEX_DIGITS = b"0123456789abcdef"
# The value of each letter that is a digit, and for others a greater number.
_VALUES: bytes = bytes([_HEX_DIGITS.find(letter) & 0xFF for letter in range(256)])
# Numbers are packed here; the memory is used again for the next node.
_packed = bytearray()


class NumberLayout(Layout):
    """Entries that differ in one place only, in an even number of digits."""

    __slots__ = ("_end", "_middle", "_number", "_packed_bytes")

    def __init__(self, entry: bytes, id_text: bytes, number: slice, step: int) -> None:
        """From one of the entries. `number`: where in an entry it is."""
        super().__init__(entry, id_text, step)
        self._number = number
        self._packed_bytes = (number.stop - number.start) // 2
        self._middle = entry[self._id_end : number.start]
        self._end = entry[number.stop :]

    def squeeze(self, payload: bytes, first_id: EntryID) -> bytes | None:
        """The numbers, concatenated."""
        if cython.compiled:
            return _pack_numbers(
                payload, self.length, self._head, self._id_end, self._middle, self._end
            )
        start, stop = self._number.start, self._number.stop
        places = range(0, len(payload), self.length)
        digits = b"".join([payload[place + start : place + stop] for place in places])
        try:
            packed = bytes.fromhex(digits.decode("ascii"))
        except ValueError:
            return None
        # White space between digits is passed over, and capitals read as the same numbers.
        is_whole = 2 * len(packed) == len(digits)
        return packed if is_whole and self.gives_back(payload, first_id, packed) else None

    def _alike(
        self, first_id: EntryID, packed: bytes, count: int, low: int, high: int, start: int
    ) -> bytes:
        size = self._packed_bytes
        numbers = packed[low * size : high * size].hex("\n", size).encode()
        before = b"%b%d-%d%b" % (
            self._head, first_id >> SEQ_BITS, first_id & MAX_SEQ, self._middle,
        )  # fmt: skip
        numbers = numbers.replace(b"\n", self._end + before)
        if high - low == 1:
            return b"%b%b%b" % (before, numbers, self._end)
        entries = bytearray(b"%b%b%b" % (before, numbers, self._end))
        self._count_up(entries, start, high - low)
        return bytes(entries)

    def _parts(self) -> tuple[object, ...]:
        return self._middle, self._end, self._number

    def row(self) -> FieldRow:
        """The fields of these entries, to be filled in one after the other."""
        digits = 2 * self._packed_bytes
        fields = self._middle + bytes(digits) + self._end
        start = len(self._middle)
        return row_of(fields, range(start, start + digits), is_number=True)


@cython.cfunc
@cython.boundscheck(False)
@cython.wraparound(False)
def _pack_numbers(
    payload: bytes,
    length: cython.Py_ssize_t,
    head: bytes,
    middle_at: cython.Py_ssize_t,
    middle: bytes,
    end: bytes,
) -> bytes | None:
    """Return the digits between `middle` and `end` in entries of this length, two in a byte.

    None if the text around them differs in an entry, or has anything but digits between.
    """
    data: cython.p_const_uchar = payload
    head_text: cython.p_const_uchar = head
    middle_text: cython.p_const_uchar = middle
    end_text: cython.p_const_uchar = end
    values: cython.p_const_uchar = _VALUES
    first: cython.Py_ssize_t = middle_at + len(middle)
    stop: cython.Py_ssize_t = length - len(end)
    size: cython.Py_ssize_t = len(payload)
    room: cython.Py_ssize_t = size // length * ((stop - first) // 2)
    if len(_packed) < room:
        _packed.extend(bytes(room - len(_packed)))
    packed: bytearray = _packed
    out: cython.p_uchar = packed
    place: cython.Py_ssize_t = 0
    entry: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    high: cython.uchar
    low: cython.uchar
    while entry < size:
        if (
            memcmp(data + entry, head_text, len(head))  # type: ignore[name-defined, operator]  # noqa: F821
            or memcmp(data + entry + middle_at, middle_text, len(middle))  # type: ignore[name-defined, operator]  # noqa: F821
            or memcmp(data + entry + stop, end_text, len(end))  # type: ignore[name-defined, operator]  # noqa: F821
        ):
            return None
        for at in range(entry + first, entry + stop, 2):
            high = values[data[at]]
            low = values[data[at + 1]]
            if high > 15 or low > 15:
                return None
            out[place] = high << 4 | low
            place += 1
        entry += length
    return bytes(out[:place])


def find_number(entry: bytes, columns: list[int]) -> slice | None:
    """Where the number is if these columns are one; None if they are not."""
    if not columns or columns[-1] - columns[0] != len(columns) - 1:
        return None
    start, end = columns[0], columns[-1] + 1
    if len(columns) % 2:
        # With a digit beside it that happens to be the same everywhere, such as a leading zero.
        if entry[start - 1] in _HEX_DIGITS:
            start -= 1
        elif entry[end : end + 1] in _HEX_DIGITS:
            end += 1
        else:
            return None
    return slice(start, end)


class ColumnLayout(Layout):
    """The layout of entries that differ at some offsets only (columns)."""

    __slots__ = ("_columns", "_rest", "_runs", "_template")

    def __init__(self, entry: bytes, id_text: bytes, columns: list[int], step: int) -> None:
        """From one of the entries. `columns`: where entries differ after their IDs."""
        super().__init__(entry, id_text, step)
        self._rest = entry[self._id_end :]
        self._columns = [slice(column, None, self.length) for column in columns]
        self._template, self._runs = _template(entry, len(self._head), self._id_end, columns)

    def squeeze(self, payload: bytes, first_id: EntryID) -> bytes | None:
        """The columns, concatenated."""
        packed = b"".join([payload[column] for column in self._columns])
        return packed if self.gives_back(payload, first_id, packed) else None

    def _alike(
        self, first_id: EntryID, packed: bytes, count: int, low: int, high: int, start: int
    ) -> bytes:
        if high - low == 1:
            differing = packed[low::count]
            return self._template % (format_id(first_id), *[differing[run] for run in self._runs])
        entries = bytearray(self._head + format_id(first_id) + self._rest) * (high - low)
        self._count_up(entries, start, high - low)
        values = bytearray(packed)
        for column in self._columns:
            entries[column] = values[low:high]
            low, high = low + count, high + count
        return bytes(entries)

    def _parts(self) -> tuple[object, ...]:
        lists = (self._columns, self._runs)
        return self._rest, self._template, *lists, *self._columns, *self._runs

    def row(self) -> FieldRow:
        """The fields of these entries, to be filled in one after the other."""
        columns = [column.start - self._id_end for column in self._columns]
        return row_of(self._rest, columns, is_number=False)


def _template(
    entry: bytes, id_start: int, id_end: int, columns: list[int]
) -> tuple[bytes, list[slice]]:
    """A format string for entries, and for each gap after the ID the columns that fill it."""
    template, runs = entry[:id_start] + b"%b", []
    end = id_end  # of what is done
    for _, group in groupby(enumerate(columns), lambda item: item[1] - item[0]):
        run = list(group)
        runs.append(slice(run[0][0], run[-1][0] + 1))
        template += entry[end : run[0][1]].replace(b"%", b"%%") + b"%b"
        end = run[-1][1] + 1
    return template + entry[end:].replace(b"%", b"%%"), runs


if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import bytes_object_bytes, list_bytes

# Compressed entries have to be smaller by an eighth at least, or it does not pay to open them.
WORTHWHILE = 7 / 8

# Longer entries are not looked at for what they have in common: compression does it as well.
MAX_ALIKE_BYTES = 256

# Unpacking a node costs a step for each column: it must pay for this many entries, ...
MIN_ENTRIES = 16
# ... with at most this many columns, and no more than this share of an entry.
MAX_COLUMNS = 32
MAX_SHARE = 1 / 2

# After a failed attempt, this many nodes are packed without another one.
PAUSE = 15
# A number of entries that no stream reaches.
NEVER = 1 << 62


class Plain(Enum):
    """Forms without a layout."""

    AS_IS = 0
    COMPRESSED = 1


AS_IS, COMPRESSED = Plain.AS_IS, Plain.COMPRESSED
Form: TypeAlias = Layout | Frame | Plain

# The output of a frame: stripped entries.
_stripped = bytearray()


def form_bytes(form: Form) -> int:
    """The memory of a form in bytes; nodes share it."""
    return 0 if isinstance(form, Plain) else form.memory_bytes()


class Packing:
    """The choice of forms for a stream's nodes, learned from the nodes that were packed before."""

    __slots__ = (
        "_compression_pause",
        "_frame",
        "_frame_pause",
        "_layout",
        "_layout_pause",
        "cache",
    )

    def __init__(self, *, has_frames: bool = IS_COMPILED) -> None:
        # The cache of unpacked entries; None until the stream is stored in a database.
        self.cache: EntryCache | None = None
        self._layout: Layout | None = None
        self._frame: Frame | None = None
        # The number of nodes until the next attempt.
        self._layout_pause = 0
        self._frame_pause = 0 if has_frames else NEVER
        self._compression_pause = 0

    def pack(
        self, text: bytearray, size: int, length: int, first_id: EntryID, ids: NodeIDs
    ) -> tuple[Form, bytes]:
        """The form and the packed entries, which are the first `size` bytes of `text`.

        `length`: of each of them, 0 if they have several. `ids`: theirs, of which this is the
        first.
        """
        if 0 < length <= MAX_ALIKE_BYTES and isinstance(ids, IDProgression):
            if self._layout_pause:
                self._layout_pause -= 1
            elif found := lay_out(
                _first_bytes(text, size), length, first_id, ids.step, self._layout
            ):
                self._layout = found[0]
                return found
            else:
                self._layout_pause = PAUSE
        return self._compress(text, size, first_id)

    def _compress(self, text: bytearray, size: int, first_id: EntryID) -> tuple[Form, bytes]:
        if self._compression_pause:
            self._compression_pause -= 1
            return AS_IS, _first_bytes(text, size)
        limit = int(size * WORTHWHILE)
        stripped = self._strip(text, size, first_id)
        if stripped >= 0 and self._frame is not None:
            form: Form = self._frame
            packed = _compressed(_stripped, stripped, limit)
        else:
            form, packed = COMPRESSED, _compressed(text, size, limit)
        if packed is not None:
            return form, packed
        self._compression_pause = PAUSE
        return AS_IS, _first_bytes(text, size)

    def _strip(self, text: bytearray, size: int, first_id: EntryID) -> int:
        """Strip the entries into `_stripped` by a frame; return what Frame.strip() returns."""
        if len(_stripped) < size:
            _stripped.extend(bytes(size - len(_stripped)))
        frame = self._frame
        if frame is not None:
            stripped = frame.strip(first_id, text, size, _stripped)
            if stripped >= 0:
                return stripped
        if self._frame_pause:
            self._frame_pause -= 1
            return -1
        self._frame_pause = PAUSE
        self._frame = Frame(text)
        return self._frame.strip(first_id, text, size, _stripped)


@cython.ccall
def _first_bytes(text: bytearray, size: cython.Py_ssize_t) -> bytes:
    """A copy of the first `size` bytes."""
    data: cython.p_uchar = text
    return bytes(data[:size])


def _compressed(text: bytearray, size: int, limit: int) -> bytes | None:
    """The first `size` bytes, compressed by zstd; None if that is not below `limit`."""
    with memoryview(text)[:size] as payload:
        packed = compress(payload)
    return packed if len(packed) < limit else None


def lay_out(
    payload: bytes, length: int, first_id: EntryID, step: int, known: Layout | None
) -> tuple[Layout, bytes] | None:
    """A layout for entries of this length, and what it makes of them; None if it is no gain.

    Their IDs proceed in equal steps. `known`: the layout of entries before, which probably fits
    these as well.
    """
    count = len(payload) // length
    id_text, last_text = format_id(first_id), format_id(first_id + (count - 1) * step)
    if not MIN_ENTRIES <= count <= PERIOD or len(last_text) != len(id_text):
        return None
    if known is not None and known.fits(length, id_text, step):
        packed = known.squeeze(payload, first_id)
        if packed is not None:
            return known, packed
    entry = payload[:length]
    columns = differing_columns(payload, length, entry.index(id_text) + len(id_text))
    number = find_number(entry, columns)
    if number is not None:  # the smaller layout
        numbers = NumberLayout(entry, id_text, number, step)
        packed = numbers.squeeze(payload, first_id)
        if packed is not None:
            return numbers, packed
    if len(columns) > min(MAX_COLUMNS, length * MAX_SHARE):
        return None
    layout = ColumnLayout(entry, id_text, columns, step)
    packed = layout.squeeze(payload, first_id)
    return None if packed is None else (layout, packed)


class Shape:
    """The field names of an entry, and a template for entries that have the same ones.

    A listpack leaves out the names of an entry that equal those of the node's first one. Loading a
    snapshot fills in the template, in half the time of encoding every field.
    """

    __slots__ = ("_memory_bytes", "_template", "header_bytes", "names", "packing")

    def __init__(self, names: list[bytes], packing: Packing | None = None) -> None:
        """`packing`: the packing statistics of the stream's nodes."""
        self.names = names
        self.packing = packing or Packing()
        # The size of a listpack with these names, without entries and their counts.
        self.header_bytes = header_bytes(0, 0, names) - 2 * integer_bytes(0)
        self._template: bytes | None = None
        self._memory_bytes = 0  # once it was asked for

    def memory_bytes(self) -> int:
        """The memory of the shape in bytes, without a template and the packing."""
        if not self._memory_bytes:
            self._memory_bytes = _SHAPE_BYTES + _names_bytes(self.names)
        return self._memory_bytes

    def join(self, packing: Packing) -> None:
        """Become that of a node in a stream with this packing, where it needs no template."""
        self.packing = packing
        self._template = None

    @property
    def template(self) -> bytes:
        """A `%`-format for an encoded ID, and the length and the text of each value."""
        if self._template is None:
            slots = [bulk(name).replace(b"%", b"%%") + b"$%d\r\n%b\r\n" for name in self.names]
            head = (ENTRY_HEADER, b"%b", b"*%d\r\n" % (2 * len(self.names)))
            self._template = b"".join([*head, *slots])
        return self._template

    def encode_values(self, id_bulk: bytes, values: Sequence[bytes]) -> bytes:
        """The entry with the encoded ID `id_bulk`, and these values of this shape's names."""
        if len(values) == 1:
            return self.template % (id_bulk, len(values[0]), values[0])
        arguments: list[bytes | int] = [id_bulk]
        for value in values:
            arguments += (len(value), value)
        return self.template % tuple(arguments)


_SHAPE_BYTES: cython.long = instance_bytes(Shape)


@cython.cfunc
def _names_bytes(names: list[bytes]) -> cython.long:
    """The memory of a list of names."""
    size: cython.long = list_bytes(names)
    name: bytes
    for name in names:
        size += bytes_object_bytes(len(name))
    return size
