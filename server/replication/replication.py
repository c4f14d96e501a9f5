"""Replication: coordinates the server's role, its replicas, and its link to a primary.

The server owns one (`Service`, `InProcessServer`); commands reach it as `Services.replication`:

    replication = Replication(dispatcher, outside, children, files, send)
    replication.open()                      # after the data is loaded
    cycle.before_output: replication.flush
    the timer, `hz` times a second: replication.tick

It changes the role, and what depends on it: the gates for writes and stale data, blocked clients,
and the replication history. Each part has a module of its own; docs/architecture/replication.md
explains how they work together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from commands.core.blocked_clients import Block, BlockedClients
from commands.core.client import Client, ClientEvent
from commands.core.gates import GATE_READ_ONLY, GATE_STALE
from commands.core.server_state import NO_ID, UNKNOWN
from commands.core.services import Services
from commands.replication.replica_table import Replica, ReplicaTable
from commands.server.save import waits_for_shutdown
from commands.streams.policies.timer import PolicyTimer
from protocol import errors
from protocol.errors import ReplyError
from server.persistence.children import Children
from server.persistence.files import Files
from server.replication.primary.failover import Failover
from server.replication.primary.feed import Feed
from server.replication.primary.replicas import Replicas, WaitingClients
from server.replication.primary.transfers import Transfers
from server.replication.replica.link import Link
from server.replication.sockets import Outside
from server.requests.dispatch import Dispatcher
from storage.types.value import as_int64


class Replication:
    """The replication of one instance. `send(client, data)` adds to the output of this cycle."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        outside: Outside,
        children: Children,
        files: Files,
        send: Callable[[Client, bytes], object],
    ) -> None:
        self._dispatcher = dispatcher
        self._instance = instance = dispatcher.instance
        instance.feature(Services).replication = self
        self._config = instance.config
        self._state = instance.replication
        self._table = instance.feature(ReplicaTable)
        self._send = send
        self._is_open = False
        self.feed = Feed(instance, self.send)
        self.transfers = Transfers(instance, self.feed, outside, children, files)
        self.replicas = Replicas(instance, self.feed, self.transfers)
        self.waiting = WaitingClients(instance, self.feed, dispatcher.waiters.retry)
        # (propagated_units, offset) at the ends of cycles that are not yet synced to disk.
        self._places: deque[tuple[int, int]] = deque()
        self.link = Link(
            dispatcher, self.feed, outside, files, self._review_gates, self.replicas.disconnect_all
        )
        self.failover = Failover(instance, self.feed, self.link, self.follow, self.promote)
        # Before loading already: clients of a replica must not write meanwhile.
        self._state.is_replica = self._config.replicaof is not None
        self._review_gates()

    def send(self, replica: Replica, data: bytes) -> None:
        """Send bytes to a replica, in the order of the calls."""
        if not replica.client.closed:
            self._send(replica.client, data)

    # -- the server calls ----------------------------------------------------------------------

    def open(self) -> None:
        """Continue the history that was stored with the loaded data, if there was one."""
        self._is_open = True
        persistence = self._instance.persistence
        self._restore_history(persistence.loaded_history, persistence.dropped_on_load)
        persistence.dropped_on_load = []
        self._instance.feature(PolicyTimer).begin_service()
        if self._state.is_replica:
            self.link.start()

    def _restore_history(self, found: dict[bytes, bytes], dropped: list[tuple[int, bytes]]) -> None:
        """Restore ID and offset: a replica can resume, and a primary's replicas can.

        `dropped`: keys that had expired. A replica that resumes gets a DEL for each.
        """
        name = found.get(b"repl-id", b"").decode("latin-1").lower()
        offset, stream_db = as_int64(found.get(b"repl-offset", b"")), _database(found)
        if len(name) != len(NO_ID) or offset is None or offset < 0:
            return
        if not 0 <= stream_db < len(self._instance.databases):
            return
        state = self._state
        state.offset, state.stream_db = offset, stream_db
        if state.is_replica:
            state.replication_id = name
            self._resume_by_own_history()
        else:
            state.second_id, state.second_offset = name, offset + 1
            self.feed.begin_backlog()
            self.feed.start()
            self.feed.delete(dropped)

    def flush(self) -> None:
        """Send new bytes to the replicas: a step of the cycle, before output is sent."""
        self.waiting.finish_cycle()
        if self._state.is_replica and self._config.appendonly:
            self._note_synced()
        self.feed.flush()
        if self._table.replicas:
            self.transfers.send_more()

    def can_send(self) -> bool:
        """Return True if the next cycle can send more of a snapshot, without news from a socket."""
        return bool(self._table.replicas) and self.transfers.can_send()

    def _note_synced(self) -> None:
        """On a replica: note up to which offset the stream is synced to disk."""
        instance, places = self._instance, self._places
        place = instance.propagation.units, self._state.offset
        if not places or places[-1] != place:
            places.append(place)
        synced_units = instance.feature(Services).persistence.synced_units
        while places and places[0][0] <= synced_units:
            self._state.link.synced_offset = places.popleft()[1]
        self.link.note_synced()

    def tick(self) -> None:
        """`hz` times a second."""
        if self._is_open:
            self.link.tick()
            self.failover.tick()
            self.replicas.tick()
            self.waiting.note_acknowledgement()  # a replica may be lost
            self.transfers.tick()

    def send_more(self) -> None:
        """A connection has room for more output."""
        if self._table.replicas:
            self.transfers.send_more()

    def apply_config(self, name: str) -> None:
        """Apply a changed directive."""
        if name.startswith("min-replicas-"):
            self.replicas.review()
        elif name == "repl-backlog-size" and self.feed.backlog is not None:
            self.feed.backlog.size_bytes = self._config.repl_backlog_size
        elif name in ("replica-read-only", "replica-serve-stale-data"):
            self._review_gates()

    def stop(self) -> None:
        """The server ends: send the last bytes, and close everything."""
        self.feed.flush()  # the last write to each replica sends them
        self.link.stop()
        self.transfers.stop()

    # -- the role ------------------------------------------------------------------------------

    def follow(self, host: str, port: int) -> None:
        """Become a replica of the given server (REPLICAOF)."""
        state = self._state
        self._instance.propagation.flush()
        self.feed.stop()
        was_replica = state.is_replica
        self.link.stop()
        self._config.replicaof = host, port
        state.is_replica = True
        if not was_replica:
            self._resume_by_own_history()
            self._release_blocked()
        self._review_gates()
        self.replicas.review()
        self.link.start()

    def _resume_by_own_history(self) -> None:
        """Ask to resume by the history of this server, which the primary may share."""
        self.link.can_resume = True
        self._instance.host.log(
            "notice",
            "Before turning into a replica, using my own master parameters to synthesize a cached"
            " master: I may be able to synchronize with the new master with just a partial"
            " transfer.",
        )

    def promote(self) -> None:
        """Become a primary (REPLICAOF NO ONE)."""
        instance, state = self._instance, self._state
        self._instance.propagation.flush()
        self.link.stop()
        if self.link.can_resume:
            instance.host.log("notice", "Discarding previously cached master state.")
        self.link.can_resume = False
        self._config.replicaof = None
        state.is_replica = False
        state.local_deadlines.clear()
        self._part_ways()
        if self.feed.backlog is not None:
            self.feed.start()
        self._review_gates()
        self.replicas.review()
        instance.feature(PolicyTimer).begin_service()

    def _part_ways(self) -> None:
        """Begin a new history. This server's replicas reconnect, and ask by the old ID."""
        state = self._state
        state.second_id, state.second_offset = state.replication_id, state.offset + 1
        state.replication_id = self._instance.host.random_hex(40)
        self._instance.host.log(
            "notice",
            f"Setting secondary replication ID to {state.second_id}, valid up to offset:"
            f" {state.second_offset}. New replication ID is {state.replication_id}",
        )
        self.replicas.disconnect_all()

    def _release_blocked(self) -> None:
        """Unblock clients whose wait depends on the old role: all but those that wait for the end.

        SHUTDOWN FAILOVER changes the role before the end.
        """
        instance = self._instance
        for client in list(instance.feature(BlockedClients).clients):
            if waits_for_shutdown(client):
                continue
            self._dispatcher.end_waiting(client, ReplyError(errors.UNBLOCKED_ROLE_CHANGE).wire)
            client.enter(ClientEvent.FINISH)

    def _review_gates(self) -> None:
        """Set the gates of this role."""
        instance, state, config = self._instance, self._state, self._config
        is_read_only = state.is_replica and config.replica_read_only
        instance.set_gate(GATE_READ_ONLY, is_shut=is_read_only)
        is_stale = state.is_replica and not state.is_link_up
        instance.set_gate(GATE_STALE, is_shut=is_stale and not config.replica_serve_stale_data)

    def take_over(self, replication_id: bytes) -> None:
        """Become the primary at the primary's request (PSYNC ... FAILOVER). Raises ReplyError."""
        state = self._state
        if not state.is_replica:
            raise ReplyError(errors.PSYNC_FAILOVER_ON_PRIMARY)
        if replication_id.decode("latin-1").lower() != state.replication_id:
            raise ReplyError(errors.PSYNC_FAILOVER_OTHER_ID)
        self.promote()

    def start_failover(
        self, target: tuple[str, int] | None, timeout_ms: int, *, force: bool
    ) -> None:
        """Hand the role over to a replica as soon as it is up to date. `timeout_ms` 0: no limit."""
        self.failover.start(target, timeout_ms, force=force)

    def abort_failover(self) -> None:
        """Stay the primary (FAILOVER ABORT)."""
        self.failover.abort()

    # -- commands ask: for the link ------------------------------------------------------------

    def acknowledge_now(self) -> None:
        """Send the primary this server's offset (REPLCONF ACK)."""
        self.link.acknowledge()

    # -- commands ask: for replicas ------------------------------------------------------------

    def check_can_serve(self, client: Client) -> None:
        """Raise ReplyError if the client cannot become a replica now."""
        self.replicas.check_can_serve(client)

    def synchronise(self, client: Client, replication_id: bytes, offset: int) -> None:
        """Make the client a replica that has everything before `offset` (PSYNC)."""
        self.replicas.synchronise(client, replication_id, offset)

    def synchronise_blindly(self, client: Client) -> None:
        """Make the client a replica that does not use offsets (SYNC)."""
        self.replicas.synchronise_blindly(client)

    def acknowledged(self, replica: Replica) -> None:
        """Note an acknowledgement: it may answer waiting clients, or go on with a failover."""
        self.replicas.acknowledged(replica)
        self.waiting.note_acknowledgement()
        self.failover.tick()

    def answer_when_acknowledged(
        self, client: Client, block: Block, counted: int, *, on_disk: bool
    ) -> None:
        """Run the command again once more than `counted` replicas have acknowledged (WAIT)."""
        self.waiting.add(client, block, counted, on_disk=on_disk)


def _database(found: dict[bytes, bytes]) -> int:
    number = as_int64(found.get(b"repl-stream-db", b""))
    return UNKNOWN if number is None else number
