"""A strict parser of the requests in an append-only file.

Stricter than the protocol: a request is an array of bulk strings, numbers have no leading zeros,
lines end in CR LF; between requests there may be annotations, lines that begin with `#` (`#TS:<Unix
seconds>`). So every request has exactly one encoding, and its offset in the file follows from the
requests before it.

The cutter (protocol/request.py) finds the requests that are whole within a batch; they stay bytes.
Everything else goes through `_scan`, which finds the end of one request, or reports the error and
its offset.

A file that ends within a request is torn (`TornFile`): its end is missing, and what precedes is
sound. Anything else is damage (`DamagedFile`). An announced length beyond the end of the file
counts as torn, as in Redis: the two cases cannot be distinguished.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator

from protocol.records import record
from protocol.request import Cutter, words_of_all

Buffer = bytes | mmap.mmap

# About a thousand small requests: with more, they do not stay in the processor's cache.
BATCH_BYTES = 1 << 16

# `*` or `$`, the longest number, CR LF.
_MAX_LINE_BYTES = 1 + 20 + 2
_MAX_ANNOTATION_BYTES = 1024
_CRLF = b"\r\n"


class TornFile(Exception):
    """The file ends within the request (or annotation) that begins at `offset`."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"the file ends within the request at offset {offset}")
        self.offset = offset


class DamagedFile(Exception):
    """The bytes at `offset` are not valid there."""

    def __init__(self, offset: int, expected: str, found: bytes) -> None:
        super().__init__(f"{expected} expected at offset {offset}, found {found!r}")
        self.offset = offset
        self.expected = expected
        self.found = found


@record
class Batch:
    """Requests that follow one another without an annotation between them."""

    offset: int  # of the first request, in the file
    text: bytes  # their encoding, plain (protocol/request.py)

    @property
    def requests(self) -> list[list[bytes]]:
        """The words of the requests, in order."""
        return words_of_all(self.text)


class RequestFile:
    """The requests in a buffer, from `position` on."""

    def __init__(self, buffer: Buffer, position: int = 0) -> None:
        self.position = position  # everything before was read
        self.timestamp_s: int | None = None  # of the last annotation that has one
        self.end = len(buffer)
        self._buffer = buffer
        self._cutter = Cutter()

    def batches(self) -> Iterator[Batch]:
        """All requests in order.

        Raises TornFile and DamagedFile; requests before that are sound.
        """
        while self.position < self.end:
            batch = self._next()
            if batch is not None:
                self.position = batch.offset + len(batch.text)
                yield batch

    def _next(self) -> Batch | None:
        """The requests at the position; None if there was an annotation."""
        if self._buffer[self.position] == ord("#"):
            self.position = self._scan_annotation(self.position)
            return None
        return self._cut() or self._scan()

    def _cut(self) -> Batch | None:
        """The plain requests at the position; None if the first is not whole in these bytes."""
        start = self.position
        text = self._buffer[start : start + BATCH_BYTES]
        if b"#" in text:  # a search for one byte is much faster than for three
            annotation = text.find(b"\r\n#")
            if annotation >= 0:
                text = text[: annotation + len(_CRLF)]
        cutter = self._cutter
        cutter.load(text)
        while cutter.next():
            pass
        return Batch(start, text[: cutter.position]) if cutter.position else None

    # -- the scanner ---------------------------------------------------------------------------

    def _scan(self) -> Batch:
        """The request at the position: it is long, or not whole, or none."""
        buffer, start = self._buffer, self.position
        count, position = self._scan_number(start, start, b"*")
        if count == 0:
            raise DamagedFile(start, "the number of a request's words", b"*0")
        for _ in range(count):
            length, position = self._scan_number(start, position, b"$")
            word_end = position + length
            if word_end + len(_CRLF) > self.end:
                if buffer[word_end : self.end] not in (b"", b"\r"):
                    raise DamagedFile(word_end, "CR LF", buffer[word_end : self.end])
                raise TornFile(start)
            if buffer[word_end : word_end + len(_CRLF)] != _CRLF:
                raise DamagedFile(word_end, "CR LF", buffer[word_end : word_end + len(_CRLF)])
            position = word_end + len(_CRLF)
        return Batch(start, buffer[start:position])

    def _scan_number(self, start: int, position: int, mark: bytes) -> tuple[int, int]:
        """The number in the line at `position`, and where the line ends."""
        buffer, end = self._buffer, self.end
        line_end = buffer.find(_CRLF, position, position + _MAX_LINE_BYTES)
        is_torn = line_end < 0 and end - position < _MAX_LINE_BYTES
        line = buffer[position : end if is_torn else max(line_end, position + 1)]
        if line[:1] not in (mark, b""):
            raise DamagedFile(position, f"'{mark.decode()}'", line[:1])
        digits = line[1:].removesuffix(b"\r") if is_torn else line[1:]
        if digits and not (digits.isdigit() and (digits[:1] != b"0" or digits == b"0")):
            raise DamagedFile(position + 1, "a number", digits)
        if is_torn:
            raise TornFile(start)
        if not digits:
            found = buffer[position + 1 : position + _MAX_LINE_BYTES]
            raise DamagedFile(position + 1, "a number", found)
        return int(digits), line_end + len(_CRLF)

    def _scan_annotation(self, start: int) -> int:
        """Where the line of an annotation ends."""
        line_end = self._buffer.find(_CRLF, start, start + _MAX_ANNOTATION_BYTES)
        if line_end < 0:
            if self.end - start < _MAX_ANNOTATION_BYTES:
                raise TornFile(start)
            raise DamagedFile(start, "the end of an annotation", self._buffer[start : start + 16])
        line = self._buffer[start:line_end]
        if line.startswith(b"#TS:") and line[4:].isdigit():
            self.timestamp_s = int(line[4:])
        return line_end + len(_CRLF)
