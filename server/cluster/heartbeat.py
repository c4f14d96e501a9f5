"""The heartbeat of a node: ten times a second it dials, pings, and suspects silent nodes."""

from __future__ import annotations

from server.cluster import messages
from server.cluster.events import Close, Dial
from server.cluster.failover import Failover
from server.cluster.gossip import Gossip
from server.cluster.nodes import FAIL, HANDSHAKE, MEET, MYSELF, NO_ADDRESS, PFAIL, Link, Node
from server.cluster.outbox import Outbox
from server.cluster.state import ClusterState

MIN_HANDSHAKE_MS = 1_000
TICKS_PER_RANDOM_PING = 10
RANDOM_CANDIDATES = 5


class Heartbeat:
    """Keeps a link to each node, and a ping on each."""

    def __init__(
        self, state: ClusterState, outbox: Outbox, gossip: Gossip, failover: Failover
    ) -> None:
        self._state = state
        self._outbox = outbox
        self._gossip = gossip
        self._failover = failover
        self._ticks = 0

    def tick(self, monotonic_ms: int) -> None:
        """One round."""
        self._state.refresh_myself()
        self._ticks += 1
        for node in list(self._state.nodes.values()):
            if not node.flags & (MYSELF | NO_ADDRESS):
                self._keep_link(node, monotonic_ms)
        if self._ticks % TICKS_PER_RANDOM_PING == 0:
            self._ping_at_random(monotonic_ms)
        for node in list(self._state.nodes.values()):
            if not node.flags & (MYSELF | NO_ADDRESS | HANDSHAKE):
                self._watch(node, monotonic_ms)

    # -- links ---------------------------------------------------------------------------------

    def _keep_link(self, node: Node, monotonic_ms: int) -> None:
        state = self._state
        patience_ms = max(state.settings.node_timeout_ms, MIN_HANDSHAKE_MS)
        if node.in_handshake and monotonic_ms - node.created_ms > patience_ms:
            state.delete(node)
        elif node.link is None:
            # Dialling counts as a ping: otherwise a node that does not listen is never suspected.
            node.ping_sent_ms = node.ping_sent_ms or monotonic_ms
            if node.ip:
                node.link = Link(node, created_ms=monotonic_ms)
                state.do(Dial(node.link, node.ip, node.bus_port))

    def link_opened(self, link: Link, monotonic_ms: int) -> None:
        """Send a message on a new link at once: PING, or MEET if an operator asked for it."""
        node = link.node
        if node is None or node.link is not link:
            self._state.do(Close(link))  # it was given up while it was dialled
            return
        link.is_open = True
        pending_ms = node.ping_sent_ms
        self._outbox.ping(link, messages.MEET if node.flags & MEET else messages.PING, monotonic_ms)
        # A ping that was pending when the former link broke still is.
        node.ping_sent_ms = pending_ms or node.ping_sent_ms
        node.flags &= ~MEET

    # -- pings ---------------------------------------------------------------------------------

    def _ping_at_random(self, monotonic_ms: int) -> None:
        """Ping one of some random nodes: the one that was heard from longest ago."""
        state, oldest = self._state, None
        nodes = list(state.nodes.values())
        for _ in range(RANDOM_CANDIDATES):
            node = nodes[state.below(len(nodes))]
            if not node.is_linked or node.ping_sent_ms or node.flags & (MYSELF | HANDSHAKE):
                continue
            if oldest is None or node.pong_received_ms < oldest.pong_received_ms:
                oldest = node
        if oldest is not None:
            self._outbox.ping(oldest.link, messages.PING, monotonic_ms)

    def _watch(self, node: Node, monotonic_ms: int) -> None:
        """Ping a node in time, drop a link that is dead, suspect a node that is silent."""
        timeout_ms = self._state.settings.node_timeout_ms
        silent_ms = monotonic_ms - node.data_received_ms
        waited_ms = monotonic_ms - node.ping_sent_ms if node.ping_sent_ms else 0
        link = node.link
        if (
            link is not None
            and monotonic_ms - link.created_ms > timeout_ms
            and min(waited_ms, silent_ms) > timeout_ms // 2
        ):
            self._state.close(link)
        is_due = not node.ping_sent_ms and monotonic_ms - node.pong_received_ms > timeout_ms // 2
        if node.is_linked and (is_due or self._failover.waits_for(node)):
            self._outbox.ping(node.link, messages.PING, monotonic_ms)
        elif min(waited_ms, silent_ms) > timeout_ms and not node.flags & (FAIL | PFAIL):
            node.flags |= PFAIL
            self._state.log(f"*** NODE {node.id} possibly failing")
            self._state.changed()
            self._gossip.declare_failed(node, monotonic_ms)
