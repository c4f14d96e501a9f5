"""An in-memory file system with fault injection and simulated crashes, for tests.

    files = MemoryFiles()
    files.fail("write", errno.ENOSPC)              # every write from now on, until files.heal()
    files.fail("any", errno.EIO, at=17)            # the 17th operation from now, and only that one
    files.shorten(5, at=2)                         # the second write takes five bytes only
    files.free_bytes = 4096                        # a disk that becomes full
    after = files.crash()                          # a power failure: the files as it leaves them
    after = files.crash(chooser)                   # one of the many possible outcomes
    after = files.kill()                           # only the process dies (SIGKILL)

A crash keeps what the operating system guarantees, and no more:

* A file's content: everything up to its last `sync`, then any part of the operations since, in
  order, the last one perhaps torn at any byte. Files are independent of each other. (A file system
  that leaves blocks of zeros inside unsynced data is not modelled.)
* A directory's names: everything up to its last `sync_directory`. Of the operations since, any may
  survive without the others, except that operations on one name keep their order and that a rename
  is one step. So a `remove` may be on disk when the `rename` before it is not.
* A file whose name survives but whose content was never synced is empty or torn. A directory that
  was not synced into its parent may be lost with all that it holds.
* A `sync` that failed has synced nothing. `forgetful_sync` decides about a later one: True models
  Linux, where the failed one has marked the pages clean, so that a later one succeeds without
  writing them; the data then stays unsynced unless the whole file is written again.

No sleeps, threads or randomness of its own: `crash` takes a `chooser`; `chooser(n)` returns an
integer from 0 to n: `lambda n: random.randint(0, n)`, or hypothesis's `data.draw`.
"""

from __future__ import annotations

import copy
import errno as errors
import os
import posixpath
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from server.persistence.files import Buffer, File, FolderInUse

Chooser = Callable[[int], int]

OPERATIONS = (
    "append", "create", "write", "sync", "begin_sync", "truncate", "buffer", "size", "names",
    "rename", "remove", "make_directory", "sync_directory",
)  # fmt: skip


def lose_everything(limit: int) -> int:
    """A chooser: only synced data survives."""
    return 0


def keep_everything(limit: int) -> int:
    """A chooser: everything survives, as if it had been synced."""
    return limit


@dataclass(eq=False)
class _Content:
    """A file's content (an inode): its bytes, and the operations since the last sync."""

    live: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    # Since the last sync: appended bytes, or the size to which the file was truncated.
    journal: list[bytes | int] = field(default_factory=list)
    forgotten: int = 0  # operations at the journal's start that no sync will ever write

    def sync(self) -> None:
        if not self.forgotten:
            self.synced = bytes(self.live)
            self.journal.clear()

    def after_crash(self, choose: Chooser) -> bytes:
        survived = choose(len(self.journal))
        content = bytearray(self.synced)
        for operation in self.journal[:survived]:
            _apply(content, operation)
        if survived < len(self.journal):
            torn = self.journal[survived]
            if isinstance(torn, bytes):
                content += torn[: choose(len(torn))]
        return bytes(content)


@dataclass(eq=False)
class _Directory:
    """A directory (an inode)."""


_Entry = _Content | _Directory
# One operation on names: the new target of each name, None if it is removed.
_Step = dict[str, _Entry | None]


@dataclass
class _Fault:
    operation: str
    error: int
    at: int | None  # counts down; None: every call


@dataclass
class _ShortWrite:
    length: int
    at: int  # counts down


class MemoryFiles:
    """`Files` in memory. Directories "." and "/" are there from the start."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()  # by operation, and "any" for all of them
        self.log: list[tuple[str, str]] = []  # (operation, path) of each call, in order
        self.free_bytes: int | None = None
        self.forgetful_sync = False
        self.claimed: list[str] = []  # directories
        self.claim_error: OSError | None = None  # what `claim` raises
        self._names: dict[str, _Entry] = {".": _Directory(), "/": _Directory()}
        self._synced_names = dict(self._names)
        self._steps: list[_Step] = []  # not synced into their directories yet
        self._faults: list[_Fault] = []
        self._short_writes: list[_ShortWrite] = []

    # -- faults --------------------------------------------------------------------------------

    def fail(self, operation: str, error: int, *, at: int | None = None) -> None:
        """Let an operation (one of OPERATIONS, or "any") raise OSError(error).

        Without `at`: every call until `heal`. With `at`: only the at-th one from now.
        """
        assert operation in OPERATIONS or operation == "any", operation
        self._faults.append(_Fault(operation, error, at))

    def shorten(self, length: int, *, at: int = 1) -> None:
        """Let the at-th write from now take `length` bytes at most. It does not fail."""
        assert length > 0
        self._short_writes.append(_ShortWrite(length, at))

    def heal(self) -> None:
        """Remove all faults, and the limit of free space."""
        self._faults.clear()
        self._short_writes.clear()
        self.free_bytes = None

    @property
    def faults_left(self) -> int:
        """Faults that were requested and have not occurred yet."""
        return len(self._faults) + len(self._short_writes)

    def _call(self, operation: str, path: str) -> None:
        """Count a call, and let it fail if a fault is due."""
        self.calls[operation] += 1
        self.calls["any"] += 1
        self.log.append((operation, posixpath.normpath(path)))
        due = [fault for fault in self._faults if fault.operation in (operation, "any")]
        for fault in due:
            if fault.at is not None:
                fault.at -= 1
        for fault in due:
            if not fault.at:
                if fault.at == 0:
                    self._faults.remove(fault)
                raise OSError(fault.error, os.strerror(fault.error), path)

    def _room(self, path: str, wanted: int) -> int:
        """Return the number of bytes that a write accepts. Raises OSError if the disk is full."""
        for short in list(self._short_writes):
            short.at -= 1
            if not short.at:
                self._short_writes.remove(short)
                wanted = min(wanted, short.length)
        if self.free_bytes is not None:
            if wanted and not self.free_bytes:
                raise OSError(errors.ENOSPC, os.strerror(errors.ENOSPC), path)
            wanted = min(self.free_bytes, wanted)
            self.free_bytes -= wanted
        return wanted

    # -- crashes -------------------------------------------------------------------------------

    def crash(self, choose: Chooser = lose_everything) -> MemoryFiles:
        """The files after a power failure now: without faults, and with everything synced.

        This object does not change, so one moment can be tried with several choices.
        """
        names = dict(self._synced_names)
        lost: set[str] = set()  # names with a lost operation: all later ones are lost, too
        for step in self._steps:
            if lost.isdisjoint(step) and choose(1):
                _link(names, step)
            else:
                lost.update(step)
        contents: dict[_Content, bytes] = {}
        for entry in names.values():
            if isinstance(entry, _Content) and entry not in contents:
                contents[entry] = entry.after_crash(choose)
        return _restored(names, contents)

    def kill(self) -> MemoryFiles:
        """The files after the process was killed: every byte that `write` accepted.

        Unsynced data stays unsynced: a `crash` afterwards may lose it.
        """
        files = MemoryFiles()
        files.forgetful_sync = self.forgetful_sync
        files._names, files._synced_names, files._steps = copy.deepcopy(
            (self._names, self._synced_names, self._steps)
        )
        return files

    def snapshot(self) -> dict[str, bytes]:
        """Every file and its present content, for assertions."""
        return {
            path: bytes(entry.live)
            for path, entry in sorted(self._names.items())
            if isinstance(entry, _Content)
        }

    def put(self, path: str, data: bytes) -> None:
        """Add a synced file, to set a scene; does not count as an operation."""
        path = posixpath.normpath(path)
        directory = posixpath.dirname(path) or "."
        while directory not in self._names:
            self._names[directory] = self._synced_names[directory] = _Directory()
            directory = posixpath.dirname(directory) or "."
        self._names[path] = self._synced_names[path] = _Content(bytearray(data), bytes(data))

    # -- Files ---------------------------------------------------------------------------------

    def append(self, path: str) -> File:
        """Open a file for appending; an absent file is created."""
        self._call("append", path)
        entry = self._names.get(posixpath.normpath(path))
        if entry is None:
            return self._new(path)
        if isinstance(entry, _Directory):
            raise OSError(errors.EISDIR, os.strerror(errors.EISDIR), path)
        return MemoryFile(self, path, entry)

    def create(self, path: str) -> File:
        """Open an empty file; an existing one is emptied."""
        self._call("create", path)
        entry = self._names.get(posixpath.normpath(path))
        if entry is None:
            return self._new(path)
        if isinstance(entry, _Directory):
            raise OSError(errors.EISDIR, os.strerror(errors.EISDIR), path)
        if entry.live:
            entry.live.clear()
            entry.journal.append(0)
        entry.forgotten = 0
        return MemoryFile(self, path, entry)

    def buffer(self, path: str) -> Buffer:
        """Return a copy of the whole content."""
        self._call("buffer", path)
        return bytes(self._file(path).live)

    def size(self, path: str) -> int:
        """Return the size in bytes."""
        self._call("size", path)
        return len(self._file(path).live)

    def leads_to(self, path: str, file: File) -> bool:
        """Compare the contents by identity."""
        assert isinstance(file, MemoryFile)
        return self._names.get(posixpath.normpath(path)) is file._content

    def exists(self, path: str) -> bool:
        """Return True if there is a file or a directory."""
        return posixpath.normpath(path) in self._names

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory, sorted, without its path."""
        self._call("names", directory)
        directory = posixpath.normpath(directory or ".")
        if not isinstance(self._names.get(directory), _Directory):
            raise OSError(errors.ENOENT, os.strerror(errors.ENOENT), directory)
        return sorted(
            posixpath.basename(path)
            for path in self._names
            if path not in (".", "/") and _parent(path) == directory
        )

    def rename(self, path: str, to: str) -> None:
        """Rename a file; an existing target is replaced."""
        self._call("rename", path)
        entry = self._file(path)
        self._need_directory(to)
        self._step({posixpath.normpath(path): None, posixpath.normpath(to): entry})

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._call("remove", path)
        self._file(path)
        self._step({posixpath.normpath(path): None})

    def make_directory(self, path: str) -> None:
        """Make one directory; it may exist already. Its parent must exist."""
        self._call("make_directory", path)
        entry = self._names.get(posixpath.normpath(path))
        if isinstance(entry, _Content):
            raise OSError(errors.EEXIST, os.strerror(errors.EEXIST), path)
        if entry is None:
            self._need_directory(path)
            self._step({posixpath.normpath(path): _Directory()})

    def sync_directory(self, path: str) -> None:
        """Sync the directory's names, and the operations that must precede theirs."""
        self._call("sync_directory", path)
        directory = posixpath.normpath(path or ".")
        if not isinstance(self._names.get(directory), _Directory):
            raise OSError(errors.ENOENT, os.strerror(errors.ENOENT), path)
        # The operations on this directory, and those that must happen before them.
        needed = {name for step in self._steps for name in step if _parent(name) == directory}
        synced: list[_Step] = []
        left: list[_Step] = []
        for step in reversed(self._steps):
            if needed.isdisjoint(step):
                left.append(step)
            else:
                needed.update(step)
                synced.append(step)
        for step in reversed(synced):
            _link(self._synced_names, step)
        self._steps = left[::-1]

    def claim(self, directory: str, name: str) -> None:
        """Record the claim of a directory, or raise the test's `claim_error`."""
        if self.claim_error is not None:
            raise self.claim_error
        self.claimed.append(directory)

    def release(self) -> None:
        """Give up the claims on all directories."""
        self.claimed.clear()

    def holder(self, directory: str) -> str | None:
        """Return the test's `claim_error` as text if it is FolderInUse, otherwise None."""
        return str(self.claim_error) if isinstance(self.claim_error, FolderInUse) else None

    def _file(self, path: str) -> _Content:
        entry = self._names.get(posixpath.normpath(path))
        if not isinstance(entry, _Content):
            error = errors.ENOENT if entry is None else errors.EISDIR
            raise OSError(error, os.strerror(error), path)
        return entry

    def _new(self, path: str) -> File:
        self._need_directory(path)
        content = _Content()
        self._step({posixpath.normpath(path): content})
        return MemoryFile(self, path, content)

    def _need_directory(self, path: str) -> None:
        if not isinstance(self._names.get(_parent(posixpath.normpath(path))), _Directory):
            raise OSError(errors.ENOENT, os.strerror(errors.ENOENT), path)

    def _step(self, step: _Step) -> None:
        _link(self._names, step)
        self._steps.append(step)


class MemoryFile:
    """A file open for writing. It stays the same file when its name goes to another."""

    def __init__(self, files: MemoryFiles, path: str, content: _Content) -> None:
        self.path = path
        self._files = files
        self._content = content
        self._closed = False

    def write(self, data: bytes) -> int:
        """Append, and return the number of bytes written, which faults may limit."""
        self._call("write")
        taken = bytes(data[: self._files._room(self.path, len(data))])
        self._content.live += taken
        if taken:
            self._content.journal.append(taken)
        return len(taken)

    def sync(self) -> None:
        """Make the content durable: a crash keeps it."""
        try:
            self._call("sync")
        except OSError:
            if self._files.forgetful_sync:
                self._content.forgotten = len(self._content.journal)
            raise
        self._content.sync()

    def begin_sync(self) -> None:
        """Count the call; what it begins may be lost in a crash, as without it."""
        self._call("begin_sync")

    def truncate(self, size: int) -> None:
        """Truncate the file to `size` bytes; the next write appends there."""
        self._call("truncate")
        cut = len(self._content.live) - size
        assert cut >= 0, "truncate must not extend a file"
        if self._files.free_bytes is not None:
            self._files.free_bytes += cut
        del self._content.live[size:]
        self._content.journal.append(size)

    def size(self) -> int:
        """Return the size in bytes."""
        self._call("size")
        return len(self._content.live)

    def close(self) -> None:
        """Close the file without syncing it; it must be open."""
        assert not self._closed, f"{self.path} was closed twice"
        self._closed = True

    def _call(self, operation: str) -> None:
        assert not self._closed, f"{self.path} is closed"
        self._files._call(operation, self.path)


def _parent(path: str) -> str:
    return posixpath.dirname(path) or "."


def _apply(content: bytearray, operation: bytes | int) -> None:
    if isinstance(operation, int):
        del content[operation:]
    else:
        content += operation


def _link(names: dict[str, _Entry], step: _Step) -> None:
    for path, entry in step.items():
        if entry is None:
            names.pop(path, None)
        else:
            names[path] = entry


def _restored(names: dict[str, _Entry], contents: dict[_Content, bytes]) -> MemoryFiles:
    """A file system with exactly this content; entries whose directory is lost are left out."""
    files = MemoryFiles()
    directories = {path for path, entry in names.items() if isinstance(entry, _Directory)}
    for path in sorted(names, key=len):
        entry = names[path]
        if path not in (".", "/") and _parent(path) not in directories:
            directories.discard(path)
            continue
        if isinstance(entry, _Content):
            files.put(path, contents[entry])
        else:
            files._names[path] = files._synced_names[path] = _Directory()
    return files
