"""The replicas of a primary: synchronisation (PSYNC), acknowledgements, timeouts.

A replica asks for a history and an offset (PSYNC). If the backlog has the bytes that it lacks, the
replica resumes from there; otherwise it gets a snapshot (transfers.py) and then the stream. It
acknowledges its offset once a second; one that is silent for `repl-timeout` is disconnected.

Source: Redis 7.0; docs/architecture/replication.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from commands.core.blocked_clients import Block, BlockedClients
from commands.core.client import Client
from commands.core.gates import GATE_FEW_REPLICAS, GATE_MIGRATING, GATE_REPLICA, HOLDING_GATES
from commands.core.instance import Instance
from commands.core.server_state import NO_ID, UNKNOWN
from commands.core.services import Services
from commands.replication.replica_table import Replica, ReplicaPhase, ReplicaTable, check_replica
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from server.clock import has_passed
from server.replication.primary.feed import Feed
from server.replication.primary.transfers import Transfers

_SILENT_GATES = HOLDING_GATES & ~GATE_MIGRATING


@record
class _Waiter:
    block: Block
    offset: int
    counted: int  # the replicas counted at the last check
    on_disk: bool


class WaitingClients:
    """The clients of one instance that wait for replicas."""

    def __init__(
        self, instance: Instance, feed: Feed, run_again: Callable[[Client], object]
    ) -> None:
        """`run_again` runs the command of a client that waits once more."""
        self._instance = instance
        self._blocked = instance.feature(BlockedClients)
        self._run_again = run_again
        self._state = instance.replication
        self._replicas = instance.feature(ReplicaTable)
        self._feed = feed
        self._waiters: dict[Client, _Waiter] = {}
        self._must_ask = False
        self._has_news = False

    def add(self, client: Client, block: Block, counted: int, *, on_disk: bool) -> None:
        """A client is about to wait; `counted` replicas have acknowledged its writes."""
        self._waiters[client] = _Waiter(block, client.replicated_offset, counted, on_disk)
        self._must_ask = True

    def note_acknowledgement(self) -> None:
        """A replica has acknowledged an offset, or is lost."""
        self._has_news = bool(self._waiters)

    def finish_cycle(self) -> None:
        """Answer the clients whose writes are acknowledged; ask the replicas for the others.

        To be called before the feed is flushed.
        """
        if self._has_news:
            self._has_news = False
            self._answer_acknowledged()
        if self._must_ask and not self._instance.gates & _SILENT_GATES:
            self._must_ask = False
            if self._state.is_feeding:
                self._feed.ask_for_acknowledgement()

    def _answer_acknowledged(self) -> None:
        must_ask = self._must_ask
        online = self._replicas.online
        offsets = sorted(replica.offset for replica in online)
        synced = sorted(replica.synced_offset for replica in online)
        for client, waiter in list(self._waiters.items()):
            if not self._blocked.waits_on(client, waiter.block):
                del self._waiters[client]  # it was answered, or has left
                continue
            reached = synced if waiter.on_disk else offsets
            if len(reached) - bisect_left(reached, waiter.offset) != waiter.counted:
                del self._waiters[client]  # it comes again if it waits on
                self._run_again(client)
        self._must_ask = must_ask  # commands that ran again here need not ask again


class Replicas:
    """The replicas of one instance."""

    def __init__(self, instance: Instance, feed: Feed, transfers: Transfers) -> None:
        self._instance = instance
        self._config = instance.config
        self._state = instance.replication
        self._table = instance.feature(ReplicaTable)
        self._feed = feed
        self._transfers = transfers
        self._pinged_ms = instance.monotonic_ms
        self._counted_ms = 0
        self._alone_since_ms = UNKNOWN  # there is a backlog, and no replica

    # -- becoming one --------------------------------------------------------------------------

    def check_can_serve(self, client: Client) -> None:
        """Raise ReplyError if this server cannot accept the client as a replica now."""
        state = self._state
        if state.failover == "failover-in-progress":
            raise ReplyError(errors.SYNC_WHILE_FAILING_OVER)
        if state.is_replica and not state.is_link_up:
            raise ReplyError(errors.NO_MASTER_LINK)
        if client.output or client.connection.unsent_bytes():
            raise ReplyError(errors.SYNC_PENDING_OUTPUT)
        replica = self._table.announced.get(client)
        self._check_replica(replica or Replica(client))
        if replica is None or b"eof" in replica.capabilities:
            return
        if not (replica.wants_keys and replica.wants_functions):
            raise ReplyError(errors.FILTERED_WITHOUT_EOF)

    def _check_replica(self, replica: Replica) -> None:
        try:
            check_replica(self._instance, replica)
        except ReplyError as error:
            reason = error.text.decode().partition(" ")[2]
            line = f"Replica {replica.name} is refused: {reason}"
            self._instance.host.log_bounded("warning", "Replica refused", line)
            raise

    def synchronise(self, client: Client, replication_id: bytes, offset: int) -> None:
        """PSYNC: resume from `offset`, or send a snapshot."""
        replica = self._attach(client)
        refusal = self._refusal(replica, replication_id, offset)
        if refusal is None:
            self._go_on(replica, offset)
            return
        self._log(refusal)
        if not replication_id.startswith(b"?"):
            self._state.refused_partial_syncs += 1
        self._synchronise_fully(replica)

    def synchronise_blindly(self, client: Client) -> None:
        """SYNC: send a snapshot to a replica that knows no offsets."""
        replica = self._attach(client)
        replica.knows_offsets = False
        self._synchronise_fully(replica)

    def _attach(self, client: Client) -> Replica:
        replica = self._table.announced_by(client)
        replica.phase = ReplicaPhase.WAIT_SNAPSHOT
        replica.heard_ms = self._instance.monotonic_ms
        self._log(f"Replica {replica.name} asks for synchronization")
        client.gates |= GATE_REPLICA
        client.connection.set_delay(is_allowed=self._config.repl_disable_tcp_nodelay)
        self._table.replicas[client] = replica
        self._alone_since_ms = UNKNOWN
        self._feed.flush()  # to the replicas that were attached before
        return replica

    def _refusal(self, replica: Replica, replication_id: bytes, offset: int) -> str | None:
        """The line of the log on why a replica cannot resume; None if it can."""
        state, backlog = self._state, self._feed.backlog
        if replication_id.startswith(b"?"):
            return f"Full resync requested by replica {replica.name}"
        wanted = replication_id.decode("latin-1").lower()
        if wanted != state.replication_id:
            if wanted != state.second_id or wanted == NO_ID:
                return (
                    "Partial resynchronization not accepted: Replication ID mismatch (Replica asked"
                    f" for '{wanted}', my replication IDs are '{state.replication_id}' and"
                    f" '{state.second_id}')"
                )
            if offset > state.second_offset:
                return (
                    "Partial resynchronization not accepted: Requested offset for second ID was"
                    f" {offset}, but I can reply up to {state.second_offset}"
                )
        if backlog is not None and backlog.holds(offset):
            return None
        text = (
            f"Unable to partial resync with replica {replica.name} for lack of backlog (Replica"
            f" request was: {offset})."
        )
        if offset > state.offset + 1:
            text += (
                f" Warning: replica {replica.name} tried to PSYNC with an offset that is greater"
                " than the master replication offset."
            )
        return text

    def _go_on(self, replica: Replica, offset: int) -> None:
        backlog = self._feed.backlog
        assert backlog is not None
        state = self._state
        state.partial_syncs += 1
        replica.phase = ReplicaPhase.ONLINE
        knows_ids = b"psync2" in replica.capabilities
        line = b"CONTINUE " + state.replication_id.encode() if knows_ids else b"CONTINUE"
        missing = b"".join(backlog.since(offset))
        state.output_bytes += len(missing)
        self._instance.feature(Services).replication.send(replica, replies.simple(line) + missing)
        self._count_good()
        self._log(
            f"Partial resynchronization request from {replica.name} accepted. Sending"
            f" {len(missing)} bytes of backlog starting from offset {offset}."
        )

    def _synchronise_fully(self, replica: Replica) -> None:
        if self._feed.backlog is None and not self._state.is_replica:
            self._begin_history()
        self._transfers.request(replica)

    def _begin_history(self) -> None:
        state = self._state
        state.replication_id = self._instance.host.random_hex(40)
        state.second_id, state.second_offset = NO_ID, UNKNOWN
        self._feed.begin_backlog()
        self._feed.start()
        self._log(
            "Replication backlog created, my new replication IDs are"
            f" '{state.replication_id}' and '{state.second_id}'"
        )

    # -- while they follow ---------------------------------------------------------------------

    def acknowledged(self, replica: Replica) -> None:
        """A replica has acknowledged its offset."""
        self._transfers.acknowledged(replica)

    def disconnect_all(self) -> None:
        """Disconnect all: the replication ID has changed. They reconnect, and ask by the old ID."""
        for client in list(self._table.replicas):
            client.connection.abort()

    def tick(self) -> None:
        """Called several times a second."""
        monotonic_ms = self._instance.monotonic_ms
        if self._table.replicas:
            self._ping_when_due()
            self._drop_silent()
        self._forget_history_when_alone()
        if has_passed(1000, self._counted_ms, monotonic_ms):
            self._counted_ms = monotonic_ms
            self._count_good()

    def _ping_when_due(self) -> None:
        state, monotonic_ms = self._state, self._instance.monotonic_ms
        period_ms = self._config.repl_ping_replica_period * 1000
        if not has_passed(period_ms, self._pinged_ms, monotonic_ms):
            return
        self._pinged_ms = monotonic_ms
        if state.is_feeding and state.failover == "no-failover":
            self._feed.ping()

    def _drop_silent(self) -> None:
        timeout_ms = self._config.repl_timeout * 1000
        for replica in self._table.online:
            is_silent = has_passed(timeout_ms, replica.heard_ms, self._instance.monotonic_ms)
            if is_silent and replica.knows_offsets:
                self._log(
                    f"Disconnecting timedout replica (streaming sync): {replica.name}", "warning"
                )
                replica.client.connection.abort()

    def _forget_history_when_alone(self) -> None:
        """Drop the backlog and the history after `repl-backlog-ttl` seconds without replicas."""
        state, monotonic_ms, ttl_s = (
            self._state,
            self._instance.monotonic_ms,
            self._config.repl_backlog_ttl,
        )
        if state.is_replica or self._table.replicas or self._feed.backlog is None:
            self._alone_since_ms = UNKNOWN
        elif self._alone_since_ms == UNKNOWN:
            self._alone_since_ms = monotonic_ms
        elif ttl_s and has_passed(ttl_s * 1000, self._alone_since_ms, monotonic_ms):
            self._feed.drop_backlog()
            state.replication_id = self._instance.host.random_hex(40)
            state.second_id, state.second_offset = NO_ID, UNKNOWN
            self._log(
                f"Replication backlog freed after {ttl_s} seconds without connected replicas."
            )

    # -- min-replicas-to-write -----------------------------------------------------------------

    def _count_good(self) -> None:
        """Count the replicas whose last sign of life is recent; refuse writes if too few."""
        instance, state, config = self._instance, self._state, self._config
        lag_ms = config.min_replicas_max_lag * 1000
        state.good_replicas = sum(
            instance.monotonic_ms - replica.heard_ms < lag_ms + 1000
            for replica in self._table.online
        )
        is_asked = bool(config.min_replicas_to_write and config.min_replicas_max_lag)
        are_few = state.good_replicas < config.min_replicas_to_write
        must_refuse = is_asked and are_few and not state.is_replica
        instance.set_gate(GATE_FEW_REPLICAS, is_shut=must_refuse)

    def review(self) -> None:
        """Count again: a replica was added or lost, or a directive or the role has changed."""
        self._count_good()

    def _log(self, message: str, level: str = "notice") -> None:
        self._instance.host.log(level, message)
