"""One core among nodes that a test speaks for: messages in, messages out, without a network."""

from __future__ import annotations

from typing import Any

from server.cluster import messages
from server.cluster.events import Action, Dial, LinkLost, LinkOpened, Received, Send, Tick
from server.cluster.messages import Gossip, Message
from server.cluster.nodes import PRIMARY, REPLICA, Link, Node, range_of_slots
from tests.server.cluster.single_node import SingleNode

TIMEOUT_MS = 1_000
PEER_IP, MY_IP = "10.0.0.2", "10.0.0.1"


class SmallCluster(SingleNode):
    """This node, and others by their letters. `sent` has what it said to each since the last look.

    With `primary` it is a replica of that one; else it owns the slots up to 99.
    """

    def __init__(self, letters: str = "", primary: str = "", **settings: Any) -> None:
        super().__init__(node_timeout_ms=TIMEOUT_MS, announce_ip=MY_IP, **settings)
        self.sent: list[tuple[str, Message]] = []
        self.dialled: list[Dial] = []
        self.inbound: dict[str, Link] = {}
        self.state = self.cluster.state
        for number, letter in enumerate(letters):
            self._introduce(letter, number)
        if primary:
            self.state.make_replica(self.state.myself, self.node(primary))
        else:
            self.state.set_owner(range_of_slots(0, 99), self.state.myself)
        self.tick()
        for letter in letters:
            self.open(letter)
        self.sent.clear()

    def _introduce(self, letter: str, number: int) -> None:
        """Another primary, with a hundred slots and an epoch of its own."""
        node = self.state.new_node(letter * 40, PRIMARY, self.now_ms)
        node.ip, node.port, node.bus_port = PEER_IP, 7001 + number, 17001 + number
        node.config_epoch = self.state.current_epoch = number + 1
        self.state.set_owner(range_of_slots(100 * (number + 1), 100 * (number + 1) + 99), node)

    def node(self, letter: str) -> Node:
        return self.state.nodes[letter * 40]

    # -- events --------------------------------------------------------------------------------

    def open(self, letter: str) -> None:
        """The link that was dialled to a node is connected."""
        link = self.node(letter).link
        assert link is not None
        self._keep(self.cluster.step(LinkOpened(link), self.now_ms))

    def lose(self, link: Link | None) -> list[Action]:
        assert link is not None
        return self._keep(self.cluster.step(LinkLost(link), self.now_ms))

    def message(self, letter: str, kind: int, **fields: object) -> Message:
        """A message as a node would send it, with what is known of it."""
        node = self.node(letter)
        fields = {
            "flags": PRIMARY if node.is_primary else REPLICA,
            "current_epoch": self.state.current_epoch,
            "config_epoch": node.leader.config_epoch,
            "slots": node.leader.slots,
            "primary": node.primary.id if node.primary is not None else "",
            "port": node.port,
            "bus_port": node.bus_port,
            "offset": node.offset,
            **fields,
        }
        return Message(kind, node.id, **fields)  # type: ignore[arg-type]

    def hear(self, letter: str, kind: int = messages.PING, **fields: object) -> list[Action]:
        """A message comes on the link that a node has dialled."""
        link = self.inbound.setdefault(letter, Link(None, True, True, 0, PEER_IP, MY_IP))
        return self.receive(link, self.message(letter, kind, **fields))

    def answer(self, letter: str, **fields: object) -> list[Action]:
        """A PONG comes on the link that this node has dialled."""
        link = self.node(letter).link
        assert link is not None
        return self.receive(link, self.message(letter, messages.PONG, **fields))

    def receive(self, link: Link, message: Message) -> list[Action]:
        return self._keep(self.cluster.step(Received(link, message), self.now_ms))

    def pass_time(self, ms: int, alive: str = "") -> None:
        """Ticks; those who are alive answer what they are asked."""
        for _ in range(ms // 100):
            self.now_ms += 100
            self._keep(self.cluster.step(Tick(), self.now_ms))
            for letter in alive:
                if self.node(letter).is_linked:
                    self.answer(letter)

    # -- what came out -------------------------------------------------------------------------

    def _keep(self, actions: list[Action]) -> list[Action]:
        for action in super()._keep(actions):
            if isinstance(action, Send):
                node = action.link.node
                self.sent.append((node.id[0] if node is not None else "", action.message))
            elif isinstance(action, Dial):
                self.dialled.append(action)
        return actions

    def said(self, kind: int) -> list[tuple[str, Message]]:
        """The messages of a type, and to whom; they are forgotten."""
        found = [each for each in self.sent if each[1].type == kind]
        self.sent = [each for each in self.sent if each[1].type != kind]
        return found


def about(letter: str, flags: int = PRIMARY, **fields: object) -> Gossip:
    """An entry of gossip."""
    fields = {"ip": PEER_IP, "port": 7009, "bus_port": 17009, "flags": flags, **fields}
    return Gossip(letter * 40, **fields)  # type: ignore[arg-type]
