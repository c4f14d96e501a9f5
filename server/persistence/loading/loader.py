"""Loads the data at a start: from the append-only file or the snapshot.

The choice of files is Redis's. With `appendonly yes` they are those that the manifest names, the
base and then the increments; or the single file of Redis 6 and older, if it exists and no manifest
names others. If there is neither, or with `appendonly no`, it is the snapshot (`dbfilename`); the
append-only file then begins with its data (Redis begins with none, and its next snapshot replaces
the existing one). The content of a file shows its kind: a snapshot, requests, or a snapshot
followed by requests.

A file that ends within its last request was being written when the server ended: the torn end is
truncated, on disk as well, and the log says how many bytes were lost (aof-load-truncated). This
applies to the last file, and to one that only empty files follow. So does
aof-load-corrupt-tail-max-size: a file that ends in bytes which are no request, such as the NUL
bytes that a power failure leaves, is truncated there if they are not more. Any other damage stops
the loading with `LoadFailed`; repairing is left to `rillway check`.

The work comes in slices (`steps`), so that in between clients are answered -LOADING and signals are
handled. The garbage collector is off meanwhile: it would visit the growing data again and again.

A write that is refused during the replay is missing from the data, and the next rewrite would make
that permanent. So it stops the loading, too, unless aof-skip-refused-writes is yes.

Source: redis-server 7.0.15, by experiment. Deliberately different: a torn file that others follow
is left unchanged (Redis truncates it, and then fails); an empty base that should be a snapshot, and
increments without a manifest, stop the start (Redis takes them for no data, and overwrites the
latter), and so do refused writes (Redis drops them silently).
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Generator, Iterator
from typing import TypeAlias

from commands.core.instance import Instance
from protocol.records import frozen_record
from server.clock import delay_us
from server.persistence.files import Buffer, Files
from server.persistence.loading.replay import Replay, UnreplayableRequest
from server.persistence.loading.snapshot_restore import (
    SnapshotRestore,
    UnfitContent,
    loaded_lines,
    squeeze_nodes,
)
from storage.append_only import manifest as manifests
from storage.append_only.manifest import Manifest, ManifestError, Part
from storage.append_only.reader import DamagedFile, RequestFile, TornFile
from storage.redis_format.primitives import CorruptSnapshot, TruncatedSnapshot, WrongChecksum
from storage.snapshot.format import ForeignSnapshot, begins_snapshot
from storage.snapshot.reader import SnapshotReader, UnsupportedValue
from storage.stream import Stream

# The time slice of loading, approximately.
SLICE_US = 50_000
PROGRESS_US = 5_000_000
_MEBIBYTE = 1 << 20


# Work in slices; `close` cancels the rest.
Slices: TypeAlias = Generator[None, None, None]


class LoadFailed(Exception):
    """The data cannot be loaded; the text says where, why, and what can be done."""


@frozen_record
class Source:
    """A file to load."""

    path: str
    size: int
    may_be_torn: bool  # it may end within a request: nothing written later follows it
    kind: str = ""  # of the append-only file: "base" or "incr"

    @property
    def name(self) -> str:
        """Its name in the folder of the append-only file, as the log has it."""
        return self.path.rpartition("/")[2]


class Loader:
    """Loads the files of the configuration into an empty instance."""

    def __init__(self, instance: Instance, files: Files) -> None:
        self._instance = instance
        self._files = files
        self._log = instance.host.log
        self._monotonic_us = instance.host.monotonic_us
        self._state = instance.persistence
        self._loaded_bytes = 0  # of the files before the current one
        self._slice_us = self._progress_us = self._started_us = 0  # when each began
        self._slice_at = self._interval_bytes = 0
        self.replaces_keys = False  # DEBUG RELOAD MERGE

    def run(self) -> None:
        """Load everything. Raises LoadFailed."""
        for _ in self.steps():
            pass

    def steps(self) -> Slices:
        """Load everything, in time slices. Raises LoadFailed."""
        config = self._instance.config
        if config.appendonly and self._has_append_only_file():
            yield from self.append_only_steps()
            return
        if config.appendonly and self._files.exists(config.dbfilename):
            self._log(
                "warning",
                "There is no append-only file yet: it begins with the data of"
                f" {config.dbfilename}, which is loaded now.",
            )
        yield from self.snapshot_steps()

    def append_only_steps(self) -> Slices:
        """Load the append-only file."""
        with _failing_with_system_errors():
            sources = self._append_only_sources()
        if not sources:
            return
        yield from self._load_all(sources, is_append_only=True)
        self._log("notice", f"DB loaded from append only file: {self._seconds()} seconds")

    def snapshot_steps(self) -> Slices:
        """Load the snapshot."""
        path = self._instance.config.dbfilename
        if not self._files.exists(path):
            return
        with _failing_with_system_errors():
            sources = [Source(path, self._files.size(path), may_be_torn=False)]
        yield from self._load_all(sources, is_append_only=False)
        self._log("notice", f"DB loaded from disk: {self._seconds()} seconds")

    # -- which files ---------------------------------------------------------------------------

    def _has_append_only_file(self) -> bool:
        """Return True if there is an append-only file. Raises LoadFailed if it is not complete."""
        with _failing_with_system_errors():
            return bool(self._append_only_sources())

    def _append_only_sources(self) -> list[Source]:
        """The files of the append-only file, in the order in which they are loaded."""
        kinds = self._append_only_paths()
        paths = [path for path, _ in kinds]
        for path in paths:
            if not self._files.exists(path):
                raise LoadFailed(
                    f"Unable to obtain the AOF file {path.rpartition('/')[2]} length. stat: No"
                    f" such file or directory. The manifest names {path}. Without it the data is"
                    " not complete; put it back, or restore the data from a backup."
                )
        sizes = [self._files.size(path) for path in paths]
        for path, size in zip(paths, sizes, strict=True):
            if not size and path.endswith(".base.rdb"):
                raise LoadFailed(
                    f"{path} is empty, but a snapshot never is: its content is lost. Restore it"
                    " from a backup; without it the data is not complete."
                )
        return [
            Source(path, size, may_be_torn=not any(sizes[index + 1 :]), kind=kind)
            for index, ((path, kind), size) in enumerate(zip(kinds, sizes, strict=True))
        ]

    def _append_only_paths(self) -> list[tuple[str, str]]:
        """(path, kind) of each file."""
        config = self._instance.config
        directory, single = config.appenddirname, config.appendfilename
        manifest_path = f"{directory}/{single}.manifest"
        manifest = Manifest()
        if self._files.exists(manifest_path):
            try:
                manifest = manifests.parse(bytes(self._files.buffer(manifest_path)))
            except ManifestError as error:
                place = f", line {error.line_number}: {error.line!r}" if error.line_number else ""
                raise LoadFailed(f"{manifest_path}: {error.reason}{place}") from None
        else:
            self._refuse_nameless_increments(directory, manifest_path)
        paths = [
            (f"{directory}/{part.name}", "base" if part is manifest.base else "incr")
            for part in manifest.loaded
        ]
        # The single file of Redis 6, which AppendOnlyDirectory makes the base; a crash may have
        # interrupted that after the manifest was written, before the file was moved.
        is_single = manifest in (Manifest(), Manifest(Part(single, 1, manifests.BASE)))
        is_moved = any(self._files.exists(path) for path, _ in paths)
        if is_single and self._files.exists(single) and not is_moved:
            return [(single, "base")]
        return paths

    def _refuse_nameless_increments(self, directory: str, manifest_path: str) -> None:
        """Raise LoadFailed for increments with data that no manifest names.

        Otherwise they would be taken for no data, and overwritten. An interrupted first start
        leaves increments, too, but empty ones.
        """
        if not self._files.exists(directory):
            return
        for name in self._files.names(directory):
            path = f"{directory}/{name}"
            is_increment = name.startswith(f"{self._instance.config.appendfilename}.")
            if is_increment and name.endswith(".incr.aof") and self._files.size(path):
                raise LoadFailed(
                    f"There is no {manifest_path}, but {path} holds data. Put the manifest back,"
                    " or move the files away to start with no data."
                )

    # -- the whole -----------------------------------------------------------------------------

    def _load_all(self, sources: list[Source], *, is_append_only: bool) -> Iterator[None]:
        state = self._state
        at_us = self._monotonic_us()
        self._slice_us = self._progress_us = self._started_us = at_us
        self._slice_at = 0
        self._interval_bytes = self._instance.config.loading_process_events_interval_bytes
        state.loading_started_ms = self._instance.host.clock_us() // 1000
        state.loading_since_ms = at_us // 1000
        state.loading_total_bytes = sum(source.size for source in sources)
        state.loading_loaded_bytes = 0
        state.loaded_keys = state.expired_keys_on_load = state.skipped_keys_on_load = 0
        self._instance.set_loading(True)
        try:
            with _without_garbage_collection(), _failing_with_system_errors():
                for source in sources:
                    yield from self._load(source, is_append_only)
                    self._loaded_bytes += source.size
        finally:
            self._instance.set_loading(False)

    def _load(self, source: Source, is_append_only: bool) -> Iterator[None]:
        """Load one file."""
        started_us = self._monotonic_us()
        buffer = self._files.buffer(source.path)
        position = 0
        if not is_append_only or begins_snapshot(buffer):
            if is_append_only:
                self._log("notice", "Reading RDB base file on AOF loading...")
            position = yield from self._load_snapshot(source, buffer, is_append_only)
        if is_append_only:
            yield from self._load_requests(source, buffer, position)
        if is_append_only and source.size:
            seconds = (self._monotonic_us() - started_us) / 1e6
            what = f"{source.kind} file {source.name}"
            self._log("notice", f"DB loaded from {what}: {seconds:.3f} seconds")

    def _pause(self, position: int) -> Iterator[None]:
        """Yield if the time slice is over. `position`: up to where the file is read."""
        at_us = self._monotonic_us()
        state = self._state
        begin, state.loading_loaded_bytes = self._slice_at, self._loaded_bytes + position
        is_short = state.loading_loaded_bytes - begin < self._interval_bytes
        if is_short and at_us - self._slice_us < SLICE_US:
            return
        if at_us - self._progress_us >= PROGRESS_US:
            self._progress_us = at_us
            self._log("notice", self._progress(at_us))
        yield
        self._slice_us, self._slice_at = self._monotonic_us(), state.loading_loaded_bytes

    def _delay(self, keys: int) -> Iterator[None]:
        """Wait as `key-load-delay` says, in parts between which clients are served."""
        host = self._instance.host
        left_us = delay_us(self._instance.config.key_load_delay, keys)
        while left_us > 0:
            host.pause(min(left_us, SLICE_US) / 1e6)
            left_us -= SLICE_US
            yield

    def _progress(self, at_us: int) -> str:
        loaded, total = self._state.loading_loaded_bytes, self._state.loading_total_bytes
        left_s = (at_us - self._started_us) / 1e6 * (total - loaded) / max(1, loaded)
        return (
            f"Loading: {100 * loaded / total:.0f}% ({loaded / _MEBIBYTE:.1f} of"
            f" {total / _MEBIBYTE:.1f} MB), about {left_s:.0f} seconds left"
        )

    def _seconds(self) -> str:
        return f"{(self._monotonic_us() - self._started_us) / 1e6:.3f}"

    def _loaded_so_far(self) -> str:
        """What was loaded before the damage, for error messages."""
        keys = entries = 0
        for db in self._instance.databases:
            keys += len(db)
            entries += sum(v.length for v in db.values.values() if isinstance(v, Stream))
        return f"Up to there: {keys} keys, {entries} entries of streams."

    # -- snapshots -----------------------------------------------------------------------------

    def _load_snapshot(
        self, source: Source, buffer: Buffer, is_base: bool
    ) -> Generator[None, None, int]:
        """Load a snapshot; returns where it ends."""
        config, state = self._instance.config, self._state
        now_ms = self._instance.host.clock_us() // 1000
        loaded = 0
        try:
            reader = SnapshotReader(
                buffer,
                skip_unsupported=config.rdb_skip_unsupported,
                verify_checksum=config.rdbchecksum,
                validates=config.sanitize_dump_payload == "yes",
                limits=self._instance.encoding_limits,
                now_ms=now_ms,
            )
            restore = SnapshotRestore(
                self._instance,
                reader,
                now_ms=now_ms,
                keeps_expired=is_base or self._instance.replication.is_replica,
                replaces=self.replaces_keys,
                note_expired=lambda db_index, key: state.dropped_on_load.append((db_index, key)),
            )
            for position in restore.steps():
                keys, loaded = restore.loaded - loaded, restore.loaded
                yield from self._delay(keys)
                yield from self._pause(position)
        except UnsupportedValue as error:
            raise LoadFailed(
                f"{source.path}: {error}. Start with --rdb-skip-unsupported yes to leave out what"
                " is not supported; the next snapshot or rewrite then deletes it for good."
            ) from None
        except ForeignSnapshot as error:
            raise LoadFailed(
                f"Can't handle RDB format: {source.path} cannot be loaded: {error}. It may be"
                " sound: load it with the server that wrote it, and take the data from there."
            ) from None
        except (CorruptSnapshot, UnfitContent) as error:
            raise LoadFailed(
                f"{_cause(error)}{source.path} cannot be loaded: {error}. {self._loaded_so_far()}"
                f" `rillway check {source.path}` shows details; restore what is damaged from a"
                " backup."
            ) from None
        self._instance.background_work.tidy(squeeze_nodes(restore.nodes))
        state.loaded_keys += restore.loaded
        state.expired_keys_on_load += restore.expired
        state.skipped_keys_on_load += reader.skipped.total()
        if not is_base:
            state.loaded_history = reader.aux
        self._announce(source, reader, restore, now_ms)
        return reader.end

    def _announce(
        self, source: Source, reader: SnapshotReader, restore: SnapshotRestore, now_ms: int
    ) -> None:
        """Log what was loaded, and which server wrote it when, if the file says so."""
        for name, count in sorted(reader.skipped.items()):
            self._log("warning", f"{source.path}: left out, not supported: {count} of type {name}")
        for line in loaded_lines(restore, reader.aux, now_ms):
            self._log("notice", line)

    # -- requests ------------------------------------------------------------------------------

    def _load_requests(self, source: Source, buffer: Buffer, position: int) -> Iterator[None]:
        """Load the requests of a file from `position` on."""
        file = RequestFile(buffer, position)
        replay = Replay(self._instance, source.path)
        damage: DamagedFile | None = None
        try:
            for batch in file.batches():
                before = replay.requests
                replay.run(batch)
                yield from self._delay(replay.requests - before)
                yield from self._pause(file.position)
            torn_at = replay.open_unit_offset
        except TornFile as error:
            torn_at = error.offset if replay.open_unit_offset is None else replay.open_unit_offset
        except UnfitContent as error:
            raise LoadFailed(
                f"{source.path} cannot be loaded: {error}. {self._loaded_so_far()}"
            ) from None
        except UnreplayableRequest as error:
            raise LoadFailed(
                f"{error.reason} reading the append only file {source.path}, at offset"
                f" {error.offset}. {self._loaded_so_far()} The"
                " file may be sound: the server that wrote it may know what is unknown here. Load"
                " it with that server and take the data from there; truncating it would lose data."
            ) from None
        except DamagedFile as error:
            torn_at = file.position if replay.open_unit_offset is None else replay.open_unit_offset
            damage = error
        self._judge_refusals(source, replay)
        if replay.open_unit_offset is not None:
            self._log(
                "warning", f"Revert incomplete MULTI/EXEC transaction in AOF file {source.name}"
            )
        if damage is not None:
            assert torn_at is not None
            self._cut_damage(source, torn_at, damage)
        elif torn_at is not None:
            self._cut(source, torn_at)

    def _judge_refusals(self, source: Source, replay: Replay) -> None:
        """Stop because of refused writes, or go on without them."""
        if replay.first_refusal is None:
            return
        counts = ", ".join(f"{count} x '{name}'" for name, count in replay.refusals.items())
        what = f"{source.path}: writes were refused: {counts}; the first: {replay.first_refusal}"
        config = self._instance.config
        if config.propagation_error_behavior == "panic":
            raise LoadFailed(
                "This server panicked sending an error to its AOF-loading-client after processing"
                f" the command '{replay.first_refusal.command}' (propagation-error-behavior is"
                f" panic). {what}"
            )
        if config.aof_skip_refused_writes:
            self._log("warning", f"{what}. They are left out (aof-skip-refused-writes is yes).")
            return
        raise LoadFailed(
            f"{what}. What they wrote is missing, and the next rewrite would delete it for good, so"
            " the start ends here; the files are unchanged. With --aof-skip-refused-writes yes it"
            " goes on without them."
        )

    def _cut(self, source: Source, offset: int) -> None:
        """Truncate a torn end, on disk."""
        path, lost = source.path, source.size - offset
        where = f"{path}: it breaks off, its last request, at offset {offset}, is not complete"
        repair = f"Make a backup of the file, then `rillway check --fix {path}` cuts it off."
        if not self._instance.config.aof_load_truncated:
            hint = " With --aof-load-truncated yes a start does so." if source.may_be_torn else ""
            raise LoadFailed(
                f"Unexpected end of file reading the append only file {where}. {repair}{hint}"
            )
        if not source.may_be_torn:
            raise LoadFailed(
                f"Fatal error: the truncated file is not the last file. {where}. {repair}"
            )
        for line in (
            f"!!! Warning: short read while loading the AOF file {source.name}!!!",
            f"!!! Truncating the AOF {source.name} at offset {offset} !!!",
        ):
            self._log("warning", line)
        self._truncate(path, offset)
        self._log(
            "warning",
            f"AOF {source.name} loaded anyway because aof-load-truncated is enabled; {lost} bytes"
            " were cut off, which is what was being written when the server ended",
        )

    def _cut_damage(self, source: Source, offset: int, damage: DamagedFile) -> None:
        """Truncate a damaged end, on disk, if it is short enough."""
        path, lost = source.path, source.size - offset
        if not source.may_be_torn or lost > self._instance.config.aof_load_corrupt_tail_max_size:
            hint = (
                f" A start cuts off the {lost} bytes from offset {offset} on with"
                f" --aof-load-corrupt-tail-max-size {lost}."
            )
            raise LoadFailed(
                f"Bad file format reading the append only file {path}: {damage}."
                f" {self._loaded_so_far()} Make a backup of the file, then `rillway check {path}`"
                " shows details, and with --fix it truncates the file."
                + (hint if source.may_be_torn else "")
            )
        self._truncate(path, offset)
        self._log(
            "warning",
            f"Bad file format reading the append only file {source.name}: {damage}. Loaded anyway:"
            f" the last {lost} bytes were cut off at offset {offset}, which"
            " aof-load-corrupt-tail-max-size allows",
        )

    def _truncate(self, path: str, size: int) -> None:
        file = self._files.append(path)
        try:
            file.truncate(size)
            file.sync()
        finally:
            file.close()


def _cause(error: Exception) -> str:
    """Redis's words for a snapshot that is damaged, for those who look for them in the log."""
    if isinstance(error, TruncatedSnapshot):
        return "Short read or OOM loading DB: "
    if isinstance(error, WrongChecksum):
        return "Wrong RDB checksum, RDB CRC error: "
    return ""


@contextlib.contextmanager
def _failing_with_system_errors() -> Iterator[None]:
    """Turn an OSError into LoadFailed."""
    try:
        yield
    except OSError as error:
        raise LoadFailed(f"{error.filename or 'A file'}: {error.strerror or error}") from error


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # the loaded data lives long: collections need not visit it
        if was_enabled:
            gc.enable()
