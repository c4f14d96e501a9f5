"""Messages of this node: their headers, their gossip, their receivers."""

from __future__ import annotations

from collections.abc import Iterable

from server.cluster import messages
from server.cluster.messages import EXT_DATA, Extensions, Gossip, Message
from server.cluster.nodes import (
    HANDSHAKE,
    KNOWS_EXTENSIONS,
    NO_ADDRESS,
    PFAIL,
    Link,
    Node,
)
from server.cluster.state import ClusterState

MIN_GOSSIP = 3  # nodes in a message, if that many are known


class Outbox:
    """Builds messages from the state, and sends them. `marks` are those of a manual failover."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self.is_paused = False  # a primary in a manual failover: its offset is final

    def message(self, kind: int) -> Message:
        """A message with its header. A replica's has its primary's slots and epoch."""
        state, me = self._state, self._state.myself
        leader = me.leader
        return Message(
            type=kind,
            sender=me.id,
            flags=me.flags,
            current_epoch=state.current_epoch,
            config_epoch=leader.config_epoch,
            offset=state.data.replication_offset(),
            slots=leader.slots,
            primary=me.primary.id if me.primary is not None else "",
            ip=state.settings.announce_ip,
            port=me.port,
            second_port=me.second_port,
            bus_port=me.bus_port,
            is_ok=state.is_ok,
            marks=EXT_DATA | (messages.PAUSED if self.is_paused and me.is_primary else 0),
        )

    # -- gossip --------------------------------------------------------------------------------

    def ping(self, link: Link | None, kind: int, monotonic_ms: int) -> None:
        """Send PING, PONG or MEET, with gossip and what else the receiver understands."""
        if link is None or not link.is_open:
            return
        node = link.node
        if kind != messages.PONG and node is not None:
            node.ping_sent_ms = monotonic_ms
        message = self.message(kind)
        message.gossip = self._gossip_for(node)
        if node is not None and node.flags & KNOWS_EXTENSIONS:
            message.extensions = self._extensions(monotonic_ms)
        self._state.send(link, message)

    def _gossip_for(self, receiver: Node | None) -> list[Gossip]:
        """Some nodes at random, and all that this one suspects to have failed.

        With a tenth of the nodes, a failure is reported by a majority well within twice the node
        timeout (Redis explains this in clusterSendPing).
        """
        state = self._state
        nodes = list(state.nodes.values())
        fresh = len(nodes) - 2
        wanted = min(max(MIN_GOSSIP, len(nodes) // 10), fresh)
        chosen: dict[str, Node] = {}
        for _ in range(3 * wanted):
            if len(chosen) >= wanted:
                break
            node = nodes[state.below(len(nodes))]
            if node is not receiver and self._is_gossiped(node):
                chosen[node.id] = node
        for node in nodes:
            if node.flags & PFAIL and not node.flags & (HANDSHAKE | NO_ADDRESS):
                chosen[node.id] = node
        return [_gossip_about(self._state, node) for node in chosen.values()]

    def _is_gossiped(self, node: Node) -> bool:
        if node is self._state.myself or node.flags & (PFAIL | HANDSHAKE | NO_ADDRESS):
            return False
        return bool(node.link is not None or node.slots)

    def _extensions(self, monotonic_ms: int) -> Extensions:
        me = self._state.myself
        forgotten = [
            (node_id, (until_ms - monotonic_ms) // 1000)
            for node_id, until_ms in self._state.bans.items()
            if until_ms - monotonic_ms >= 1000
        ]
        return Extensions(me.hostname, me.human_name, me.shard_id, forgotten)

    def pong_to_shard(self, monotonic_ms: int) -> None:
        """Announce changes of this node to the other nodes of its shard."""
        leader = self._state.myself.leader
        self._pong([node for node in self._others() if node.leader is leader], monotonic_ms)

    def pong_to_all(self, monotonic_ms: int) -> None:
        """Announce changes of this node to all, without waiting for the next PINGs."""
        self._pong(self._others(), monotonic_ms)

    def _pong(self, nodes: Iterable[Node], monotonic_ms: int) -> None:
        for node in nodes:
            if not node.in_handshake:
                self.ping(node.link, messages.PONG, monotonic_ms)

    # -- other messages ------------------------------------------------------------------------

    def broadcast(self, message: Message) -> None:
        """Send a message to all known nodes with a link."""
        for node in self._others():
            if not node.in_handshake:
                self._state.send(node.link, message)

    def fail(self, node: Node) -> None:
        """Announce to all that a node has failed by the judgement of a majority."""
        message = self.message(messages.FAIL)
        message.subject = node.id
        self.broadcast(message)

    def update(self, link: Link | None, owner: Node) -> None:
        """Send UPDATE with the owner of slots to a node that claims them."""
        message = self.message(messages.UPDATE)
        message.subject = owner.id
        message.subject_epoch = owner.config_epoch
        message.subject_slots = owner.slots & ~self._state.unclaimed
        self._state.send(link, message)

    def publish(self, channel: bytes, payload: bytes, is_sharded: bool) -> None:
        """Send a message of PUBLISH to all nodes, of SPUBLISH to those of this shard."""
        message = self.message(messages.PUBLISHSHARD if is_sharded else messages.PUBLISH)
        message.channel, message.payload = channel, payload
        if not is_sharded:
            self.broadcast(message)
            return
        leader = self._state.myself.leader
        for node in self._others():
            if node.leader is leader:
                self._state.send(node.link, message)

    def _others(self) -> list[Node]:
        me = self._state.myself
        return [node for node in self._state.nodes.values() if node is not me]


def _gossip_about(state: ClusterState, node: Node) -> Gossip:
    return Gossip(
        id=node.id,
        ip=node.ip,
        port=node.port,
        bus_port=node.bus_port,
        flags=node.flags,
        ping_sent_s=state.unix_ms(node.ping_sent_ms) // 1000,
        pong_received_s=state.unix_ms(node.pong_received_ms) // 1000,
        second_port=node.second_port,
    )
