"""Full synchronisations: snapshots for replicas, written by a child and sent to them.

A full synchronisation is a snapshot and the stream from that moment on. Replicas that wait at the
same time share one snapshot. There are two ways (docs/architecture/replication.md has the bytes):

diskless   a child writes into a pipe, and the server sends its bytes to all replicas at once. The
           slowest sets the pace; the stream follows once the replica has acknowledged.
from disk  a child writes a file, which each replica then gets at its own pace. A replica that
           arrives while the file is written may share it.

A Rillway gets the newest format, a Valkey from 9 on (it announces its version) that of Valkey 9. A
Redis does not say which version it can read: its snapshot is in the format of the Redis version in
`repl-snapshot-version`.

Source: Redis 7.0 for what is sent when.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import field

from commands.connection.client_memory import output_limit
from commands.core.client import ClientEvent
from commands.core.gates import GATE_BUSY
from commands.core.instance import Instance
from commands.core.services import Services
from commands.replication.replica_table import Replica, ReplicaPhase, ReplicaTable
from protocol import errors, replies
from protocol.records import entity, frozen_record, record
from server.clock import has_passed
from server.persistence.children import Child, Children, Ending, start_child
from server.persistence.files import Buffer, Files, write_all
from server.persistence.snapshots.snapshot_file import write_replica_snapshot
from server.replication.primary.failed_syncs import FailedSyncs
from server.replication.primary.feed import Feed
from server.replication.sockets import Outside, Pipe

NEWLINE_MS = 1000
# Back-pressure: with more unsent bytes than this in a replica's connection, sending waits. Small,
# because each of many connections may hold as much; the kernel buffers what a fast reader needs.
# No less than the limit from which on the transport reports that it has room again.
HIGH_WATER_BYTES = 64 << 10
_PIECE_BYTES = 64 << 10
_MARK_DIGITS = 40


@entity
class _Run:
    """A snapshot that a child is writing."""

    replicas: list[Replica]
    offset: int  # where the stream continues after it
    path: str = ""  # of the file; "" if there is none
    pipe: Pipe | None = None
    mark: bytes = b""  # the end mark of a diskless transfer
    is_read: bool = False  # whether the pipe has ended
    is_paused: bool = False  # whether the pipe waits for replicas that have much to read
    progress_ms: int = 0  # when bytes were last read from the pipe, or sent


@entity
class _Sending:
    """A file that is being sent to one replica."""

    replica: Replica
    buffer: Buffer
    position: int = 0


@record
class _Plan:
    """The replicas and the format of the next snapshot."""

    replicas: list[Replica] = field(default_factory=list)
    is_diskless: bool = False


class Transfers:
    """The full synchronisations of one instance; has a child process of its own."""

    def __init__(
        self, instance: Instance, feed: Feed, outside: Outside, children: Children, files: Files
    ) -> None:
        self._instance = instance
        self._config = instance.config
        self._state = instance.replication
        self._table = instance.feature(ReplicaTable)
        self._feed = feed
        self._outside = outside
        self._children = children
        self._files = files
        self._failed_syncs = FailedSyncs(instance)
        self._run: _Run | None = None
        self._sendings: list[_Sending] = []
        self._newline_ms = 0
        self._files_written = 0

    # -- requests ------------------------------------------------------------------------------

    def request(self, replica: Replica) -> None:
        """A replica needs a snapshot: it shares the current one if it can, else waits."""
        replica.phase = ReplicaPhase.WAIT_SNAPSHOT
        replica.waits_since_ms = self._instance.monotonic_ms
        self._state.full_syncs += 1
        run = self._run
        self._failed_syncs.refresh()
        if not self._failed_syncs.may_begin(replica):
            self._log("notice", f"Replica {replica.name} waits: its last synchronizations failed")
        elif run is not None and run.path and self._can_join(replica, run):
            self._introduce(replica, run.offset)
            replica.held = list(run.replicas[0].held)
            replica.held_bytes = run.replicas[0].held_bytes
            run.replicas.append(replica)
            self._log("notice", "Waiting for end of BGSAVE for SYNC")
        elif run is None:
            self._start_when_due()
            if self._run is None and replica.phase is ReplicaPhase.WAIT_SNAPSHOT:
                self._log("notice", "Delay next BGSAVE for diskless SYNC")
        elif run.path:
            self._log(
                "notice",
                "Can't attach the replica to the current BGSAVE. Waiting for next BGSAVE for SYNC",
            )
        else:
            self._log(
                "notice",
                "Current BGSAVE has socket target. Waiting for next BGSAVE for SYNC",
            )

    @staticmethod
    def _can_join(replica: Replica, run: _Run) -> bool:
        run.replicas = _alive(run.replicas)
        return any(_kind(other) == _kind(replica) for other in run.replicas)

    def _waiting(self) -> list[Replica]:
        return [
            replica
            for replica in self._table.replicas.values()
            if replica.phase is ReplicaPhase.WAIT_SNAPSHOT
            and not replica.holds
            and self._failed_syncs.may_begin(replica)
        ]

    def _plan(self) -> _Plan:
        """The next snapshot: for the first replica that waits, and all of its kind."""
        waiting = self._waiting()
        plan = _Plan([replica for replica in waiting if _kind(replica) == _kind(waiting[0])])
        wants_diskless = self._config.repl_diskless_sync or not (
            plan.replicas and plan.replicas[0].wants_keys
        )
        can_all = all(b"eof" in replica.capabilities for replica in plan.replicas)
        plan.is_diskless = wants_diskless and can_all
        return plan

    def _start_when_due(self) -> None:
        if self._instance.gates & GATE_BUSY:
            return  # a script runs: the stream will repeat all of it, so no part may be in the data
        plan = self._plan()
        if not plan.replicas:
            return
        delay_s, at_once = self._config.repl_diskless_sync_delay, not plan.is_diskless
        most = self._config.repl_diskless_sync_max_replicas
        waited_since_ms = min(replica.waits_since_ms for replica in plan.replicas)
        if (
            at_once
            or not delay_s
            or has_passed(delay_s * 1000, waited_since_ms, self._instance.monotonic_ms)
            or 0 < most <= len(plan.replicas)
        ):
            self._start(plan)

    # -- the child -----------------------------------------------------------------------------

    def _start(self, plan: _Plan) -> None:
        self._feed.flush()  # earlier bytes are in the snapshot, and need not be held
        run = _Run(plan.replicas, self._state.offset, progress_ms=self._instance.monotonic_ms)
        target = "replicas sockets" if plan.is_diskless else "disk"
        self._log("notice", f"Starting BGSAVE for SYNC with target: {target}")
        try:
            if plan.is_diskless:
                self._start_diskless(run)
            else:
                self._start_on_disk(run)
        except OSError as error:
            self._log(
                "warning",
                f"BGSAVE for replication failed. Can't save in background: fork: {error.strerror}",
            )
            self._refuse(run)
            return
        self._run = run
        for replica in plan.replicas:
            self._introduce(replica, run.offset)
            if run.pipe is not None:
                self._send(replica, b"$EOF:%b\r\n" % run.mark)
        self._feed.forget_database()
        if run.pipe is not None:
            run.pipe.watch(lambda data: self._pass_on(run, data))

    def _start_diskless(self, run: _Run) -> None:
        run.mark = self._instance.host.random_hex(_MARK_DIGITS).encode()
        pipe = self._outside.open_pipe()
        kind = _kind(run.replicas[0])

        def write(child: Child) -> None:
            write_replica_snapshot(
                self._instance,
                lambda data: write_all(pipe.writer, data),
                child.report,
                for_rillway=kind.is_rillway,
                for_valkey=kind.is_valkey,
                with_keys=kind.wants_keys,
                with_functions=kind.wants_functions,
            )

        try:
            pid = start_child(self._instance, self._children, write, keep=pipe.descriptor)
        except OSError:
            pipe.close_writer()
            pipe.close()
            raise
        pipe.close_writer()
        run.pipe = pipe
        self._log("notice", f"Background RDB transfer started by pid {pid}")

    def _start_on_disk(self, run: _Run) -> None:
        self._files_written += 1
        path = run.path = f"temp-repl-{os.getpid()}-{self._files_written}.rdb"
        kind = _kind(run.replicas[0])

        def write(child: Child) -> None:
            file = child.files.create(path)
            try:
                write_replica_snapshot(
                    self._instance,
                    lambda data: write_all(file, data),
                    child.report,
                    for_rillway=kind.is_rillway,
                    for_valkey=kind.is_valkey,
                    with_keys=kind.wants_keys,
                    with_functions=kind.wants_functions,
                )
            finally:
                file.close()

        pid = start_child(self._instance, self._children, write)
        self._log("notice", f"Background saving started by pid {pid} for replicas")

    def _introduce(self, replica: Replica, offset: int) -> None:
        """Tell the replica where the stream continues, and hold the stream from there on."""
        if replica.knows_offsets:
            line = b"FULLRESYNC %b %d" % (self._state.replication_id.encode(), offset)
            self._send(replica, replies.simple(line))
        self._failed_syncs.begin(replica)
        replica.holds = True
        replica.held, replica.held_bytes = [], 0

    def _refuse(self, run: _Run) -> None:
        for replica in run.replicas:
            self._failed_syncs.begin(replica)
            self._send(replica, replies.error(errors.NO_SNAPSHOT_FOR_REPLICA))
            replica.client.enter(ClientEvent.FINISH)

    # -- through the pipe ----------------------------------------------------------------------

    def _pass_on(self, run: _Run, data: bytes) -> None:
        if run is not self._run or run.pipe is None:
            return
        if not data:
            run.is_read = True
            still_up = len(_alive(run.replicas))
            self._log(
                "warning",
                f"Diskless rdb transfer, done reading from pipe, {still_up} replicas still up.",
            )
            self._hear_of_child(run)
            return
        run.progress_ms = self._instance.monotonic_ms
        for replica in _alive(run.replicas):
            self._send(replica, data)
        if self._is_full(run):
            run.is_paused = True
            run.pipe.pause()

    def _is_full(self, run: _Run) -> bool:
        return any(self._room(replica) < 0 for replica in _alive(run.replicas))

    def _room(self, replica: Replica) -> int:
        """Return the number of bytes that may still wait for a replica; negative if none may."""
        client = replica.client
        unsent_bytes = client.connection.unsent_bytes() + sum(map(len, client.output))
        return HIGH_WATER_BYTES - unsent_bytes

    def can_send(self) -> bool:
        """Return True if `look` would send more, because what it sent has left the process."""
        run = self._run
        if run is not None and run.is_paused and not self._is_full(run):
            return True
        return any(self._room(sending.replica) >= 0 for sending in self._sendings)

    def send_more(self) -> None:
        """Send more, if replicas have read what was sent."""
        run = self._run
        if run is not None and run.pipe is not None and not run.is_read and not self._is_full(run):
            run.progress_ms = self._instance.monotonic_ms
            run.is_paused = False
            run.pipe.resume()
        for sending in list(self._sendings):
            self._send_pieces(sending)

    def _hear_of_child(self, run: _Run) -> None:
        """Poll the child after the end of its pipe: its exit status says if all was written."""
        ending = self._children.poll()
        if ending is not None:
            self._ended(run, ending)

    # -- the end of the child ------------------------------------------------------------------

    def _ended(self, run: _Run, ending: Ending) -> None:
        self._run = None
        if run.pipe is not None:
            run.pipe.close()
        replicas = _alive(run.replicas)
        if not ending.succeeded:
            self._log_failure(run, ending)
            for replica in replicas:
                replica.client.connection.abort()
            self._discard(run.path)
        elif run.path:
            self._begin_sending(run, replicas)
        else:
            self._log("notice", "Background RDB transfer terminated with success")
            for replica in replicas:
                self._send(replica, run.mark)
                self._is_transferred(replica)
                self._log(
                    "notice",
                    f"Streamed RDB transfer with replica {replica.name} succeeded (socket). Waiting"
                    " for REPLCONF ACK from slave to enable streaming",
                )
        self._start_when_due()

    def _log_failure(self, run: _Run, ending: Ending) -> None:
        what = "saving" if run.path else "transfer"
        how = f"terminated by signal {ending.signal}" if ending.signal else f"error: {ending.error}"
        self._log("warning", f"Background {what} {how}")
        if not ending.was_called_off:
            self._log("warning", "SYNC failed. BGSAVE child returned an error")

    def _begin_sending(self, run: _Run, replicas: list[Replica]) -> None:
        self._log("notice", "DB saved on disk for replicas")
        self._log("notice", "Background saving terminated with success")
        try:
            buffer = self._files.buffer(run.path)
        except OSError as error:
            self._log(
                "warning",
                f"SYNC failed. Can't open/stat DB after BGSAVE: {run.path}: {error.strerror}",
            )
            for replica in replicas:
                replica.client.connection.abort()
            return
        finally:
            self._discard(run.path)  # transfers that have it open go on reading it
        for replica in replicas:
            replica.phase = ReplicaPhase.SEND_SNAPSHOT
            self._send(replica, b"$%d\r\n" % len(buffer))
            sending = _Sending(replica, buffer)
            self._sendings.append(sending)
            self._send_pieces(sending)

    def _send_pieces(self, sending: _Sending) -> None:
        replica, buffer = sending.replica, sending.buffer
        client = replica.client
        if client.closed:
            self._sendings.remove(sending)
            return
        room = self._room(replica)
        while room >= 0 and sending.position < len(buffer):
            piece = buffer[sending.position : sending.position + _PIECE_BYTES]
            sending.position += len(piece)
            room -= len(piece)
            self._send(replica, piece)
        if sending.position >= len(buffer):
            self._sendings.remove(sending)
            self._is_transferred(replica)
            self.release(replica)

    def _is_transferred(self, replica: Replica) -> None:
        """The whole snapshot is sent."""
        instance = self._instance
        replica.phase = ReplicaPhase.ONLINE
        replica.heard_ms = instance.monotonic_ms
        if not replica.knows_offsets:
            self._failed_syncs.succeed(replica)  # it never acknowledges
        if replica.wants_snapshot_only:
            replica.client.enter(ClientEvent.FINISH)
            self._log(
                "notice",
                f"RDB transfer completed, rdb only replica ({replica.name}) should be disconnected"
                " asap",
            )

    def acknowledged(self, replica: Replica) -> None:
        """A replica has acknowledged its offset, so it has loaded its snapshot."""
        if replica.is_online:
            self._failed_syncs.acknowledged(replica)
            self.release(replica)

    def release(self, replica: Replica) -> None:
        """Send the stream since the snapshot: the replica is ready to receive it."""
        if replica.holds and replica.is_online:
            replica.holds = False
            self._log("notice", f"Synchronization with replica {replica.name} succeeded")
            held, replica.held, replica.held_bytes = replica.held, [], 0
            self._state.output_bytes += sum(map(len, held))
            if held and not replica.wants_snapshot_only:
                self._send(replica, b"".join(held))

    # -- time ----------------------------------------------------------------------------------

    def tick(self) -> None:
        """Called several times a second."""
        monotonic_ms = self._instance.monotonic_ms
        if has_passed(NEWLINE_MS, self._newline_ms, monotonic_ms):
            self._newline_ms = monotonic_ms
            self._keep_waiting_alive()
        self._drop_slow()
        self._failed_syncs.refresh()
        run = self._run
        if run is None:
            self._start_when_due()
            return
        if not _alive(run.replicas):
            if run.path:
                self._log("notice", "No replica waits for the snapshot any more: killing the child")
            else:
                self._log(
                    "warning", "Diskless rdb transfer, last replica dropped, killing fork child."
                )
            self._ended(run, self._children.kill())
        elif run.pipe is None or run.is_read:
            self._hear_of_child(run)
        else:
            self.send_more()
            self._drop_stalling(run)

    def _keep_waiting_alive(self) -> None:
        """Send a newline to replicas that wait for a snapshot to begin or to be complete."""
        run = self._run
        for replica in self._table.replicas.values():
            if replica.phase is not ReplicaPhase.WAIT_SNAPSHOT:
                continue
            if not replica.holds or (run is not None and run.path and replica in run.replicas):
                self._send(replica, b"\n")

    def _drop_stalling(self, run: _Run) -> None:
        """Disconnect replicas that read nothing for `repl-timeout`, and so block the others."""
        instance = self._instance
        if not self._is_full(run):
            return
        if has_passed(self._config.repl_timeout * 1000, run.progress_ms, instance.monotonic_ms):
            slowest = max(
                _alive(run.replicas),
                key=lambda replica: replica.client.connection.unsent_bytes(),
            )
            self._log("warning", f"Disconnecting timedout replica (full sync): {slowest.name}")
            slowest.client.connection.abort()

    def _drop_slow(self) -> None:
        """Disconnect replicas whose held stream exceeds the output buffer limit."""
        for replica in list(self._table.replicas.values()):
            limit = output_limit(replica.client)
            if replica.holds and 0 < limit.hard_bytes < replica.held_bytes:
                self._log("warning", "A replica is too slow to receive its snapshot: closed")
                replica.client.connection.abort()

    def stop(self) -> None:
        """The server ends."""
        run, self._run = self._run, None
        if run is not None:
            self._children.kill()
            self._discard(run.path)

    # -- help ----------------------------------------------------------------------------------

    def _send(self, replica: Replica, data: bytes) -> None:
        self._instance.feature(Services).replication.send(replica, data)

    def _discard(self, path: str) -> None:
        if path:
            with contextlib.suppress(OSError):
                self._files.remove(path)

    def _log(self, level: str, message: str) -> None:
        self._instance.host.log(level, message)


@frozen_record
class _Kind:
    """The kind of a snapshot; replicas of equal kind share one."""

    is_rillway: bool
    is_valkey: bool
    wants_keys: bool
    wants_functions: bool


def _kind(replica: Replica) -> _Kind:
    return _Kind(replica.is_rillway, replica.is_valkey, replica.wants_keys, replica.wants_functions)


def _alive(replicas: list[Replica]) -> list[Replica]:
    return [replica for replica in replicas if not replica.client.closed]
