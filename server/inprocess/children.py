"""Child tasks without processes, for deterministic tests.

    children = InProcessChildren(files)
    children.fails_to_start = OSError(errno.EAGAIN, "no more processes")
    children.dies_at_byte = 1000       # the next child is killed after writing 1000 bytes
    children.is_held = True            # it does not end until children.is_held = False

A task runs completely in `start`, on the data as they are then. `poll` reports its ending, unless
the test holds it back.
"""

from __future__ import annotations

import signal

from server.persistence.children import CALLED_OFF, Ending, Progress, Task
from server.persistence.files import Buffer, File, Files

FIRST_PID = 1000


class InProcessChildren:
    """`Children` for tests."""

    def __init__(self, files: Files) -> None:
        self.progress = Progress()
        self.fork_us = 100
        self.files = files
        self.fails_to_start: OSError | None = None
        self.dies_at_byte: int | None = None
        self.is_held = False
        self._next_pid = FIRST_PID
        self._ending: Ending | None = None

    def start(self, task: Task, keep: int = -1) -> int:
        """Run `task` to its end, and keep its ending for `poll`; returns a process ID."""
        assert self._ending is None, "one child at a time"
        if self.fails_to_start is not None:
            raise self.fails_to_start
        pid, self._next_pid = self._next_pid, self._next_pid + 1
        files: Files = self.files
        if self.dies_at_byte is not None:
            files = _MortalFiles(files, self.dies_at_byte)
            self.dies_at_byte = None
        self.progress = Progress()
        self._ending = self._run(task, InProcessChild(pid, files, self))
        return pid

    def _run(self, task: Task, child: InProcessChild) -> Ending:
        try:
            task(child)
        except OSError as error:
            return Ending(child.pid, error=str(error), progress=self.progress)
        except Killed:
            return Ending(child.pid, signal=signal.SIGKILL, progress=self.progress)
        return Ending(child.pid, progress=self.progress)

    def poll(self) -> Ending | None:
        """Return the child's ending, once, unless the test holds it back."""
        if self.is_held:
            return None
        ending, self._ending = self._ending, None
        return ending

    def kill(self) -> Ending:
        """Return the ending of a child that was cancelled, in place of its own."""
        assert self._ending is not None, "there is no child"
        pid, self._ending = self._ending.pid, None
        return Ending(pid, signal=CALLED_OFF)


class InProcessChild:
    """`Child` for tests."""

    def __init__(self, pid: int, files: Files, children: InProcessChildren) -> None:
        self.pid = pid
        self.files = files
        self._children = children

    def report(self, keys: int) -> None:
        """Record the number of keys done, with a fixed amount of copied memory."""
        self._children.progress = Progress(keys, 4096)

    def has_server(self) -> bool:
        """Return True: the server is in the same process."""
        return True


class Killed(BaseException):
    """Ends a task as SIGKILL would: no handler on the way may catch it."""


class _MortalFiles:
    """Files that kill their user after a number of written bytes."""

    def __init__(self, files: Files, bytes_left: int) -> None:
        self._files = files
        self.bytes_left = bytes_left
        self.is_dead = False

    def _alive(self) -> Files:
        if self.is_dead:
            raise Killed
        return self._files

    def append(self, path: str) -> File:
        return _MortalFile(self._alive().append(path), self)

    def create(self, path: str) -> File:
        return _MortalFile(self._alive().create(path), self)

    def buffer(self, path: str) -> Buffer:
        return self._alive().buffer(path)

    def size(self, path: str) -> int:
        return self._alive().size(path)

    def leads_to(self, path: str, file: File) -> bool:
        return self._alive().leads_to(path, file)

    def exists(self, path: str) -> bool:
        return self._alive().exists(path)

    def names(self, directory: str) -> list[str]:
        return self._alive().names(directory)

    def rename(self, path: str, to: str) -> None:
        self._alive().rename(path, to)

    def remove(self, path: str) -> None:
        self._alive().remove(path)

    def make_directory(self, path: str) -> None:
        self._alive().make_directory(path)

    def sync_directory(self, path: str) -> None:
        self._alive().sync_directory(path)

    def claim(self, directory: str, name: str) -> None:
        self._alive().claim(directory, name)

    def release(self) -> None:
        self._alive().release()

    def holder(self, directory: str) -> str | None:
        return self._alive().holder(directory)


class _MortalFile:
    """A file of `_MortalFiles`."""

    def __init__(self, file: File, files: _MortalFiles) -> None:
        self._file = file
        self._files = files

    def write(self, data: bytes) -> int:
        taken = data[: self._files.bytes_left]
        if taken:
            self._file.write(taken)
        self._files.bytes_left -= len(taken)
        if len(taken) < len(data):
            self._files.is_dead = True
            raise Killed
        return len(taken)

    def sync(self) -> None:
        self._files._alive()
        self._file.sync()

    def begin_sync(self) -> None:
        self._files._alive()
        self._file.begin_sync()

    def truncate(self, size: int) -> None:
        self._files._alive()
        self._file.truncate(size)

    def size(self) -> int:
        return self._file.size()

    def close(self) -> None:
        self._file.close()
