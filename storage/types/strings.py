"""A string value: bytes, and its encoding in Redis (int, embstr, raw).

Leaves out: the limit on the length of a string (commands check proto-max-bulk-len).
"""

from __future__ import annotations

import cython

from storage.object_size import instance_bytes
from storage.types.value import UNCOUNTED, Value, as_int64

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.object_size import bytearray_bytes, bytes_object_bytes

# Redis keeps strings up to this length in one allocation with their header ("embstr").
EMBEDDED_STRING_BYTES = 44

_UNCOUNTED: cython.longlong = UNCOUNTED


@cython.no_gc  # bytes form no cycles: 16 bytes less for each string
@cython.cclass
class StringValue(Value):
    """A binary-safe string.

    `data` is bytes until the string is changed in place (`append`, `overwrite`), and a bytearray
    from then on, so that a growing string is not copied for every piece. Use `to_bytes()` to keep
    the content or hand it on.
    """

    __slots__ = ("_encoding", "data")

    type_name = b"string"

    def __init__(
        self, data: bytes | bytearray, access_ms: int = 0, encoding: bytes | None = None
    ) -> None:
        self.access_ms = access_ms  # inlined, because snapshots create millions of strings
        self.serial = 0
        self.counted_bytes = _UNCOUNTED
        self.has_changed = False
        self.frequency = 0
        self.data: bytes | bytearray = data
        self._encoding = encoding  # None: what follows from the content

    def __len__(self) -> int:
        return len(self.data)

    def to_bytes(self) -> bytes:
        """The content as an immutable copy."""
        data = self.data
        return data if type(data) is bytes else bytes(data)

    def copy(self) -> StringValue:
        """An independent string with the same content, encoding and access time."""
        return StringValue(self.to_bytes(), self.access_ms, self.encoding)

    def replace(self, data: bytes, encoding: bytes | None = None) -> None:
        """Make `data` the content, as in a new string."""
        self.data = data
        self._encoding = encoding

    def append(self, tail: bytes) -> None:
        """Append `tail` to the content."""
        self.in_place().extend(tail)

    def overwrite(self, offset: int, patch: bytes) -> None:
        """Put `patch` over the content from `offset` on; a gap before it is filled with zeros."""
        data = self.in_place()
        gap = offset - len(data)
        if gap > len(data):
            # The system has zeros ready: a long gap is not written. Short ones grow in place.
            self.data = grown = bytearray(offset + len(patch))
            grown[: len(data)] = data
            data = grown
        elif gap > 0:
            data.extend(bytes(gap))
        data[offset : offset + len(patch)] = patch

    def in_place(self) -> bytearray:
        """The content as a mutable bytearray; the encoding is raw from then on."""
        if not isinstance(self.data, bytearray):
            self.data = bytearray(self.data)
            self._encoding = b"raw"
        return self.data

    @property
    def encoding(self) -> bytes:
        """The encoding that OBJECT ENCODING returns in Redis 7: int, embstr or raw."""
        if self._encoding is not None:
            return self._encoding
        if as_int64(self.to_bytes()) is not None:
            return b"int"
        return b"embstr" if len(self.data) <= EMBEDDED_STRING_BYTES else b"raw"

    @property
    def size(self) -> int:
        """The length in bytes."""
        return len(self.data)

    def memory_bytes(self) -> int:
        """The memory of the value in bytes."""
        data = self.data
        if type(data) is bytes:
            return _OWN_BYTES + bytes_object_bytes(len(data))
        return _OWN_BYTES + bytearray_bytes(data)  # type: ignore[arg-type]


_OWN_BYTES: cython.longlong = instance_bytes(StringValue)
