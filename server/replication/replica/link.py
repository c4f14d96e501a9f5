"""A replica's link to its primary: a state machine for connecting, synchronising, following.

    phase       what happens                        next
    CONNECT     nothing; the next tick connects     CONNECTING
    CONNECTING  the connection is made              HANDSHAKE
    HANDSHAKE   PING, AUTH, REPLCONF, PSYNC         CONNECTED if the primary's backlog has all that
                                                    is missing, otherwise SYNC
    SYNC        the snapshot is received, loaded    CONNECTED
    CONNECTED   the stream is applied               CONNECT, if the connection breaks

Every failure leads back to CONNECT, and leaves the data unchanged. The whole transition table is in
docs/architecture/replication.md.

The replication ID, the offset and the database outlive a connection. With them the next one asks to
resume (`can_resume`); without, it asks for a snapshot. After a broken stream they are dropped.

Source: redis-server 7.0.15 for the bytes; Redis 7.0 for times.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator

from commands.core.client import Clients
from commands.core.gates import GATE_BUSY, HOLDING_GATES
from commands.core.host import Detached
from commands.core.server_state import NO_ID, UNKNOWN, LinkPhase
from commands.core.services import Services
from protocol.replies import command
from server.clock import has_passed
from server.persistence.files import Files
from server.replication.backoff import MAX_PAUSE_MS, Backoff
from server.replication.primary.feed import Feed
from server.replication.replica.applier import BrokenStream, Following
from server.replication.replica.handshake import FullSync, Handshake
from server.replication.replica.installation import Installation, InstallationFailed
from server.replication.replica.reception import BadSnapshot, Reception
from server.replication.sockets import Outside, Wire
from server.requests.dispatch import Dispatcher

RETRY_MS = 1000
ACKNOWLEDGE_MS = 1000
LINE_TIMEOUT_MS = 5000

# The log lines for a primary that is silent for too long. All lines here are Redis's, because tools
# search the log for them; details of ours follow.
_SILENCE = {
    LinkPhase.CONNECTING: "Timeout connecting to the MASTER...",
    LinkPhase.HANDSHAKE: "Timeout connecting to the MASTER...",
    LinkPhase.SYNC: "Timeout receiving bulk data from MASTER... If the problem persists try to set"
    " the 'repl-timeout' parameter in redis.conf to a larger value.",
    LinkPhase.CONNECTED: "MASTER timeout: no data nor PING received...",
}


class Link:
    """The link of one instance. `changed` is called when the phase changes."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        feed: Feed,
        outside: Outside,
        files: Files,
        changed: Callable[[], object],
        history_changed: Callable[[], object],
    ) -> None:
        """`history_changed` is called when this server's own replicas must synchronise again."""
        self.can_resume = False
        self.failover = False  # whether the next PSYNC asks the other server to take over
        # Called with the reason if it refuses or disconnects.
        self.refused: Callable[[str], object] = lambda reason: None
        self._dispatcher = dispatcher
        self._instance = instance = dispatcher.instance
        self._config = instance.config
        self._state = instance.replication
        self._facts = instance.replication.link
        self._feed = feed
        self._outside = outside
        self._files = files
        self._changed = changed
        self._history_changed = history_changed
        self._wire: Wire | None = None
        self._dropped_ms = 0
        self._pause_ms = 0  # until the next attempt
        self._full_syncs = Backoff()
        self._approach = ""  # what the log says of the next attempt, {}: the address
        self._heard_ms = self._sent_ms = 0
        self._owed_offset = UNKNOWN  # to be acknowledged again when it is on disk
        self._addresses = (b"", b"", -1)
        self._begin_again()

    def _begin_again(self) -> None:
        """Reset the state of a connection."""
        self._handshake: Handshake | None = None
        self._full_sync: FullSync | None = None  # the primary's answer; None: it resumes
        self._reception: Reception | None = None
        self._steps: Generator[None] | None = None  # of the installation
        self._early = b""  # of the stream, while the snapshot is installed
        self._following: Following | None = None
        self._is_scheduled = False

    # -- beginning and end ---------------------------------------------------------------------

    def start(self) -> None:
        """This server is a replica now: connect at once."""
        self._facts.attempts = 0
        self._set_phase(LinkPhase.CONNECT)
        self._pause_ms = 0
        self._full_syncs = Backoff()
        self._approach = "Connecting to MASTER {}"
        if self._facts.down_since_ms == UNKNOWN and self._facts.up_since_ms != UNKNOWN:
            self._facts.down_since_ms = self._instance.monotonic_ms
        self._connect()

    def stop(self) -> None:
        """Stop: this server follows no primary any more, or another one."""
        if self._facts.phase is LinkPhase.CONNECTED:
            self._log("warning", "Connection with master lost. Reason: this server leaves it")
            self._log_cached()
        self._disconnect()
        self._set_phase(LinkPhase.NONE)

    def drop(self, reason: str, *, at_once: bool = True, is_broken: bool = False) -> None:
        """Drop the connection; a new one follows. `reason` is mostly the whole line of the log."""
        phase, self._approach = self._facts.phase, "Connecting to MASTER {}"
        self._pause_ms = 0 if at_once else RETRY_MS
        if phase is LinkPhase.CONNECTED:
            self._approach = "Reconnecting to MASTER {}"
            self._log("warning", f"Connection with master lost. Reason: {reason}")
            self._log_cached()
        elif not self.failover:
            self._log("warning", reason)
            if phase is LinkPhase.SYNC or reason in _SILENCE.values():
                self._approach = "Reconnecting to MASTER {} after failure"
        self._count_failure(phase, is_broken)
        self._disconnect()
        self._set_phase(LinkPhase.CONNECT)
        self._dropped_ms = self._instance.monotonic_ms
        if self.failover:
            self.failover = False
            self.refused(reason)
        elif not self._pause_ms:
            self._connect()

    def _count_failure(self, phase: LinkPhase, is_broken: bool) -> None:
        """Pause longer if a full synchronisation has failed, or the stream after it is broken.

        It has succeeded once the link was up for as long as the longest pause.
        """
        facts, failed, monotonic_ms = self._facts, self._full_syncs, self._instance.monotonic_ms
        is_up = phase is LinkPhase.CONNECTED
        if is_up and has_passed(MAX_PAUSE_MS, facts.up_since_ms, monotonic_ms):
            failed = self._full_syncs = Backoff()
        if phase is LinkPhase.SYNC or is_broken:
            failed.fail(monotonic_ms)
            self._pause_ms = failed.pause_ms
            if failed.failures > 1:
                self._log(
                    "warning",
                    f"The full synchronization with the master failed, {failed.failures} in a"
                    f" row: the next attempt is in {failed.pause_ms // 1000} s",
                )

    def _log_cached(self) -> None:
        if self.can_resume:
            self._log("notice", "Caching the disconnected master state.")

    def _disconnect(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        if self._reception is not None:
            self._reception.discard()
        if self._steps is not None:
            self._steps.close()
            self._instance.set_loading(False)
        following = self._following
        if following is not None:
            self._instance.feature(Clients).forget(following.client)
        monotonic_ms, facts = self._instance.monotonic_ms, self._facts
        facts.is_transferring = facts.is_installing = False
        if facts.phase is LinkPhase.CONNECTED:
            facts.down_since_ms = monotonic_ms
        self._begin_again()

    def _set_phase(self, phase: LinkPhase) -> None:
        self._facts.phase = phase
        self._changed()

    # -- connecting ----------------------------------------------------------------------------

    def _connect(self) -> None:
        address = self._config.replicaof
        assert address is not None
        self._log("notice", self._approach.format(f"{address[0]}:{address[1]}"))
        self._log("notice", "MASTER <-> REPLICA sync started")
        self._heard_ms = self._instance.monotonic_ms
        self._facts.attempts += 1
        self._facts.total_attempts += 1
        self._set_phase(LinkPhase.CONNECTING)
        self._wire = self._outside.connect(*address, self)

    def connected(self, address: bytes, local_address: bytes, descriptor: int) -> None:
        """Begin the handshake on the open connection."""
        self._addresses = address, local_address, descriptor
        self._heard_ms = self._instance.monotonic_ms
        self._handshake = Handshake(self._instance, self._write, self.can_resume, self.failover)
        self._set_phase(LinkPhase.HANDSHAKE)
        self._log("notice", "Non blocking connect for SYNC fired the event.")
        self._handshake.begin()

    def lost(self, reason: str) -> None:
        """Handle a lost connection: reconnect at once after a working link, else after a delay."""
        at_once = self._facts.phase in (LinkPhase.CONNECTED, LinkPhase.SYNC)
        self._wire = None
        self.drop(self._loss(reason), at_once=at_once)

    def _loss(self, reason: str) -> str:
        """The line of the log for a connection that broke: what was interrupted, and why."""
        phase = self._facts.phase
        if phase is LinkPhase.CONNECTING:
            return f"Error condition on socket for SYNC: {reason}"
        if phase is LinkPhase.HANDSHAKE:
            what = "did not respond to command during SYNC handshake"
            if self._is_synchronising:
                what = "did not reply to PSYNC, will try later"
            return f"Failed to read response from the server: {reason}. Master {what}"
        if phase is LinkPhase.SYNC:
            is_waiting = self._reception is not None and self._reception.is_waiting
            doing = "reading bulk count from" if is_waiting else "trying to sync with"
            return f"I/O error {doing} MASTER: {reason}"
        return reason

    def received(self, data: bytes) -> None:
        """Take replies to the handshake, the snapshot, or the stream."""
        self._heard_ms = self._facts.heard_ms = self._instance.monotonic_ms
        try:
            if self._handshake is not None:
                data = self._shake_hands(self._handshake, data)
            if self._reception is not None and data:
                self._take_snapshot(data)
            elif self._steps is not None:
                self._early += data
            elif self._following is not None and data:
                self._take_stream(data)
        except BrokenStream as error:
            self._forget_history(str(error))
        except (BadSnapshot, OSError) as error:
            self.drop(str(error), at_once=False)

    def _write(self, data: bytes) -> None:
        if self._wire is not None:
            self._wire.write(data)

    def _shake_hands(self, handshake: Handshake, data: bytes) -> bytes:
        """Go on with the handshake; returns the bytes after it."""
        rest = handshake.take(data)
        found = handshake.outcome
        if found is not None:
            self._handshake = None
        if isinstance(found, FullSync):
            self._begin_full_sync(found)
        elif found is not None:
            self._resume(found.replication_id)
        return rest

    @property
    def _is_synchronising(self) -> bool:
        """True if the answer to PSYNC is what the handshake waits for."""
        return self._handshake is not None and self._handshake.has_asked_to_sync

    @property
    def _knows_offsets(self) -> bool:
        """True if the primary reports offsets: SYNC was not needed."""
        return self._full_sync is None or self._full_sync.knows_offsets

    # -- going on ------------------------------------------------------------------------------

    def _resume(self, replication_id: str) -> None:
        state = self._state
        self._log("notice", "Successful partial resynchronization with master.")
        if replication_id and replication_id != state.replication_id:
            self._log("notice", f"Master replication ID changed to {replication_id}")
            state.second_id, state.second_offset = state.replication_id, state.offset + 1
            state.replication_id = replication_id
            self._history_changed()
        if self._feed.backlog is None:
            self._feed.begin_backlog()
        self._log("notice", "MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization.")
        self._tell_supervisor("Partial Resynchronization accepted")
        self._begin_following(state.stream_db)

    # -- the snapshot --------------------------------------------------------------------------

    def _begin_full_sync(self, found: FullSync) -> None:
        self._full_sync = found
        if found.knows_offsets:
            self._log("notice", f"Full resync from master: {found.replication_id}:{found.offset}")
        if self.can_resume:
            self._log("notice", "Discarding previously cached master state.")
        path = "" if self._loads_diskless() else f"temp-link-{os.getpid()}.rdb"
        self._reception = Reception(self._files, path)
        facts = self._facts
        facts.is_transferring = True
        facts.snapshot_bytes = facts.snapshot_bytes_read = 0
        self._set_phase(LinkPhase.SYNC)

    def _loads_diskless(self) -> bool:
        """Return True if the snapshot that begins is to be received into memory."""
        mode = self._config.repl_diskless_load
        is_empty = not any(map(len, self._instance.databases))
        return mode == "swapdb" or (mode == "on-empty-db" and is_empty)

    def _take_snapshot(self, data: bytes) -> None:
        reception, facts = self._reception, self._facts
        assert reception is not None
        was_waiting = reception.is_waiting
        self._early = reception.feed(data)
        if was_waiting and not reception.is_waiting:
            what = f"{reception.expected_bytes} bytes from master"
            if reception.has_mark:
                what = "streamed RDB from master with EOF"
            where = "to disk" if reception.path else "to parser"
            self._log("notice", f"MASTER <-> REPLICA sync: receiving {what} {where}")
        facts.snapshot_bytes = reception.expected_bytes
        facts.snapshot_bytes_read = reception.received_bytes
        facts.snapshot_heard_ms = self._instance.monotonic_ms
        if reception.is_complete:
            self._reception = None
            self._install(reception)

    def _install(self, reception: Reception) -> None:
        """Load the snapshot in time slices. Reading is paused meanwhile."""
        assert self._wire is not None
        self._wire.pause()
        if self._config.repl_diskless_load != "swapdb":
            self._instance.set_loading(True)
        state = self._instance.persistence
        state.loading_started_ms = self._instance.now_ms
        state.loading_since_ms = self._instance.monotonic_ms
        state.loading_total_bytes = reception.received_bytes
        self._log("notice", "MASTER <-> REPLICA sync: Loading DB in memory")
        installation = Installation(self._instance, reception.content)
        self._steps = self._installing(installation, reception)
        self._facts.is_installing = True
        self._schedule()

    def _installing(self, installation: Installation, reception: Reception) -> Generator[None]:
        try:
            yield from installation.steps()
        except GeneratorExit:
            reception.discard()
            raise
        except InstallationFailed as error:
            reception.discard()
            self._steps = None
            self._instance.set_loading(False)
            self.can_resume = False
            self.drop(
                f"Failed trying to load the MASTER synchronization DB from"
                f" {'disk' if reception.path else 'socket'}: {error}",
                at_once=False,
            )
            return
        self._keep_file(reception)
        self._steps = None
        self._instance.set_loading(False)
        self._history_changed()
        self._adopt(installation.outcome.stream_db)

    def _keep_file(self, reception: Reception) -> None:
        """Keep the file as this server's snapshot, as in Redis: after a crash it can resume."""
        if not reception.path:
            return
        config = self._config
        is_kept = self._knows_offsets
        if config.rdb_del_sync_files and not config.save and not config.appendonly:
            is_kept = False
            self._log(
                "notice",
                "Removing the RDB file obtained from the master. This replica has persistence"
                " disabled",
            )
        if not is_kept:
            reception.discard()
            return
        try:
            self._files.rename(reception.path, config.dbfilename)
        except OSError as error:
            self._log(
                "warning",
                f"Failed trying to rename the temp DB into {config.dbfilename} in MASTER <->"
                f" REPLICA synchronization: {error.strerror}. The data is loaded, the file is not"
                " kept",
            )
            reception.discard()

    def _adopt(self, stream_db: int) -> None:
        """Adopt the primary's replication history."""
        state = self._state
        assert self._full_sync is not None
        state.replication_id, state.offset = self._full_sync.replication_id, self._full_sync.offset
        state.second_id, state.second_offset = NO_ID, UNKNOWN
        state.local_deadlines.clear()
        self._feed.begin_backlog()
        self._facts.synced_offset = UNKNOWN
        early = self._early
        self._log("notice", "MASTER <-> REPLICA sync: Finished with success")
        self._tell_supervisor("Finished with success")
        if self._config.appendonly:
            self._log("notice", "MASTER <-> REPLICA sync: Starting AOF after a successful sync")
        self._instance.feature(Services).persistence.data_replaced()
        self._begin_following(stream_db)
        assert self._wire is not None
        self._wire.resume()
        if self._knows_offsets:
            self.acknowledge()
        if early:
            self.received(early)

    # -- the stream ----------------------------------------------------------------------------

    def _begin_following(self, stream_db: int) -> None:
        instance, facts, monotonic_ms = self._instance, self._facts, self._instance.monotonic_ms
        client = instance.feature(Clients).new()
        client.connection = transport = LinkTransport(self)
        client.address, transport.local_address, transport.fd = self._addresses
        client.db = instance.databases[stream_db]
        self._following = Following(
            instance, self._feed, client, self._dispatcher, self._answer_getack
        )
        self._owed_offset = UNKNOWN
        facts.received_offset = self._state.offset
        if facts.down_since_ms != UNKNOWN:
            facts.down_total_ms += monotonic_ms - facts.down_since_ms
        facts.up_since_ms, facts.down_since_ms = monotonic_ms, UNKNOWN
        facts.is_transferring = facts.is_installing = False
        facts.attempts = 0
        self.can_resume = self._knows_offsets
        self.failover = False
        self._set_phase(LinkPhase.CONNECTED)

    def _take_stream(self, data: bytes) -> None:
        assert self._following is not None
        self._following.receive(data)
        self._apply()

    def _apply(self) -> None:
        following = self._following
        assert following is not None
        if not self._is_script_running:
            following.apply()
        is_held = following.has_work and self._instance.gates & HOLDING_GATES
        following.client.postponed = [] if is_held else None
        if is_held:
            return  # the stream is still received; the tick goes on with it
        if following.has_work and self._wire is not None:
            self._wire.pause()  # back-pressure: other clients are served
            self._schedule()

    def acknowledge(self) -> None:
        """Send this server's offset to the primary."""
        if self._following is None or not self._knows_offsets:
            return
        self._sent_ms = self._instance.monotonic_ms
        words = [b"REPLCONF", b"ACK", b"%d" % self._state.offset]
        if self._config.appendonly and self._facts.synced_offset != UNKNOWN:
            words += [b"FACK", b"%d" % self._facts.synced_offset]
        self._write(command(words))

    def _answer_getack(self) -> None:
        """Send the offset at once, and again when what came before is synced: WAITAOF waits."""
        self.acknowledge()
        if self._config.appendonly and self._facts.synced_offset < self._state.offset:
            self._owed_offset = self._state.offset

    def note_synced(self) -> None:
        """More of the stream is on disk: acknowledge it if the primary has asked."""
        if self._owed_offset != UNKNOWN and self._facts.synced_offset >= self._owed_offset:
            self._owed_offset = UNKNOWN
            self.acknowledge()

    def _forget_history(self, reason: str) -> None:
        """The stream is broken, so the data may differ: ask for a full synchronisation."""
        self.can_resume = False
        self.drop(reason, at_once=False, is_broken=True)

    # -- slices and time -----------------------------------------------------------------------

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            wire = self._wire
            self._outside.call_soon(lambda: self._go_on(wire))

    @property
    def _is_script_running(self) -> bool:
        """True if a script has paused: meanwhile the data must not change."""
        return bool(self._instance.gates & GATE_BUSY)

    def _go_on(self, wire: Wire | None) -> None:
        """Run the next time slice, if the connection that requested it is still in use."""
        if wire is not self._wire or wire is None:
            return
        self._is_scheduled = False
        if self._steps is not None:
            steps = self._steps
            if self._is_script_running:
                self._schedule()
                return
            for _ in steps:
                self._schedule()
                return
        elif self._following is not None:
            try:
                self._apply()
            except BrokenStream as error:
                self._forget_history(str(error))
                return
            if not self._is_scheduled:
                wire.resume()

    def tick(self) -> None:
        """Called several times a second."""
        monotonic_ms, phase = self._instance.monotonic_ms, self._facts.phase
        if phase is LinkPhase.NONE:
            return
        if phase is LinkPhase.CONNECT:
            if has_passed(self._pause_ms, self._dropped_ms, monotonic_ms):
                self._connect()
            return
        if self._following is not None and self._following.client.postponed is not None:
            self._go_on(self._wire)
        if self._steps is not None:
            self._heard_ms = (
                monotonic_ms  # this server is busy: the primary's silence does not count
            )
            if has_passed(ACKNOWLEDGE_MS, self._sent_ms, monotonic_ms):
                self._sent_ms = monotonic_ms
                self._write(b"\n")
        elif has_passed(self._timeout_ms(), self._heard_ms, monotonic_ms):
            self.drop(_SILENCE[phase], at_once=False)
        elif self._following is not None and has_passed(
            ACKNOWLEDGE_MS, self._sent_ms, monotonic_ms
        ):
            self.acknowledge()

    def _timeout_ms(self) -> int:
        """The timeout of the phase: short for the handshake, `repl-timeout` from PSYNC on."""
        timeout_ms = self._config.repl_timeout * 1000
        if self._facts.phase is LinkPhase.HANDSHAKE and not self._is_synchronising:
            return min(LINE_TIMEOUT_MS, timeout_ms)
        return timeout_ms

    def _log(self, level: str, message: str) -> None:
        self._instance.host.log(level, message)

    def _tell_supervisor(self, outcome: str) -> None:
        self._instance.host.tell_supervisor(
            f"STATUS=MASTER <-> REPLICA sync: {outcome}. Ready to accept connections in read-write"
            " mode."
        )


class LinkTransport(Detached):
    """The transport of the client that runs the primary's requests, which gets no output."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self._link = link

    def abort(self) -> None:
        """Close the link (CLIENT KILL); the server reconnects."""
        self._link.drop("killed by a client")
