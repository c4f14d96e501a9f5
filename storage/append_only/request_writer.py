"""Requests for the append-only file and the replicas, written word by word into one buffer.

    writer.begin(3)
    writer.word(b"XACK")
    writer.word(key)
    writer.entry_id(entry_id)
    wire = writer.take(writer.end)

Numbers become digits in the buffer: no object is made of a word that is not there already.
"""

from __future__ import annotations

from collections.abc import Sequence

import cython

from storage.append_only.requests import encode_request
from storage.entries.entry_id import EntryID

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.entries.entry_id import id_ms, id_seq
    from storage.redis_format.listpack_elements import digits_of, put_decimal

_FIRST_BYTES = 1024
# A larger buffer, for long words, is not kept.
_KEPT_BYTES: cython.Py_ssize_t = 128 * 1024
# The frame of a word or request takes no more than this, and a number or an ID neither.
_ROOM_BYTES: cython.Py_ssize_t = 64
_STAR: cython.int = ord("*")
_DOLLAR: cython.int = ord("$")
_MINUS: cython.int = ord("-")
_CR: cython.int = ord("\r")
_LF: cython.int = ord("\n")


@cython.cclass
class RequestWriter:
    """One or more requests as RESP arrays of bulk strings. `end` is how many bytes were written."""

    __slots__ = ("_buffer", "end")

    def __init__(self) -> None:
        self._buffer = bytearray(_FIRST_BYTES)
        self.end = 0

    # -- writing -------------------------------------------------------------------------------

    def request(self, words: Sequence[bytes]) -> None:
        """Add a whole request."""
        if not cython.compiled:
            self.encoded(encode_request(words))
            return
        self.begin(len(words))
        for word in words:
            self.word(word)

    def begin(self, words: cython.ulonglong) -> None:
        """Begin a request of `words` words."""
        self._reserve(_ROOM_BYTES)
        self._frame(_STAR, words)

    def word(self, text: bytes) -> None:
        """Add a word."""
        size: cython.Py_ssize_t = len(text)
        self._reserve(_ROOM_BYTES + size)
        self._frame(_DOLLAR, size)
        self.encoded(text)
        self._end_line(self.end)

    def encoded(self, words: bytes) -> None:
        """Add words that are bulk strings already."""
        size: cython.Py_ssize_t = len(words)
        self._reserve(size)
        if cython.compiled:
            put_bytes(self._buffer, self.end, words)  # type: ignore[name-defined]  # noqa: F821
        else:
            self._buffer[self.end : self.end + size] = words
        self.end += size

    def number(self, value: cython.ulonglong) -> None:
        """Add a number that is not negative."""
        self._reserve(_ROOM_BYTES)
        self._frame(_DOLLAR, digits_of(value))
        out: cython.p_uchar = self._buffer
        self._end_line(put_decimal(out, self.end, value))

    def entry_id(self, entry_id: EntryID) -> None:
        """Add an entry ID."""
        ms: cython.ulonglong = id_ms(entry_id)
        seq: cython.ulonglong = id_seq(entry_id)
        self._reserve(_ROOM_BYTES)
        self._frame(_DOLLAR, digits_of(ms) + 1 + digits_of(seq))
        out: cython.p_uchar = self._buffer
        place: cython.Py_ssize_t = put_decimal(out, self.end, ms)
        out[place] = _MINUS
        self._end_line(put_decimal(out, place + 1, seq))

    # -- what was written ----------------------------------------------------------------------

    def take(self, size: cython.Py_ssize_t) -> bytes:
        """The first `size` bytes; the writer keeps the rest."""
        rest: cython.Py_ssize_t = self.end - size
        text = self._copy(0, size)
        self._move(size, 0, rest)
        self.end = rest
        if len(self._buffer) > _KEPT_BYTES and not rest:
            self._buffer = bytearray(_FIRST_BYTES)
        return text

    def cut(self, place: cython.Py_ssize_t) -> bytes:
        """Take back what was written from `place` on."""
        size: cython.Py_ssize_t = self.end - place
        self.end = place
        return self._copy(place, size)

    def insert(self, place: cython.Py_ssize_t, words: bytes) -> None:
        """Insert encoded words at `place`."""
        size: cython.Py_ssize_t = len(words)
        self._reserve(size)
        self._move(place, place + size, self.end - place)
        end: cython.Py_ssize_t = self.end + size
        self.end = place
        self.encoded(words)
        self.end = end

    @cython.cfunc
    def _copy(self, place: cython.Py_ssize_t, size: cython.Py_ssize_t) -> bytes:
        if cython.compiled:
            text: bytes = bytes_of(self._buffer, place, size)  # type: ignore[name-defined]  # noqa: F821
            return text
        return bytes(self._buffer[place : place + size])

    @cython.cfunc
    def _move(
        self, start: cython.Py_ssize_t, to: cython.Py_ssize_t, size: cython.Py_ssize_t
    ) -> None:
        if cython.compiled:
            move_bytes(self._buffer, start, to, size)  # type: ignore[name-defined]  # noqa: F821
        else:
            self._buffer[to : to + size] = self._buffer[start : start + size]

    # -- details -------------------------------------------------------------------------------

    @cython.cfunc
    def _frame(self, sign: cython.int, number: cython.ulonglong) -> None:
        """`*` or `$`, a number, and the end of the line."""
        out: cython.p_uchar = self._buffer
        out[self.end] = sign
        self._end_line(put_decimal(out, self.end + 1, number))

    @cython.cfunc
    def _end_line(self, place: cython.Py_ssize_t) -> None:
        out: cython.p_uchar = self._buffer
        out[place] = _CR
        out[place + 1] = _LF
        self.end = place + 2

    @cython.cfunc
    def _reserve(self, size: cython.Py_ssize_t) -> None:
        """Make room for `size` more bytes."""
        missing: cython.Py_ssize_t = self.end + size - len(self._buffer)
        if missing > 0:
            self._buffer += bytes(missing + len(self._buffer))
