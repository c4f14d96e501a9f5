"""The elements of a listpack: their sizes, written one by one, and read where they are.

storage/redis_format/listpack.py has the format, and what reads a listpack as a whole. Compiled, an
element takes some nanoseconds: the words of entries go from the bytes of a reply into the listpack,
and no object is made of them.

Sizes: a node of a stream is full when its listpack (Redis's encoding for it) would grow beyond
`stream-node-max-bytes`. Rillway's nodes have another form in memory, but clients see where they end
(`~` trims, radix-tree-keys), so the size is computed as in Redis 7: integers in their packed form,
strings with a length prefix, a backward length after each element, and no field names where they
equal those of the node's first entry. `FieldSizes` measures an entry by walking over its bytes.

Reading: a place is the position of an element in the bytes. Compiled, the functions read memory
without a check: callers hand in the places of elements that were written here, or that
`count_plain` has checked.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import is_at, put_bytes


def put_decimal(
    out: cython.p_uchar, place: cython.Py_ssize_t, number: cython.ulonglong
) -> cython.Py_ssize_t:
    """Write a number in decimal; the place after it."""
    end: cython.Py_ssize_t = place + digits_of(number)
    place = end
    two: cython.int
    while number > 9:  # two digits at a time: half the divisions of a long number
        two = number % 100
        number //= 100
        place -= 2
        out[place] = 48 + two // 10
        out[place + 1] = 48 + two % 10
        if number == 0:
            return end
    out[place - 1] = 48 + number
    return end


def digits_of(number: cython.ulonglong) -> cython.Py_ssize_t:
    """The number of digits that a number has in decimal."""
    digits: cython.Py_ssize_t = 1
    while number > 9999:
        digits += 4
        number //= 10000
    while number > 9:
        digits += 1
        number //= 10
    return digits


# A listpack's own header and end byte.
EMPTY_LISTPACK_BYTES = 7

FLAGS_BYTES = 2

# The framing of a string, up to this length.
_SHORT_STRING_BYTES: cython.Py_ssize_t = 2
_MAX_SHORT_STRING: cython.Py_ssize_t = 63

# Longest text of a 64-bit integer; anything longer is kept as a string.
MAX_INTEGER_DIGITS = 20
_MAX_INTEGER_DIGITS: cython.Py_ssize_t = MAX_INTEGER_DIGITS

# The greatest signed 64-bit integer, and a number of digits that is certainly below it.
_MAX_INT64: cython.ulonglong = 2**63 - 1
_SAFE_DIGITS: cython.Py_ssize_t = 18


def integer_bytes(number: int) -> int:
    """The size of a listpack element that holds an integer, taken modulo 2**64 with a sign."""
    if -(2**63) <= number < 2**63:
        return int64_bytes(number)
    return int64_bytes((number + 2**63) % 2**64 - 2**63)


def int64_bytes(number: cython.long) -> cython.Py_ssize_t:
    """integer_bytes() of a 64-bit integer."""
    if 0 <= number <= 127:
        return 2
    if -4096 <= number <= 4095:
        return 3
    if -32768 <= number <= 32767:
        return 4
    if -8388608 <= number <= 8388607:
        return 5
    if -2147483648 <= number <= 2147483647:
        return 6
    return 10


def element_bytes(value: bytes) -> int:
    """The size of a listpack element that holds `value`, which may be packed as an integer."""
    return _element_bytes(value, 0, len(value))


def elements_bytes(values: list[bytes]) -> int:
    """element_bytes() of all values together."""
    total: cython.Py_ssize_t = 0
    value: bytes
    for value in values:
        total += _element_bytes(value, 0, len(value))
    return total


def _element_bytes(
    data: cython.p_const_uchar, start: cython.Py_ssize_t, length: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """element_bytes() of a part of `data`."""
    number: cython.long = plain_integer(data, start, length)
    if number != 0 or (length == 1 and data[start] == 48):
        return int64_bytes(number)
    return text_bytes(length)


@cython.boundscheck(False)
@cython.wraparound(False)
def plain_integer(
    data: cython.p_const_uchar, start: cython.Py_ssize_t, length: cython.Py_ssize_t
) -> cython.long:
    """The number that Redis stores instead of a part of `data`, which is its plain decimal form.

    0 for any other text.
    """
    if length > _MAX_INTEGER_DIGITS or length == 0:
        return 0
    end: cython.Py_ssize_t = start + length
    place: cython.Py_ssize_t = start
    is_negative: cython.bint = data[place] == 45  # -
    if is_negative:
        place += 1
    digits: cython.Py_ssize_t = end - place
    # A number in its plain form has no leading zero.
    if digits == 0 or data[place] == 48 or digits > 19:
        return 0
    number: cython.ulonglong = 0
    digit: cython.int
    while place < end:
        digit = data[place] - 48
        if digit < 0 or digit > 9:
            return 0
        number = number * 10 + digit
        place += 1
    # Nineteen digits are less than 2**64, but not all of them less than 2**63.
    if digits > _SAFE_DIGITS and number > _MAX_INT64 + is_negative:
        return 0
    return cython.cast(cython.long, ~number + 1) if is_negative else number


def text_bytes(length: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The size of a listpack element that holds a string of this length."""
    if length <= _MAX_SHORT_STRING:
        return length + _SHORT_STRING_BYTES
    size: cython.Py_ssize_t = length + (2 if length < 4096 else 5)
    return size + backward_length_bytes(size)


def backward_length_bytes(size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The number of bytes of the backward length of an element of this `size`."""
    if size <= 127:
        return 1
    if size < 16383:
        return 2
    if size < 2097151:
        return 3
    if size < 268435455:
        return 4
    return 5


def header_bytes(live: int, deleted: int, names: list[bytes]) -> int:
    """The size of an empty node: the listpack itself, and its master entry with the names."""
    counts = integer_bytes(live) + integer_bytes(deleted) + integer_bytes(len(names))
    return EMPTY_LISTPACK_BYTES + counts + sum(map(element_bytes, names)) + integer_bytes(0)


@cython.cclass
class FieldSizes:
    """The size of one entry's fields in a listpack, in bytes.

    `are_alike`: the names are those of the node's first entry, and left out. `element_bytes`: the
    elements of the fields with their counts, without ID and flags. `text_bytes`: names and values
    without framing, which Redis adds to the size of a node to check whether an entry still fits.
    """

    def __init__(self) -> None:
        self.are_alike = False
        self.element_bytes = 0
        self.text_bytes = 0

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def measure(self, entry: bytes, position: cython.Py_ssize_t, names: list[bytes]) -> None:
        """Measure the bulk strings from `position` to the end of an encoded entry.

        They are fields and values in turn. `names` are those of the node's first entry.
        """
        data: cython.p_const_uchar = entry
        end: cython.Py_ssize_t = len(entry)
        place: cython.Py_ssize_t = position
        width: cython.Py_ssize_t = len(names)
        words: cython.Py_ssize_t = 0
        length: cython.Py_ssize_t
        names_bytes: cython.Py_ssize_t = 0
        values_bytes: cython.Py_ssize_t = 0
        texts: cython.Py_ssize_t = 0
        are_alike: cython.bint = True
        name: bytes
        while place < end:
            # `$`, the length, CR LF, the text, CR LF.
            place += 1
            length = 0
            while data[place] != 13:
                length = length * 10 + data[place] - 48
                place += 1
            place += 2
            texts += length
            if words & 1:
                values_bytes += _element_bytes(data, place, length)
            else:
                names_bytes += _element_bytes(data, place, length)
                if are_alike:
                    are_alike = words >> 1 < width
                    if are_alike:
                        name = names[words >> 1]
                        are_alike = len(name) == length and _is_at(data, place, name, length)
            words += 1
            place += length + 2
        self.are_alike = are_alike and words == 2 * width
        self.text_bytes = texts
        if self.are_alike:
            self.element_bytes = values_bytes + int64_bytes(width + 3)
        else:
            counts: cython.Py_ssize_t = int64_bytes(words // 2) + int64_bytes(words + 4)
            self.element_bytes = values_bytes + names_bytes + counts


_SIZES = FieldSizes()


def has_names(fields: bytes, names: list[bytes]) -> bool:
    """Return True if encoded fields, bulk strings of names and values in turn, have these names."""
    _SIZES.measure(fields, 0, names)
    return _SIZES.are_alike


@cython.boundscheck(False)
@cython.wraparound(False)
def _is_at(
    data: cython.p_const_uchar,
    place: cython.Py_ssize_t,
    text: cython.p_const_uchar,
    length: cython.Py_ssize_t,
) -> cython.bint:
    """Return True if `text` is in `data` at `place`."""
    index: cython.Py_ssize_t
    for index in range(length):  # noqa: SIM110  (a C loop)
        if data[place + index] != text[index]:
            return False
    return True


if not cython.compiled:
    # Compiled, it is a C function, which the module's C types import.
    from storage.memory import put_bytes


# What the header says of more elements than it can count.
UNCOUNTED = 0xFFFF

# The most that an element takes beside its text; an integer takes no more.
ELEMENT_FRAME_BYTES = 10

_HEADER_BYTES = 6

# Memory is used again for the next listpack, unless it is as much as that.
_KEPT_BYTES = 1 << 20


@cython.cclass
class ListpackWriter:
    """A writer of listpacks, one after the other.

    `out` has the bytes written, up to `place`, and `count` is the number of elements: setting both
    back removes the last elements.
    """

    def __init__(self) -> None:
        self._memory = bytearray()
        self.out = self._memory
        self.place = 0
        self.count = 0

    def begin(self, room: cython.Py_ssize_t) -> None:
        """An empty listpack. `room`: the most that its elements will take."""
        room += EMPTY_LISTPACK_BYTES
        if len(self._memory) < room or len(self._memory) > _KEPT_BYTES:
            self._memory = bytearray(room)
        self.out = self._memory
        self.place = _HEADER_BYTES
        self.count = 0

    def put_integer(self, number: cython.long) -> None:
        """An element that holds a number of 64 bits with a sign."""
        self.count += 1
        self.place = write_integer(self.out, self.place, number)

    def put_word(
        self, data: cython.p_const_uchar, start: cython.Py_ssize_t, length: cython.Py_ssize_t
    ) -> None:
        """An element that holds a part of `data`, as an integer where that is possible."""
        self.count += 1
        self.place = write_word(self.out, self.place, data, start, length)

    def finish(self) -> None:
        """End the listpack."""
        out = self.out
        size: cython.Py_ssize_t = self.place + 1
        count: cython.Py_ssize_t = min(self.count, UNCOUNTED)
        index: cython.Py_ssize_t
        out[size - 1] = 0xFF
        for index in range(4):
            out[index] = size >> 8 * index & 0xFF
        out[4] = count & 0xFF
        out[5] = count >> 8
        self.place = size

    def content(self) -> bytes:
        """The bytes written."""
        out = self.out
        return bytes(out[: self.place])


def write_word(
    out: cython.p_uchar,
    place: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    length: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write an element that holds a part of `data`, another object; the place after it."""
    number: cython.long = plain_integer(data, start, length)
    if number != 0 or (length == 1 and data[start] == 48):
        return write_integer(out, place, number)
    return _write_text(out, place, data, start, length)


def write_integer(
    out: cython.p_uchar, place: cython.Py_ssize_t, number: cython.long
) -> cython.Py_ssize_t:
    """Write an element that holds a number of 64 bits with a sign; the place after it."""
    size: cython.Py_ssize_t
    index: cython.Py_ssize_t
    if 0 <= number <= 127:
        size = 2
        out[place] = number
    elif -4096 <= number <= 4095:
        size = 3
        out[place] = 0xC0 | (number >> 8 & 0x1F)
        out[place + 1] = number & 0xFF
    else:
        size = int64_bytes(number)
        # 0xF1 to 0xF3: of 2 to 4 bytes; 0xF4: of 8.
        out[place] = 0xF4 if size == ELEMENT_FRAME_BYTES else 0xED + size
        for index in range(size - 2):
            out[place + 1 + index] = number >> 8 * index & 0xFF
    out[place + size - 1] = size - 1
    return place + size


def _write_text(
    out: cython.p_uchar,
    place: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    length: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    begin: cython.Py_ssize_t = place
    index: cython.Py_ssize_t
    if length < 64:
        out[place] = 0x80 | length
        place = put_bytes(out, place + 1, data, start, length)
        out[place] = length + 1
        return place + 1
    if length < 4096:
        out[place] = 0xE0 | length >> 8
        out[place + 1] = length & 0xFF
        place += 2
    else:
        out[place] = 0xF0
        for index in range(4):
            out[place + 1 + index] = length >> 8 * index & 0xFF
        place += 5
    place = put_bytes(out, place, data, start, length)
    # The size of all that, to be read from the end.
    size: cython.Py_ssize_t = place - begin
    count: cython.Py_ssize_t = backward_length_bytes(size)
    for index in range(count):
        out[place + index] = size >> 7 * (count - 1 - index) & 0x7F | (0x80 if index else 0)
    return place + count


# A bulk string takes at most this much more than the element that it shows.
BULK_FRAME_BYTES = 24

_MAX_DIGITS: cython.Py_ssize_t = 20  # of a number that may be in a listpack, with its sign
# The number that a decimal is written of; used again for each.
_DECIMAL = bytearray(24)


def element_end(data: cython.p_const_uchar, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The place after the element at `place`."""
    head: cython.Py_ssize_t = data[place]
    if head < 0x80:
        return place + 2
    if head < 0xC0:
        return place + (head - 0x80) + 2
    if head < 0xE0:
        return place + 3
    if head > 0xF0:
        return place + _number_bytes(head) + 2
    size: cython.Py_ssize_t = _text_start(data, place) - place + _text_length(data, place)
    return place + size + backward_length_bytes(size)


def element_before(data: cython.p_const_uchar, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The place of the element that ends at `end`: it has its size there, backwards."""
    place: cython.Py_ssize_t = end - 1
    size: cython.Py_ssize_t = data[place] & 0x7F
    shift: cython.Py_ssize_t = 7
    part: cython.Py_ssize_t
    while data[place] & 0x80:
        place -= 1
        part = data[place] & 0x7F
        size |= part << shift
        shift += 7
    return place - size


def place_after(
    data: cython.p_const_uchar, place: cython.Py_ssize_t, count: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The place that is `count` elements further on."""
    while count > 0:
        place = element_end(data, place)
        count -= 1
    return place


def place_before(
    data: cython.p_const_uchar, place: cython.Py_ssize_t, count: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The place that is `count` elements further back."""
    while count > 0:
        place = element_before(data, place)
        count -= 1
    return place


def _number_bytes(head: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The bytes of a number after its head, 0xF1 to 0xF4."""
    return 8 if head == 0xF4 else head - 0xEF


def _is_text(head: cython.Py_ssize_t) -> cython.bint:
    return 0x80 <= head < 0xC0 or 0xE0 <= head <= 0xF0


def _text_start(data: cython.p_const_uchar, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the text of an element begins."""
    head: cython.Py_ssize_t = data[place]
    if head < 0xC0:
        return place + 1
    return place + (2 if head < 0xF0 else 5)


def _text_length(data: cython.p_const_uchar, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The length of the text of an element."""
    head: cython.Py_ssize_t = data[place]
    if head < 0xC0:
        return head - 0x80
    if head < 0xF0:
        return (head & 0x0F) << 8 | data[place + 1]
    length: cython.Py_ssize_t = 0
    index: cython.Py_ssize_t
    for index in range(4):
        length = length << 8 | data[place + 4 - index]
    return length


def _number_at(data: cython.p_const_uchar, place: cython.Py_ssize_t) -> cython.long:
    """The number of an element that is one."""
    head: cython.Py_ssize_t = data[place]
    number: cython.long
    if head < 0x80:
        return head
    if head < 0xE0:
        number = (head & 0x1F) << 8 | data[place + 1]
        return number - 0x2000 if number >= 0x1000 else number
    index: cython.Py_ssize_t = _number_bytes(head)
    number = data[place + index]
    if number >= 0x80:
        number -= 0x100
    while index > 1:
        index -= 1
        number = number * 256 + data[place + index]
    return number


def _put_number(
    out: cython.p_uchar, place: cython.Py_ssize_t, number: cython.long
) -> cython.Py_ssize_t:
    """Write a number in decimal, with its sign; the place after it."""
    size: cython.ulonglong
    if number >= 0:
        size = number
    else:
        out[place] = 45  # -
        place += 1
        size = ~number  # -2^63 has no positive counterpart
        size += 1
    return put_decimal(out, place, size)


def word_at(data: cython.p_const_uchar, place: cython.Py_ssize_t) -> bytes:
    """The element at a place."""
    start: cython.Py_ssize_t
    end: cython.Py_ssize_t
    if _is_text(data[place]):
        start = _text_start(data, place)
        end = start + _text_length(data, place)
        if cython.compiled:
            return data[start:end]
        return bytes(data[start:end])
    decimal: bytearray = _DECIMAL
    out: cython.p_uchar = decimal
    end = _put_number(out, 0, _number_at(data, place))
    if cython.compiled:
        return out[:end]  # type: ignore[return-value]
    return bytes(out[:end])


def words_at(
    data: cython.p_const_uchar, place: cython.Py_ssize_t, count: cython.Py_ssize_t
) -> list[bytes]:
    """`count` elements from a place on."""
    found: list[bytes] = []
    while count > 0:
        found.append(word_at(data, place))
        place = element_end(data, place)
        count -= 1
    return found


def put_bulks(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    place: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write `count` elements from a place on as bulk strings to `out` at `at`; the place after.

    There is room for their bytes in the listpack, and BULK_FRAME_BYTES more for each.
    """
    start: cython.Py_ssize_t
    length: cython.Py_ssize_t
    decimal: bytearray = _DECIMAL
    digits: cython.p_uchar = decimal
    while count > 0:
        if _is_text(data[place]):
            start = _text_start(data, place)
            length = _text_length(data, place)
            at = _put_line(out, at, length)
            at = put_bytes(out, at, data, start, length)
        else:
            length = _put_number(digits, 0, _number_at(data, place))
            at = _put_line(out, at, length)
            at = put_bytes(out, at, digits, 0, length)  # type: ignore[arg-type]
        out[at] = 13
        out[at + 1] = 10
        at += 2
        place = element_end(data, place)
        count -= 1
    return at


def _put_line(
    out: cython.p_uchar, at: cython.Py_ssize_t, length: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Write the first line of a bulk string."""
    out[at] = 36  # $
    if length < 10:
        out[at + 1] = 48 + length
        at += 2
    elif length < 100:
        out[at + 1] = 48 + length // 10
        out[at + 2] = 48 + length % 10
        at += 3
    else:
        at = put_decimal(out, at + 1, length)
    out[at] = 13
    out[at + 1] = 10
    return at + 2


def next_equal(
    data: cython.p_const_uchar,
    place: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    element: bytes,
) -> cython.Py_ssize_t:
    """The number of elements from `place` on before the first one that has the bytes of `element`;
    -1 if there is none before `end`."""
    wanted: cython.p_const_uchar = element
    size: cython.Py_ssize_t = len(element)
    head: cython.int = wanted[0]
    tail: cython.int = wanted[size - 2]  # before the backward size, which follows from the head
    skipped: cython.Py_ssize_t = 0
    while place < end:
        if (
            data[place] == head
            and size <= end - place
            and data[place + size - 2] == tail
            and is_at(data, place, wanted, size)
        ):
            return skipped
        place = element_end(data, place)
        skipped += 1
    return -1


def count_plain(
    data: cython.p_const_uchar, place: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The number of elements from `place` to `end`; -1 unless each is as it would be written here.

    What is not may still be sound: a text that could be a number, say.
    """
    count: cython.Py_ssize_t = 0
    while place < end:
        place = _plain_end(data, place, end)
        if place < 0:
            return -1
        count += 1
    return count


def _plain_end(
    data: cython.p_const_uchar, place: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The place after an element; -1 unless it ends by `end` and is as it would be written here."""
    head: cython.Py_ssize_t = data[place]
    size: cython.Py_ssize_t  # without the backward size
    length: cython.Py_ssize_t
    if _is_text(head):
        if end - place < 5 and head >= 0xE0:
            return -1
        length = _text_length(data, place)
        size = _text_start(data, place) - place + length
        if size >= end - place or size != text_bytes(length) - backward_length_bytes(size):
            return -1
        if _is_decimal(data, place + size - length, length):
            return -1
    elif head <= 0xF4:
        size = 1 if head < 0x80 else 2 if head < 0xE0 else 1 + _number_bytes(head)
        if size >= end - place or int64_bytes(_number_at(data, place)) != size + 1:
            return -1
    else:
        return -1
    return _backward_end(data, place + size, end, size)


def _is_decimal(
    data: cython.p_const_uchar, start: cython.Py_ssize_t, length: cython.Py_ssize_t
) -> cython.bint:
    """Return True if a text would be written as a number."""
    if length > _MAX_DIGITS:
        return False
    return plain_integer(data, start, length) != 0 or (length == 1 and data[start] == 48)


def _backward_end(
    data: cython.p_const_uchar,
    place: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """The place after the backward size of an element; -1 if it is not `size`."""
    index: cython.Py_ssize_t = backward_length_bytes(size)
    following: cython.Py_ssize_t = place + index
    if following > end:
        return -1
    while index > 0:
        index -= 1
        part: cython.int = size & 0x7F | (0x80 if index else 0)
        if data[place + index] != part:
            return -1
        size >>= 7
    return following
