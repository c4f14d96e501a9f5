"""The directory of the append-only file: its manifest, and its files created and removed.

`manifest` is the one in force: the files that it names are loaded at a start. Every change of it is
written to disk first, atomically (`replace_file`), after the files that it names are synced under
their names. So a crash at any moment leaves the old manifest or the new one, and all its files.

If a change fails half-way, it is unknown which of the two a crash would leave. Then the old one is
written again, at once and, if that fails as well, from `repair`, until it succeeds. The new files
stay meanwhile, because the manifest on disk may name them.

Not here: what is written into the files (append_only_file.py), and reading them at a start
(server/persistence/loading).
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol

from server.persistence.append_only.kept_files import KeptFiles
from server.persistence.files import File, Files, replace_file
from storage.append_only import manifest as manifests
from storage.append_only.manifest import Manifest, Part


class Job:
    """A piece of work and its result."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.error: Exception | None = None
        self.done = False  # set last: then `error` is there
        self._work = work

    def run(self) -> None:
        """Run the work, in the calling thread."""
        try:
            self._work()
        except Exception as error:
            self.error = error
        finally:
            self.done = True


class Syncer(Protocol):
    """Runs jobs in the background."""

    def submit(self, job: Job) -> None:
        """Run the job after all earlier ones."""

    def wait(self) -> None:
        """Wait until all submitted jobs are done."""


class ThreadSyncer:
    """A thread of its own; `notify` is called in it after each job."""

    def __init__(self, notify: Callable[[], object] = lambda: None) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sync")
        self._last: Future[None] | None = None
        self._notify = notify

    def submit(self, job: Job) -> None:
        """Run the job in the thread, after all earlier ones."""
        self._last = self._thread.submit(self._run, job)

    def wait(self) -> None:
        """Wait until all submitted jobs are done."""
        if self._last is not None:
            wait([self._last])

    def _run(self, job: Job) -> None:
        job.run()
        self._notify()


class ManualSyncer:
    """No thread: a job runs in `run_next` or `wait`."""

    def __init__(self) -> None:
        self.waiting: deque[Job] = deque()

    def submit(self, job: Job) -> None:
        """Keep the job for `run_next` or `wait`."""
        self.waiting.append(job)

    def run_next(self) -> None:
        """Run the oldest job."""
        self.waiting.popleft().run()

    def wait(self) -> None:
        """Run all jobs."""
        while self.waiting:
            self.run_next()


class AppendOnlyDirectory:
    """`directory`/`dirname`, with the manifest of `filename` in it."""

    def __init__(
        self, files: Files, syncer: Syncer, directory: str, dirname: str, filename: str
    ) -> None:
        self.path = f"{directory}/{dirname}"
        self.filename = filename
        self.manifest = Manifest()
        self.kept = KeptFiles(files, self.path)
        self._files = files
        self._syncer = syncer
        self._parent = directory
        self._manifest_name = f"{filename}.manifest"
        self._is_uncertain = False  # the manifest on disk may be another one than `manifest`
        self._removed_if_certain: list[str] = []
        self._removals: dict[str, Job] = {}

    def path_of(self, part: Part) -> str:
        """The path of a file of the manifest."""
        return f"{self.path}/{part.name}"

    @property
    def manifest_path(self) -> str:
        """The path of the manifest."""
        return f"{self.path}/{self._manifest_name}"

    # -- at a start ----------------------------------------------------------------------------

    def read(self) -> None:
        """Read the manifest from disk; an empty one if there is none.

        Also moves the single file of Redis 6 and older into the directory. Raises OSError and
        ManifestError.
        """
        self.manifest = Manifest()
        if self._files.exists(self.manifest_path):
            self.manifest = manifests.parse(bytes(self._files.buffer(self.manifest_path)))
        self.kept.read(self.manifest.loaded)
        self._upgrade()

    def _upgrade(self) -> None:
        """Redis 6 and older had one file, `directory`/`filename`: make it the base.

        In Redis's order, so that either goes on where the other was interrupted: first a manifest
        that names the file as its base, then the move.
        """
        old_path, base = f"{self._parent}/{self.filename}", Part(self.filename, 1, manifests.BASE)
        if self.manifest not in (Manifest(), Manifest(base)) or not self._files.exists(old_path):
            return
        if self._files.exists(self.path_of(base)):
            return  # it was moved before; this file came later and is not part of the data
        self.make()
        self.persist(Manifest(base))
        self._files.rename(old_path, self.path_of(base))
        self._files.sync_directory(self.path)
        self._files.sync_directory(self._parent)

    def make(self) -> None:
        """Make the directory durably. Raises OSError."""
        self._files.make_directory(self.path)
        self._files.sync_directory(self._parent)

    def remove_leftovers(self) -> list[str]:
        """Remove the files that interrupted work has left; as `remove_history`."""
        for name in self._files.names(self.path):
            if name.startswith("temp-") and self.filename in name:
                self._remove_quietly(f"{self.path}/{name}")
        for path in self.kept.strays():
            self._remove_quietly(path)
        return self.remove_history()

    # -- changes -------------------------------------------------------------------------------

    def persist(self, manifest: Manifest, new: tuple[str, ...] = ()) -> None:
        """Put a manifest in force. Raises OSError; then the old one still is.

        `new`: paths of files that only the new manifest names; removed if it fails.
        """
        try:
            replace_file(self._files, self.path, self._manifest_name, manifest.format())
        except OSError:
            self._is_uncertain = True
            self._removed_if_certain += new
            with contextlib.suppress(OSError):
                self.repair()
            raise
        self.manifest = manifest
        self._is_uncertain = False
        # Files that an earlier failed attempt has left, unless they are in use by now.
        in_use = {self.path_of(part) for part in manifest.loaded}
        self._drop_leftovers(in_use)

    def repair(self) -> None:
        """Make sure that the manifest in force is the one on disk. Raises OSError."""
        if not self._is_uncertain:
            return
        if self.manifest != Manifest():
            replace_file(self._files, self.path, self._manifest_name, self.manifest.format())
        else:
            if self._files.exists(self.manifest_path):
                self._files.remove(self.manifest_path)
            self._files.sync_directory(self.path)
        self._is_uncertain = False
        self._drop_leftovers(set())

    def _drop_leftovers(self, in_use: set[str]) -> None:
        leftovers, self._removed_if_certain = self._removed_if_certain, []
        for path in leftovers:
            if path not in in_use:
                self._remove_quietly(path)

    def new_increment(self) -> File:
        """Add an empty increment to the manifest. Raises OSError; then nothing has changed."""
        part = self.manifest.next_increment(self.filename)
        if not self._files.exists(self.path):
            self.make()  # it was removed; as in Redis, a rewrite writes all data again
        file = self._files.create(self.path_of(part))
        try:
            self._sync_names(part)
            self.persist(self.manifest.with_increment(part), (self.path_of(part),))
        except OSError:
            file.close()
            raise
        return file

    def collecting_path(self) -> str:
        """The path of the file that collects requests until there is a first base."""
        return f"{self.path}/temp-{self.filename}.incr"

    def new_base(self, path: str, *, is_snapshot: bool) -> Part:
        """Rename a complete and synced file to the next base; no manifest names it yet.

        Raises OSError.
        """
        part = self.manifest.next_base(self.filename, is_snapshot=is_snapshot)
        self._files.rename(path, self.path_of(part))
        self._sync_names(part)
        return part

    def collected_increment(self) -> Part:
        """Rename the collected requests to an increment that no manifest names. Raises OSError."""
        part = self.manifest.next_increment(self.filename)
        self._files.rename(self.collecting_path(), self.path_of(part))
        self._sync_names(part)
        return part

    def _sync_names(self, part: Part) -> None:
        """Make a file's name durable before a manifest names it, which could reach disk first."""
        try:
            self._files.sync_directory(self.path)
        except OSError:
            self._remove_quietly(self.path_of(part))
            raise

    def discard(self, path: str) -> None:
        """Remove a file that no manifest names."""
        self._remove_quietly(path)

    def _remove_quietly(self, path: str) -> None:
        with contextlib.suppress(OSError):
            self._files.remove(path)

    # -- history -------------------------------------------------------------------------------

    def remove_history(self) -> list[str]:
        """Begin to remove history files, or to move those that are kept, in the background: large
        ones take long. Returns their names.
        """
        names = [part.name for part in self.manifest.history if part.name not in self._removals]
        for name in names:
            job = Job(self._removal(f"{self.path}/{name}", self.kept.place_of(name)))
            self._removals[name] = job
            self._syncer.submit(job)
        return names

    def _removal(self, path: str, kept_path: str = "") -> Callable[[], None]:
        def remove() -> None:
            with contextlib.suppress(FileNotFoundError):
                if kept_path:
                    self._files.rename(path, kept_path)
                else:
                    self._files.remove(path)

        return remove

    def expire_kept(self, before_ms: int) -> None:
        """Remove kept files of generations that end before a moment, in the background.

        Raises OSError.
        """
        for path in self.kept.expire(before_ms):
            self._syncer.submit(Job(self._removal(path)))

    def forget_removed(self) -> None:
        """Drop removed files from the manifest; failed removals are tried again later.

        Raises OSError.
        """
        if not self._removals or not all(job.done for job in self._removals.values()):
            return
        removals, self._removals = self._removals, {}
        gone = {name for name, job in removals.items() if job.error is None}
        if gone:
            self.persist(self.manifest.without_history(gone))

    # -- figures -------------------------------------------------------------------------------

    def base_bytes(self) -> int:
        """The size of the base, 0 without one: how long the file was after its last rewrite.

        What follows counts as growth, so a restart does not put the next rewrite off. Raises
        OSError.
        """
        base = self.manifest.base
        return self._files.size(self.path_of(base)) if base else 0

    def total_bytes(self) -> int:
        """The total size of the files that a start loads. Raises OSError."""
        return sum(self._files.size(self.path_of(part)) for part in self.manifest.loaded)
