"""The state of the cluster: its nodes, who owns each slot, epochs, marks and bans.

`ClusterState` keeps these consistent with one another; the modules around it decide what follows
from a change. It collects the actions of a step. Clock and randomness are handed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from protocol.records import record
from protocol.request import SLOT_COUNT
from server.cluster import messages
from server.cluster.events import (
    Action,
    Close,
    Log,
    Promote,
    ReplicateFrom,
    Send,
    SlotsChanged,
    StateChanged,
)
from server.cluster.messages import Message
from server.cluster.nodes import (
    ALL_SLOTS,
    FAIL,
    MIGRATE_TO,
    MYSELF,
    NO_FAILOVER,
    PFAIL,
    PRIMARY,
    REPLICA,
    Link,
    Node,
    slot_ranges,
)

if TYPE_CHECKING:
    from commands.cluster.mode import Peer

BAN_MS = 60_000  # how long a forgotten node stays forgotten
# A primary that comes back does not serve at once: another may have taken its slots meanwhile.
WRITABLE_AFTER_MS = 2_000
# How long a primary must be with a majority again before it serves writes.
MIN_REJOIN_MS, MAX_REJOIN_MS = 500, 5_000


class Random(Protocol):
    """The part of `random.Random` that is used."""

    def random(self) -> float: ...

    def getrandbits(self, bits: int, /) -> int: ...


class Data(Protocol):
    """What the core asks about the data of this node; asking changes nothing."""

    def replication_offset(self) -> int:
        """The offset of a primary; of a replica, what it has applied."""

    def data_age_ms(self) -> int | None:
        """A replica: since when its data has not been confirmed by its primary.

        While it is synchronised and linked, the time since anything came on the link; else the
        time since that ended, whatever comes meanwhile. None if it never was.
        """

    def keys_in_slot(self, slot: int) -> int:
        """The number of keys in a slot."""

    def has_keys(self) -> bool:
        """Return True if there is any key."""


@record
class Settings:
    """The directives that the core heeds; each may change at any time."""

    node_timeout_ms: int = 15_000
    require_full_coverage: bool = True
    replica_validity_factor: int = 10
    replica_no_failover: bool = False
    migration_barrier: int = 1
    allow_replica_migration: bool = True
    replica_ping_ms: int = 10_000  # repl-ping-replica-period
    # What is announced to others; ports that are not announced are those listened on.
    port: int = 6379
    second_port: int = 0
    tls_cluster: bool = False  # `port` is the TLS port, `second_port` the plain one
    tls_replication: bool = False
    bus_port: int = 16379
    announce_ip: str = ""
    hostname: str = ""
    human_name: str = ""


class ClusterState:
    """What this node knows. `myself` is one of `nodes`; `owners[slot]` is the owner of a slot."""

    def __init__(self, settings: Settings, data: Data, random: Random) -> None:
        self.settings = settings
        self.data = data
        self.random = random
        self.myself = Node(self.random_id(), MYSELF | PRIMARY, shard_id=self.random_id())
        self.nodes: dict[str, Node] = {self.myself.id: self.myself}
        self.owners: list[Node | None] = [None] * SLOT_COUNT
        self.migrating: dict[int, Node] = {}
        self.importing: dict[int, Node] = {}
        # Slots that their owner no longer claims, and that no other node has claimed yet.
        self.unclaimed = 0
        self.current_epoch = 0
        self.last_vote_epoch = 0
        self.bans: dict[str, int] = {}  # IDs of forgotten nodes, and until when they are
        self.is_ok = False
        self.size = 0  # primaries with slots
        self.sent = [0] * len(messages.TYPE_NAMES)
        self.received = [0] * len(messages.TYPE_NAMES)
        self.overfull_links = 0  # closed by cluster-link-sendbuf-limit; the I/O layer counts them
        self.pending_actions: list[Action] = []
        self.must_save = self.must_sync = self.must_update = False
        self.must_announce = False  # PONG to all, once for all operations of a step
        self._tls_cluster = settings.tls_cluster  # that the ports of `nodes` follow
        self.had_slots = False  # in nodes.conf, when it was started
        self._first_update_ms: int | None = None
        self._replicated: tuple[str, int] | None = None  # whom the data follows
        self._minority_ms: int | None = None  # when this node was last without a majority
        # Unix time minus monotonic time: what is shown and gossiped is Unix time.
        self.unix_offset_ms = 0

    def new_node(self, node_id: str, flags: int, monotonic_ms: int) -> Node:
        """Add an unknown node. Its ID may be random until the node sends its own."""
        node = Node(node_id, flags, created_ms=monotonic_ms, shard_id=self.random_id())
        self.nodes[node_id] = node
        return node

    def below(self, limit: int) -> int:
        """A random number below the limit; `randrange` takes five times as long."""
        return int(self.random.random() * limit)

    def random_id(self) -> str:
        return f"{self.random.getrandbits(160):040x}"

    # -- actions -------------------------------------------------------------------------------

    def do(self, action: Action) -> None:
        """Add to the actions of this step."""
        self.pending_actions.append(action)

    def log(self, text: str, is_warning: bool = False) -> None:
        self.do(Log(text, is_warning))

    def save(self, is_promise: bool = False) -> None:
        """Save nodes.conf before anything that this step sends; a promise is synced to disk."""
        self.must_save = True
        self.must_sync |= is_promise

    def send(self, link: Link | None, message: Message) -> None:
        """Send a message, if the link is open."""
        if link is not None and link.is_open:
            self.sent[message.type] += 1
            self.do(Send(link, message))

    def close(self, link: Link | None) -> None:
        """Close a link, and forget it."""
        if link is None:
            return
        self.forget_link(link)
        self.do(Close(link))

    def forget_link(self, link: Link) -> None:
        node, link.node, link.is_open = link.node, None, False
        if node is not None and node.link is link:
            node.link = None
        if node is not None and node.inbound is link:
            node.inbound = None

    # -- nodes ---------------------------------------------------------------------------------

    def find(self, node_id: str) -> Node | None:
        return self.nodes.get(node_id)

    def rename(self, node: Node, node_id: str) -> None:
        """Give a node that was known by a random ID its own."""
        del self.nodes[node.id]
        node.id = node_id
        self.nodes[node_id] = node

    def delete(self, node: Node) -> None:
        """Forget a node: its slots, its reports, its links."""
        self.set_owner(node.slots, None)
        for marks in (self.migrating, self.importing):
            for slot in [slot for slot, other in marks.items() if other is node]:
                del marks[slot]
        for other in self.nodes.values():
            other.reports.pop(node.id, None)
        self._detach(node)
        for replica in list(node.replicas):
            replica.primary = None
        node.replicas.clear()
        self.close(node.link)
        self.close(node.inbound)
        del self.nodes[node.id]

    def make_replica(self, node: Node, primary: Node) -> None:
        """Note that a node, perhaps this one, is a replica of another."""
        self.demote(node)
        node.primary = primary
        primary.replicas.append(node)
        primary.flags |= MIGRATE_TO
        if primary.shard_id:
            node.shard_id = primary.shard_id

    def demote(self, node: Node) -> None:
        """Note that a node is a replica of an unknown primary."""
        self._detach(node)
        node.flags = node.flags & ~(PRIMARY | MIGRATE_TO) | REPLICA

    def make_primary(self, node: Node) -> None:
        """Note that a node, perhaps this one, is a primary."""
        if node.is_primary:
            return
        self._detach(node)
        node.flags = node.flags & ~REPLICA | PRIMARY
        if node is not self.myself:
            node.flags |= MIGRATE_TO

    def _detach(self, node: Node) -> None:
        """Remove a replica from its primary."""
        if node.primary is not None:
            node.primary.replicas.remove(node)
            if not node.primary.replicas:
                node.primary.flags &= ~MIGRATE_TO
            node.primary = None

    def follow(self, primary: Node) -> None:
        """Become a replica of another node: CLUSTER REPLICATE, lost slots, replica migration."""
        self.migrating.clear()
        self.importing.clear()
        self.make_replica(self.myself, primary)
        self.do(SlotsChanged(ALL_SLOTS & ~primary.slots))

    def replicate(self) -> None:
        """Let the data follow the role: replicate from the primary's address, or from no node."""
        me, address = self.myself, None
        if me.primary is not None:
            is_tls = self.settings.tls_replication
            found = (me.primary.ip, self.client_port(me.primary, is_tls))
            address = found if me.primary.ip else self._replicated
        elif me.is_replica:
            return  # its primary was forgotten: the data stays as it is
        if address == self._replicated:
            return
        self._replicated = address
        self.do(ReplicateFrom(*address) if address is not None else Promote())

    def client_port(self, node: Peer, is_tls: bool) -> int:
        """The port at which a node serves clients with TLS, or without.

        If only one of a node's ports is known, that one is returned, as in Redis 7.0.
        """
        if is_tls == self.settings.tls_cluster:
            return node.port
        return node.second_port or node.port

    def is_banned(self, node_id: str, monotonic_ms: int) -> bool:
        for banned, until_ms in list(self.bans.items()):
            if until_ms <= monotonic_ms:
                del self.bans[banned]
        return node_id in self.bans

    def refresh_myself(self) -> None:
        """Apply the settings to this node."""
        me, settings = self.myself, self.settings
        if self._tls_cluster != settings.tls_cluster:  # CONFIG SET
            self._tls_cluster = settings.tls_cluster
            for node in self.nodes.values():
                node.swap_ports()
        if settings.announce_ip:
            me.ip = settings.announce_ip
        me.port, me.second_port, me.bus_port = (
            settings.port,
            settings.second_port,
            settings.bus_port,
        )
        me.hostname, me.human_name = settings.hostname, settings.human_name
        refusal = NO_FAILOVER if settings.replica_no_failover else 0
        me.flags = me.flags & ~NO_FAILOVER | refusal

    # -- slots ---------------------------------------------------------------------------------

    def set_owner(self, slots: int, owner: Node | None) -> None:
        """Give a set of slots to a node, or to none."""
        if not slots:
            return
        for node in self.nodes.values():
            if node.slots & slots:
                node.slots &= ~slots
        if owner is not None:
            owner.slots |= slots
        for first, last in slot_ranges(slots):
            self.owners[first : last + 1] = [owner] * (last - first + 1)
        self.unclaimed &= ~slots
        self.do(SlotsChanged(slots))

    def assigned(self) -> int:
        """The slots that have an owner."""
        slots = 0
        for node in self.nodes.values():
            slots |= node.slots
        return slots

    # -- epochs --------------------------------------------------------------------------------

    def highest_epoch(self) -> int:
        highest = max(node.config_epoch for node in self.nodes.values())
        return max(highest, self.current_epoch)

    def bump_epoch(self) -> bool:
        """Take the highest epoch without asking others; False if this node has it already."""
        me, highest = self.myself, self.highest_epoch()
        if me.config_epoch != 0 and me.config_epoch == highest:
            return False
        self.current_epoch += 1
        me.config_epoch = self.current_epoch
        self.save(is_promise=True)
        self.log(f"New configEpoch set to {me.config_epoch}")
        return True

    # -- cluster_state -------------------------------------------------------------------------

    def changed(self, is_promise: bool = False) -> None:
        """Roles or slots have changed: save, and work out `is_ok` again."""
        self.must_update = True
        self.save(is_promise)

    def update(self, monotonic_ms: int) -> None:
        """Work out whether the cluster is ok: enough slots are covered, by a majority's judgement.

        Called at the end of each step if `must_update` is set, as each tick does. A primary goes
        back to ok only after a while; but a new one, which was started without slots and has heard
        of no primary that has any, at once. In Redis new clusters wait for two to five seconds.
        """
        me, self.must_update = self.myself, False
        if self._first_update_ms is None:
            self._first_update_ms = monotonic_ms
        voters = [node for node in self.nodes.values() if node.is_primary and node.slots]
        self.size = len(voters)
        has_started = (
            not self.had_slots or monotonic_ms - self._first_update_ms >= WRITABLE_AFTER_MS
        )
        if me.is_primary and not self.is_ok and not has_started:
            return
        is_ok = not self.settings.require_full_coverage or self._is_covered()
        if sum(node.is_reachable for node in voters) < self.quorum():
            is_ok = False
            self._minority_ms = monotonic_ms if voters else None
        if is_ok == self.is_ok:
            return
        rejoin_ms = min(max(self.settings.node_timeout_ms, MIN_REJOIN_MS), MAX_REJOIN_MS)
        waited_from_ms = self._minority_ms if is_ok and me.is_primary else None
        if waited_from_ms is not None and monotonic_ms - waited_from_ms < rejoin_ms:
            return
        self.is_ok = is_ok
        self.log(f"Cluster state changed: {'ok' if is_ok else 'fail'}")
        self.do(StateChanged(is_ok))

    def unix_ms(self, monotonic_ms: int) -> int:
        """Return the Unix time of a monotonic time; 0, for never, stays 0."""
        return monotonic_ms + self.unix_offset_ms if monotonic_ms else 0

    def quorum(self) -> int:
        """The votes that a majority has."""
        return self.size // 2 + 1

    def _is_covered(self) -> bool:
        """Whether each slot has an owner that has not failed."""
        served = sum(
            node.slots.bit_count() for node in self.nodes.values() if not node.flags & FAIL
        )
        return served == SLOT_COUNT

    def slot_counts(self) -> tuple[int, int, int, int]:
        """How many slots are assigned; of those ok, owned by a node in PFAIL, in FAIL."""
        counts = [0, 0, 0]
        for node in self.nodes.values():
            place = 2 if node.flags & FAIL else 1 if node.flags & PFAIL else 0
            counts[place] += node.slots.bit_count()
        return sum(counts), counts[0], counts[1], counts[2]
