"""Gossip: which nodes there are, at which addresses, and which of them have failed.

A node becomes known by MEET, or by the gossip of a known node. A failure is suspected by one
node (PFAIL, heartbeat.py), reported in its gossip, and declared (FAIL) by whoever counts reports of
a majority of the primaries with slots.
"""

from __future__ import annotations

from server.cluster import messages
from server.cluster.messages import Extensions, Message
from server.cluster.nodes import (
    FAIL,
    HANDSHAKE,
    NO_ADDRESS,
    NO_FAILOVER,
    PFAIL,
    PRIMARY,
    REPLICA,
    Link,
    Node,
    is_node_id,
)
from server.cluster.outbox import Outbox
from server.cluster.state import ClusterState

# How far a gossiped time may lie ahead: clocks of nodes differ.
CLOCK_SLACK_MS = 500
MAX_BAN_S = 24 * 3600


class Gossip:
    """Learns of nodes, addresses and failures from messages."""

    def __init__(self, state: ClusterState, outbox: Outbox) -> None:
        self._state = state
        self._outbox = outbox

    # -- addresses -----------------------------------------------------------------------------

    def start_handshake(
        self, ip: str, port: int, bus_port: int, flags: int, monotonic_ms: int
    ) -> Node | None:
        """Dial a node whose ID is unknown; None if that is under way already."""
        state = self._state
        for other in state.nodes.values():
            if other.in_handshake and other.ip == ip and other.bus_port == bus_port:
                return None
        node = state.new_node(state.random_id(), flags, monotonic_ms)
        node.ip, node.port, node.bus_port = ip, port, bus_port
        return node

    def meet_sender(self, link: Link, message: Message, monotonic_ms: int) -> None:
        """Handle MEET from an unknown node: it is trusted, and its gossip as well."""
        ip = message.ip or link.peer_ip
        node = self.start_handshake(ip, message.port, message.bus_port, HANDSHAKE, monotonic_ms)
        if node is not None:
            node.second_port = message.second_port
        self._state.save()

    def finish_handshake(self, link: Link, node: Node, message: Message) -> bool:
        """Handle the answer to a handshake. Returns False if the node was known already."""
        state = self._state
        known = state.find(message.sender)
        if known is not None:
            if known is not state.myself:
                self._move(known, node.ip, message)
            state.delete(node)
            state.save()
            return False
        state.rename(node, message.sender)
        node.flags = node.flags & ~HANDSHAKE | message.flags & (PRIMARY | REPLICA)
        node.flags |= 0 if node.flags & (PRIMARY | REPLICA) else PRIMARY
        state.log(f"Handshake with node {node.id} completed")
        state.changed()
        return True

    def note_address(self, node: Node, link: Link, message: Message) -> None:
        """Handle the address of a PING: follow the node if it has changed."""
        ip = message.ip or link.peer_ip
        if link.is_inbound and ip:
            self._move(node, ip, message)

    def _move(self, node: Node, ip: str, message: Message) -> None:
        where = ip, message.port, message.second_port, message.bus_port
        if where == (node.ip, node.port, node.second_port, node.bus_port):
            return
        node.ip, node.port, node.second_port, node.bus_port = where
        node.flags &= ~NO_ADDRESS
        self._state.close(node.link)
        self._state.log(f"Address updated for node {node.id}, now {ip}:{node.port}")
        self._state.changed()

    def lose_address(self, node: Node) -> None:
        """Forget the address of a node: another one has answered there."""
        node.flags |= NO_ADDRESS
        node.ip, node.port, node.second_port, node.bus_port = "", 0, 0, 0
        self._state.close(node.link)
        self._state.save()

    # -- what a message says about others ------------------------------------------------------

    def take(self, sender: Node | None, message: Message, monotonic_ms: int) -> None:
        """Take over the gossip of a message. An unknown sender only introduces nodes."""
        for entry in message.gossip:
            node = self._state.find(entry.id)
            if node is self._state.myself:
                continue
            if node is None:
                self._introduce(entry, monotonic_ms)
                continue
            if sender is not None and sender.is_primary:
                self._take_report(node, sender, entry.flags, monotonic_ms)
            self._take_pong_time(node, entry, monotonic_ms)
            self._take_address(node, entry)

    def _introduce(self, entry: messages.Gossip, monotonic_ms: int) -> None:
        """Add a node from gossip, unless it was forgotten a moment ago."""
        state = self._state
        if entry.flags & (NO_ADDRESS | HANDSHAKE) or not is_node_id(entry.id):
            return
        if state.is_banned(entry.id, monotonic_ms):
            return
        role = REPLICA if entry.flags & REPLICA else PRIMARY
        node = state.new_node(entry.id, role | entry.flags & NO_FAILOVER, monotonic_ms)
        node.ip, node.port, node.bus_port = entry.ip, entry.port, entry.bus_port
        node.second_port = entry.second_port
        state.changed()

    def _take_report(self, node: Node, sender: Node, flags: int, monotonic_ms: int) -> None:
        if not flags & (FAIL | PFAIL):
            node.reports.pop(sender.id, None)
            return
        if sender.id not in node.reports:
            self._state.log(f"Node {sender.id} reported node {node.id} as not reachable.")
        node.reports[sender.id] = monotonic_ms
        self.declare_failed(node, monotonic_ms)

    def _take_pong_time(self, node: Node, entry: messages.Gossip, monotonic_ms: int) -> None:
        """Note that others hear from a node: this one need not ping it as well."""
        if node.flags & (FAIL | PFAIL) or entry.flags & (FAIL | PFAIL) or node.ping_sent_ms:
            return
        pong_ms = entry.pong_received_s * 1000 - self._state.unix_offset_ms
        if node.pong_received_ms < pong_ms <= monotonic_ms + CLOCK_SLACK_MS and not node.reports:
            node.pong_received_ms = pong_ms

    def _take_address(self, node: Node, entry: messages.Gossip) -> None:
        """Take the address of a node that only the sender can reach: it may have changed."""
        if not node.flags & (FAIL | PFAIL) or entry.flags & (NO_ADDRESS | FAIL | PFAIL):
            return
        where = entry.ip, entry.port, entry.bus_port
        if where != (node.ip, node.port, node.bus_port):
            self._state.close(node.link)
            node.ip, node.port, node.bus_port = where
            node.second_port = entry.second_port
            node.flags &= ~NO_ADDRESS

    def take_extensions(self, sender: Node, message: Message, monotonic_ms: int) -> None:
        """Take over names, the shard, and the IDs of nodes to forget."""
        state, found = self._state, message.extensions or Extensions()
        names = found.hostname, found.human_name
        if names != (sender.hostname, sender.human_name):
            sender.hostname, sender.human_name = names
            state.save()
        if found.shard_id and found.shard_id != sender.shard_id:
            sender.shard_id = found.shard_id
            if state.myself.primary is sender:
                state.myself.shard_id = found.shard_id
            state.save()
        for node_id, seconds in found.forgotten:
            node = state.find(node_id)
            if node is not None and node not in (state.myself, state.myself.primary, sender):
                state.bans[node_id] = monotonic_ms + min(seconds, MAX_BAN_S) * 1000
                state.delete(node)
                state.changed()

    # -- failures ------------------------------------------------------------------------------

    def declare_failed(self, node: Node, monotonic_ms: int) -> None:
        """Declare FAIL if this node and a majority suspect a node; announce it to all."""
        state = self._state
        if not node.is_suspected or node.is_failed:
            return
        reports = node.reports_at(monotonic_ms, 2 * state.settings.node_timeout_ms)
        if reports + state.myself.is_primary < state.quorum():
            return
        self.mark_failed(node, monotonic_ms)
        state.log(f"Marking node {node.id} as failing (quorum reached).", is_warning=True)
        self._outbox.fail(node)

    def mark_failed(self, node: Node, monotonic_ms: int) -> None:
        """Mark a node as failed: this node has counted a majority, or another one has."""
        node.flags = node.flags & ~PFAIL | FAIL
        node.fail_ms = monotonic_ms
        self._state.changed()

    def note_pong(self, node: Node, monotonic_ms: int) -> None:
        """Note that a node has answered: it is reachable again."""
        node.pong_received_ms, node.ping_sent_ms = monotonic_ms, 0
        if node.is_suspected:
            node.flags &= ~PFAIL
            self._state.changed()
        elif node.is_failed and self._is_redeemed(node, monotonic_ms):
            node.flags &= ~FAIL
            self._state.log(f"Clear FAIL state for node {node.id}: it is reachable again.")
            self._state.changed()

    def _is_redeemed(self, node: Node, monotonic_ms: int) -> bool:
        """Return False for a while if a primary with slots failed: a replica may replace it."""
        if node.is_replica or not node.slots:
            return True
        return monotonic_ms - node.fail_ms > 2 * self._state.settings.node_timeout_ms
