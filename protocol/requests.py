"""The reader of requests: bytes from a client, in chunks of any size, become requests.

Plain requests that have arrived whole are found by the cutter (protocol/request.py). The *scanner*
reads all else: inline commands, unfinished requests, odd line ends, everything before login. It can
stop and resume at any byte, and has every rule, limit and error text.

    reader.feed(data)
    while (request := reader.next()) is not None:
        ...
    reader.error

Guaranteed: the same requests and the same error however the bytes are split into chunks; memory
proportional to the bytes received, not to announced lengths; linear time.

Leaves out: what a request means, the error reply, closing the connection, NOAUTH.

Source of the behaviour: redis-server 7.0.15, tested with raw sockets. Deliberately different:

- The limit of arguments is 1,048,576, as in Redis 6.2; 7.0 accepts any count up to INT_MAX.
- A line that is too long is refused after its first 65,536 bytes, however they arrive. Redis checks
  only after each of its reads, so a line that ends in the same read may be longer.
- A request that cannot fit into the query buffer is refused when it announces the bulk string that
  will not fit; Redis waits for the bytes, and does not count finished arguments.
- A NUL in a line is an ordinary byte. Redis stops searching there, so it never finds the line's
  end and waits until the line is too long.
"""

from __future__ import annotations

import io
import re
from dataclasses import field
from typing import TypeAlias

import cython

from protocol.records import frozen_record
from protocol.request import Cutter, Request, of_words

# The words of a request, the name of its command first.
Argv: TypeAlias = list[bytes]


@frozen_record
class Limits:
    """The limits of one connection; the defaults are Redis's, except that of `max_arguments`."""

    max_arguments: int = 1_048_576
    max_bulk_bytes: int = 512 * 1024 * 1024  # proto-max-bulk-len
    max_inline_bytes: int = 65_536  # for count lines too
    max_buffer_bytes: int = 1024 * 1024 * 1024  # client-query-buffer-limit
    max_arguments_unauthenticated: int = 10
    max_bulk_bytes_unauthenticated: int = 16_384
    # No chunk of up to this many bytes can exceed a limit of an authenticated client.
    harmless_bytes: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        harmless_bytes = min(self.max_arguments, self.max_bulk_bytes, self.max_buffer_bytes)
        if self.max_inline_bytes < _HEADER_BYTES:
            harmless_bytes = 0  # the cutter does not measure lines
        object.__setattr__(self, "harmless_bytes", harmless_bytes)


INVALID_COUNT = "Protocol error: invalid multibulk length"
INVALID_COUNT_UNAUTHENTICATED = "Protocol error: unauthenticated multibulk length"
INVALID_LENGTH = "Protocol error: invalid bulk length"
INVALID_LENGTH_UNAUTHENTICATED = "Protocol error: unauthenticated bulk length"
EXPECTED_BULK = "Protocol error: expected '$', got '{}'"
TOO_BIG_COUNT = "Protocol error: too big mbulk count string"
TOO_BIG_LENGTH = "Protocol error: too big bulk count string"
TOO_BIG_INLINE = "Protocol error: too big inline request"
UNBALANCED_QUOTES = "Protocol error: unbalanced quotes in request"

# The longest valid count line: `$` or `*`, and a signed 64-bit integer.
_HEADER_BYTES = 1 + len("-9223372036854775808")

_LINE_END = b"\r\n"
_ASTERISK: cython.int = ord("*")
_DOLLAR: cython.int = ord("$")

# An unfinished request of up to this many bytes is kept, to be cut with the bytes that follow.
_UNFINISHED_BYTES: cython.Py_ssize_t = 16 * 1024
# How many unread bytes are read at a time.
_PIECE_BYTES: cython.Py_ssize_t = 128 * 1024


@cython.cclass
class RequestReader:
    """Reads one connection's requests.

    - `authenticated`: whether the client may use the full limits; may be set at any time.
    - `error`: the protocol error, without "-ERR " and CRLF, or None. One character per byte
      (latin-1): as in Redis, an unexpected byte is quoted unchanged.
    - `overflowed`: the query buffer limit was exceeded; the connection is closed with no reply.

    After either, `next` returns nothing more.
    """

    def __init__(self, limits: Limits, cutter: Cutter, authenticated: bool = True) -> None:
        """Readers that take turns may share a cutter: see `start`."""
        self.authenticated = authenticated
        self.set_limits(limits)
        self.error: str | None = None
        self.overflowed = False
        self._is_over = False  # after an error or an overflow
        self._cutter: Cutter = cutter
        self._is_cut = False  # whether the cutter may find the next request
        # The bytes that are read, from the position on, and those that follow.
        self._data = b""
        self._position = 0
        self.unread = bytearray()
        # The unfinished request: its arguments so far, how many there will be (0: the stream is
        # between requests, or in a line that may begin one), and how many bytes they took.
        self._argv: list[bytes] = []
        self._count = 0
        self._taken_bytes = 0
        # The bytes of its unfinished line. A bytearray grows in place, and unlike a list of chunks
        # it costs the same when a client sends one byte at a time.
        self._held = bytearray()
        # Or its unfinished bulk string of _bulk_bytes, and how many bytes of that and of its line
        # end are missing (0: there is none). BytesIO grows in place, too, and what it holds in the
        # end becomes the argument without a copy.
        self._bulk: io.BytesIO | None = None
        self._bulk_bytes = 0
        self._missing_bytes = 0
        self._unfinished = b""  # the whole of it, if it is short

    def set_limits(self, limits: Limits) -> None:
        """Set the limits for what is read from now on."""
        self.limits = limits
        self.max_buffer_bytes = limits.max_buffer_bytes
        self._harmless_bytes = limits.harmless_bytes

    # -- bytes -------------------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        if self._position < len(self._data) or self.unread:
            self.hold(data)
        elif not self._is_over:
            self._begin(data)

    def hold(self, data: bytes) -> None:
        """Take the next bytes of the stream, to read them later."""
        if not self._is_over:
            self.unread += data

    def next_piece(self) -> bool:
        """Go on to more bytes after `next` has returned None; False if there are none.

        Those that were held are read a piece at a time. It may take long, and hold no request.
        """
        if not self.unread:
            return False
        piece = bytes(self.unread[:_PIECE_BYTES])
        del self.unread[:_PIECE_BYTES]
        self._begin(piece)
        return True

    @cython.cfunc
    def _begin(self, data: bytes) -> None:
        """Begin to read bytes.

        Reads of a long pipeline end within a request. The scanner gets its beginning, for the
        limits and errors, but with the next bytes it is cut as a whole, and so are those after it.
        That takes linear time: these bytes are at least as many.
        """
        if self._unfinished:
            if len(data) >= len(self._unfinished) and self.authenticated:
                data = self._unfinished + data
                self._forget()
            self._unfinished = b""
        self._data, self._position = data, 0
        self.start()

    def start(self) -> None:
        """Go on, after another reader may have used the cutter, or a limit has changed."""
        self._is_cut = (
            self.authenticated and len(self._data) <= self._harmless_bytes and self.is_between()
        )
        if self._is_cut:
            self._cutter.load(self._data, self._position)

    def stop(self) -> None:
        """Let go of the bytes that were read: those that follow may wait for long."""
        self._data, self._position = self._data[self._position :], 0

    def rest(self) -> bytes:
        """The bytes that were fed, and not read."""
        return self._data[self._position :] + self.unread

    def unread_bytes(self) -> cython.Py_ssize_t:
        """The number of bytes that were fed, and not read."""
        return len(self._data) - self._position + len(self.unread)

    def buffered_bytes(self) -> cython.Py_ssize_t:
        """The number of bytes that were read, and belong to no finished request."""
        size: cython.Py_ssize_t = self._taken_bytes + len(self._held)
        if self._missing_bytes:
            size += self._bulk_bytes + 2 - self._missing_bytes
        return size

    def is_between(self) -> bool:
        """Return True if the next byte to read begins a request, and there was no error before."""
        return not (self._count or self._held or self._is_over)

    # -- requests ----------------------------------------------------------------------------------

    def next(self) -> Request | None:
        """The next request; None if the bytes that were fed hold no other, or at an error.

        It is good until the next call. No request is empty: `*0`, a negative count and a blank line
        are skipped, as in Redis.
        """
        if self._is_cut and self._cutter.next():
            self._position = self._cutter.position
            return self._cutter
        return self._scan_next()

    @cython.cfunc
    def _scan_next(self) -> Request | None:
        start: cython.Py_ssize_t = self._position
        is_cut: cython.bint = self._is_cut
        while self._position < len(self._data):
            argv = self._scan()
            if argv is not None:
                self.start()
                return of_words(argv)
        is_short: cython.bint = len(self._data) - start <= _UNFINISHED_BYTES
        if is_cut and is_short and (self._count or self._held) and self._data[start] == _ASTERISK:
            self._unfinished = self._data[start:]
        self._data, self._position, self._is_cut = b"", 0, False
        return None

    # -- the scanner -------------------------------------------------------------------------------
    # Each step reads from the position on. If the bytes end too early it holds the rest; at a
    # protocol error it fails. In both cases all bytes are used up, and the step returns False.

    def _scan(self) -> list[bytes] | None:
        """Scan one request, or a part of one; the arguments if that completes it."""
        if self._missing_bytes:
            if not self._add_to_bulk():
                return None
        elif self._held and not self._continue_line():
            return None
        start: cython.Py_ssize_t = self._position
        if not self._count:
            data = self._data
            if data[start] in _EMPTY_STARTS and self.limits.max_inline_bytes > _FEW_BLANKS:
                empty = re.compile(_EMPTY_REQUESTS).match(data, start)
                if empty is not None:
                    self._position = empty.end()
                    return None
            if data[start] != _ASTERISK:
                return self._scan_inline()
            if not self._scan_array_header():
                return None
        if not self._count or not self._scan_bulks(start):
            return None
        argv = self._argv
        self._forget()
        return argv

    def _scan_inline(self) -> list[bytes] | None:
        """Scan an inline command: a line of words. It ends in LF; a CR before that is a blank."""
        start: cython.Py_ssize_t = self._position
        line_end: cython.Py_ssize_t = self._find_line_end(b"\n", TOO_BIG_INLINE)
        if line_end < 0:
            return None
        argv = split_inline(self._data[start:line_end])
        if argv is None:
            self._fail(UNBALANCED_QUOTES)
            return None
        self._position = line_end + 1
        return argv or None

    @cython.cfunc
    def _scan_array_header(self) -> bool:
        """Scan `*<count>` CRLF: the number of arguments."""
        start: cython.Py_ssize_t = self._position
        line_end: cython.Py_ssize_t = self._find_line_end(b"\r", TOO_BIG_COUNT)
        if line_end < 0:
            return False
        count = _parse_integer(self._data[start + 1 : line_end])
        if count is None or count > self.limits.max_arguments:
            return self._fail(INVALID_COUNT)
        if not self.authenticated and count > self.limits.max_arguments_unauthenticated:
            return self._fail(INVALID_COUNT_UNAUTHENTICATED)
        self._count = max(count, 0)
        self._position = line_end + 2  # as in Redis, the byte after CR is skipped unchecked
        return True

    @cython.cfunc
    def _scan_bulks(self, start: cython.Py_ssize_t) -> bool:
        """Scan the missing arguments: `$<length>` CRLF, bytes, CRLF. The request is at `start`."""
        data, argv = self._data, self._argv
        end: cython.Py_ssize_t = len(data)
        limit: cython.Py_ssize_t = start + self.limits.max_buffer_bytes - self._taken_bytes
        position: cython.Py_ssize_t
        next_position: cython.Py_ssize_t
        length: cython.Py_ssize_t
        line_end: cython.Py_ssize_t
        while len(argv) < self._count:
            position = self._position
            line_end = self._find_line_end(b"\r", TOO_BIG_LENGTH)
            if line_end < 0:
                if self.error is None:
                    self._taken_bytes += position - start
                return False
            length = self._bulk_length(position, line_end)
            if length < 0:
                return False
            position = line_end + 2  # as in Redis, the byte after CR is skipped unchecked
            next_position = position + length + 2  # and so are the two after the argument
            if next_position > limit:
                self.overflowed = True
                return self._give_up()
            self._position = position
            if next_position > end:
                self._taken_bytes += position - start
                self._bulk, self._bulk_bytes = io.BytesIO(), length
                self._missing_bytes = length + 2
                return self._add_to_bulk()
            argv.append(data[position : next_position - 2])
            self._position = next_position
        return True

    @cython.cfunc
    def _bulk_length(
        self, position: cython.Py_ssize_t, line_end: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """The length in the header of a bulk string, or -1 after failing."""
        data, limits = self._data, self.limits
        if position == line_end or data[position] != _DOLLAR:
            got = chr(data[position])
            self._fail(EXPECTED_BULK.format(" " if got in "\r\n" else got))
            return -1
        length = _parse_integer(data[position + 1 : line_end])
        if length is None or not 0 <= length <= limits.max_bulk_bytes:
            self._fail(INVALID_LENGTH)
            return -1
        if not self.authenticated and length > limits.max_bulk_bytes_unauthenticated:
            self._fail(INVALID_LENGTH_UNAUTHENTICATED)
            return -1
        return length

    @cython.cfunc
    def _find_line_end(self, mark: bytes, refusal: str) -> cython.Py_ssize_t:
        """The position of the line's CR or LF; -1 after holding an incomplete line or failing.

        A line that ends in CR is complete once the byte after it has arrived.
        """
        data = self._data
        start: cython.Py_ssize_t = self._position
        most_bytes: cython.Py_ssize_t = self.limits.max_inline_bytes
        line_end: cython.Py_ssize_t = data.find(mark, start, start + most_bytes + 1)
        if line_end < 0 and len(data) - start > most_bytes:
            self._fail(refusal)
        elif line_end < 0 or (line_end + 1 == len(data) and mark == b"\r"):
            self._held += memoryview(data)[start:]
            self._position = len(data)
            line_end = -1
        return line_end

    @cython.cfunc
    def _continue_line(self) -> bool:
        """Continue the unfinished line: True if it is to be scanned, and begins the bytes now."""
        held, data = self._held, self._data
        # Linear time: as long as the line does not end, only the new bytes are searched.
        mark = b"\r" if self._count or held[0] == _ASTERISK else b"\n"
        is_short = len(held) + len(data) <= self.limits.max_inline_bytes
        if is_short and mark not in data and not held.endswith(mark):
            held += data
            self._position = len(data)
            return False
        self._held = bytearray()
        self._data = bytes(held) + data
        return True

    @cython.cfunc
    def _add_to_bulk(self) -> bool:
        """Take bytes of the unfinished bulk string; True once it is an argument."""
        data, bulk = self._data, self._bulk
        assert bulk is not None
        start: cython.Py_ssize_t = self._position
        content_bytes: cython.Py_ssize_t = self._missing_bytes - 2
        if content_bytes > 0:
            bulk.write(memoryview(data)[start : start + content_bytes])
        self._position = min(len(data), start + self._missing_bytes)
        self._missing_bytes -= self._position - start
        if self._missing_bytes:
            return False
        self._argv.append(bulk.getvalue())
        self._taken_bytes += self._bulk_bytes + 2
        self._bulk = None
        return True

    @cython.cfunc
    def _fail(self, error: str) -> bool:
        self.error = error
        return self._give_up()

    @cython.cfunc
    def _give_up(self) -> bool:
        """Drop all bytes: nothing is read any more."""
        self._is_over = True
        self._forget()
        self._position = len(self._data)
        self.unread.clear()
        return False

    @cython.cfunc
    def _forget(self) -> None:
        """Forget the unfinished request: it is finished, or will be read again."""
        self._argv = []
        self._count = 0
        self._taken_bytes = 0
        if self._held:
            self._held = bytearray()
        self._bulk = None
        self._bulk_bytes = self._missing_bytes = 0


# -- numbers and words -------------------------------------------------------------------------

# What is not a request of words in bulk strings is rare: patterns are compiled when first used.
_INTEGER = rb"0|-?[1-9][0-9]{0,18}"


def _parse_integer(text: bytes) -> int | None:
    """A signed 64-bit integer in its shortest form, as Redis takes lengths; None otherwise."""
    if len(text) < 19 and text.isdigit() and (text[0] != 48 or len(text) == 1):
        return int(text)  # nearly always
    if not re.fullmatch(_INTEGER, text):
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


_BLANKS = b" \t\n\v\f\r"
# Blank lines, and empty arrays. A client may send very many of them, so they are skipped together:
# they cost no memory, and only the time to search them.
_FEW_BLANKS: cython.Py_ssize_t = 64
_EMPTY_STARTS = _BLANKS + b"*"
_EMPTY_REQUESTS = rb"(?:[ \t\v\f\r]{0,%d}+\n|\*(?:0|-[1-9][0-9]{0,17})\r[\s\S])++" % _FEW_BLANKS
# Characters that make a line more than words separated by blanks.
_QUOTES_AND_RARE_BLANKS = rb"[\"'\v\f]"
_WORD = rb"""(?sx)
    ([^ \t\n\r"']*)  # bare text: VT and FF, blanks elsewhere, do not end it
    (?:
        "([^"\\]*(?:\\.[^"\\]*)*)"  # a backslash escapes any byte
      | '([^'\\]*(?:\\(?:'|(?!'))[^'\\]*)*)'  # a backslash escapes only the quote
    )?
    (?:[ \t\n\v\f\r]+|\Z)  # nothing may touch a closing quote
"""
_ESCAPE = rb"(?s)\\(x[0-9a-fA-F]{2}|.)"
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}


def split_inline(line: bytes) -> list[bytes] | None:
    """The words of an inline request or a configuration line; None where a quote is not balanced.

    Quoted text may follow bare text in one word, and ends it. Between double quotes \\xHH, \\n,
    \\r, \\t, \\b and \\a are control bytes and any other escaped byte is itself; between single
    quotes only \\' is an escape. Source: redis-server 7.0.15.
    """
    if re.search(_QUOTES_AND_RARE_BLANKS, line) is None:
        return [*line.split()]  # a copy: split() makes room for many words
    line = line.lstrip(_BLANKS)
    words = []
    position = 0
    next_word = re.compile(_WORD).match
    while position < len(line):
        word = next_word(line, position)
        if word is None:
            return None
        bare, double, single = word.groups(default=b"")
        words.append(bare + re.sub(_ESCAPE, _unescape, double) + single.replace(rb"\'", b"'"))
        position = word.end()
    return words


def _unescape(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    if len(code) == 3:
        return bytes.fromhex(code[1:].decode())
    return _CONTROLS.get(code, code)
