"""Writes RDB files: whole databases in Redis's own format.

The version in the header is the oldest that supports the content: 11 for strings and plain streams,
which Redis 7.2 and Valkey read, 13 for streams that remember producers' messages, 14 for streams
with released entries. `SnapshotOptions.stream_type` fixes it instead: every stream is then written
in that form, without the state that the form cannot represent.

Guarantees: output is passed on in pieces of at least CHUNK_BYTES (the last may be smaller), so
memory for a copy of the data is never needed. Keys come in the order of the databases' own tables.

Leaves out: the check for expired keys, as in Redis; the reader does it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from storage.keyspace.database import Database
from storage.policies.rows import texts_of
from storage.redis_format.primitives import (
    NO_CHECKSUM,
    crc64,
    encode_checksum,
    encode_length,
    encode_string,
)
from storage.snapshot import opcodes
from storage.snapshot.format import SnapshotOptions, encode_header
from storage.snapshot.values.table import plain_version, value_pieces, value_type, value_version
from storage.stream import Stream
from storage.types.value import StringValue

CHUNK_BYTES = 64 * 1024

# How many keys are written between two reports of progress.
KEYS_PER_REPORT = 1024

# The oldest version of the format with libraries of functions.
LIBRARIES_VERSION = 10

Write = Callable[[bytes], object]


def write_snapshot(
    databases: Sequence[Database],
    write: Write,
    options: SnapshotOptions,
    *,
    now_ms: int,
    aux: dict[bytes, bytes],
    libraries: Sequence[bytes] = (),
    progress: Callable[[int], object] | None = None,
    keys_per_report: int = KEYS_PER_REPORT,
) -> int:
    """Write all keys of all databases; return their number.

    `libraries` are the sources of libraries of functions. `aux` goes into the header as it is.
    `progress` is called every `keys_per_report` keys with the number of keys written. What `write`
    raises passes through.
    """
    output = _Output(write)
    report = _Report(progress, keys_per_report)
    version = max((_version(database, options) for database in databases), default=0)
    version = version or plain_version(options)
    if libraries:
        version = max(version, LIBRARIES_VERSION)
    output.put(encode_header(version))
    for name, text in aux.items():
        output.put(_aux_field(name, text))
    for code in libraries:
        output.put(encode_library(code, compress=options.compress))
    written = 0
    for database in databases:
        if len(database):
            written = _write_database(database, output, options, now_ms, written, report)
    output.put(bytes((opcodes.EOF,)))
    output.flush()
    write(encode_checksum(output.checksum) if options.checksum else NO_CHECKSUM)
    return written


def standard_aux(
    redis_version: bytes,
    now_ms: int,
    used_memory_bytes: int,
    history: dict[bytes, bytes],
    *,
    aof_base: bool,
) -> dict[bytes, bytes]:
    """Return the fields about the server and its replication in the header of each snapshot."""
    return {
        b"redis-ver": redis_version,
        b"redis-bits": b"64",
        b"ctime": b"%d" % (now_ms // 1000),
        b"used-mem": b"%d" % used_memory_bytes,
        **history,
        b"aof-base": b"%d" % aof_base,
    }


# -- the parts of a file -----------------------------------------------------------------------


def _version(database: Database, options: SnapshotOptions) -> int:
    """Return the version that a database's values need; 0 if all are strings, which need none."""
    if options.newest_version is not None:
        return options.newest_version
    values = database.values.values()
    others = (value for value in values if type(value) is not StringValue)
    return max({value_version(value, options) for value in others}, default=0)


def _write_database(
    database: Database,
    output: _Output,
    options: SnapshotOptions,
    now_ms: int,
    written: int,
    report: _Report,
) -> int:
    """Write a database that is not empty; return `written` plus the number of its keys."""
    put = output.put
    expires = database.expires
    sizes = encode_length(len(database)) + encode_length(len(expires))
    put(b"%c%b%c%b" % (opcodes.SELECT_DB, encode_length(database.index), opcodes.RESIZE_DB, sizes))
    for key, value in database.items():
        if isinstance(value, Stream):
            if (journal := value.ack_journal) is not None:
                put(_aux_field(opcodes.ACK_JOURNAL, journal.to_text()))
            if value.policy is not None:
                for text in texts_of(value):
                    put(_aux_field(opcodes.POLICY, text))
        if value.deadline:
            when_ms = expires.at(value.deadline)
            put(b"%c%b" % (opcodes.EXPIRE_TIME_MS, when_ms.to_bytes(8, "little", signed=True)))
        if options.keeps_idle_times:
            idle_s = max(now_ms - value.access_ms, 0) // 1000
            put(b"%c%b" % (opcodes.IDLE, encode_length(idle_s)))
        elif options.keeps_frequencies:
            put(b"%c%c" % (opcodes.FREQUENCY, value.frequency))
        put(b"%c%b" % (value_type(value, options), encode_string(key, compress=options.compress)))
        for piece in value_pieces(value, options, now_ms):
            put(piece)
        written += 1
        if report.progress is not None and written % report.every_keys == 0:
            report.progress(written)
    return written


def encode_library(code: bytes, *, compress: bool) -> bytes:
    """A library of functions, by its source."""
    return b"%c%b" % (opcodes.FUNCTION, encode_string(code, compress=compress))


def _aux_field(name: bytes, text: bytes) -> bytes:
    words = encode_string(name, compress=False) + encode_string(text, compress=False)
    return b"%c%b" % (opcodes.AUX, words)


class _Report(NamedTuple):
    """A callback for the number of keys written, and the number of keys between two calls."""

    progress: Callable[[int], object] | None
    every_keys: int


class _Output:
    """A buffer that passes output on in chunks, and computes its checksum."""

    def __init__(self, write: Write) -> None:
        self.checksum = 0  # of what was written
        self._write = write
        self._parts: list[bytes] = []
        self._size_bytes = 0

    def put(self, data: bytes) -> None:
        self._parts.append(data)
        self._size_bytes += len(data)
        if self._size_bytes >= CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._parts:
            return
        chunk = b"".join(self._parts)
        self._parts.clear()
        self._size_bytes = 0
        self.checksum = crc64(chunk, self.checksum)
        self._write(chunk)
