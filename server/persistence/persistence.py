"""Persistence: coordinates the append-only file, snapshots, and their child process.

The server owns one (`Service`, `InProcessServer`); commands reach it as `Services.persistence`:

    persistence = Persistence(dispatcher, files, children, syncer, fatal)
    for _ in persistence.load(): ...      # at a start; in slices
    persistence.open()                    # from here on changes go to disk
    cycle.before_output: persistence.flush
    the timer, `hz` times a second: persistence.tick
    persistence.shut_down(...)            # at the end; may be refused

It decides which work comes first when several kinds are due, and whether writes are refused:
MISCONF as long as the last snapshot has failed (with stop-writes-on-bgsave-error and save points)
or the append-only file cannot be written. Each part has a module of its own.

Source: Redis 7.2 for the order of work.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator
from typing import NoReturn

from commands.core.blocked_clients import Block, BlockedClients
from commands.core.client import Client
from commands.core.server_state import NEVER
from commands.core.services import FilesNow, Services
from protocol import errors
from protocol.errors import ReplyError
from server.persistence.append_only.append_only_file import AppendOnlyFile, Phase
from server.persistence.append_only.directory import Syncer
from server.persistence.append_only.rewrites import Rewrites
from server.persistence.children import Children, note_progress
from server.persistence.files import Files, FolderInUse
from server.persistence.loading.loader import Loader, LoadFailed
from server.persistence.loading.reload import reload_append_only_file, reload_snapshot
from server.persistence.snapshots.saves import Snapshots
from server.requests.dispatch import Dispatcher

_ONE_EACH = "Each server needs a folder of its own: give this one another --dir."
_OTHER_CHILD = "but there is already another background operation"
# Errors of a folder in which no file can be made.
_UNWRITABLE = {errno.EACCES, errno.ENOENT, errno.ENOTDIR, errno.EPERM, errno.EROFS}
_RELOAD_FAILED = b"ERR Error trying to load the RDB dump, check server logs."


class Persistence:
    """The persistence of one instance."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        files: Files,
        children: Children,
        syncer: Syncer,
        fatal: Callable[[str], NoReturn],
    ) -> None:
        self._dispatcher = dispatcher
        instance = dispatcher.instance
        instance.feature(Services).persistence = self
        self.append_only_file = AppendOnlyFile(instance, files, syncer, fatal, self._review_refusal)
        self.snapshots = Snapshots(instance, files, children)
        self.rewrites = Rewrites(instance, self.append_only_file, children)
        self._instance = instance
        self._config = instance.config
        self._state = instance.persistence
        self._files = files
        self._children = children
        self._fatal = fatal
        self._is_open = False
        self._could_save = False  # whether the folder could be written at any time
        self._is_in_log = False  # at the end: whether the append-only file has all data
        self._unwritable = ""  # the folder that the log has named as such
        self.has_lost_changes = False  # at the end
        self._loads_append_only_file = False
        self._waiting: dict[Client, tuple[Block, int]] = {}  # WAITAOF: the units to be synced

    # -- beginning and end ---------------------------------------------------------------------

    def load(self) -> Generator[None]:
        """Load the files of the configuration, in slices. Raises LoadFailed.

        Closing it early leaves everything on disk unchanged.
        """
        if self._config.appendonly or self._config.save:
            try:
                self.claim_folder(self._config.dir)
            except FolderInUse as error:
                raise LoadFailed(f"{error.strerror}. {_ONE_EACH}") from None
        self._loads_append_only_file = self._config.appendonly
        yield from Loader(self._instance, self._files).steps()

    def claim_folder(self, directory: str) -> None:
        """Lock the folder against other servers. Raises FolderInUse.

        Called before the first write, so that servers that write nothing can share a folder.
        """
        try:
            self._files.claim(directory, f"port {self._config.port}")
        except FolderInUse:
            raise
        except OSError as error:
            if error.errno in _UNWRITABLE:
                self._warn_of_unwritable(directory, error)
                return
            self._log(
                f"The folder {directory} cannot be locked ({error.strerror}): make sure that no"
                " other server uses it."
            )
        self._could_save = True

    def _warn_of_unwritable(self, directory: str, error: OSError) -> None:
        """Log once that nothing can be saved in a folder."""
        if self._unwritable != directory:
            self._unwritable = directory
            self._log(
                f"Nothing can be saved: the folder {directory} cannot be written"
                f" ({error.strerror}). Give the server another --dir."
            )

    def _may_write(self) -> bool:
        """Return True if this server holds the lock of its folder; log a line if not."""
        try:
            self.claim_folder(self._config.dir)
        except FolderInUse as error:
            self._log(f"{error.strerror}. {_ONE_EACH}")
            return False
        return True

    def open(self) -> None:
        """After loading: begin to write changes to disk. Raises OSError, ManifestError."""
        self.snapshots.remove_leftovers()
        if self._loads_append_only_file:
            self.append_only_file.open(
                lambda path: self.rewrites.write_first_base(self._files, path)
            )
        self._is_open = True
        if self._config.appendonly != self._loads_append_only_file:
            self._follow_late_switch()

    def _follow_late_switch(self) -> None:
        """Apply a CONFIG SET appendonly that came during loading.

        No client waits for the result any more, so switching on is retried until it succeeds.
        """
        if self._config.appendonly:
            self.rewrites.start()
        else:
            self.rewrites.switch_off()

    def shut_down(self, *, save: bool | None, force: bool, is_signal: bool = False) -> bool:
        """Bring the data to disk before the server ends; False if that fails.

        Deliberately different from Redis: where the folder could never be written, and the log has
        said so, a signal (`is_signal`) ends the server; and where only the snapshot fails, because
        the append-only file has all data.
        """
        if not self._is_open:
            return True  # partly loaded data must not replace the files
        if self._instance.is_torn:
            self._log("A script that had written was ended: its changes are dropped, unsaved.")
            save, force = False, True
        elif save is None:
            save = bool(self._config.save)
        gives_up = save and is_signal and self._unwritable and not self._could_save
        if gives_up and not self._instance.dirty:
            save = False  # nothing has changed
        force = force or bool(gives_up)
        is_done = self._end_children(force=force) and self._bring_to_disk(
            save=save, force=force, is_signal=is_signal
        )
        if not is_done:
            self._log("Errors trying to shut down the server. Check the logs for more information.")
            return False
        if gives_up and save and not self._could_save and not self._is_in_log:
            self._note_loss()
        self._is_open = False
        return True

    def _note_loss(self) -> None:
        self.has_lost_changes = True
        changes, keys = self._instance.dirty, sum(map(len, self._instance.databases))
        self._log(
            f"Lost, as {self._config.dir} cannot be written: {changes:,} changes since the start;"
            f" {keys:,} keys were in memory."
        )

    def _end_children(self, *, force: bool) -> bool:
        if self._state.save_in_progress:
            self._log("There is a child saving an .rdb. Killing it!")
            self.snapshots.call_off()
        if self._state.rewrite_in_progress:
            is_first = self._config.appendonly and self.append_only_file.phase is Phase.COLLECTING
            if is_first and not force:
                self._log("Writing initial AOF, can't exit.")
                self._tell("Writing initial AOF, can't exit.")
                return False
            if is_first:
                self._log("Writing initial AOF. Exit anyway.")
            self._log("There is a child rewriting the AOF. Killing it!")
            self.rewrites.call_off()
        return True

    def _bring_to_disk(self, *, save: bool, force: bool, is_signal: bool) -> bool:
        # The append-only file first, as in Redis: it is complete even if the snapshot fails.
        self._is_in_log = False
        if self.append_only_file.phase is not Phase.OFF:
            self._note("Calling fsync() on the AOF file.")
            # What could not be synced once may be lost although a later fsync succeeds.
            was_well = not self._state.write_error
            is_synced = self.rewrites.sync_file()
            is_whole = self.append_only_file.phase is Phase.ON
            self._is_in_log = was_well and is_synced and is_whole
        if save:
            self._note("Saving the final RDB snapshot before exiting.")
            self._tell("Saving the final RDB snapshot")
            if not self._may_write() or not self.snapshots.save():
                outcome = ". Exit anyway." if force else ", can't exit."
                if is_signal and self._is_in_log:
                    outcome = ". Nothing is lost: the append-only file has all data. Exit anyway."
                    force = True
                self._log(f"Error trying to save the DB{outcome}")
                if not force:
                    self._tell("Error trying to save the DB, can't exit.")
                    return False
        self.rewrites.close_file()
        return True

    # -- while the server runs -----------------------------------------------------------------

    def flush(self) -> None:
        """Write changes to the append-only file: a step of the cycle, before replies are sent."""
        self.append_only_file.flush(self._instance.monotonic_ms)
        if self._waiting:
            self._answer_waiting()

    def tick(self) -> None:
        """`hz` times a second."""
        if not self._is_open:
            return
        if self._has_child:
            self._look_after_child()
        else:
            self.rewrites.start_when_scheduled()
        if not self._has_child:
            self._start_what_is_due()
        self.append_only_file.maintain(self._instance.monotonic_ms)
        self._review_refusal()
        if self._waiting:
            self._answer_waiting()

    @property
    def _has_child(self) -> bool:
        return self._state.save_in_progress or self._state.rewrite_in_progress

    def _look_after_child(self) -> None:
        ending = self._children.poll()
        note_progress(self._state, self._children.progress, self._instance.monotonic_ms)
        if ending is None:
            return
        if self._state.save_in_progress:
            self.snapshots.ended(ending)
        else:
            self.rewrites.ended(ending)

    def _start_what_is_due(self) -> None:
        if not self.snapshots.start_when_due():
            self.rewrites.start_when_due()
        if not self._has_child:
            self.snapshots.start_when_scheduled()

    def _review_refusal(self) -> None:
        """Refuse writes, or let them run again."""
        self._instance.refuse_writes(self._refusal())

    def _refusal(self) -> ReplyError | None:
        state, config = self._state, self._config
        if config.stop_writes_on_bgsave_error and config.save and not state.save_succeeded:
            return ReplyError(errors.MISCONF_SNAPSHOT)
        if state.write_error:
            return errors.misconf_append_only_file(state.write_error.encode())
        return None

    # -- what commands ask ---------------------------------------------------------------------

    def files_now(self) -> FilesNow:
        """The files of this moment, with absolute paths. Raises OSError."""
        files = self.append_only_file.files_now()
        files.acl_file = self._config.aclfile and os.path.abspath(self._config.aclfile)
        if files.folder:
            files.folder = os.path.abspath(files.folder)
            files.kept_folder = os.path.abspath(files.kept_folder)
        return files

    def save(self) -> bool:
        """Write a snapshot and return when it is on disk; False if that failed."""
        saved = self._may_write() and self.snapshots.save()
        self._review_refusal()
        return saved

    def start_save(self) -> bool:
        """Start a child that writes a snapshot; False if that failed."""
        return self._may_write() and self.snapshots.start()

    def start_rewrite(self) -> bool:
        """Start a child that rewrites the append-only file; False if that failed."""
        return self._may_write() and self.rewrites.start()

    def all_data_flushed(self) -> None:
        """Stop a child that saves the removed data; with save points, save again (FLUSHALL)."""
        self.snapshots.call_off()
        if self._config.save and self._is_open:
            self.save()

    def data_replaced(self) -> None:
        """Start the append-only file again after a synchronisation replaced all data."""
        self._instance.dirty = 0
        if self._is_open and self._config.appendonly:
            self.rewrites.switch_off()
            self.rewrites.switch_on(_OTHER_CHILD if self._has_child else "")

    def reload_snapshot(self, *, save: bool, flush: bool, merge: bool) -> None:
        """Save, remove all data, and load the snapshot (DEBUG RELOAD). Raises ReplyError."""
        if save:
            self.snapshots.call_off()  # it would replace the new file with older data
            if not self.save():
                raise ReplyError(b"ERR")
        try:
            reload_snapshot(self._instance, self._files, flush=flush, merge=merge)
        except LoadFailed as error:
            self._log(str(error))
            raise ReplyError(_RELOAD_FAILED) from None

    def reload_append_only_file(self) -> None:
        """Load the append-only file in place of all data (DEBUG LOADAOF), or end the process."""
        self.append_only_file.flush(self._instance.monotonic_ms, force=True)
        try:
            reload_append_only_file(self._instance, self._files)
        except LoadFailed as error:
            # As in Redis: the next rewrite would keep only the part that was loaded.
            self._fatal(str(error))

    def apply_config(self, name: str) -> None:
        """Apply a changed directive. Raises ValueError with a text for the client."""
        if name in ("appendonly", "save") and (self._config.appendonly or self._config.save):
            try:
                self.claim_folder(self._config.dir)
            except FolderInUse as error:
                raise ValueError(error.strerror) from None
        if name == "appendonly" and self._is_open:
            self.switch_append_only_file()
        elif name in ("save", "stop-writes-on-bgsave-error"):
            self._review_refusal()

    def switch_append_only_file(self) -> None:
        """Switch the append-only file on or off, as `appendonly` says. Raises ValueError."""
        if not self._config.appendonly:
            self.rewrites.switch_off()
            return
        hindrance = _OTHER_CHILD if self._has_child else ""
        if self._instance.propagation.is_in_transaction:
            hindrance = hindrance or "during a transaction"
        if not self.rewrites.switch_on(hindrance):
            raise ValueError("Unable to turn on AOF. Check server logs.")

    # -- WAITAOF -------------------------------------------------------------------------------

    @property
    def synced_units(self) -> int:
        """The number of `Propagation.units` on disk; -1 if the append-only file is off."""
        file = self.append_only_file
        return file.synced_units if file.phase is Phase.ON else NEVER

    def answer_when_synced(self, client: Client, block: Block, units: int) -> None:
        """Answer a client that is about to wait on `block` (WAITAOF) once `units` are synced."""
        self._waiting[client] = block, units

    def _answer_waiting(self) -> None:
        """Run the commands of waiting clients again whose units are synced by now."""
        synced, blocked = self.synced_units, self._instance.feature(BlockedClients)
        for client, (block, units) in list(self._waiting.items()):
            if not blocked.waits_on(client, block):
                del self._waiting[client]  # it was answered, or has left
            elif synced >= units or not self._config.appendonly:
                del self._waiting[client]
                self._dispatcher.waiters.retry(client)

    def _note(self, message: str) -> None:
        self._instance.host.log("notice", message)

    def _tell(self, status: str) -> None:
        self._instance.host.tell_supervisor(f"STATUS={status}")

    def _log(self, message: str) -> None:
        self._instance.host.log("warning", message)
