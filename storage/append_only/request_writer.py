"""Requests for the append-only file and the replicas, written word by word into one buffer.

    writer.begin(3)
    writer.word(b"XACK")
    writer.word(key)
    writer.entry_id(entry_id)
    wire = writer.take()

Numbers become digits in the buffer: no object is made of a word that is not there already.
"""

from __future__ import annotations

import cython

from storage.entries.entry_id import EntryID, id_ms, id_seq

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.decimals import digits_of, put_decimal

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
    """One or more requests as RESP arrays of bulk strings."""

    __slots__ = ("_buffer", "_end")

    def __init__(self) -> None:
        self._buffer = bytearray(_FIRST_BYTES)
        self._end = 0

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
        self._end_line(self._end)

    def encoded(self, words: bytes) -> None:
        """Add words that are bulk strings already."""
        size: cython.Py_ssize_t = len(words)
        self._reserve(size)
        if cython.compiled:
            put_bytes(self._buffer, self._end, words)  # type: ignore[name-defined]  # noqa: F821
        else:
            self._buffer[self._end : self._end + size] = words
        self._end += size

    def number(self, value: cython.ulonglong) -> None:
        """Add a number that is not negative."""
        self._reserve(_ROOM_BYTES)
        self._frame(_DOLLAR, digits_of(value))
        out: cython.p_uchar = self._buffer
        self._end_line(put_decimal(out, self._end, value))

    def entry_id(self, entry_id: EntryID) -> None:
        """Add an entry ID."""
        ms: cython.ulonglong = id_ms(entry_id)
        seq: cython.ulonglong = id_seq(entry_id)
        self._reserve(_ROOM_BYTES)
        self._frame(_DOLLAR, digits_of(ms) + 1 + digits_of(seq))
        out: cython.p_uchar = self._buffer
        place: cython.Py_ssize_t = put_decimal(out, self._end, ms)
        out[place] = _MINUS
        self._end_line(put_decimal(out, place + 1, seq))

    def take(self) -> bytes:
        """Everything that was written; the writer is empty then."""
        if cython.compiled:
            text: bytes = bytes_of(self._buffer, self._end)  # type: ignore[name-defined]  # noqa: F821
        else:
            text = bytes(self._buffer[: self._end])
        self._end = 0
        if len(self._buffer) > _KEPT_BYTES:
            self._buffer = bytearray(_FIRST_BYTES)
        return text

    @cython.cfunc
    def _frame(self, sign: cython.int, number: cython.ulonglong) -> None:
        """`*` or `$`, a number, and the end of the line."""
        out: cython.p_uchar = self._buffer
        out[self._end] = sign
        self._end_line(put_decimal(out, self._end + 1, number))

    @cython.cfunc
    def _end_line(self, place: cython.Py_ssize_t) -> None:
        out: cython.p_uchar = self._buffer
        out[place] = _CR
        out[place + 1] = _LF
        self._end = place + 2

    @cython.cfunc
    def _reserve(self, size: cython.Py_ssize_t) -> None:
        """Make room for `size` more bytes."""
        missing: cython.Py_ssize_t = self._end + size - len(self._buffer)
        if missing > 0:
            self._buffer += bytes(missing + len(self._buffer))
