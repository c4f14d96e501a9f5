"""The primitives of RDB files and DUMP payloads: lengths, strings, IDs, times; both directions.

A length has its form in its first two bits: 6 bits, 14 bits, or 32 or 64 bits in bytes of their
own. Both bits set is a string in a special form: an integer of 1, 2 or 4 bytes, or LZF.

`Cursor` reads them from a buffer. Every read is checked against the end of the buffer before memory
is allocated, and raises CorruptSnapshot with its position if it does not fit.

Leaves out: the meaning of the primitives (storage/snapshot/reader.py, stream_decoder.py).

The checksum at the end of a file or payload is CRC-64 with Jones's polynomial. It starts at 0 and
covers everything before it. A stored 0 means that there is no checksum.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeAlias

import anycrc

from protocol.records import record
from storage.redis_format import lzf

if TYPE_CHECKING:
    from mmap import mmap

Data: TypeAlias = "bytes | memoryview | mmap"

CHECKSUM_BYTES = 8
NO_CHECKSUM = bytes(CHECKSUM_BYTES)

_CRC = anycrc.CRC(width=64, poly=0xAD93D23594C935A9, init=0, refin=True, refout=True, xorout=0)


def crc64(data: Data, previous: int = 0) -> int:
    """The checksum of `data`, continued from the checksum `previous` of the data before it."""
    checksum: int = _CRC.calc(data, previous)
    return checksum


def encode_checksum(checksum: int) -> bytes:
    """The stored form: 8 bytes, little-endian."""
    return checksum.to_bytes(CHECKSUM_BYTES, "little")


# The input: a file that is mapped into memory, or bytes. A slice of either is bytes.
Buffer: TypeAlias = "bytes | mmap"

# Strings up to this length may be integers; longer than the other, LZF is worth a try (as Redis).
INTEGER_MAX_BYTES = 11
COMPRESS_MIN_BYTES = 21

_LENGTH_32 = 0x80
_LENGTH_64 = 0x81
_INT8 = 0xC0
_INT16 = 0xC1
_INT32 = 0xC2
LZF = 0xC3

_INTEGERS = {_INT8: 1, _INT16: 2, _INT32: 4}  # form -> bytes
_U32 = struct.Struct(">I")
_U64 = struct.Struct(">Q")
_I64_LITTLE = struct.Struct("<q")


class CorruptSnapshot(Exception):
    """The input is not a valid snapshot. `offset` is the absolute position in the buffer."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"{reason} (at offset {offset})")
        self.offset = offset
        self.reason = reason


class TruncatedSnapshot(CorruptSnapshot):
    """The input ends too early: everything before `offset` may be sound."""


class WrongChecksum(CorruptSnapshot):
    """The content is not that of which the checksum was made."""


@record
class Compressed:
    """An LZF string as it is stored; `length` is that of its content."""

    blob: bytes
    length: int

    def data(self) -> bytes:
        """The content. Raises ValueError if the blob is damaged."""
        return lzf.decompress(self.blob, self.length)


@record
class Allowance:
    """The rest of a limit on the decoded size of untrusted input.

    LZF expands one byte to up to 88, and an element of two bytes is an object of fifty in memory.
    So without a limit a payload of a megabyte could become gigabytes.
    """

    unpacked_bytes: int  # of strings that stay unpacked, together; also of any one node
    elements: int  # of listpacks

    def take_bytes(self, count: int) -> None:
        """Subtract `count` bytes. Raises ValueError if fewer are left."""
        if count > self.unpacked_bytes:
            raise ValueError(f"{count} bytes when unpacked are too many")
        self.unpacked_bytes -= count

    def take_elements(self, count: int) -> None:
        """Subtract `count` elements. Raises ValueError if fewer are left."""
        if count > self.elements:
            raise ValueError("too many elements come out of what is compressed")
        self.elements -= count


# -- writing -----------------------------------------------------------------------------------


def encode_length(number: int) -> bytes:
    """A length, count or other number from 0 to 2^64 - 1."""
    if number < 1 << 6:
        return bytes((number,))
    if number < 1 << 14:
        return bytes((0x40 | number >> 8, number & 0xFF))
    if number < 1 << 32:
        return b"\x80" + _U32.pack(number)
    return b"\x81" + _U64.pack(number)


def encode_string(data: bytes, *, compress: bool) -> bytes:
    """A string in the form that Redis chooses: an integer, LZF if it pays, or as it is."""
    if len(data) <= INTEGER_MAX_BYTES:
        return _encode_as_integer(data) or encode_length(len(data)) + data
    if compress and len(data) >= COMPRESS_MIN_BYTES:
        blob = lzf.compress(data)
        if blob is not None:
            return encode_compressed(Compressed(blob, len(data)))
    return encode_length(len(data)) + data


def encode_compressed(string: Compressed) -> bytes:
    """An LZF string, as it was read."""
    lengths = encode_length(len(string.blob)) + encode_length(string.length)
    return b"\xc3%b%b" % (lengths, string.blob)


def _encode_as_integer(data: bytes) -> bytes | None:
    """The short form of a canonical 32-bit decimal number; None for any other text."""
    if data[:1] not in b"-0123456789" or not data:
        return None
    try:
        number = int(data)
    except ValueError:
        return None
    if b"%d" % number != data:
        return None
    for form, size in _INTEGERS.items():
        if -(1 << 8 * size - 1) <= number < 1 << 8 * size - 1:
            return bytes((form,)) + number.to_bytes(size, "little", signed=True)
    return None


# -- reading -----------------------------------------------------------------------------------


class Cursor:
    """A position in a buffer that moves forward with each read, up to `end`."""

    __slots__ = ("allowance", "buffer", "end", "position")

    def __init__(self, buffer: Buffer, position: int = 0, end: int | None = None) -> None:
        self.allowance: Allowance | None = None  # for what is compressed; None: no limit
        self.buffer = buffer
        self.end = len(buffer) if end is None else end
        self.position = position

    @property
    def left(self) -> int:
        """The number of bytes before the end."""
        return self.end - self.position

    def corrupt(self, reason: str) -> CorruptSnapshot:
        """An exception with `reason` and the current position, for the caller to raise."""
        return CorruptSnapshot(self.position, reason)

    def raw(self, count: int) -> bytes:
        """`count` bytes as they are."""
        start = self.position
        end = start + count
        if end > self.end:
            raise self._cut_off(count)
        self.position = end
        return self.buffer[start:end]

    def skip(self, count: int) -> None:
        """Pass over `count` bytes."""
        if count > self.left:
            raise self._cut_off(count)
        self.position += count

    def byte(self) -> int:
        """One byte."""
        position = self.position
        if position >= self.end:
            raise self._cut_off(1)
        self.position = position + 1
        return self.buffer[position]

    def length(self) -> int:
        """A plain length; the special forms of strings are refused."""
        start = self.position
        first = self.byte()
        if first < 0x40:
            return first
        if first < 0x80:
            return (first & 0x3F) << 8 | self.byte()
        if first == _LENGTH_32:
            return int.from_bytes(self.raw(4), "big")
        if first == _LENGTH_64:
            return int.from_bytes(self.raw(8), "big")
        raise CorruptSnapshot(start, f"0x{first:02x} begins no length")

    def count(self, smallest: int) -> int:
        """The number of items that follow, each of at least `smallest` bytes.

        A number that does not fit into the rest of the buffer is refused, so that callers can
        allocate for it.
        """
        start = self.position
        number = self.length()
        if number * smallest > self.left:
            raise CorruptSnapshot(start, f"{number} items do not fit into {self.left} bytes")
        return number

    def string(self) -> bytes:
        """A string in any form."""
        start = self.position
        found = self.packed_string()
        if isinstance(found, bytes):
            return found
        try:
            if self.allowance is not None:
                self.allowance.take_bytes(found.length)
            return found.data()
        except ValueError as error:
            raise CorruptSnapshot(start, str(error)) from None

    def packed_string(self) -> bytes | Compressed:
        """A string in any form; LZF is left as it is, and may be damaged."""
        position = self.position
        if position >= self.end:
            raise self._cut_off(1)
        first = self.buffer[position]
        if first < 0x40:  # the most frequent form, without a call for the length
            end = position + 1 + first
            if end > self.end:
                raise self._cut_off(1 + first)
            self.position = end
            return self.buffer[position + 1 : end]
        if first == LZF:
            self.position = position + 1
            blob_length = self.length()
            length = self.length()
            blob = self.raw(blob_length)
            return Compressed(blob, length)
        size = _INTEGERS.get(first)
        if size is not None:
            self.position = position + 1
            return b"%d" % int.from_bytes(self.raw(size), "little", signed=True)
        return self.raw(self.length())

    def skip_string(self) -> None:
        """Pass over a string in any form."""
        start = self.position
        first = self.byte()
        if first == LZF:
            blob_length = self.length()
            self.length()
            self.skip(blob_length)
        elif first in _INTEGERS:
            self.skip(_INTEGERS[first])
        else:
            self.position = start
            self.skip(self.length())

    def id(self) -> int:
        """An entry ID of 16 bytes, big-endian."""
        return int.from_bytes(self.raw(16), "big")

    def milliseconds(self) -> int:
        """A time of 8 bytes, which may be negative."""
        number: int = _I64_LITTLE.unpack(self.raw(8))[0]
        return number

    def _cut_off(self, wanted: int) -> TruncatedSnapshot:
        reason = f"{wanted} bytes are needed, and {self.left} are left"
        return TruncatedSnapshot(self.position, reason)
