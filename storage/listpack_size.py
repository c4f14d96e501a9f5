"""How many bytes Redis would need for what a node holds.

A node of a stream is full when its listpack (Redis's encoding for it) would grow beyond
`stream-node-max-bytes`. Nodes here look different in memory, but where they end is visible to
clients (`~` trims, radix-tree-keys), so the size is computed as Redis 7 would have it: integers
in their packed form, strings with a length prefix, a backward length behind each element, and
field names left out where they are those of the node's first entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, compress

from storage.entry_id import MAX_SEQ, SEQ_BITS, EntryID

# A listpack's own header and end byte.
EMPTY_LISTPACK_BYTES = 7

FLAGS_BYTES = 2

# What a string takes beside its bytes, up to this length.
_SHORT_STRING_BYTES = 2
_MAX_SHORT_STRING = 63

# So many values are measured one by one.
_FEW = 16

# Longest text of a 64-bit integer; anything longer is kept as a string.
MAX_INTEGER_DIGITS = 20


def integer_bytes(number: int) -> int:
    """The size of a listpack element that holds an integer, taken modulo 2**64 with a sign."""
    if 0 <= number <= 127:
        return 2
    if -4096 <= number <= 4095:
        return 3
    if -(2**15) <= number < 2**15:
        return 4
    if -(2**23) <= number < 2**23:
        return 5
    if -(2**31) <= number < 2**31:
        return 6
    if -(2**63) <= number < 2**63:
        return 10
    return integer_bytes((number + 2**63) % 2**64 - 2**63)


def element_bytes(value: bytes) -> int:
    """The size of a listpack element that holds `value`, which may be packed as an integer."""
    if len(value) <= MAX_INTEGER_DIGITS:
        number = packed_integer(value)
        if number is not None:
            return integer_bytes(number)
    return text_bytes(len(value))


def text_bytes(length: int) -> int:
    """The size of a listpack element that holds a text of this length, and no integer."""
    if length <= _MAX_SHORT_STRING:
        return length + _SHORT_STRING_BYTES
    size = length + (2 if length < 4096 else 5)
    return size + backward_length_bytes(size)


def elements_bytes(values: list[bytes]) -> int:
    """element_bytes() of all values together."""
    if len(values) > _FEW:
        return sum(texts_bytes(values))
    size = sum(map(len, values)) + _SHORT_STRING_BYTES * len(values)
    for value in values:
        if value.isdigit() or value[:1] == b"-" or len(value) > _MAX_SHORT_STRING:
            size += element_bytes(value) - len(value) - _SHORT_STRING_BYTES
    return size


def texts_bytes(values: Sequence[bytes]) -> list[int]:
    """element_bytes() of each of many values. Most are no integers: they are quick."""
    if not values:
        return []
    lengths = list(map(len, values))
    if max(lengths) < len(_TEXT_BYTES):
        sizes = list(map(_TEXT_BYTES.__getitem__, lengths))
    else:
        sizes = list(map(text_bytes, lengths))
    if min(lengths) > MAX_INTEGER_DIGITS:
        return sizes
    are_digits = list(map(bytes.isdigit, values))
    if True in are_digits:
        for index, value in compress(enumerate(values), are_digits):
            length = lengths[index]
            if length == 1:
                sizes[index] = _DIGIT_BYTES
            elif value >= b"1" and length <= MAX_INTEGER_DIGITS:  # no leading zero
                # Numbers of as many digits are in the order of their texts.
                greatest, size, next_size = _BY_DIGITS[length]
                sizes[index] = size if value <= greatest else next_size
    if b"\n-" in b"\n".join([b"", *values]):
        for index, value in enumerate(values):
            sizes[index] = element_bytes(value)
    return sizes


def packed_integer(value: bytes) -> int | None:
    """The number that Redis stores instead of `value`, which is its plain decimal form, or None."""
    if len(value) > MAX_INTEGER_DIGITS:
        return None
    # bytes.isdigit() is the cheap way to tell that most values are no integers.
    if value.isdigit():
        if value[0] == 48 and len(value) > 1:
            return None
        number = int(value)
        return number if number < 2**63 else None
    if value[:1] != b"-":
        return None
    digits = value[1:]
    if not digits.isdigit() or digits[0] == 48:
        return None
    number = -int(digits)
    return number if number >= -(2**63) else None


def backward_length_bytes(size: int) -> int:
    """How many bytes behind an element tell its `size`, so that it is found from behind."""
    if size <= 127:
        return 1
    if size < 16383:
        return 2
    if size < 2097151:
        return 3
    if size < 268435455:
        return 4
    return 5


def next_size(number: int) -> int:
    """The smallest number above `number` that integer_bytes() may tell to be larger or smaller."""
    if 0 <= number < 128:
        return 128
    for bound in (-(2**63), -(2**31), -(2**23), -(2**15), -4096, 0, 4096, 2**15, 2**23, 2**31):
        if number < bound:
            return bound
    return 2**63 if number < 2**63 else number + 1


def _by_digits(length: int) -> tuple[bytes, int, int]:
    """For numbers of so many digits: the last one of a size, that size, and that of those above."""
    first, last = 10 ** (length - 1) if length > 1 else 0, 10**length - 1
    size = integer_bytes(first) if first < 2**63 else text_bytes(length)
    greatest = min(last, next_size(first) - 1) if first < 2**63 else last
    above = integer_bytes(last) if last < 2**63 else text_bytes(length)
    return b"%d" % greatest, size, above


_NEXT_ID_BYTES = 2 * integer_bytes(0)
_DIGIT_BYTES = integer_bytes(9)
_BY_DIGITS = [(b"", 0, 0), *map(_by_digits, range(1, MAX_INTEGER_DIGITS + 1))]
_TEXT_BYTES = [text_bytes(length) for length in range(4096)]


def header_bytes(live: int, deleted: int, names: list[bytes]) -> int:
    """The size of an empty node: the listpack itself, and its master entry with the names."""
    counts = integer_bytes(live) + integer_bytes(deleted) + integer_bytes(len(names))
    return EMPTY_LISTPACK_BYTES + counts + sum(map(element_bytes, names)) + integer_bytes(0)


def entries_bytes(
    key: EntryID,
    master_names: list[bytes],
    ids: Sequence[EntryID],
    all_fields: Sequence[list[bytes]],
) -> int:
    """The size of entries in the node `key`, whose first entry has `master_names`."""
    same: list[list[bytes]] = []
    other: list[list[bytes]] = []
    for fields in all_fields:
        (same if fields[::2] == master_names else other).append(fields)
    size = len(ids) * FLAGS_BYTES + sum(_ids_bytes(key, ids))
    if same:
        values = list(chain.from_iterable([fields[1::2] for fields in same]))
        size += elements_bytes(values) + len(same) * integer_bytes(len(master_names) + 3)
    if other:
        size += elements_bytes(list(chain.from_iterable(other)))
        for fields in other:
            size += integer_bytes(len(fields) // 2) + integer_bytes(len(fields) + 4)
    return size


def _ids_bytes(key: EntryID, ids: Sequence[EntryID]) -> list[int]:
    """What each ID takes: it is stored as two differences to the key."""
    ms, seq = key >> SEQ_BITS, key & MAX_SEQ
    return [
        integer_bytes((entry_id >> SEQ_BITS) - ms) + integer_bytes((entry_id & MAX_SEQ) - seq)
        for entry_id in ids
    ]


def id_totals(key: EntryID, ids: Sequence[EntryID], start: int, end: int) -> Sequence[int]:
    """What the IDs before each take in the node `key`, and all, of those from `start` to `end`.

    They ascend; `end` is behind the last one.
    """
    first, last, count = ids[start], ids[end - 1], end - start
    if last - key < 128 and last >> SEQ_BITS == key >> SEQ_BITS:
        return range(0, _NEXT_ID_BYTES * count + 1, _NEXT_ID_BYTES)  # most IDs are close to the key
    seq = (first & MAX_SEQ) - (key & MAX_SEQ)
    is_run = last - first == count - 1 and last >> SEQ_BITS == first >> SEQ_BITS
    if is_run and seq + count <= next_size(seq):
        size = _ids_bytes(key, [first])[0]  # as each of them
        return range(0, size * count + 1, size)
    return list(accumulate(_ids_bytes(key, ids[start:end]), initial=0))
