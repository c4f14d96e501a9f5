"""How many bytes Redis would need for what a node holds.

A node of a stream is full when its listpack (Redis's encoding for it) would grow beyond
`stream-node-max-bytes`. Nodes here look different in memory, but where they end is visible to
clients (`~` trims, radix-tree-keys), so the size is computed as Redis 7 would have it: integers
in their packed form, strings with a length prefix, a backward length behind each element, and
field names left out where they are those of the node's first entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from storage.entry_id import MAX_SEQ, SEQ_BITS, EntryID

# A listpack's own header and end byte.
EMPTY_LISTPACK_BYTES = 7

_FLAGS_BYTES = 2

# What a string takes beside its bytes, up to this length.
_SHORT_STRING_BYTES = 2
_MAX_SHORT_STRING = 63

# Longest text of a 64-bit integer; anything longer is kept as a string.
_MAX_INTEGER_DIGITS = 20


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
    length = len(value)
    if length <= _MAX_INTEGER_DIGITS:
        number = packed_integer(value)
        if number is not None:
            return integer_bytes(number)
    if length <= _MAX_SHORT_STRING:
        return length + _SHORT_STRING_BYTES
    size = length + (2 if length < 4096 else 5)
    return size + backward_length_bytes(size)


def elements_bytes(values: list[bytes]) -> int:
    """As element_bytes() of each together. Most values are short strings: they are quick."""
    size = sum(map(len, values)) + _SHORT_STRING_BYTES * len(values)
    for value in values:
        if value.isdigit() or value[:1] == b"-" or len(value) > _MAX_SHORT_STRING:
            size += element_bytes(value) - len(value) - _SHORT_STRING_BYTES
    return size


def packed_integer(value: bytes) -> int | None:
    """The number that Redis stores instead of `value`, which is its plain decimal form, or None."""
    if len(value) > _MAX_INTEGER_DIGITS:
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
    same = [fields for fields in all_fields if fields[::2] == master_names]
    size = len(ids) * _FLAGS_BYTES + _ids_bytes(key, ids)
    if same:
        values = list(chain.from_iterable([fields[1::2] for fields in same]))
        size += elements_bytes(values) + len(same) * integer_bytes(len(master_names) + 3)
    if len(same) < len(all_fields):
        for fields in all_fields:
            pairs = len(fields) // 2
            if fields[::2] != master_names:
                size += integer_bytes(pairs) + integer_bytes(2 * pairs + 4) + elements_bytes(fields)
    return size


def _ids_bytes(key: EntryID, ids: Sequence[EntryID]) -> int:
    """An ID is stored as two differences to the key."""
    ms, seq = key >> SEQ_BITS, key & MAX_SEQ
    size = sum([integer_bytes((entry_id >> SEQ_BITS) - ms) for entry_id in ids])
    return size + sum([integer_bytes((entry_id & MAX_SEQ) - seq) for entry_id in ids])
