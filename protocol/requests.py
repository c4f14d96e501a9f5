"""The request parser: bytes from a client, in chunks of any size, become argv lists.

It consists of two parsers. The *scanner* is the reference: plain Python, resumable at any byte,
with every rule, limit and error text. The *fast path* gives whole requests to hiredis or to
`bytes.split`, and their result is used only if it is proven to be what the scanner would return;
otherwise the scanner reads the same bytes again. hiredis parses replies, so it accepts much that is
not a request, and it allocates a list for an array header before the elements have arrived: it is
never fed headers that announce more elements than the bytes could hold.

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
from collections.abc import Iterator
from dataclasses import field
from typing import TypeAlias

import hiredis

from protocol.records import frozen_record

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
            harmless_bytes = 0  # the fast path does not measure lines
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
_ASTERISK = ord("*")
_DOLLAR = ord("$")

# `_split_single` parses one request of up to this many bytes; hiredis is faster for larger ones.
_SINGLE_BYTES = 4096
# hiredis keeps its input buffer, up to twice as large as its last input. After a larger batch the
# reader is replaced, so that ten thousand idle connections do not hold large buffers.
_KEPT_BUFFER_BYTES = 4096

_BULK_HEADERS = tuple(b"$%d" % length for length in range(_SINGLE_BYTES))
_BULK_LENGTHS = {header: length for length, header in enumerate(_BULK_HEADERS)}
# By the number of arguments; a request has at least one.
_ARRAY_HEADERS = (b"", *(b"*%d" % count for count in range(1, _SINGLE_BYTES // 6)))
_ARRAY_COUNTS = {header: count for count, header in enumerate(_ARRAY_HEADERS) if count}
_MAX_DIGIT = 9


class RequestReader:
    """Reads one connection's requests.

    - `authenticated`: whether the client may use the full limits; may be set at any time.
    - `error`: the protocol error, without "-ERR " and CRLF, or None. One character per byte
      (latin-1): as in Redis, an unexpected byte is quoted unchanged.
    - `overflowed`: the query buffer limit was exceeded; the connection is closed with no reply.

    After either, `feed` returns nothing more.
    """

    __slots__ = (
        "_argv",
        "_bulk",
        "_bulk_bytes",
        "_count",
        "_held",
        "_hiredis",
        "_taken_bytes",
        "authenticated",
        "error",
        "limits",
        "missing_bytes",
        "overflowed",
    )

    def __init__(self, limits: Limits, authenticated: bool = True) -> None:
        self.limits = limits
        self.authenticated = authenticated
        self.error: str | None = None
        self.overflowed = False
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
        self._bulk = io.BytesIO()
        self._bulk_bytes = 0
        self.missing_bytes = 0
        self._hiredis = _new_hiredis_reader()

    @property
    def buffered_bytes(self) -> int:
        """Bytes received that belong to no finished request."""
        size = self._taken_bytes + len(self._held)
        if self.missing_bytes:
            size += self._bulk_bytes + len(_LINE_END) - self.missing_bytes
        return size

    @property
    def is_between(self) -> bool:
        """True if the next byte begins a request, and there was no protocol error before."""
        return not (self._count or self._held or self.error is not None or self.overflowed)

    def feed(self, data: bytes) -> list[list[bytes]]:
        """Take the next bytes of the stream; returns the requests they complete, in order.

        No request is empty: `*0`, a negative count and a blank line are skipped, as in Redis. At a
        protocol error, the requests before it are returned and `error` is set.
        """
        if self.error is not None or self.overflowed:
            return []
        requests: list[list[bytes]] = []
        position = 0
        if self._held or self.missing_bytes:
            data, position = self._continue_held(data, requests)
        may_batch = self.authenticated and len(data) <= self.limits.harmless_bytes
        if may_batch and not position and not self._count and len(data) <= _SINGLE_BYTES:
            argv = _split_single(data)
            if argv is not None:
                return [argv]
        while position < len(data):
            if may_batch and not self._count and data[position] == _ASTERISK:
                may_batch = False  # once per chunk: the scanner reads the rest
                position = self._read_batch(data, position, requests)
            else:
                position = self._scan(data, position, requests)
        return requests

    def feed_each(self, data: bytes) -> Iterator[tuple[list[bytes], int]]:
        """Take the next bytes; yield one request at a time, with the number of bytes left after it.

        For callers that change `authenticated` in between. A caller that stops early must feed the
        bytes that are left again.
        """
        requests: list[list[bytes]] = []
        position = 0
        if self.error is not None or self.overflowed:
            return
        if self._held or self.missing_bytes:
            data, position = self._continue_held(data, requests)
        while True:
            for argv in requests:
                yield argv, len(data) - position
            requests.clear()
            if position >= len(data):
                return
            position = self._scan(data, position, requests)

    def drop_unfinished(self) -> None:
        """Drop the unfinished request: the caller has its bytes, and feeds them again."""
        self._argv = []
        self._count = 0
        self._taken_bytes = 0
        self._held = bytearray()
        self._drop_bulk()

    def expects_line(self, data: bytes | bytearray) -> bool:
        """Return True if these bytes, the next of the stream, begin with an inline command."""
        return not self._count and not self._held and not data.startswith(b"*")

    # -- the scanner -------------------------------------------------------------------------------
    # Each step takes (data, position) and returns the position after the bytes that it has read. If
    # data ends too early it holds the rest; at a protocol error it fails. In both cases all of data
    # is used up, and the position is its end.

    def _scan(self, data: bytes, position: int, requests: list[list[bytes]]) -> int:
        """Scan one request, or its beginning."""
        start = position
        if not self._count:
            if data[position] in _EMPTY_STARTS:
                empty = _EMPTY_REQUESTS.match(data, position)
                if empty is not None and self.limits.max_inline_bytes > _FEW_BLANKS:
                    return empty.end()
            if data[position] != _ASTERISK:
                return self._scan_inline(data, position, requests)
            position = self._scan_array_header(data, position)
        if self._count:
            position = self._scan_bulks(data, position, start)
            if self._count and len(self._argv) == self._count:
                self._finish(requests)
        return position

    def _scan_inline(self, data: bytes, position: int, requests: list[list[bytes]]) -> int:
        """Scan an inline command: a line of words. It ends in LF; a CR before that is a blank."""
        line_end = self._find_line_end(data, position, b"\n", TOO_BIG_INLINE)
        if line_end < 0:
            return len(data)
        argv = split_inline(data[position:line_end])
        if argv is None:
            return self._fail(data, UNBALANCED_QUOTES)
        if argv:
            requests.append(argv)
        return line_end + 1

    def _scan_array_header(self, data: bytes, position: int) -> int:
        """Scan `*<count>` CRLF: the number of arguments."""
        line_end = self._find_line_end(data, position, b"\r", TOO_BIG_COUNT)
        if line_end < 0:
            return len(data)
        count = _parse_integer(data[position + 1 : line_end])
        if count is None or count > self.limits.max_arguments:
            return self._fail(data, INVALID_COUNT)
        if not self.authenticated and count > self.limits.max_arguments_unauthenticated:
            return self._fail(data, INVALID_COUNT_UNAUTHENTICATED)
        self._count = max(count, 0)
        return line_end + 2  # as in Redis, the byte after CR is skipped unchecked

    def _scan_bulks(self, data: bytes, position: int, start: int) -> int:
        """Scan the missing arguments: `$<length>` CRLF, bytes, CRLF. The request is at `start`."""
        limits, argv, count, end = self.limits, self._argv, self._count, len(data)
        max_bulk_bytes = limits.max_bulk_bytes
        if not self.authenticated:
            max_bulk_bytes = min(max_bulk_bytes, limits.max_bulk_bytes_unauthenticated)
        max_line_bytes = limits.max_inline_bytes + 1
        max_position = start + limits.max_buffer_bytes - self._taken_bytes
        while len(argv) < count:
            line_end = data.find(b"\r", position, position + max_line_bytes)
            if line_end < 0 or line_end + 1 == end:
                self._taken_bytes += position - start
                self._find_line_end(data, position, b"\r", TOO_BIG_LENGTH)
                return end
            length = _BULK_LENGTHS.get(data[position:line_end], -1)
            if not 0 <= length <= max_bulk_bytes:
                length = self._parse_bulk_header(data, position, line_end)
                if length < 0:
                    return end
            position = line_end + 2  # as in Redis, the byte after CR is skipped unchecked
            next_position = position + length + 2  # and so are the two after the argument
            if next_position > max_position:
                return self._overflow(data)
            if next_position > end:
                self._taken_bytes += position - start
                self._bulk_bytes = length
                self.missing_bytes = length + len(_LINE_END)
                self._add_to_bulk(data, position)
                return end
            argv.append(data[position : next_position - 2])
            position = next_position
        return position

    def _parse_bulk_header(self, data: bytes, position: int, line_end: int) -> int:
        """The length in a bulk string's header, or -1 after failing."""
        if data[position] != _DOLLAR:
            got = chr(data[position])
            self._fail(data, EXPECTED_BULK.format(" " if got in "\r\n" else got))
            return -1
        length = _parse_integer(data[position + 1 : line_end])
        if length is None or not 0 <= length <= self.limits.max_bulk_bytes:
            self._fail(data, INVALID_LENGTH)
            return -1
        if not self.authenticated and length > self.limits.max_bulk_bytes_unauthenticated:
            self._fail(data, INVALID_LENGTH_UNAUTHENTICATED)
            return -1
        return length

    def _find_line_end(self, data: bytes, position: int, mark: bytes, refusal: str) -> int:
        """The position of the line's CR or LF; -1 after holding an incomplete line or failing.

        A line that ends in CR is complete once the byte after it has arrived.
        """
        max_bytes = self.limits.max_inline_bytes
        line_end = data.find(mark, position, position + max_bytes + 1)
        if line_end < 0 and len(data) - position > max_bytes:
            self._fail(data, refusal)
        elif line_end < 0 or (mark == b"\r" and line_end + 1 == len(data)):
            self._hold(data, position)
            line_end = -1
        return line_end

    def _continue_held(self, data: bytes, requests: list[list[bytes]]) -> tuple[bytes, int]:
        """Continue the unfinished part; returns the bytes to scan next, and the position."""
        if self.missing_bytes:
            return data, self._continue_bulk(data, requests)
        held = self._held
        # Linear time: as long as the line does not end, only the new bytes are searched.
        mark = b"\r" if self._count or held[0] == _ASTERISK else b"\n"
        is_short = len(held) + len(data) <= self.limits.max_inline_bytes
        if is_short and mark not in data and not held.endswith(mark):
            held += data
            return b"", 0
        self._held = bytearray()
        return bytes(held) + data, 0

    def _continue_bulk(self, data: bytes, requests: list[list[bytes]]) -> int:
        """Continue the unfinished bulk string; the position after it."""
        end = self._add_to_bulk(data, 0)
        if not self.missing_bytes:
            self._argv.append(self._bulk.getvalue())
            self._taken_bytes += self._bulk_bytes + len(_LINE_END)
            self._drop_bulk()
            if len(self._argv) == self._count:
                self._finish(requests)
        return end

    def _add_to_bulk(self, data: bytes, position: int) -> int:
        """Take the bytes of the unfinished bulk string from a position on; where they end."""
        content_bytes = self.missing_bytes - len(_LINE_END)
        end = min(len(data), position + self.missing_bytes)
        if content_bytes > 0:
            self._bulk.write(memoryview(data)[position : position + content_bytes])
        self.missing_bytes -= end - position
        return end

    def _drop_bulk(self) -> None:
        self._bulk = io.BytesIO()
        self._bulk_bytes = self.missing_bytes = 0

    def _finish(self, requests: list[list[bytes]]) -> None:
        requests.append(self._argv)
        self._argv = []
        self._count = 0
        self._taken_bytes = 0

    def _hold(self, data: bytes, position: int) -> int:
        self._held += memoryview(data)[position:]
        return len(data)

    def _fail(self, data: bytes, error: str) -> int:
        self.error = error
        return self._forget(data)

    def _overflow(self, data: bytes) -> int:
        self.overflowed = True
        return self._forget(data)

    def _forget(self, data: bytes) -> int:
        self._argv = []
        self._count = 0
        self._taken_bytes = 0
        return len(data)

    # -- the fast path -----------------------------------------------------------------------------

    def _read_batch(self, data: bytes, position: int, requests: list[list[bytes]]) -> int:
        """Read the whole requests from a boundary on, if that is fast; the position after them."""
        if not _is_dense(data, position):
            return position
        end = find_last_boundary(data, position)
        batch = self.parse_batch(data[position:end]) if end > position else None
        if batch is None:
            return position
        requests += batch
        return end

    def parse_batch(self, batch: bytes) -> list[list[bytes]] | None:
        """Parse all requests of a batch with hiredis; None if the result is not proven correct."""
        line_marks = batch.count(b"\r") + batch.count(b"\n")
        is_resp2 = _is_resp2(batch)
        if _may_allocate_much(batch, line_marks, is_resp2):
            return None
        reader = self._hiredis
        requests = None
        try:
            reader.feed(batch)
            replies = list(iter(reader.gets, _NOTHING))
            if all(replies) and (
                (is_resp2 and _is_plain(replies, line_marks) and _is_idle(reader))
                or _encode(replies) == batch
            ):
                requests = replies
        except (hiredis.HiredisError, TypeError):
            pass  # not RESP, or an element that is not a string
        if requests is None or len(batch) > _KEPT_BUFFER_BYTES:
            self._hiredis = _new_hiredis_reader()
        return requests


# -- how the fast path is verified -------------------------------------------------------------

# What hiredis returns when it needs more bytes: an object that no bytes can produce.
_NOTHING = object()

# Array headers of two digits or more, at any place: hiredis nests them a thousand deep. One digit
# is harmless: a list of nine takes 144 bytes, and its header four.
_LONG_ARRAY = re.compile(rb"\*(\d{2,19})")
_LONG_RESP3 = [re.compile(rb"~\d\d"), re.compile(rb">\d\d"), re.compile(rb"\|\d\d")]


def _new_hiredis_reader() -> hiredis.Reader:
    return hiredis.Reader(notEnoughData=_NOTHING)


def _may_allocate_much(batch: bytes, line_marks: int, is_resp2: bool) -> bool:
    """Return True if array headers announce more elements than the bytes can hold.

    A bulk string has four line marks (CR and LF), so that batches of requests always pass unless
    an argument looks like a header.
    """
    announced = sum(map(int, _LONG_ARRAY.findall(batch)))
    if 4 * announced > line_marks:
        return True
    return not is_resp2 and any(pattern.search(batch) for pattern in _LONG_RESP3)


def _is_resp2(batch: bytes) -> bool:
    """Return True if no byte can begin a RESP3 reply that contains strings."""
    return not (b"=" in batch or b"~" in batch or b">" in batch or b"|" in batch or b"%" in batch)


def _is_plain(replies: list[list[bytes]], line_marks: int) -> bool:
    """Return True if RESP2 replies are lists of bulk strings without CR or LF, properly ended.

    Then every line mark of the batch is framing: two in an array header, four in a bulk string.
    Every other element has fewer, and so has a bulk string whose line end is something else.
    Raises TypeError if an element is not a string.
    """
    arguments = b"".join(map(b"".join, replies))
    return (
        b"\r" not in arguments
        and b"\n" not in arguments
        and line_marks == 4 * sum(map(len, replies)) + 2 * len(replies)
    )


def _is_idle(reader: hiredis.Reader) -> bool:
    """Return True if a drained reader is between replies, so that it returns the next one."""
    reader.feed(b":1\r\n")
    return bool(reader.gets() == 1)


def _encode(replies: list[list[bytes]]) -> bytes:
    """Encode replies as requests. If the result equals the batch, it was parsed correctly."""
    # hiredis's stub means a tuple of any length and says a tuple of one.
    return b"".join(map(hiredis.pack_command, map(tuple, replies)))  # type: ignore[arg-type]


def _split_single(data: bytes) -> list[bytes] | None:
    """The one request that data consists of, if no argument holds CR LF; None otherwise."""
    count = _MAX_DIGIT
    if data[2:3] != b"\r":
        count = _ARRAY_COUNTS.get(data[: data.find(b"\r\n")], 0)
        if not count:
            return None
    # Split off few more lines than one request has, because data may hold many requests.
    lines = data.split(b"\r\n", 2 * count + 1)
    rest = lines.pop()  # after the last CRLF; must not count as an empty argument
    argv = lines[2::2]
    if (
        rest
        or lines[0] != _ARRAY_HEADERS[len(argv)]
        or lines[1::2] != [_BULK_HEADERS[len(argument)] for argument in argv]
    ):
        return None
    return argv


def _is_dense(data: bytes, start: int) -> bool:
    """Return True if lines are short, judged by a sample.

    The fast path costs time per byte, the scanner per line. They are equal for requests of five
    arguments and about 700 bytes (measured).
    """
    sample_end = min(start + 1024, len(data))
    return 48 * data.count(b"\r", start, sample_end) >= sample_end - start


def find_last_boundary(data: bytes, start: int) -> int:
    """The end of data if it looks like the end of a request, else where the last one seems to
    begin."""
    mark = data.rfind(b"\r\n*", start)
    while mark >= 0 and not data[mark + 3 : mark + 4].isdigit():
        mark = data.rfind(b"\r\n*", start, mark)
    last = mark + 2 if mark >= 0 else start
    line_end = data.find(b"\r", last + 1)
    count = _parse_integer(data[last + 1 : line_end]) if line_end >= 0 else None
    is_whole = count is not None and data.count(b"\r", last) == 2 * count + 1
    return len(data) if is_whole else last


# -- numbers and words -------------------------------------------------------------------------

_INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,18}")


def _parse_integer(text: bytes) -> int | None:
    """A signed 64-bit integer in its shortest form, as Redis takes lengths; None otherwise."""
    if not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


_BLANKS = b" \t\n\v\f\r"
# Blank lines, and empty arrays. A client may send very many of them, so they are skipped together:
# they cost no memory, and only the time to search them.
_FEW_BLANKS = 64
_EMPTY_STARTS = _BLANKS + b"*"
_EMPTY_REQUESTS = re.compile(
    rb"(?:[ \t\v\f\r]{0,%d}+\n|\*(?:0|-[1-9][0-9]{0,17})\r[\s\S])++" % _FEW_BLANKS
)
# Characters that make a line more than words separated by blanks.
_QUOTES_AND_RARE_BLANKS = re.compile(rb"[\"'\v\f]")
_WORD = re.compile(
    rb"""
    ([^ \t\n\r"']*)  # bare text: VT and FF, blanks elsewhere, do not end it
    (?:
        "([^"\\]*(?:\\.[^"\\]*)*)"  # a backslash escapes any byte
      | '([^'\\]*(?:\\(?:'|(?!'))[^'\\]*)*)'  # a backslash escapes only the quote
    )?
    (?:[ \t\n\v\f\r]+|\Z)  # nothing may touch a closing quote
    """,
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}


def split_inline(line: bytes) -> list[bytes] | None:
    """The words of an inline request or a configuration line; None where a quote is not balanced.

    Quoted text may follow bare text in one word, and ends it. Between double quotes \\xHH, \\n,
    \\r, \\t, \\b and \\a are control bytes and any other escaped byte is itself; between single
    quotes only \\' is an escape. Source: redis-server 7.0.15.
    """
    if _QUOTES_AND_RARE_BLANKS.search(line) is None:
        return [*line.split()]  # a copy: split() makes room for many words
    line = line.lstrip(_BLANKS)
    words = []
    position = 0
    while position < len(line):
        word = _WORD.match(line, position)
        if word is None:
            return None
        bare, double, single = word.groups(default=b"")
        words.append(bare + _ESCAPE.sub(_unescape, double) + single.replace(rb"\'", b"'"))
        position = word.end()
    return words


def _unescape(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    if len(code) == 3:
        return bytes.fromhex(code[1:].decode())
    return _CONTROLS.get(code, code)
