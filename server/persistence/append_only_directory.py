"""The directory of the append-only file: its manifest on disk, its files coming and going.

`manifest` is the one in charge: what it names is loaded at a start. Every change of it goes to disk
first, in one step (`replace_file`), and what it will name is there before, synced under its name:
a crash at any moment leaves the old manifest or the new one, and all the files of either.

Where a change fails half-way, nobody knows which of the two a crash would leave. Then the old one
is written again, at once and, should that fail as well, from `repair`, until it is certain; the new
files stay meanwhile, because the manifest on disk may name them.

Not here: what is written into the files (append_only_file.py), and reading them at a start
(loading.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from server.persistence.files import File, Files, replace_file
from server.persistence.syncing import Job, Syncer
from storage.append_only import manifest as manifests
from storage.append_only.manifest import Manifest, Part


class AppendOnlyDirectory:
    """`directory`/`dirname`, with the manifest of `filename` in it."""

    def __init__(
        self, files: Files, syncer: Syncer, directory: str, dirname: str, filename: str
    ) -> None:
        self.path = f"{directory}/{dirname}"
        self.filename = filename
        self.manifest = Manifest()
        self._files = files
        self._syncer = syncer
        self._parent = directory
        self._manifest_name = f"{filename}.manifest"
        self._is_uncertain = False  # whether the manifest on disk is the one in charge
        self._removed_if_certain: list[str] = []
        self._removals: dict[str, Job] = {}

    def path_of(self, part: Part) -> str:
        """Where a file of the manifest is."""
        return f"{self.path}/{part.name}"

    @property
    def manifest_path(self) -> str:
        """Where the manifest is."""
        return f"{self.path}/{self._manifest_name}"

    # -- at a start ----------------------------------------------------------------------------

    def read(self) -> None:
        """Take the manifest on disk for the one in charge; an empty one if there is none.

        Also moves the single file of Redis 6 and older into the directory. Raises OSError and
        ManifestError.
        """
        self.manifest = Manifest()
        if self._files.exists(self.manifest_path):
            self.manifest = manifests.parse(bytes(self._files.buffer(self.manifest_path)))
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
            return  # it was moved, another one came later: not ours to judge
        self.make()
        self.persist(Manifest(base))
        self._files.rename(old_path, self.path_of(base))
        self._files.sync_directory(self.path)
        self._files.sync_directory(self._parent)

    def make(self) -> None:
        """Make the directory, for good. Raises OSError."""
        self._files.make_directory(self.path)
        self._files.sync_directory(self._parent)

    def remove_leftovers(self) -> None:
        """Remove what interrupted work has left: history, and temporary files."""
        for name in self._files.names(self.path):
            if name.startswith("temp-") and self.filename in name:
                self._remove_quietly(f"{self.path}/{name}")
        self.remove_history()

    # -- changes -------------------------------------------------------------------------------

    def persist(self, manifest: Manifest, new: tuple[str, ...] = ()) -> None:
        """Put a manifest in charge. Raises OSError; then the old one still is.

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
        # What a failed attempt before has left, unless it is in use by now.
        in_use = {self.path_of(part) for part in manifest.loaded}
        self._drop_leftovers(in_use)

    def repair(self) -> None:
        """Make certain that the manifest in charge is the one on disk. Raises OSError."""
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
        """An empty increment at the end, in charge. Raises OSError; nothing has changed then."""
        part = self.manifest.next_increment(self.filename)
        if not self._files.exists(self.path):
            self.make()  # somebody has moved it away; as in Redis a rewrite brings all data back
        file = self._files.create(self.path_of(part))
        try:
            self._sync_names(part)
            self.persist(self.manifest.with_increment(part), (self.path_of(part),))
        except OSError:
            file.close()
            raise
        return file

    def collecting_path(self) -> str:
        """Where requests go while there is no base yet that they follow."""
        return f"{self.path}/temp-{self.filename}.incr"

    def new_base(self, path: str, *, is_snapshot: bool) -> Part:
        """Take in a complete and synced file as a base that no manifest names yet.

        Raises OSError.
        """
        part = self.manifest.next_base(self.filename, is_snapshot=is_snapshot)
        self._files.rename(path, self.path_of(part))
        self._sync_names(part)
        return part

    def collected_increment(self) -> Part:
        """Take in what was collected as an increment that no manifest names yet. Raises OSError."""
        part = self.manifest.next_increment(self.filename)
        self._files.rename(self.collecting_path(), self.path_of(part))
        self._sync_names(part)
        return part

    def _sync_names(self, part: Part) -> None:
        """Make a file's name safe, before a manifest names it: it could be on disk first."""
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

    def remove_history(self) -> None:
        """Begin to remove the files that are history, beside the loop: large ones take long."""
        for part in self.manifest.history:
            if part.name not in self._removals:
                job = Job(self._removal(self.path_of(part)))
                self._removals[part.name] = job
                self._syncer.submit(job)

    def _removal(self, path: str) -> Callable[[], None]:
        def remove() -> None:
            with contextlib.suppress(FileNotFoundError):
                self._files.remove(path)

        return remove

    def forget_removed(self) -> None:
        """Take files out of the manifest that have been removed; others are tried at a later time.

        Raises OSError.
        """
        if not self._removals or not all(job.done for job in self._removals.values()):
            return
        removals, self._removals = self._removals, {}
        gone = {name for name, job in removals.items() if job.error is None}
        if gone:
            self.persist(self.manifest.without_history(gone))

    # -- figures -------------------------------------------------------------------------------

    def total_bytes(self) -> int:
        """The sizes of everything that is loaded at a start. Raises OSError."""
        return sum(self._files.size(self.path_of(part)) for part in self.manifest.loaded)
