"""The manifest of the append-only file: its parts, in the order in which they are loaded.

Redis 7's format, a line per file:

    file appendonly.aof.2.base.rdb seq 2 type b
    file appendonly.aof.2.incr.aof seq 2 type i

Type b is the base, a snapshot of everything (`.rdb`) or requests that rebuild it (`.aof`); at most
one. Type i are increments, requests in the order of their sequence numbers. Type h is history:
files that a rewrite has replaced and that are to be removed. A start loads the base, then the
increments.

A manifest is immutable: its methods return a new one, which takes effect once it is on disk.

Source: the behaviour of redis-server 7.0.15. Stricter than it: a sequence number is digits only and
a type one letter (it accepts `1x` and `bx`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from protocol.records import frozen_record
from protocol.requests import split_inline

BASE = "b"
INCREMENT = "i"
HISTORY = "h"

# A file with a longer line is refused: it is not a manifest.
MAX_LINE_BYTES = 1023
_ENCODING = ("utf-8", "surrogateescape")  # names of files may be any bytes

_EMPTY = "Found an empty AOF manifest"
_TOO_LONG = "The AOF manifest file contains too long line"
_INVALID = "Invalid AOF manifest file format"
_IS_PATH = "File can't be a path, just a filename"
_TWO_BASES = "Found duplicate base file information"
_NOT_ASCENDING = "Found a non-monotonic sequence number"
_UNKNOWN_TYPE = "Unknown AOF file type"


class ManifestError(Exception):
    """An invalid manifest; `line_number` counts from 1, 0 for an error of the whole file."""

    def __init__(self, reason: str, line_number: int = 0, line: bytes = b"") -> None:
        super().__init__(reason)
        self.reason = reason
        self.line_number = line_number
        self.line = line


@frozen_record
class Part:
    """One file: its name (no path), its sequence number, its type."""

    name: str
    sequence: int
    type: str


@frozen_record
class Manifest:
    """The files, by what they are."""

    base: Part | None = None
    increments: tuple[Part, ...] = ()
    history: tuple[Part, ...] = ()

    @property
    def loaded(self) -> tuple[Part, ...]:
        """The files that are loaded at a start, in this order."""
        return (self.base, *self.increments) if self.base else self.increments

    def next_base(self, filename: str, *, is_snapshot: bool) -> Part:
        """The next rewrite's base, for the directive `appendfilename`."""
        suffix = "base.rdb" if is_snapshot else "base.aof"
        return self._next(filename, suffix, BASE, self.base.sequence if self.base else 0)

    def next_increment(self, filename: str) -> Part:
        """The increment after the last one, for the directive `appendfilename`."""
        last = self.increments[-1].sequence if self.increments else 0
        return self._next(filename, "incr.aof", INCREMENT, last)

    def _next(self, filename: str, suffix: str, part_type: str, last: int) -> Part:
        # A file of this name in the history is about to be removed. Redis does not check this.
        taken = {part.name for part in self.history}
        sequence = last + 1
        while f"{filename}.{sequence}.{suffix}" in taken:
            sequence += 1
        return Part(f"{filename}.{sequence}.{suffix}", sequence, part_type)

    def with_increment(self, part: Part) -> Manifest:
        """With one more increment at the end."""
        return replace(self, increments=(*self.increments, part))

    def rewritten(self, base: Part, increments: tuple[Part, ...]) -> Manifest:
        """After a rewrite: the new base and the increments since; all other files become
        history.
        """
        past = [part for part in self.loaded if part not in increments]
        history = (*self.history, *(replace(part, type=HISTORY) for part in past))
        return Manifest(base, increments, history)

    def without_history(self, names: set[str]) -> Manifest:
        """After these files were removed."""
        return replace(self, history=tuple(p for p in self.history if p.name not in names))

    def format(self) -> bytes:
        """The file's content; "# empty" where Redis would take an empty one for damaged."""
        lines = [
            b"file %b seq %d type %b\n" % (_quoted(part.name), part.sequence, part.type.encode())
            for part in self._in_file_order()
        ]
        return b"".join(lines) or b"# empty\n"

    def _in_file_order(self) -> Iterator[Part]:
        """Iterate over all files in the order in which Redis writes them."""
        if self.base:
            yield self.base
        yield from self.history
        yield from self.increments


def parse(data: bytes) -> Manifest:
    """The manifest in a file's content. Raises ManifestError, with Redis's reasons."""
    if not data:
        raise ManifestError(_EMPTY)
    manifest = Manifest()
    *lines, rest = data.split(b"\n")
    for line_number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE_BYTES or b"\0" in line:
            raise ManifestError(_TOO_LONG, line_number, line)
        if line.startswith(b"#"):
            continue
        try:
            manifest = _with(manifest, _part(line))
        except ValueError as error:
            raise ManifestError(str(error), line_number, line) from None
    if rest:
        # Redis calls a last line that does not end too long.
        raise ManifestError(_TOO_LONG, len(lines) + 1, rest)
    return manifest


def _part(line: bytes) -> Part:
    """The file that a line describes. Raises ValueError with the reason."""
    words = split_inline(line)
    if words is None or len(words) < 6 or len(words) % 2:
        raise ValueError(_INVALID)
    fields = {key.lower(): value for key, value in zip(words[::2], words[1::2], strict=True)}
    name = fields.get(b"file", b"").decode(*_ENCODING)
    sequence, part_type = fields.get(b"seq", b""), fields.get(b"type", b"").decode(*_ENCODING)
    if "/" in name:
        raise ValueError(_IS_PATH)
    if not name or not re.fullmatch(rb"[0-9]{1,18}", sequence) or not int(sequence):
        raise ValueError(_INVALID)
    if part_type not in (BASE, INCREMENT, HISTORY):
        raise ValueError(_UNKNOWN_TYPE if part_type else _INVALID)
    return Part(name, int(sequence), part_type)


def _with(manifest: Manifest, part: Part) -> Manifest:
    """The manifest with one more line. Raises ValueError with the reason."""
    if part.type == HISTORY:
        return replace(manifest, history=(*manifest.history, part))
    if part.type == BASE:
        if manifest.base:
            raise ValueError(_TWO_BASES)
        return replace(manifest, base=part)
    if manifest.increments and part.sequence <= manifest.increments[-1].sequence:
        raise ValueError(_NOT_ASCENDING)
    return manifest.with_increment(part)


_ESCAPES = {b"\\": rb"\\", b'"': rb"\"", b"\n": rb"\n", b"\r": rb"\r", b"\t": rb"\t"}


def _quoted(name: str) -> bytes:
    """The name as one word; in quotes where it has to be.

    Redis writes a name with an apostrophe bare, and then cannot read its own manifest.
    """
    raw = name.encode(*_ENCODING)
    if re.fullmatch(rb"[!#-&(-\[\]-~]+", raw):
        return raw
    return b'"%b"' % re.sub(rb"[^ !#-\[\]-~]", _escape, raw)


def _escape(match: re.Match[bytes]) -> bytes:
    return _ESCAPES.get(match[0], b"\\x%02x" % match[0][0])
