"""Inspection of data files: their kind, their content, and where they are damaged.

A file's kind follows from its content: a manifest, a snapshot, requests, or a snapshot followed by
requests. The data is loaded into an in-process server, and what that holds is counted: so the
result is what a server would have after loading, and takes as much memory.

Snapshots are read with every check, and compact nodes are decoded, so that the reported place of
damage is exact. Keys of unsupported types are counted by name, and are no damage.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import nlargest

from commands.core.instance import Instance
from server.inprocess.server import InProcessServer
from server.persistence.files import Buffer, Files, write_all
from server.persistence.loading.replay import Replay, UnreplayableRequest
from server.persistence.loading.snapshot_restore import SnapshotRestore, UnfitContent
from storage.append_only import manifest as manifests
from storage.append_only.manifest import Manifest, ManifestError
from storage.append_only.reader import DamagedFile, RequestFile, TornFile
from storage.keyspace.database import Database
from storage.redis_format.primitives import CHECKSUM_BYTES, NO_CHECKSUM, CorruptSnapshot
from storage.snapshot.format import ForeignSnapshot, begins_snapshot
from storage.snapshot.reader import SnapshotReader, UnsupportedValue
from storage.stream import Stream


def data_files(files: Files, path: str) -> list[str]:
    """The manifest (or the append-only file without one) and the snapshots in a folder.

    The names that a configuration gives them are not known, so endings decide. A path that is no
    folder is returned as it is. Raises OSError.
    """
    try:
        names = files.names(path)
    except (FileNotFoundError, NotADirectoryError):
        return [path]
    manifests = _ending(names, ".manifest")
    for folder in names:
        with contextlib.suppress(OSError):  # a file, or the folder of something else
            inner = files.names(os.path.join(path, folder))
            manifests += [f"{folder}/{name}" for name in _ending(inner, ".manifest")]
    found = (manifests or _ending(names, ".aof")) + _ending(names, ".rdb")
    return [os.path.join(path, name) for name in found]


def manifest_of(files: Files, path: str) -> tuple[str, Manifest]:
    """The manifest in a file's folder that names it, with its path; empty if there is none.

    Raises OSError.
    """
    directory, name = os.path.split(path)
    for other in _ending(files.names(directory or "."), ".manifest"):
        listed = os.path.join(directory, other)
        with contextlib.suppress(ManifestError):
            manifest = manifests.parse(bytes(files.buffer(listed)))
            if any(part.name == name for part in manifest.loaded):
                return listed, manifest
    return "", Manifest()


def _ending(names: list[str], suffix: str) -> list[str]:
    """The names with an ending, but for those of files that were not finished."""
    return [name for name in names if name.endswith(suffix) and not name.startswith("temp-")]


# How many of the largest streams are listed.
BIGGEST_STREAMS = 5

# The plural of each type's name, which is its field of DatabaseContents.
COUNTED_AS = {
    b"stream": "streams",
    b"string": "strings",
    b"list": "lists",
    b"set": "sets",
    b"zset": "sorted_sets",
    b"hash": "hashes",
}


@dataclass
class DatabaseContents:
    """Counts of one database that is not empty."""

    index: int
    keys: int = 0
    strings: int = 0
    streams: int = 0
    expiring: int = 0  # keys with a time to live
    expired: int = 0  # of these, past it
    entries: int = 0
    groups: int = 0
    consumers: int = 0
    pending: int = 0
    lists: int = 0
    sets: int = 0
    sorted_sets: int = 0
    hashes: int = 0


@dataclass
class BigStream:
    """One of the streams with the most entries."""

    database: int
    key: str
    entries: int
    groups: int
    pending: int


@dataclass
class Contents:
    """Counts of all databases."""

    databases: list[DatabaseContents] = field(default_factory=list)
    biggest_streams: list[BigStream] = field(default_factory=list)


def count_contents(databases: list[Database], now_ms: int) -> Contents:
    """Count everything. Looks at every key once."""
    contents = Contents([_count(db, now_ms) for db in databases if len(db)])
    streams = [
        (value.length, db.index, key, value)
        for db in databases
        for key, value in db.values.items()
        if isinstance(value, Stream)
    ]
    for length, index, key, stream in nlargest(BIGGEST_STREAMS, streams, key=lambda s: s[0]):
        pending = sum(len(group.pending) for group in stream.groups.values())
        contents.biggest_streams.append(
            BigStream(index, printable(key), length, len(stream.groups), pending)
        )
    return contents


def _count(db: Database, now_ms: int) -> DatabaseContents:
    counts = DatabaseContents(db.index, keys=len(db), expiring=len(db.expires))
    counts.expired = sum(when_ms < now_ms for _, when_ms in db.expires.items())
    for value in db.values.values():
        name = COUNTED_AS[value.type_name]
        setattr(counts, name, getattr(counts, name) + 1)
        if not isinstance(value, Stream):
            continue
        counts.entries += value.length
        counts.groups += len(value.groups)
        for group in value.groups.values():
            counts.consumers += len(group.consumers)
            counts.pending += len(group.pending)
    return counts


def printable(text: bytes) -> str:
    """A key as text: control bytes, and bytes that are not UTF-8, are escaped."""
    decoded = text.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in decoded)


def cut(files: Files, path: str, size: int) -> str:
    """Truncate a file to `size` bytes; the rest goes to `<path>.cut-<size>`.

    The copy is synced to disk before the file is truncated. Returns its path; raises OSError.
    """
    copy_path = copy_rest(files, path, size)
    truncate_file(files, path, size)
    return copy_path


def copy_rest(files: Files, path: str, size: int) -> str:
    """Copy what follows `size` bytes, synced to disk. Returns the copy's path; raises OSError."""
    rest = files.buffer(path)[size:]
    copy_path = free_name(files, f"{path}.cut-{size}")
    copy = files.create(copy_path)
    try:
        write_all(copy, rest)
        copy.sync()
    finally:
        copy.close()
    files.sync_directory(os.path.dirname(path) or ".")
    return copy_path


def truncate_file(files: Files, path: str, size: int) -> None:
    """Truncate a file, synced to disk. Raises OSError."""
    file = files.append(path)
    try:
        file.truncate(size)
        file.sync()
    finally:
        file.close()


def free_name(files: Files, wanted: str) -> str:
    """An unused name: an earlier copy is never overwritten."""
    name, number = wanted, 1
    while files.exists(name):
        number += 1
        name = f"{wanted}-{number}"
    return name


# Called with the path, the bytes read so far, and the size.
Progress = Callable[[str, int, int], object]

MANIFEST, SNAPSHOT, REQUESTS, BOTH, EMPTY, UNKNOWN = (
    "manifest",
    "snapshot (RDB)",
    "append-only file",
    "append-only file with a snapshot in front",
    "empty file",
    "unknown file",
)

# More than any configuration has: SELECT in a file must not fail for that.
_DATABASES = 1024
# Redis's name for what follows a base.
INCREMENT_SUFFIX = ".incr.aof"
# After damage, how many places that look like the start of a request are tried.
_MAX_RESUMPTIONS = 1000


@dataclass
class Problem:
    """Where and why a file is damaged."""

    offset: int
    reason: str
    sound_bytes: int = 0  # the file would be sound if it ended here
    is_torn: bool = False  # only its last request or transaction is incomplete
    can_be_cut: bool = False
    lost_bytes: int = 0  # by cutting
    lost_requests: int = 0  # of these, those that can still be read
    is_foreign: bool = False  # a request or format that only other servers know: no damage


@dataclass
class FileReport:
    """The report on one file. Numbers that its kind does not have are 0, texts empty."""

    path: str
    kind: str
    size: int
    problem: Problem | None = None
    version: int = 0  # of a snapshot's format
    written_by: str = ""  # the version of Redis that it names, or "Valkey" and a version
    written_at_s: int = 0  # Unix time
    checksum: str = ""  # "right", "wrong" or "none"
    unsupported: dict[str, int] = field(default_factory=dict)  # by name of the type
    requests: int = 0
    requests_at: int = 0  # the offset of the first one
    last_written_s: int = 0  # the last time annotation
    refused: dict[str, int] = field(default_factory=dict)  # writes, by command: a start stops
    first_refusal: str = ""  # which write, where and why
    no_effect: dict[str, int] = field(default_factory=dict)  # other requests, by command
    fixed: str = ""  # how the problem was fixed


@dataclass
class Report:
    """The report on one argument: a file, or a manifest and its files."""

    path: str
    files: list[FileReport]
    contents: Contents

    @property
    def is_sound(self) -> bool:
        """True if all damage is fixed, if there was any, and a start would accept all writes."""
        return all((file.problem is None or file.fixed) and not file.refused for file in self.files)


class Inspector:
    """Inspects one argument."""

    def __init__(self, files: Files, now_ms: int, progress: Progress) -> None:
        self._files = files
        self._now_ms = now_ms
        self._progress = progress
        self._instance = _instance(now_ms)
        self._reports: list[FileReport] = []
        # Whether the files before this one are loaded, as at a start: else refusals mean nothing.
        self._knows_earlier_data = True

    def inspect(self, path: str) -> Report:
        """Inspect a file, or all files of a manifest. Raises OSError."""
        buffer = self._files.buffer(path)
        report = FileReport(path, _kind(buffer), len(buffer))
        self._reports.append(report)
        if report.kind == MANIFEST:
            self._inspect_manifest(report, bytes(buffer))
        else:
            self._load_earlier_parts(path)
            self._inspect_data(report, buffer, may_be_torn=True)
        return Report(path, self._reports, count_contents(self._instance.databases, self._now_ms))

    # -- manifests -----------------------------------------------------------------------------

    def _inspect_manifest(self, report: FileReport, data: bytes) -> None:
        try:
            manifest = manifests.parse(data)
        except ManifestError as error:
            lines = data.split(b"\n")[: max(0, error.line_number - 1)]
            offset = sum(len(line) + 1 for line in lines)
            report.problem = Problem(offset, f"line {error.line_number}: {error.reason}")
            return
        directory = os.path.dirname(report.path) or "."
        for part in manifest.loaded:
            path = f"{directory}/{part.name}"
            if not self._files.exists(path):
                offset = max(0, data.find(part.name.encode()))
                reason = f"it names {part.name}, and there is no such file"
                report.problem = Problem(offset, reason)
                return
        self._reports += self._inspect_parts(
            [f"{directory}/{part.name}" for part in manifest.loaded]
        )

    def _inspect_parts(self, paths: list[str]) -> list[FileReport]:
        """Inspect one file after the other, up to the first that is damaged."""
        reports = []
        sizes = [self._files.size(path) for path in paths]
        for index, path in enumerate(paths):
            buffer = self._files.buffer(path)
            report = FileReport(path, _kind(buffer), len(buffer))
            reports.append(report)
            self._inspect_data(report, buffer, may_be_torn=not any(sizes[index + 1 :]))
            if report.problem is not None:
                break
        return reports

    def _load_earlier_parts(self, path: str) -> None:
        """Load the files that precede an increment in its manifest, as at a start.

        Without them most of its writes would be refused.
        """
        earlier = self._earlier_parts(path)
        if earlier is not None and all(map(self._files.exists, earlier)):
            reports = self._inspect_parts(earlier)
            if all(report.problem is None for report in reports):
                return
            self._instance = _instance(self._now_ms)
        self._knows_earlier_data = earlier is None and not path.endswith(INCREMENT_SUFFIX)

    def _earlier_parts(self, path: str) -> list[str] | None:
        """The files that precede it; None if no manifest in its directory names it."""
        listed, manifest = manifest_of(self._files, path)
        if not listed:
            return None
        directory, name = os.path.split(path)
        names = [part.name for part in manifest.loaded]
        return [os.path.join(directory, one) for one in names[: names.index(name)]]

    # -- data ----------------------------------------------------------------------------------

    def _inspect_data(self, report: FileReport, buffer: Buffer, *, may_be_torn: bool) -> None:
        position = 0
        if report.kind == SNAPSHOT:
            position = self._inspect_snapshot(report, buffer)
            if report.problem is None and position < report.size:
                report.kind = BOTH
        report.requests_at = position
        if report.kind in (REQUESTS, BOTH):
            self._inspect_requests(report, buffer, position, may_be_torn)
        elif report.kind == EMPTY and report.path.endswith(".rdb"):
            report.problem = Problem(0, "it is empty, but a snapshot never is")
        elif report.kind == UNKNOWN:
            report.problem = Problem(
                0, f"neither a manifest, a snapshot nor requests: {buffer[:8]!r}"
            )

    def _inspect_snapshot(self, report: FileReport, buffer: Buffer) -> int:
        """Inspect a snapshot; returns the offset of its end."""
        reader = None
        try:
            reader = SnapshotReader(
                buffer, skip_unsupported=True, whole_file=False, now_ms=self._now_ms
            )
            restore = SnapshotRestore(
                self._instance, reader, now_ms=self._now_ms, keeps_expired=True
            )
            for position in restore.steps():
                self._progress(report.path, position, report.size)
            stored = buffer[reader.end - CHECKSUM_BYTES : reader.end]
            report.checksum = "none" if stored == NO_CHECKSUM else "right"
        except UnsupportedValue as error:
            report.problem = Problem(error.offset, str(error), is_foreign=True)
        except (CorruptSnapshot, UnfitContent) as error:
            report.problem = Problem(error.offset, error.reason)
            report.problem.is_foreign = isinstance(error, ForeignSnapshot)
            if "checksum" in error.reason:
                report.checksum = "wrong"
        if reader is None:
            return 0
        report.version = reader.version
        report.written_by = reader.aux.get(b"redis-ver", b"").decode("latin-1")
        if (valkey_version := reader.aux.get(b"valkey-ver")) is not None:
            report.written_by = f"Valkey {valkey_version.decode('latin-1')}"
        created = reader.aux.get(b"ctime", b"")
        report.written_at_s = int(created) if created.isdigit() else 0
        report.unsupported = dict(reader.skipped)
        return reader.end

    def _inspect_requests(
        self, report: FileReport, buffer: Buffer, position: int, may_be_torn: bool
    ) -> None:
        file = RequestFile(buffer, position)
        replay = Replay(self._instance, report.path)
        try:
            for batch in file.batches():
                replay.run(batch)
                self._progress(report.path, file.position, report.size)
            if replay.open_unit_offset is not None:
                report.problem = _torn(replay.open_unit_offset, "the last transaction has no end")
        except TornFile as error:
            report.problem = _torn(error.offset, "the last request is not complete")
        except DamagedFile as error:
            report.problem = _damaged(buffer, file.position, error)
        except UnreplayableRequest as error:
            # The server that wrote it may know the command, so this is no reason to cut the file.
            report.problem = Problem(
                error.offset, error.reason, sound_bytes=error.unit_offset, is_foreign=True
            )
            may_be_torn = False
        except UnfitContent as error:
            report.problem = Problem(error.offset, error.reason)
            may_be_torn = False
        report.requests = replay.requests
        report.last_written_s = file.timestamp_s or 0
        report.no_effect = dict(replay.passed_over)
        if self._knows_earlier_data:
            report.refused = dict(replay.refusals)
            report.first_refusal = str(replay.first_refusal or "")
        else:
            report.no_effect |= replay.refusals
        if report.problem is not None:
            if replay.open_unit_offset is not None:
                report.problem.sound_bytes = replay.open_unit_offset
            _weigh(report.problem, buffer, may_be_torn)


def _instance(now_ms: int) -> Instance:
    return InProcessServer(now_ms, databases=str(_DATABASES)).instance


def _kind(buffer: Buffer) -> str:
    """The kind of a file, by its first bytes."""
    if not buffer:
        return EMPTY
    begin = buffer[:4096]
    if begins_snapshot(begin):
        return SNAPSHOT
    if begin.startswith(b"*"):
        return REQUESTS
    lines = begin.split(b"\n")
    first = next((line for line in lines if not line.startswith(b"#")), b"")
    if first.startswith(b"file ") or (begin.startswith(b"#") and not first):
        return MANIFEST if not begin.startswith(b"#TS:") else REQUESTS
    return REQUESTS if begin.startswith(b"#") else UNKNOWN


def _torn(offset: int, reason: str) -> Problem:
    return Problem(offset, reason, sound_bytes=offset, is_torn=True)


def _damaged(buffer: Buffer, request_offset: int, error: DamagedFile) -> Problem:
    """The problem for damage in the request at `request_offset`.

    Zeros up to the end count as torn: some file systems leave them when a power failure interrupts
    a write.
    """
    if buffer[-1:] == b"\0" and _is_torn(buffer[request_offset:].rstrip(b"\0")):
        return _torn(request_offset, "the last request is not complete, but for zero bytes")
    reason = f"{error.expected} expected, found {error.found[:16]!r}"
    return Problem(error.offset, reason, sound_bytes=request_offset)


def _is_torn(data: bytes) -> bool:
    """Return True if data is the start of an incomplete request."""
    try:
        for _ in RequestFile(data).batches():
            return False
    except TornFile:
        return True
    except DamagedFile:
        return False
    return True


def _weigh(problem: Problem, buffer: Buffer, may_be_torn: bool) -> None:
    """Count what would be lost by truncating the file to its sound part."""
    problem.can_be_cut = may_be_torn
    problem.lost_bytes = len(buffer) - problem.sound_bytes
    if not problem.is_torn:
        problem.lost_requests = _count_requests_after(buffer, problem.offset)


def _count_requests_after(buffer: Buffer, offset: int) -> int:
    """Return the number of requests after damage, from the first place where one can be read."""
    mark = buffer.find(b"\r\n*", offset)
    for _ in range(_MAX_RESUMPTIONS):
        if mark < 0:
            break
        count = _count_requests(buffer, mark + 2)
        if count:
            return count
        mark = buffer.find(b"\r\n*", mark + 1)
    return 0


def _count_requests(buffer: Buffer, position: int) -> int:
    count = 0
    try:
        for batch in RequestFile(buffer, position).batches():
            count += len(batch.requests)
    except (TornFile, DamagedFile):
        pass
    return count
