"""`Cluster`: a node of a Redis Cluster, without I/O, clock or chance of its own.

    cluster = Cluster(settings, data, random, text_of_nodes_conf, monotonic_ms)
    for action in cluster.step(Tick(), monotonic_ms):  # ten times a second; other events too
        ...                                       # carried out in this order
    cluster.add_slots([b"1", b"2"])               # the operations of CLUSTER
    for action in cluster.take_actions(monotonic_ms):   # at the end of the cycle, before replies
        ...

`data` answers questions about keys and replication; `random` is `random.SystemRandom()`, or seeded
in tests. events.py lists what goes in and out. Operations raise ReplyError with Redis's texts;
reading methods change nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.errors import ReplyError
from server.cluster import views
from server.cluster.claims import Claims
from server.cluster.config_file import config_text, read_config
from server.cluster.events import Action, Event, LinkOpened, Received, Save, Tick
from server.cluster.failover import Failover
from server.cluster.gossip import Gossip
from server.cluster.heartbeat import Heartbeat
from server.cluster.messages import AUTH_ACK
from server.cluster.nodes import Link, Node
from server.cluster.operations import Operations
from server.cluster.outbox import Outbox
from server.cluster.reception import Reception
from server.cluster.state import ClusterState, Data, Random, Settings
from server.cluster.views import Shard, SlotRange

if TYPE_CHECKING:
    from commands.cluster.mode import Peer


class Cluster(Operations):
    """This node and what it knows of the others. Raises BadConfig for a damaged nodes.conf."""

    def __init__(
        self,
        settings: Settings,
        data: Data,
        random: Random,
        config: str = "",
        monotonic_ms: int = 0,
    ) -> None:
        self.state = state = ClusterState(settings, data, random)
        if config:
            read_config(state, config, monotonic_ms)
        else:
            state.save(is_promise=True)
        state.refresh_myself()
        outbox = Outbox(state)
        gossip, failover = Gossip(state, outbox), Failover(state, outbox)
        claims = Claims(state, outbox, failover)
        super().__init__(state, gossip, failover, outbox)
        self._failover = failover
        self._heartbeat = Heartbeat(state, outbox, gossip, failover)
        self._reception = Reception(state, outbox, gossip, claims, failover)

    def step(self, event: Event, monotonic_ms: int) -> list[Action]:
        """Handle an event; return the actions that follow, in order. All waiting is by monotonic
        time, because Unix time may jump.
        """
        if isinstance(event, Received):
            self._reception.receive(event.link, event.message, monotonic_ms)
            if event.message.type == AUTH_ACK:
                self._failover.run_election(monotonic_ms)
        elif isinstance(event, Tick):
            self._heartbeat.tick(monotonic_ms)
            self._failover.tick(monotonic_ms)
            self.state.must_update = True
        elif isinstance(event, LinkOpened):
            self._heartbeat.link_opened(event.link, monotonic_ms)
        else:
            self.state.forget_link(event.link)
        return self.take_actions(monotonic_ms)

    def take_actions(self, monotonic_ms: int) -> list[Action]:
        """Return the actions that follow from operations. Saving the file comes first."""
        state = self.state
        if state.must_update:
            state.update(monotonic_ms)
            state.replicate()
        if state.must_announce:
            state.must_announce = False
            self._outbox.pong_to_all(monotonic_ms)
        actions, state.pending_actions = state.pending_actions, []
        if state.must_save:
            actions.insert(0, Save(config_text(state), state.must_sync))
            state.must_save = state.must_sync = False
        return actions

    # -- routing -------------------------------------------------------------------------------

    @property
    def myself(self) -> Node:
        return self.state.myself

    @property
    def is_ok(self) -> bool:
        """`cluster_state`: True if commands with keys are served."""
        return self.state.is_ok

    def slot_owner(self, slot: int) -> Node | None:
        """The primary that owns a slot. `state.owners` is that list, for hot code."""
        return self.state.owners[slot]

    def client_port(self, node: Peer, is_tls: bool) -> int:
        """The port at which a node serves clients with TLS, or without; for MOVED and the views."""
        return self.state.client_port(node, is_tls)

    def migrating_to(self, slot: int) -> Node | None:
        """The node that a slot of this one moves to: clients are sent there with ASK."""
        return self.state.migrating.get(slot)

    def importing_from(self, slot: int) -> Node | None:
        """The node that a slot comes from: clients that send ASKING are served."""
        return self.state.importing.get(slot)

    def marked_slots(self) -> list[int]:
        """The slots that are moving, in either direction."""
        return [*self.state.migrating, *self.state.importing]

    # -- views ---------------------------------------------------------------------------------

    def find(self, node_id: bytes) -> Node | None:
        """The node with that ID."""
        return self.state.find(node_id.decode("latin-1"))

    def info_text(self) -> str:
        """CLUSTER INFO."""
        return views.info_text(self.state)

    def nodes_text(self, is_tls: bool = False) -> str:
        """CLUSTER NODES, for a client with TLS or without."""
        return views.nodes_text(self.state, is_tls)

    def replica_lines(self, node_id: bytes, is_tls: bool = False) -> list[str]:
        """CLUSTER REPLICAS: the lines of a primary's replicas, without line ends."""
        node = self.known(node_id)
        if node.is_replica:
            raise ReplyError(b"ERR The specified node is not a master")
        return views.replica_lines(self.state, node, is_tls)

    def slot_ranges(self) -> list[SlotRange]:
        """CLUSTER SLOTS."""
        return views.all_slot_ranges(self.state)

    def shards(self) -> list[Shard]:
        """CLUSTER SHARDS."""
        return views.shards(self.state)

    def links(self) -> list[Link]:
        """CLUSTER LINKS."""
        return views.links(self.state)
