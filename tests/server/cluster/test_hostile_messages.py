"""A core that is sent messages of any content, in any order, by nodes that it knows or not.

Nothing authenticates the bus: whatever comes, the core must not fail, and its state must be one
that it can save, read again and send. `make cluster-model` sends a million messages.
"""

from __future__ import annotations

import os
import random

from server.cluster import messages
from server.cluster.events import LinkLost, Received
from server.cluster.messages import BadMessage, Extensions, Gossip, Message
from server.cluster.nodes import ALL_SLOTS, PRIMARY, REPLICA, Link, each_slot
from tests.server.cluster.single_node import SingleNode
from tests.server.cluster.small_cluster import MY_IP, PEER_IP, SmallCluster
from tests.support.examples import compat_seed

HEARD = int(os.environ.get("BUS_MESSAGES", "30000"))
EACH = 300  # messages for one core

ADDRESSES = (PEER_IP, MY_IP, "", "::1", "no address", "a@b", "10.0.0.9")
PORTS = (0, 1, 7001, 7002, 17001, 65_535)
EPOCHS = (0, 1, 2, 3, 4, 5, 2**63, 2**64 - 1)


class Sender:
    """Makes messages for a core."""

    def __init__(self, draw: random.Random, core: SmallCluster) -> None:
        self._draw = draw
        self._core = core

    def message(self) -> Message:
        draw, pick = self._draw, self._draw.choice
        kind = draw.randrange(len(messages.TYPE_NAMES))
        return Message(
            kind,
            self.node_id(),
            flags=self.flags(),
            current_epoch=pick(EPOCHS),
            config_epoch=pick(EPOCHS),
            offset=pick(EPOCHS),
            slots=self.slots(),
            primary=pick(("", self.node_id())),
            ip=pick(ADDRESSES),
            port=pick(PORTS),
            second_port=pick(PORTS),
            bus_port=pick(PORTS),
            is_ok=draw.random() < 0.5,
            marks=draw.randrange(8),
            gossip=[self.gossip() for _ in range(draw.randrange(4))] if kind <= 2 else [],
            extensions=self.extensions() if kind <= 2 and draw.random() < 0.3 else None,
            subject=self.node_id(),
            subject_epoch=pick(EPOCHS),
            subject_slots=self.slots(),
            channel=b"channel",
            payload=b"message",
        )

    def node_id(self) -> str:
        known = list(self._core.state.nodes)
        return self._draw.choice((*known, "e" * 40, "\xff" * 40, "0" * 40))

    def flags(self) -> int:
        draw = self._draw
        return draw.choice((PRIMARY, REPLICA, 0, PRIMARY | REPLICA)) | (
            draw.randrange(2048) if draw.random() < 0.3 else 0
        )

    def slots(self) -> int:
        first = self._draw.randrange(600)
        return self._draw.choice((0, ALL_SLOTS, 1 << first, 0xFFFF << first))

    def gossip(self) -> Gossip:
        draw, pick = self._draw, self._draw.choice
        seconds = (0, self._core.now_ms // 1000, 2**32 - 1)
        return Gossip(
            self.node_id(),
            pick(ADDRESSES),
            pick(PORTS),
            pick(PORTS),
            draw.randrange(2048),
            pick(seconds),
            pick(seconds),
            pick(PORTS),
        )

    def extensions(self) -> Extensions:
        pick = self._draw.choice
        forgotten = [(self.node_id(), pick(EPOCHS))]
        return Extensions(pick(("", "a.example")), pick(("", "a")), self.node_id(), forgotten)


def test_no_message_harms_the_state() -> None:
    draw = random.Random(compat_seed())
    for _ in range(max(1, HEARD // EACH)):
        core = SmallCluster("abcd", primary=draw.choice(("", "a")))
        sender = Sender(draw, core)
        links = [Link(None, True, True, 0, PEER_IP, MY_IP) for _ in range(3)]
        for _ in range(EACH):
            if frame := damaged(draw, sender.message()):
                # The links that were dialled are closed and dialled again meanwhile.
                dialled = [node.link for node in core.state.nodes.values() if node.link]
                link = draw.choice((*links, *dialled))
                core._keep(core.cluster.step(Received(link, frame), core.now_ms))
            if draw.random() < 0.05:
                core.tick(draw.choice((0.1, 0.5, 2.0)))
            for _, sent in core.sent:
                messages.pack(sent)
            core.sent.clear()
            if draw.random() < 0.02:
                core._keep(core.cluster.step(LinkLost(draw.choice(links)), core.now_ms))
        check(core)


def damaged(draw: random.Random, message: Message) -> Message | None:
    """The message as it is read, perhaps with wrong bytes; None if it is refused."""
    try:
        frame = bytearray(messages.pack(message))
        for _ in range(draw.choice((0, 0, 1, 3))):
            frame[draw.choice((draw.randrange(16, 80), draw.randrange(len(frame))))] ^= 1 << 3
        return messages.unpack(bytes(frame))
    except BadMessage:
        return None


def check(core: SmallCluster) -> None:
    """Owners and slots agree, each node has a role, and nodes.conf can be read."""
    state = core.state
    for node in state.nodes.values():
        assert all(state.owners[slot] is node for slot in each_slot(node.slots))
        assert node.in_handshake or bool(node.flags & PRIMARY) != bool(node.flags & REPLICA)
        assert (node.primary is None) or node in node.primary.replicas
    assert sum(owner is not None for owner in state.owners) == state.assigned().bit_count()
    state.save()
    core.take()
    again = SingleNode(core.saved)
    assert again.cluster.myself.id == state.myself.id
    assert again.cluster.state.assigned() == state.assigned()
