"""HyperLogLogs: estimates of cardinality from a string of up to 12 KiB.

    HYLL        4 bytes
    encoding    0: dense, 1: sparse
    unused      3 bytes
    cached      8 bytes, little-endian: the last estimate; the highest bit says that it is stale
    registers   16384 of them

The hash of an element selects a register, which keeps the greatest number of trailing zeros of its
elements' hashes, plus one. Dense: 6 bits for each register, the lowest first. Sparse, in runs:

    00nnnnnn           n + 1 registers are 0
    01nnnnnn nnnnnnnn  n + 1 registers are 0
    1vvvvvnn           n + 1 registers are v + 1

The bytes equal those of Redis, also of sparse ones, whose runs depend on the order of additions.

Guarantees: any string is either accepted or refused as damaged.

Leaves out: keys and notifications (commands/hyperloglogs/).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

MAGIC = b"HYLL"
HEADER_BYTES = 16
REGISTERS = 1 << 14
REGISTER_BITS = 6
DENSE_BYTES = HEADER_BYTES + REGISTERS * REGISTER_BITS // 8
DENSE, SPARSE = 0, 1

_INDEX_BITS = 14
_HASH_BITS = 64 - _INDEX_BITS  # that zeros are counted in
_MAX_SPARSE_VALUE = 32
_MAX_VALUE_RUN = 4
_MAX_SHORT_ZEROS = 64
_STALE = 0x80  # in the last byte of what is cached
_SEED = 0xADC83B19
_MASK = (1 << 64) - 1
_ALPHA = 0.721347520444481703680  # of infinitely many registers
# After a change, this many runs are checked for neighbours that can be joined.
_JOINED_RUNS = 5


class InvalidHyperLogLog(ValueError):
    """The string is not a HyperLogLog."""


class CorruptHyperLogLog(ValueError):
    """The string has the header of a HyperLogLog, but its registers are damaged."""


def create() -> bytearray:
    """An empty HyperLogLog, without a cached estimate."""
    empty = MAGIC + bytes([SPARSE]) + bytes(10) + bytes([_STALE])
    return bytearray(empty + _zeros(REGISTERS))


def check(data: bytes | bytearray) -> None:
    """Raises InvalidHyperLogLog."""
    fits = len(data) >= HEADER_BYTES and data[:4] == MAGIC and data[4] <= SPARSE
    if not fits or (data[4] == DENSE and len(data) != DENSE_BYTES):
        raise InvalidHyperLogLog


def is_dense(data: bytes | bytearray) -> bool:
    """Return True if the registers are in the dense encoding."""
    return data[4] == DENSE


# -- hashing -----------------------------------------------------------------------------------


def murmur_hash(data: bytes, seed: int = _SEED) -> int:
    """MurmurHash64A."""
    multiplier = 0xC6A4A7935BD1E995
    state = seed ^ (len(data) * multiplier & _MASK)
    whole = len(data) & ~7
    for start in range(0, whole, 8):
        block = int.from_bytes(data[start : start + 8], "little") * multiplier & _MASK
        block = (block ^ block >> 47) * multiplier & _MASK
        state = (state ^ block) * multiplier & _MASK
    if whole < len(data):
        state = (state ^ int.from_bytes(data[whole:], "little")) * multiplier & _MASK
    state = (state ^ state >> 47) * multiplier & _MASK
    return state ^ state >> 47


def place_of(element: bytes) -> tuple[int, int]:
    """The register of an element, and the least value that the register must have."""
    hashed = murmur_hash(element)
    rest = hashed >> _INDEX_BITS | 1 << _HASH_BITS  # so that there is a bit to stop at
    return hashed & REGISTERS - 1, (rest & -rest).bit_length()


# -- adding ------------------------------------------------------------------------------------


def add(data: bytearray, elements: Iterable[bytes], sparse_max_bytes: int) -> int:
    """Add elements; how many of them have changed a register. Raises CorruptHyperLogLog."""
    changes = 0
    for element in elements:
        changes += raise_register(data, *place_of(element), sparse_max_bytes)
    if changes:
        data[15] |= _STALE
    return changes


def raise_register(data: bytearray, index: int, value: int, sparse_max_bytes: int) -> bool:
    """Make a register at least `value`; False if it is already."""
    if not is_dense(data):
        changed = _raise_sparse(data, index, value, sparse_max_bytes)
        if changed is not None:
            return changed
        make_dense(data)
    return _raise_dense(data, index, value)


def _raise_dense(data: bytearray, index: int, value: int) -> bool:
    first, shift = divmod(index * REGISTER_BITS, 8)
    place = HEADER_BYTES + first
    pair = int.from_bytes(data[place : place + 2], "little")
    if pair >> shift & 63 >= value:
        return False
    pair = pair & ~(63 << shift) | value << shift
    width = min(2, len(data) - place)
    data[place : place + width] = pair.to_bytes(width, "little")
    return True


def _raise_sparse(data: bytearray, index: int, value: int, max_bytes: int) -> bool | None:
    """raise_register() of a sparse one; None if it must become dense first."""
    if value > _MAX_SPARSE_VALUE:
        return None
    previous = position = HEADER_BYTES
    first = 0
    while True:
        if position >= len(data):
            raise CorruptHyperLogLog
        size, span, old = _read_run(data, position)
        if index < first + span:
            break
        first += span
        previous, position = position, position + size
    if old >= value:
        return False
    before, after = index - first, first + span - index - 1
    runs = _run(old, before) + _values(value, 1) + _run(old, after)
    if len(runs) > size and len(data) + len(runs) - size > max_bytes:
        return None
    data[position : position + size] = runs
    _join_runs(data, previous)
    data[15] |= _STALE  # now, because the next element may meet damage
    return True


def _read_run(data: bytes | bytearray, position: int) -> tuple[int, int, int]:
    """The bytes of a run, how many registers it has, and their value."""
    byte = data[position]
    if byte & 0x80:
        return 1, (byte & 3) + 1, (byte >> 2 & 31) + 1
    if not byte & 0x40:
        return 1, (byte & 63) + 1, 0
    if position + 1 >= len(data):
        raise CorruptHyperLogLog
    return 2, ((byte & 63) << 8 | data[position + 1]) + 1, 0


def _run(value: int, length: int) -> bytes:
    return _values(value, length) if value else _zeros(length)


def _zeros(length: int) -> bytes:
    if not length:
        return b""
    if length > _MAX_SHORT_ZEROS:
        return bytes([0x40 | (length - 1) >> 8, (length - 1) & 0xFF])
    return bytes([length - 1])


def _values(value: int, length: int) -> bytes:
    return bytes([0x80 | (value - 1) << 2 | (length - 1)]) if length else b""


def _join_runs(data: bytearray, position: int) -> None:
    """Join neighbouring runs of the same value around a change, up to the longest run."""
    for _ in range(_JOINED_RUNS):
        if position >= len(data):
            return
        try:
            size, span, value = _read_run(data, position)
        except CorruptHyperLogLog:
            return  # damage after the change does not undo it
        following = position + size
        if value and following < len(data) and data[following] & 0x80:
            _, next_span, next_value = _read_run(data, following)
            if next_value == value and span + next_span <= _MAX_VALUE_RUN:
                data[position : following + 1] = _values(value, span + next_span)
                continue
        position = following


# -- registers ---------------------------------------------------------------------------------


def registers(data: bytes | bytearray) -> bytes:
    """All registers, a byte for each. Raises CorruptHyperLogLog."""
    return _unpack_dense(data) if is_dense(data) else _unpack_sparse(data)


def _unpack_sparse(data: bytes | bytearray) -> bytes:
    parts: list[bytes] = []
    position = HEADER_BYTES
    total = 0
    while position < len(data):
        size, span, value = _read_run(data, position)
        total += span
        if total > REGISTERS:
            raise CorruptHyperLogLog
        parts.append(bytes([value]) * span)
        position += size
    if total != REGISTERS:
        raise CorruptHyperLogLog
    return b"".join(parts)


def _unpack_dense(data: bytes | bytearray) -> bytes:
    """A byte for each register.

    Three bytes hold four registers: the first of each four are unpacked together, as one large
    integer, then the second ones, and so on.
    """
    first, second, third = (
        int.from_bytes(data[HEADER_BYTES + offset :: 3], "little") for offset in range(3)
    )
    lanes = (
        first & _lanes(0x3F),
        first >> 6 & _lanes(0x03) | (second & _lanes(0x0F)) << 2,
        second >> 4 & _lanes(0x0F) | (third & _lanes(0x03)) << 4,
        third >> 2 & _lanes(0x3F),
    )
    unpacked = bytearray(REGISTERS)
    for offset, lane in enumerate(lanes):
        unpacked[offset::4] = lane.to_bytes(REGISTERS // 4, "little")
    return bytes(unpacked)


def _lanes(mask: int) -> int:
    return _LANES * mask


_LANES = int.from_bytes(b"\x01" * (REGISTERS // 4), "little")


def _pack_dense(values: bytes) -> bytes:
    lanes = [int.from_bytes(values[offset::4], "little") for offset in range(4)]
    packed = bytearray(DENSE_BYTES - HEADER_BYTES)
    thirds = (
        lanes[0] | (lanes[1] & _lanes(0x03)) << 6,
        lanes[1] >> 2 & _lanes(0x0F) | (lanes[2] & _lanes(0x0F)) << 4,
        lanes[2] >> 4 & _lanes(0x03) | lanes[3] << 2,
    )
    for offset, third in enumerate(thirds):
        packed[offset::3] = third.to_bytes(REGISTERS // 4, "little")
    return bytes(packed)


def make_dense(data: bytearray) -> None:
    """Convert to the dense form; the cached estimate stays. Raises CorruptHyperLogLog."""
    if not is_dense(data):
        data[HEADER_BYTES:] = _pack_dense(_unpack_sparse(data))
        data[4] = DENSE


def greatest(all_registers: Iterable[bytes]) -> bytes:
    """The greatest value of each register."""
    found = bytes(REGISTERS)
    for one in all_registers:
        found = bytes(map(max, found, one))
    return found


def merge(data: bytearray, values: bytes, *, dense: bool, sparse_max_bytes: int) -> None:
    """Raise each register to at least its value in `values`. Raises CorruptHyperLogLog."""
    if dense:
        make_dense(data)
    old = registers(data)
    if is_dense(data):
        data[HEADER_BYTES:] = _pack_dense(greatest([old, values]))
    else:
        for index, value in enumerate(values):
            if value > old[index]:
                raise_register(data, index, value, sparse_max_bytes)
    data[15] |= _STALE


def runs(data: bytes | bytearray) -> Iterator[tuple[int, int, int]]:
    """(bytes, registers, value) of each run of a sparse one. Raises CorruptHyperLogLog."""
    position = HEADER_BYTES
    while position < len(data):
        size, span, value = _read_run(data, position)
        yield size, span, value
        position += size


# -- counting ----------------------------------------------------------------------------------


def cached(data: bytes | bytearray) -> int | None:
    """The cached estimate; None if the registers have changed since."""
    return None if data[15] & _STALE else int.from_bytes(data[8:16], "little")


def keep(data: bytearray, count: int) -> None:
    """Cache an estimate in the string."""
    data[8:16] = count.to_bytes(8, "little")


def estimate(values: bytes) -> int:
    """The estimated number of different elements, by Ertl's improved estimator."""
    size = float(REGISTERS)
    # Values greater than a hash allows cannot come from PFADD, and are ignored.
    counts = [values.count(value) for value in range(_HASH_BITS + 2)]
    total = size * _tau((size - counts[_HASH_BITS + 1]) / size)
    for value in range(_HASH_BITS, 0, -1):
        total = (total + counts[value]) * 0.5
    total += size * _sigma(counts[0] / size)
    return math.floor(_ALPHA * size * size / total + 0.5)


def _sigma(x: float) -> float:
    if x == 1.0:
        return math.inf
    weight, total = 1.0, x
    while True:
        x *= x
        previous = total
        total += x * weight
        weight += weight
        if total == previous:
            return total


def _tau(x: float) -> float:
    if x in (0.0, 1.0):
        return 0.0
    weight, total = 1.0, 1.0 - x
    while True:
        x = math.sqrt(x)
        previous = total
        weight *= 0.5
        total -= (1.0 - x) ** 2 * weight
        if total == previous:
            return total / 3.0
