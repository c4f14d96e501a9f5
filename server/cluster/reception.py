"""Handles a received message, in the order in which Redis processes its parts."""

from __future__ import annotations

from server.cluster import messages
from server.cluster.claims import Claims
from server.cluster.events import Deliver
from server.cluster.failover import Failover
from server.cluster.gossip import Gossip
from server.cluster.messages import Message
from server.cluster.nodes import (
    FAIL,
    KNOWS_EXTENSIONS,
    MYSELF,
    NO_FAILOVER,
    PRIMARY,
    REPLICA,
    Link,
    Node,
)
from server.cluster.outbox import Outbox
from server.cluster.state import ClusterState

HEARTBEATS = (messages.PING, messages.PONG, messages.MEET)
# No cluster reaches such epochs, and the ones after them might not fit into a message.
EPOCH_LIMIT = 1 << 63
ROLES = PRIMARY | REPLICA


class Reception:
    """Passes the parts of messages to the objects that they concern."""

    def __init__(
        self,
        state: ClusterState,
        outbox: Outbox,
        gossip: Gossip,
        claims: Claims,
        failover: Failover,
    ) -> None:
        self._state = state
        self._outbox = outbox
        self._gossip = gossip
        self._claims = claims
        self._failover = failover

    def receive(self, link: Link, message: Message, monotonic_ms: int) -> None:
        """Handle a message. Those of unknown nodes are ignored, except MEET."""
        state = self._state
        state.received[message.type] += 1
        sender = state.find(message.sender)
        if _is_impossible(sender, message):
            return
        former_epoch = sender.config_epoch if sender is not None else 0
        if sender is not None and sender is not state.myself:
            self._note_life(sender, link, message, monotonic_ms)
        if message.type in HEARTBEATS:
            self._heartbeat(sender, link, message, former_epoch, monotonic_ms)
        elif sender is not None and sender is not state.myself:
            self._other(sender, message, monotonic_ms)

    def _note_life(self, sender: Node, link: Link, message: Message, monotonic_ms: int) -> None:
        sender.data_received_ms = monotonic_ms
        if message.marks & messages.EXT_DATA:
            sender.flags |= KNOWS_EXTENSIONS
        if link.is_inbound and link.node is None:
            self._bind(link, sender)
        if not sender.in_handshake:
            self._claims.take_epochs(sender, message)
            sender.offset = message.offset
            self._failover.note_offset(sender, message)

    def _bind(self, link: Link, sender: Node) -> None:
        """Bind an inbound link to its node. A node dials one link, so an older one is dead."""
        self._state.close(sender.inbound)
        link.node, sender.inbound = sender, link

    # -- PING, PONG, MEET ----------------------------------------------------------------------

    def _heartbeat(
        self,
        sender: Node | None,
        link: Link,
        message: Message,
        former_epoch: int,
        monotonic_ms: int,
    ) -> None:
        if message.type != messages.PONG:
            self._answer(sender, link, message, monotonic_ms)
        node = None if link.is_inbound else link.node
        if node is not None and not self._is_who_was_dialled(link, node, message):
            return
        sender = self._state.find(message.sender)
        if sender is None or sender is self._state.myself:
            return
        refusal = message.flags & NO_FAILOVER
        sender.flags = sender.flags & ~NO_FAILOVER | refusal
        if message.type == messages.PING and not sender.in_handshake:
            self._gossip.note_address(sender, link, message)
        if node is sender and message.type == messages.PONG:
            self._gossip.note_pong(sender, monotonic_ms)
        if self._claims.take_role(sender, message, former_epoch):
            self._claims.take_slots(sender, message)
            self._claims.resolve_collision(sender, message)
            self._gossip.take(sender, message, monotonic_ms)
            self._gossip.take_extensions(sender, message, monotonic_ms)

    def _answer(self, sender: Node | None, link: Link, message: Message, monotonic_ms: int) -> None:
        state, me = self._state, self._state.myself
        is_meet = message.type == messages.MEET
        # A node learns its own address from those that reach it.
        ip = "" if state.settings.announce_ip else link.local_ip
        if (is_meet or not me.ip) and ip and ip != me.ip:
            me.ip = ip
            state.log(f"IP address for this node updated to {ip}")
            state.save()
        if sender is None and is_meet:
            self._gossip.meet_sender(link, message, monotonic_ms)
            self._gossip.take(None, message, monotonic_ms)
        self._outbox.ping(link, messages.PONG, monotonic_ms)

    def _is_who_was_dialled(self, link: Link, node: Node, message: Message) -> bool:
        """Return True if the dialled node has answered, or a handshake has succeeded."""
        if node.in_handshake:
            return self._gossip.finish_handshake(link, node, message)
        if node.id == message.sender:
            return True
        self._gossip.lose_address(node)
        return False

    # -- the others ----------------------------------------------------------------------------

    def _other(self, sender: Node, message: Message, monotonic_ms: int) -> None:
        kind = message.type
        if kind == messages.FAIL:
            failed = self._state.find(message.subject)
            if failed is not None and not failed.flags & (FAIL | MYSELF):
                self._gossip.mark_failed(failed, monotonic_ms)
        elif kind == messages.UPDATE:
            self._claims.take_update(message)
        elif kind in (messages.PUBLISH, messages.PUBLISHSHARD):
            is_sharded = kind == messages.PUBLISHSHARD
            self._state.do(Deliver(message.channel, message.payload, is_sharded))
        elif kind == messages.AUTH_REQUEST:
            self._failover.vote(sender, message, monotonic_ms)
        elif kind == messages.AUTH_ACK:
            self._failover.count_vote(sender, message)
        elif kind == messages.MFSTART:
            if sender is self._state.myself.primary:
                self._failover.take_over(monotonic_ms)
            else:
                self._failover.pause_for(sender, monotonic_ms)


def _is_impossible(sender: Node | None, message: Message) -> bool:
    """Return True for two roles, an impossible epoch, or the temporary ID of a handshake."""
    epochs = message.current_epoch, message.config_epoch, message.subject_epoch
    has_two_roles = message.flags & ROLES == ROLES
    return (
        has_two_roles or max(epochs) >= EPOCH_LIMIT or (sender is not None and sender.in_handshake)
    )
