"""The exact size of a node's listpack in Redis, computed without building it.

A node of a stream is full when its listpack (Redis's encoding for it) would grow beyond
`stream-node-max-bytes`. Rillway's nodes have another form in memory, but clients see where they end
(`~` trims, radix-tree-keys), so the size is computed as in Redis 7: integers in their packed form,
strings with a length prefix, a backward length after each element, and no field names where they
equal those of the node's first entry.

`FieldSizes` measures an entry by walking over its bytes. Compiled that takes some nanoseconds a
word.
"""

from __future__ import annotations

import cython

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


def int64_bytes(number: cython.longlong) -> cython.Py_ssize_t:
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
    number: cython.longlong = plain_integer(data, start, length)
    if number != 0 or (length == 1 and data[start] == 48):
        return int64_bytes(number)
    return text_bytes(length)


@cython.boundscheck(False)
@cython.wraparound(False)
def plain_integer(
    data: cython.p_const_uchar, start: cython.Py_ssize_t, length: cython.Py_ssize_t
) -> cython.longlong:
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
    return cython.cast(cython.longlong, ~number + 1) if is_negative else number


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
