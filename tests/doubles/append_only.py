"""An append-only file over files in memory, and a model of its loader.

A unit is numbered: it propagates SET with its number, every third one as a transaction, on changing
databases. So what is on disk is a list of numbers, and anything lost, doubled or torn shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from commands.core.instance import Instance
from server.inprocess.memory_files import MemoryFiles
from server.inprocess.server import InProcessServer
from server.persistence.append_only.append_only_file import AppendOnlyFile
from server.persistence.append_only.directory import ManualSyncer
from storage.append_only.manifest import parse
from storage.append_only.requests import encode_requests

DIRECTORY = "appendonlydir"
MANIFEST = f"{DIRECTORY}/appendonly.aof.manifest"
FIRST = f"{DIRECTORY}/appendonly.aof.1.incr.aof"


class Died(Exception):
    """The process ended, because it could not keep its word."""


def fatal(message: str) -> NoReturn:
    """See `AppendOnlyFile`."""
    raise Died(message)


def unit(number: int) -> list[list[bytes]]:
    """What the unit of this number propagates."""
    request = [b"SET", b"k", b"%d" % number]
    if number % 3:
        return [request]
    return [[b"MULTI"], [b"SET", b"other", b"x"], [b"SELECT", b"5"], request, [b"EXEC"]]


def propagate(instance: Instance, db_index: int, unit: list[list[bytes]]) -> None:
    """Propagate a unit, as the dispatcher does."""
    for request in unit:
        if request[0] == b"SELECT":
            db_index = int(request[1])
        elif request[0] not in (b"MULTI", b"EXEC"):
            instance.propagation.add(db_index, request)
    instance.propagation.end_unit()


def db_of(number: int) -> int:
    """The database that its first request is for."""
    return number // 4 % 2


def db_of_number(number: int) -> int:
    """The database that its number is set in."""
    return db_of(number) if number % 3 else 5


@dataclass
class Server:
    """A server that has nothing but an append-only file."""

    files: MemoryFiles
    policy: str = "always"

    def __post_init__(self) -> None:
        self.core = InProcessServer(appendfsync=self.policy)
        self.instance = self.core.instance
        self.state = self.instance.persistence
        self.syncer = ManualSyncer()
        self.health_changes: list[str] = []
        self.file = AppendOnlyFile(
            self.instance,
            self.files,
            self.syncer,
            fatal,
            lambda: self.health_changes.append(self.state.write_error),
        )
        # Numbers go on where the files end: what is loaded is part of the data.
        self.last = self.first = last_number(self.files)

    @property
    def synced(self) -> int:
        """The number up to which everything is on disk, as the file says."""
        return self.first + self.file.synced_units

    def write(self, count: int = 1) -> None:
        """Units, in one cycle without its end."""
        for _ in range(count):
            self.last += 1
            propagate(self.instance, db_of(self.last), unit(self.last))

    def cycle(self, count: int = 1, *, ms: int = 0) -> None:
        """A whole cycle: requests, then the file, then (after it returned) replies."""
        self.pass_time(ms)
        self.write(count)
        self.file.flush(self.instance.monotonic_ms)

    def pass_time(self, ms: int) -> None:
        """Move the clocks."""
        self.instance.now_ms += ms
        self.instance.monotonic_ms += ms

    def tick(self, ms: int = 100) -> None:
        """The timer."""
        self.pass_time(ms)
        self.file.maintain(self.instance.monotonic_ms)

    def write_base(self, path: str) -> None:
        """What a child does: a base of all that is there. Raises OSError."""
        file = self.files.create(path)
        try:
            data = b"".join(
                encode_requests([[b"SELECT", b"%d" % db_of_number(n)], [b"SET", b"k", b"%d" % n]])
                for n in range(1, self.last + 1)
            )
            while data:
                data = data[file.write(data) :]
            file.sync()
        finally:
            file.close()

    def rewrite(self) -> None:
        """A rewrite whose child is done at once. Raises OSError."""
        self.file.begin_rewrite()
        self.finish(self.file.temporary_base_path)

    def finish(self, path: str) -> None:
        """The child's work, then ours. Raises OSError; then the rewrite was abandoned."""
        try:
            self.write_base(path)
            self.file.finish_rewrite(path, is_snapshot=False)
        except OSError:
            self.file.abandon_rewrite(path)
            raise


def opened(policy: str, files: MemoryFiles | None = None) -> Server:
    """A server that has started."""
    server = Server(files or MemoryFiles(), policy)
    server.file.open()
    return server


class Unloadable(Exception):
    """A server would refuse to start with these files."""


class TornInside(Unloadable):
    """A file is torn that is not the last one; `numbers` are those before the tear."""

    def __init__(self, numbers: list[int]) -> None:
        super().__init__(numbers)
        self.numbers = numbers


def last_number(files: MemoryFiles) -> int:
    """See `load`; 0 without files."""
    numbers = load(files)
    return numbers[-1] if numbers else 0


def load(files: MemoryFiles) -> list[int]:
    """The numbers of all units that are loaded, in order. Raises Unloadable, ManifestError.

    As a loader does, a torn end of the last file (of those that are not empty) is left out.
    """
    paths = loaded_paths(files)
    contents = files.snapshot()
    numbers: list[int] = []
    for path in paths:
        found, whole_bytes = _units(contents[path])
        numbers += found
        if whole_bytes < len(contents[path]) and path != paths[-1]:
            raise TornInside(numbers)
    return numbers


def cut_torn_end(files: MemoryFiles) -> None:
    """What a loader does with the last file that is not empty."""
    paths = loaded_paths(files)
    if paths:
        _, whole_bytes = _units(files.snapshot()[paths[-1]])
        file = files.append(paths[-1])
        file.truncate(whole_bytes)
        file.sync()
        file.close()


def loaded_paths(files: MemoryFiles) -> list[str]:
    """What the manifest names, without empty files at the end. Raises Unloadable."""
    contents = files.snapshot()
    if MANIFEST not in contents:
        return []
    paths = [f"{DIRECTORY}/{part.name}" for part in parse(contents[MANIFEST]).loaded]
    missing = [path for path in paths if path not in contents]
    if missing:
        raise Unloadable(f"the manifest names files that are not there: {missing}")
    while paths and not contents[paths[-1]]:
        paths.pop()
    return paths


def _units(content: bytes) -> tuple[list[int], int]:
    """The numbers in a file, and where the last whole unit ends."""
    numbers: list[int] = []
    inside: list[int] | None = None
    whole_bytes = db_index = 0
    for argv, end in requests_in(content):
        if argv[0] == b"MULTI":
            inside = []
        elif argv[0] == b"EXEC":
            assert inside is not None
            numbers += inside
            inside = None
        elif argv[0] == b"SELECT":
            db_index = int(argv[1])
        elif argv[1] == b"k":
            assert db_index == db_of_number(int(argv[2])), "a SELECT is missing"
            (numbers if inside is None else inside).append(int(argv[2]))
        if inside is None:
            whole_bytes = end
    return numbers, whole_bytes


def requests_in(content: bytes) -> Iterator[tuple[list[bytes], int]]:
    """Whole requests and where each ends; a torn one at the end is not among them."""
    position = 0
    while True:
        annotation = re.compile(rb"#[^\n]*\n").match(content, position)
        if annotation:
            position = annotation.end()
            continue
        count, position = _header(content, position, b"*")
        argv = []
        for _ in range(count):
            length, position = _header(content, position, b"$")
            argv.append(content[position : position + length])
            position += length + 2
        if not count or position > len(content):
            return
        yield argv, position


def _header(content: bytes, position: int, mark: bytes) -> tuple[int, int]:
    """The number in a line, and where the line ends; past the end if there is no whole line."""
    end = content.find(b"\r\n", position)
    if end < 0 or position > len(content):
        return 0, len(content) + 1
    assert content[position : position + 1] == mark, content[position : position + 20]
    return int(content[position + 1 : end]), end + 2
