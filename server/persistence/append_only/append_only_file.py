"""The append-only file (AOF): opening, rewriting, switching on and off, closing.

Every change goes to disk as the requests that repeat it. writer.py decides how and
when, directory.py manages the files.

Rewrites: `begin_rewrite` directs new requests into a new increment, right before a child begins to
write a base of the present data. `finish_rewrite` puts that base in force; `abandon_rewrite` keeps
the old files and all increments. The same calls switch the file on in a running server: requests
are collected in a file outside of the manifest until there is a base, and are not durable until
then.

Source: redis-server 7.0.15 for behaviour, messages and formats, where not said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NoReturn

from commands.config.configuration import Configuration
from commands.core.instance import Instance
from commands.core.propagation import Sink
from commands.core.services import FilesNow
from server.clock import has_passed
from server.persistence.append_only.directory import AppendOnlyDirectory, Syncer
from server.persistence.append_only.writer import AppendOnlyWriter, reason
from server.persistence.files import File, Files
from storage.append_only.manifest import Manifest, Part


class Phase(Enum):
    """The phases of the file: off, being switched on, complete."""

    OFF = "nothing is taken"
    COLLECTING = "it is being switched on: requests are collected until there is a first base"
    ON = "the file holds, or its buffer will add, all data"


_EXPIRY_INTERVAL_MS = 60_000  # how often kept files are looked at


class AppendOnlyFile:
    """The append-only file of one instance. Runs in the loop's thread, except jobs of the syncer.

    `fatal(message)` ends the process with exit status 1 and does not return. `on_health` is called
    when `PersistenceState.write_error` has changed.
    """

    def __init__(
        self,
        instance: Instance,
        files: Files,
        syncer: Syncer,
        fatal: Callable[[str], NoReturn],
        on_health: Callable[[], object] = lambda: None,
    ) -> None:
        self.phase = Phase.OFF
        self.directory = self._new_directory(files, syncer, instance.config)
        self._instance = instance
        self._config = instance.config
        self._state = instance.persistence
        self._files = files
        self._syncer = syncer
        self._writer = AppendOnlyWriter(instance, syncer, fatal, on_health)
        self._sink = Sink(self._writer.begin_batch, self._writer.take)
        # the rewrite under way
        self._is_rewriting = False
        self._kept_increments = 0  # of the manifest: the increments that it replaces
        self._rotation_units = 0  # instance.propagation.units when it began
        self._rotation_ms = 0  # Unix time when it began
        self._expired_ms = 0  # monotonic: when kept files were looked at last

    @staticmethod
    def _new_directory(files: Files, syncer: Syncer, config: Configuration) -> AppendOnlyDirectory:
        """The directory under the present `dir`; a later CONFIG SET dir moves no open file."""
        return AppendOnlyDirectory(
            files, syncer, config.dir, config.appenddirname, config.appendfilename
        )

    # -- opening and closing -------------------------------------------------------------------

    def open(self, write_base: Callable[[str], object] | None = None) -> None:
        """Continue the files in the directory, or create them; then accept requests.

        To be called after the data was loaded from them. Raises OSError and ManifestError.
        `write_base(path)` writes and syncs a base of the data as it is now; it is called if there
        are no files yet. Without it the first increment is all there is.
        """
        directory = self.directory = self._new_directory(self._files, self._syncer, self._config)
        directory.make()
        directory.read()
        # The server that wrote this manifest may have been killed before its name was on disk.
        self._files.sync_directory(directory.path)
        self._log_removed(directory.remove_leftovers())
        if not directory.manifest.loaded and write_base is not None:
            self._make_first_base(write_base)
        file = self._last_increment()
        file_bytes, total_bytes = file.size(), directory.total_bytes()
        self._writer.begin(file, file_bytes, total_bytes - file_bytes)
        self._writer.synced_units = self._instance.propagation.units
        self._state.base_bytes = directory.base_bytes()
        self._start(Phase.ON)

    def _last_increment(self) -> File:
        """The file at the end, open; all increments are synced. Raises OSError."""
        directory = self.directory
        increments = directory.manifest.increments
        if not increments:
            file = directory.new_increment()
            name = directory.manifest.increments[-1].name
            self._log(f"Creating AOF incr file {name} on server start")
            return file
        for part in increments:
            # A killed process may have left them unsynced; from now on they must be durable.
            self._sync_now(directory.path_of(part))
        self._log(f"Opening AOF incr file {increments[-1].name} on server start")
        return self._files.append(directory.path_of(increments[-1]))

    def _make_first_base(self, write_base: Callable[[str], object]) -> None:
        directory = self.directory
        path = self.temporary_base_path
        try:
            write_base(path)
            base = directory.new_base(path, is_snapshot=self._config.aof_use_rdb_preamble)
        except OSError:
            directory.discard(path)
            raise
        self._log(f"Creating AOF base file {base.name} on server start")
        directory.persist(directory.manifest.rewritten(base, ()), (directory.path_of(base),))

    def _sync_now(self, path: str) -> None:
        file = self._files.append(path)
        try:
            file.sync()
        finally:
            file.close()

    def _start(self, phase: Phase) -> None:
        if self.phase is Phase.OFF:
            self._instance.propagation.add_sink(self._sink)
        self.phase = phase
        self._writer.keeps_its_word = phase is Phase.ON

    def sync(self) -> None:
        """Write and sync everything. Raises OSError."""
        self._writer.sync()

    def close(self) -> None:
        """Write and sync everything, and accept no more requests. Raises OSError on failure.

        It is closed in any case. A rewrite that is under way must have been abandoned.
        """
        assert not self._is_rewriting
        if self.phase is not Phase.OFF:
            self._stop()
            self._writer.close()

    def _stop(self) -> None:
        self._instance.propagation.remove_sink(self._sink)
        self.phase = Phase.OFF

    # -- while it is open ----------------------------------------------------------------------

    @property
    def buffer_bytes(self) -> int:
        """Bytes that are not yet written."""
        return self._writer.buffer_bytes

    @property
    def synced_units(self) -> int:
        """The number of `Propagation.units` that are known to be on disk."""
        return self._writer.synced_units

    @property
    def wants_rewrite(self) -> bool:
        """True if a sync has failed for data that no later base replaces."""
        return self._writer.wants_rewrite

    def flush(self, monotonic_ms: int, *, force: bool = False) -> None:
        """A step of the cycle, before any reply leaves: see `AppendOnlyWriter.flush`."""
        self._writer.flush(monotonic_ms, force)

    def maintain(self, monotonic_ms: int) -> None:
        """Called from the tick: tries again what failed before.

        Deleted history files leave the manifest after the file was switched off, too: the
        next start would take them for leftovers.
        """
        self._writer.flush(monotonic_ms)
        try:
            if self.phase is Phase.ON:
                self.directory.repair()
            self.directory.forget_removed()
            self._expire_kept(monotonic_ms)
        except OSError as error:
            self._writer.log_error(f"Error writing the AOF manifest: {reason(error)}", monotonic_ms)

    def _expire_kept(self, monotonic_ms: int) -> None:
        """Once a minute, remove what was kept for the time of `aof-keep-increments`."""
        if has_passed(_EXPIRY_INTERVAL_MS, self._expired_ms, monotonic_ms):
            self._expired_ms = monotonic_ms
            before_ms = self._instance.now_ms - self._config.aof_keep_increments
            self.directory.expire_kept(before_ms)

    def files_now(self) -> FilesNow:
        """The files as they are, their buffer written unless a sync is under way.

        To be called between units. Raises OSError.
        """
        directory, writer = self.directory, self._writer
        if self.phase is not Phase.ON:
            return FilesNow()
        writer.write_early(self._instance.monotonic_ms)
        manifest = Manifest(directory.manifest.base, directory.manifest.increments)
        names = [part.name for part in manifest.loaded]
        sizes = [self._files.size(f"{directory.path}/{name}") for name in names[:-1]]
        return FilesNow(
            folder=directory.path,
            file_name=directory.filename,
            names=names,
            sizes=[*sizes, writer.file_bytes],
            manifest=manifest.format(),
            pending_bytes=writer.buffer_bytes,
            kept_folder=directory.kept.path,
            kept=[
                (each.until_ms, each.names, each.manifest.format())
                for each in directory.kept.generations
            ],
        )

    # -- rewriting -----------------------------------------------------------------------------

    @property
    def temporary_base_path(self) -> str:
        """A path in the directory for a child's base; such files are removed at a start.

        A child may outlive a killed server, so each run has a name of its own.
        """
        run = self._instance.run_id[:12]
        return f"{self.directory.path}/temp-{self.directory.filename}.{run}.base"

    def begin_rewrite(self) -> None:
        """Direct requests into a new increment, which will follow the base that a child writes.

        To be called between units (not inside of EXEC), right before the child starts. Raises
        OSError, and ManifestError when the file is being switched on; nothing has changed then.
        """
        assert not self._is_rewriting
        if self.phase is Phase.ON:
            self._rotate()
        else:
            self._begin_collecting()
        self._is_rewriting = True
        self._rotation_units = self._instance.propagation.units
        self._rotation_ms = self._instance.now_ms

    def _rotate(self) -> None:
        directory, writer = self.directory, self._writer
        directory.repair()
        writer.write_out()
        increments = directory.manifest.increments
        # Did a failed rewrite leave an increment, to which nothing was added since?
        is_empty = not writer.file_bytes and len(increments) > 1
        self._kept_increments = len(increments) - is_empty
        if not is_empty:
            writer.rotate(directory.new_increment())
            self._log_created(directory.manifest.increments[-1].name)

    def _begin_collecting(self) -> None:
        directory = self._new_directory(self._files, self._syncer, self._config)
        directory.make()
        directory.read()
        file = self._files.create(directory.collecting_path())
        self._log_created(_name(directory.collecting_path()))
        self.directory = directory
        self._writer.begin(file, 0, 0)
        self._start(Phase.COLLECTING)

    def finish_rewrite(self, base_path: str, *, is_snapshot: bool) -> None:
        """Put a complete and synced base in force, and remove the files that it replaces.

        Raises OSError: the old files stay in force, and `abandon_rewrite` must be called.
        """
        assert self._is_rewriting
        directory = self.directory
        if self.phase is Phase.COLLECTING:
            self._finish_collecting(base_path, is_snapshot)
        else:
            base = self._name_base(base_path, is_snapshot=is_snapshot)
            self._replace_by(base)
        self._is_rewriting = False
        self._log_removed(directory.remove_history())
        total_bytes = directory.total_bytes()
        self._writer.trust(self._rotation_units)
        self._writer.earlier_bytes = total_bytes - self._writer.file_bytes
        self._state.base_bytes = self._state.current_bytes = total_bytes

    def _replace_by(self, base: Part) -> None:
        """Put a base in force, with the increments since it was begun. Raises OSError."""
        directory = self.directory
        before, kept = directory.manifest, directory.kept
        new = before.rewritten(base, before.increments[self._kept_increments :])
        if self._config.aof_keep_increments:
            past = Manifest(before.base, before.increments[: self._kept_increments])
            try:
                kept.keep(past, self._rotation_ms)
            except OSError as error:
                # The rewrite matters more: it may be what makes room on the disk.
                self._log(f"The replaced AOF files cannot be kept: {reason(error)}")
        try:
            directory.persist(new, (directory.path_of(base),))
        finally:
            kept.drop_in_force(directory.manifest.loaded)

    def _name_base(self, path: str, *, is_snapshot: bool) -> Part:
        """Rename a complete base. Raises OSError."""
        base = self.directory.new_base(path, is_snapshot=is_snapshot)
        self._log_renamed("base", path, base.name)
        return base

    def _finish_collecting(self, base_path: str, is_snapshot: bool) -> None:
        directory = self.directory
        self._writer.bring_to_disk()
        base = self._name_base(base_path, is_snapshot=is_snapshot)
        try:
            increment = directory.collected_increment()
        except OSError:
            directory.discard(directory.path_of(base))
            raise
        self._log_renamed("incr", directory.collecting_path(), increment.name)
        directory.persist(
            directory.manifest.rewritten(base, (increment,)),
            (directory.path_of(base), directory.path_of(increment)),
        )
        self._rotation_units = self._instance.propagation.units
        self._start(Phase.ON)

    def abandon_rewrite(self, base_path: str | None = None) -> None:
        """The child has failed: keep the old files and all increments.

        If the file was being switched on, it is off again. `base_path` is removed.
        """
        if base_path is not None:
            self.directory.discard(base_path)
        if not self._is_rewriting:
            return
        self._is_rewriting = False
        if self.phase is Phase.COLLECTING:
            self._stop()
            self._writer.drop()
            path = self.directory.collecting_path()
            self._log(f"Removing the temp incr aof file {_name(path)} in the background")
            self.directory.discard(path)

    # -- the log, in Redis's words -------------------------------------------------------------

    def _log_created(self, name: str) -> None:
        self._log(f"Creating AOF incr file {name} on background rewrite")

    def _log_renamed(self, kind: str, path: str, name: str) -> None:
        self._log(f"Successfully renamed the temporary AOF {kind} file {_name(path)} into {name}")

    def _log_removed(self, names: list[str]) -> None:
        for name in names:
            self._log(f"Removing the history file {name} in the background")

    def _log(self, message: str) -> None:
        self._instance.host.log("notice", message)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
