"""Changes of this node's role: a replica replaces its failed primary, or another's orphaned one.

An election: the replica takes a new epoch, saves it, and asks all primaries for their votes; one
with slots grants a vote in each epoch. With a majority it owns its primary's slots. A replica that
is behind others waits for them to try first (rank). A manual failover has the primary pause its
writes until the replica has all of them.
"""

from __future__ import annotations

from operator import attrgetter

from protocol.errors import ReplyError
from server.cluster import messages
from server.cluster.events import EmptyData, PauseWrites, ResumeWrites
from server.cluster.messages import FORCE_ACK, PAUSED, Message
from server.cluster.nodes import FAIL, MIGRATE_TO, NO_FAILOVER, Node
from server.cluster.outbox import Outbox
from server.cluster.state import ClusterState

ELECTION_DELAY_MS = 500  # so that FAIL spreads before votes are asked for
ELECTION_JITTER_MS = 500
RANK_DELAY_MS = 1_000
MIN_ELECTION_MS = 2_000
MANUAL_MS = 5_000
PAUSE_FACTOR = 2  # clients stay paused for longer, so that writes do not go to the old primary
ORPHANED_MS = 5_000


class Failover:
    """The role of this node: votes, elections, manual failover, replica migration."""

    def __init__(self, state: ClusterState, outbox: Outbox) -> None:
        self._state = state
        self._outbox = outbox
        # The election of this replica: when it begins, its epoch once votes were asked for.
        self._election_ms: int | None = None
        self._epoch = 0
        self._rank = 0
        self._voters: set[str] = set()
        # The manual failover: until when, and on the primary for whom; on the replica the offset
        # that it must reach, and whether it may begin.
        self._manual_until_ms: int | None = None
        self._manual_replica: Node | None = None
        self._manual_offset: int | None = None
        self._may_begin = False

    # -- roles ---------------------------------------------------------------------------------

    def follow(self, primary: Node) -> None:
        """Become a replica of another node: REPLICATE, lost slots, replica migration."""
        self._state.follow(primary)
        self._state.must_update = True
        self._end_manual()
        self._election_ms = None

    def leave_cluster(self) -> None:
        """Become a primary that knows no other node: CLUSTER RESET. A replica loses its keys."""
        state, me = self._state, self._state.myself
        state.migrating.clear()
        state.importing.clear()
        self._end_manual()
        if me.is_replica:
            state.make_primary(me)
            state.replicate()
            state.do(EmptyData())

    def _replace_primary(self, monotonic_ms: int) -> None:
        """Become the primary of the shard, and announce it."""
        state, me = self._state, self._state.myself
        former = me.primary
        assert former is not None
        state.make_primary(me)
        state.set_owner(former.slots, me)
        state.changed(is_promise=True)
        self._outbox.pong_to_all(monotonic_ms)
        self._end_manual()
        self._election_ms = None

    # -- votes ---------------------------------------------------------------------------------

    def vote(self, replica: Node, request: Message, monotonic_ms: int) -> None:
        """Vote for a replica, at most once in each epoch; the promise is saved."""
        state = self._state
        refusal = self._refusal(replica, request, monotonic_ms)
        if refusal:
            state.log(f"Failover auth denied to {replica.id}: {refusal}", is_warning=True)
            return
        replica.leader.voted_ms = monotonic_ms
        state.last_vote_epoch = state.current_epoch
        state.save(is_promise=True)
        state.log(f"Failover auth granted to {replica.id} for epoch {state.current_epoch}")
        state.send(replica.link, self._outbox.message(messages.AUTH_ACK))

    def _refusal(self, replica: Node, request: Message, monotonic_ms: int) -> str:
        """Why a replica does not get this node's vote; empty if it does."""
        state, me, primary = self._state, self._state.myself, replica.primary
        if not me.is_primary or not me.slots:
            return "no vote here"
        if request.current_epoch < state.current_epoch:
            return f"epoch {request.current_epoch} < {state.current_epoch}"
        if state.last_vote_epoch == state.current_epoch:
            return f"already voted for epoch {state.current_epoch}"
        if replica.is_primary or primary is None:
            return "it is no replica of a known primary"
        if not primary.is_failed and not request.marks & FORCE_ACK:
            return "its primary is up"
        voted_ms, pause_ms = primary.voted_ms, 2 * state.settings.node_timeout_ms
        if voted_ms is not None and monotonic_ms - voted_ms < pause_ms:
            return "voted for another replica of its primary a moment ago"
        contested = request.slots & ~state.unclaimed
        for owner in state.nodes.values():
            if owner.slots & contested and owner.config_epoch > request.config_epoch:
                return f"{owner.id} has slots of it by epoch {owner.config_epoch}"
        return ""

    def count_vote(self, voter: Node, message: Message) -> None:
        """Count a vote, if it is for the present election of this node."""
        if self._epoch and message.current_epoch == self._epoch:
            self._voters.add(voter.id)

    # -- elections -----------------------------------------------------------------------------

    def tick(self, monotonic_ms: int) -> None:
        """Ten times a second, and after votes have come."""
        if self._manual_until_ms is not None and monotonic_ms > self._manual_until_ms:
            self._state.log("Manual failover timed out.", is_warning=True)
            self._end_manual()
        if self._state.myself.primary is None:
            return
        if self._manual_offset is not None and not self._may_begin:
            self._may_begin = self._state.data.replication_offset() == self._manual_offset
        self.run_election(monotonic_ms)
        self._join_orphaned(monotonic_ms)

    def run_election(self, monotonic_ms: int) -> None:
        """One step of this replica's election, if there is a reason for one."""
        if not self._may_stand():
            return
        window_ms = max(2 * self._state.settings.node_timeout_ms, MIN_ELECTION_MS)
        begun_ms = self._election_ms
        if begun_ms is None or monotonic_ms - begun_ms > 2 * window_ms:
            self._schedule(monotonic_ms)
            return
        if not self._epoch:
            begun_ms = self._review_rank(begun_ms)
        if not begun_ms <= monotonic_ms <= begun_ms + window_ms:
            return
        if not self._epoch:
            self._ask_for_votes()
        elif self._votes() >= self._state.quorum():
            me = self._state.myself
            me.config_epoch = max(me.config_epoch, self._epoch)
            self._state.log(f"Failover election won: I'm the new master, epoch {self._epoch}")
            self._replace_primary(monotonic_ms)

    def _may_stand(self) -> bool:
        """Return True if this replica should replace its primary, and its data suffice."""
        state, primary = self._state, self._state.myself.primary
        is_manual = self._manual_until_ms is not None and self._may_begin
        if primary is None or not primary.slots:
            return False
        if is_manual:
            return True
        settings = state.settings
        if not primary.is_failed or settings.replica_no_failover:
            return False
        factor, age_ms = settings.replica_validity_factor, state.data.data_age_ms()
        if not factor:
            return True
        limit_ms = settings.replica_ping_ms + settings.node_timeout_ms * factor
        return age_ms is not None and age_ms - settings.node_timeout_ms <= limit_ms

    def _schedule(self, monotonic_ms: int) -> None:
        self._voters.clear()
        self._epoch = 0
        if self._manual_until_ms is not None:
            self._rank, self._election_ms = 0, monotonic_ms
        else:
            delay_ms = ELECTION_DELAY_MS + self._state.below(ELECTION_JITTER_MS)
            self._rank = self._current_rank()
            self._election_ms = monotonic_ms + delay_ms + self._rank * RANK_DELAY_MS
        # The other replicas of the shard need the offset of this one, for their ranks.
        self._outbox.pong_to_shard(monotonic_ms)

    def _review_rank(self, begun_ms: int) -> int:
        """Wait longer if another replica has turned out to have more data."""
        rank = self._current_rank() if self._manual_until_ms is None else self._rank
        if rank > self._rank:
            begun_ms += (rank - self._rank) * RANK_DELAY_MS
            self._rank, self._election_ms = rank, begun_ms
        return begun_ms

    def _current_rank(self) -> int:
        """How many replicas of the same primary have more data."""
        me, offset = self._state.myself, self._state.data.replication_offset()
        return sum(
            other is not me and not other.flags & NO_FAILOVER and other.offset > offset
            for other in me.leader.replicas
        )

    def _votes(self) -> int:
        """The votes of nodes that are still primaries with slots.

        A primary that was replaced, and the replica that has replaced it, do not both count.
        """
        voters = map(self._state.find, self._voters)
        return sum(voter is not None and voter.is_primary and voter.slots > 0 for voter in voters)

    def _ask_for_votes(self) -> None:
        state = self._state
        state.current_epoch += 1
        # Its own vote in this epoch: once it has won, it must not vote for another as well.
        self._epoch = state.last_vote_epoch = state.current_epoch
        state.save(is_promise=True)
        state.log(f"Starting a failover election for epoch {self._epoch}.")
        request = self._outbox.message(messages.AUTH_REQUEST)
        if self._manual_until_ms is not None:
            request.marks |= FORCE_ACK
        self._outbox.broadcast(request)

    # -- manual failover -----------------------------------------------------------------------

    def begin_manual(self, mode: bytes, monotonic_ms: int) -> None:
        """CLUSTER FAILOVER: plain, FORCE (the primary need not agree) or TAKEOVER (no votes)."""
        state, me = self._state, self._state.myself
        if me.is_primary:
            raise ReplyError(b"ERR You should send CLUSTER FAILOVER to a replica")
        if me.primary is None:
            raise ReplyError(b"ERR I'm a replica but my master is unknown to me")
        if not mode and not _can_be_asked(me.primary):
            raise ReplyError(b"ERR Master is down or failed, please use CLUSTER FAILOVER FORCE")
        self._end_manual()
        self._election_ms = None
        self._manual_until_ms = monotonic_ms + MANUAL_MS
        if mode == b"TAKEOVER":
            state.bump_epoch()
            self._replace_primary(monotonic_ms)
        elif mode == b"FORCE":
            self._may_begin = True
        else:
            state.send(me.primary.link, self._outbox.message(messages.MFSTART))

    def ask_to_take_over(self) -> bool:
        """Ask the furthest replica to begin a manual failover. False if none can be asked.

        A replica stands for slots only. The request is MFSTART, which other servers only take from
        a replica: they ignore it.
        """
        me = self._state.myself
        replicas = [
            replica
            for replica in me.replicas
            if replica.is_linked and not replica.is_failed and not replica.flags & NO_FAILOVER
        ]
        if not replicas or not me.slots:
            return False
        # The latest pong: a replica that hangs may have everything.
        furthest = max(replicas, key=attrgetter("offset", "pong_received_ms"))
        self._state.log(f"Asking replica {furthest.id} to take over.")
        self._state.send(furthest.link, self._outbox.message(messages.MFSTART))
        return True

    def take_over(self, monotonic_ms: int) -> None:
        """Handle MFSTART of this replica's primary, which is about to end."""
        primary = self._state.myself.primary
        if self._manual_until_ms is None and primary is not None and _can_be_asked(primary):
            self.begin_manual(b"", monotonic_ms)

    def pause_for(self, replica: Node, monotonic_ms: int) -> None:
        """Handle MFSTART: a replica is to replace this primary, and needs all of its writes."""
        if replica.primary is not self._state.myself:
            return
        self._end_manual()
        self._manual_until_ms = monotonic_ms + MANUAL_MS
        self._manual_replica = replica
        self._outbox.is_paused = True
        self._state.do(PauseWrites(monotonic_ms + MANUAL_MS * PAUSE_FACTOR))
        self._state.log(f"Manual failover requested by replica {replica.id}.", is_warning=True)

    def waits_for(self, node: Node) -> bool:
        """Return True if that replica waits for the final offset: it is pinged on each tick."""
        return node is self._manual_replica

    def note_offset(self, sender: Node, message: Message) -> None:
        """Note the final offset of a primary that has paused its writes."""
        is_awaited = self._manual_until_ms is not None and sender is self._state.myself.primary
        if is_awaited and message.marks & PAUSED and self._manual_offset is None:
            self._manual_offset = message.offset

    def _end_manual(self) -> None:
        if self._manual_replica is not None:
            self._state.do(ResumeWrites())
        self._outbox.is_paused = False
        self._manual_until_ms = self._manual_replica = self._manual_offset = None
        self._may_begin = False

    # -- replica migration ---------------------------------------------------------------------

    def _join_orphaned(self, monotonic_ms: int) -> None:
        """Migrate to a primary that has lost its last replica, from one that has most."""
        state, me = self._state, self._state.myself
        primaries = [node for node in state.nodes.values() if node.is_primary]
        counts = {node.id: _working_replicas(node) for node in primaries}
        orphaned = None
        for node in primaries:
            is_orphaned = node.flags & MIGRATE_TO and not node.flags & FAIL and not counts[node.id]
            node.orphaned_ms = (node.orphaned_ms or monotonic_ms) if is_orphaned else 0
            if is_orphaned and node.slots and orphaned is None:
                orphaned = node
        if orphaned is None or not state.is_ok or not state.settings.allow_replica_migration:
            return
        most = max(counts.values())
        mine = counts.get(me.leader.id, 0)
        if mine < 2 or mine < most or mine <= state.settings.migration_barrier:
            return
        givers = [node for node in primaries if counts[node.id] == most]
        first = min(replica.id for node in givers for replica in node.replicas)
        if first == me.id and monotonic_ms - orphaned.orphaned_ms > ORPHANED_MS:
            state.log(f"Migrating to orphaned master {orphaned.id}")
            self.follow(orphaned)
            state.changed()


def _can_be_asked(primary: Node) -> bool:
    return primary.is_linked and not primary.is_failed


def _working_replicas(primary: Node) -> int:
    return sum(not replica.flags & FAIL for replica in primary.replicas)
