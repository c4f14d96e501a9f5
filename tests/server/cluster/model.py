"""A cluster of seven cores in one process, with a network that loses, delays and doubles messages.

`Model(seed)` runs one random story: partitions, crashes, stopped processes, slot moves and manual
failovers, then an end of all troubles. It asserts what must hold at each moment, and that in the
end all nodes agree and serve all slots. After a crash a node has what was saved, no more.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable

from protocol.errors import ReplyError
from protocol.records import entity
from protocol.request import SLOT_COUNT
from server.cluster import messages
from server.cluster.core import Cluster
from server.cluster.events import (
    Action,
    Close,
    Dial,
    Event,
    LinkLost,
    LinkOpened,
    Promote,
    Received,
    ReplicateFrom,
    Save,
    Send,
    Tick,
)
from server.cluster.messages import AUTH_ACK, AUTH_REQUEST, Message
from server.cluster.nodes import Link
from server.cluster.state import Settings

START_MS = 1_700_000_000_000
NODES = 7
TIMEOUT_MS, TICK_MS = 1_000, 250
# Elections that fail are tried again after four times the timeout, and a node needs several.
HEALED_WITHIN_MS = 60_000
CHECK_MS = 500


class Broken(AssertionError):
    """A rule of the cluster does not hold."""


@entity
class Peer:
    """The other end of a link: whose it is, and its link there."""

    place: int
    link: Link


class ModelNode:
    """One node: its core while it runs, its data, and the file that survives a crash."""

    def __init__(self, model: Model, place: int, config: str) -> None:
        self.model = model
        self.place = place
        self.saved = self.synced = config
        self.offset = 1
        self.heard_ms = START_MS
        self.primary_port: int | None = None
        self.is_up = self.is_stopped = self.is_empty = False
        self.peers: dict[Link, Peer] = {}
        self.postponed: list[Event] = []
        self.settings = Settings(
            node_timeout_ms=TIMEOUT_MS, port=7000 + place, bus_port=17000 + place
        )
        self.start()

    def start(self) -> None:
        model = self.model
        self.cluster = Cluster(self.settings, self, model.draw, self.saved, model.now_ms)
        self.primary_port = None
        self.is_up = True

    def crash(self) -> None:
        """What was not synced may be lost."""
        self.saved = self.synced = self.model.draw.choice((self.saved, self.synced))
        self.is_up = self.is_stopped = False
        self.postponed.clear()
        for link in list(self.peers):
            self.model.cut(self, link)

    # -- the data, as the core asks for it -----------------------------------------------------

    def replication_offset(self) -> int:
        return self.offset

    def data_age_ms(self) -> int | None:
        return self.model.now_ms - self.heard_ms

    def keys_in_slot(self, slot: int) -> int:
        return 0

    def has_keys(self) -> bool:
        return not self.is_empty

    def replicate(self) -> None:
        """A tick of the data: writes on a primary; a replica has what its primary has."""
        if self.primary_port is None:
            self.offset += self.model.draw.randrange(3)
            return
        primary = self.model.nodes[self.primary_port - 7000]
        if self.model.reaches(self.place, primary.place) and not primary.is_stopped:
            self.offset, self.heard_ms = primary.offset, self.model.now_ms


class Model:
    """One story. `is_unilateral`: some nodes take epochs that nobody granted, as Redis allows."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.is_unilateral = seed % 2 == 1
        self.uses_bytes = seed % 16 == 0
        self.is_new = seed % 32 in (4, 5)
        self.now_ms = START_MS
        self.loss, self.late, self.doubled = (self.draw.choice((0, 0.02, 0.1)) for _ in range(3))
        self.groups = [0] * NODES  # nodes in one group reach each other
        self.deaf: set[tuple[int, int]] = set()  # who is not heard by whom
        self.queue: list[tuple[int, int, Callable[[], None]]] = []
        self.events = 0
        self.votes: dict[tuple[str, int], str] = {}
        self.claims: dict[int, dict[str, int]] = {}  # epochs, and who owns what by them
        self.nodes: list[ModelNode] = []
        configs = [""] * NODES if self.is_new else first_configs(self.draw)
        for place, config in enumerate(configs):
            self.nodes.append(ModelNode(self, place, config))
        for node in self.nodes:
            self.at(self.draw.randrange(TICK_MS), self.ticker(node))

    # -- the story -----------------------------------------------------------------------------

    def run(self) -> None:
        """Raises Broken if a rule does not hold."""
        self.advance(1_500)
        if self.is_new:
            self.form()
        for _ in range(self.draw.randrange(1, 6)):
            self.draw.choice(self.troubles())()
            self.advance(self.draw.choice((50, 300, 1_500, 4_000, 4_000)))
        self.heal()
        until_ms = self.now_ms + HEALED_WITHIN_MS
        while problem := self.disagreement():
            if self.now_ms > until_ms:
                raise Broken(f"not healed: {problem}")
            self.advance(CHECK_MS)

    def form(self) -> None:
        """As `redis-cli --cluster create` makes a cluster: slots, epochs, MEET, then replicas.

        MEET is said again where a message was lost: who is not known is not listened to.
        """
        primaries = self.nodes[:4]
        for node in self.nodes:
            node.is_empty = node not in primaries
            set_up(node.cluster, node.place)
            self.carry_out(node, node.cluster.take_actions(self.now_ms))
        until_ms = self.now_ms + HEALED_WITHIN_MS
        while any(len(node.cluster.state.nodes) != NODES for node in self.nodes):
            if self.now_ms > until_ms:
                raise Broken("the nodes do not meet")
            for node in self.nodes[1:]:
                self.introduce(node, self.nodes[0])
            self.advance(2 * TIMEOUT_MS)
        for node in self.nodes[4:]:
            node.cluster.replicate(self.nodes[node.place - 4].cluster.myself.id.encode())
            self.carry_out(node, node.cluster.take_actions(self.now_ms))
        self.advance(TIMEOUT_MS)

    def introduce(self, node: ModelNode, other: ModelNode) -> None:
        known = node.cluster.state.nodes, other.cluster.state.nodes
        if other.cluster.myself.id in known[0] and node.cluster.myself.id in known[1]:
            return
        ports = b"%d" % (7000 + other.place), b"%d" % (17000 + other.place)
        self.command(node, lambda cluster: cluster.meet(b"127.0.0.1", *ports, self.now_ms))

    def troubles(self) -> list[Callable[[], None]]:
        found = [self.partition, self.partition, self.crash, self.crash, self.stop, self.restart]
        found += [self.rejoin, self.fail_over, self.deafen]
        return found + [self.move_slots] * 2 * self.is_unilateral

    def partition(self) -> None:
        self.groups = [self.draw.randrange(2) for _ in range(NODES)]

    def deafen(self) -> None:
        """Some nodes are not heard by some others, which they hear."""
        pairs = [(one, other) for one in range(NODES) for other in range(NODES)]
        self.deaf = {pair for pair in pairs if self.draw.random() < 0.2}

    def rejoin(self) -> None:
        self.groups = [0] * NODES
        self.deaf.clear()

    def crash(self) -> None:
        node = self.draw.choice(self.nodes)
        if node.is_up:
            node.crash()

    def restart(self) -> None:
        """All run again."""
        for node in self.nodes:
            if not node.is_up:
                node.start()
            self.resume(node)

    def stop(self) -> None:
        """SIGSTOP: time passes for others, and what comes waits."""
        node = self.draw.choice(self.nodes)
        node.is_stopped = node.is_up

    def resume(self, node: ModelNode) -> None:
        node.is_stopped = False
        postponed, node.postponed = node.postponed, []
        for event in postponed:
            self.give(node, event)

    def fail_over(self) -> None:
        """CLUSTER FAILOVER on a replica."""
        modes = [b"", b"", b"FORCE"] + [b"TAKEOVER"] * self.is_unilateral
        node = self.draw.choice(self.nodes)
        self.command(node, lambda cluster: cluster.fail_over(self.draw.choice(modes), self.now_ms))

    def move_slots(self) -> None:
        """As `redis-cli --cluster reshard` does it, which stops where a step fails."""
        source, target = self.draw.sample(self.nodes, 2)
        slots = source.cluster.myself.slots
        if not slots or target.cluster.myself.is_replica or not source.is_up:
            return
        slot = b"%d" % ((slots & -slots).bit_length() - 1)
        names = [node.cluster.myself.id.encode() for node in (source, target)]
        steps: list[tuple[ModelNode, Callable[[Cluster], object]]] = [
            (target, lambda cluster: cluster.set_slot_importing(slot, names[0])),
            (source, lambda cluster: cluster.set_slot_migrating(slot, names[1])),
            (target, lambda cluster: cluster.set_slot_node(slot, names[1])),
            (source, lambda cluster: cluster.set_slot_node(slot, names[1])),
        ]
        for node, step in steps:
            if self.draw.random() < 0.1 or not self.command(node, step):
                return
            self.advance(self.draw.choice((0, 0, 100, 500)))

    def command(self, node: ModelNode, operation: Callable[[Cluster], object]) -> bool:
        """An operator's command; False if the node is not there, or refuses."""
        if not node.is_up or node.is_stopped:
            return False
        try:
            operation(node.cluster)
        except ReplyError:
            return False
        self.carry_out(node, node.cluster.take_actions(self.now_ms))
        return True

    def heal(self) -> None:
        """The end of all troubles. Slots whose move was cut off are given to their owners."""
        self.loss = self.late = self.doubled = 0
        self.rejoin()
        self.restart()
        for node in self.nodes:
            node.cluster.state.importing.clear()
            node.cluster.state.migrating.clear()

    def disagreement(self) -> str:
        """What keeps the cluster from being well; empty if nothing does."""
        tables = [
            {other.id: other.slots for other in node.cluster.state.nodes.values() if other.slots}
            for node in self.nodes
        ]
        if any(table != tables[0] for table in tables):
            return "the tables of slots differ"
        if sum(slots.bit_count() for slots in tables[0].values()) != SLOT_COUNT:
            return "a slot has no owner"
        for node in self.nodes:
            state = node.cluster.state
            if not state.is_ok or len(state.nodes) != NODES:
                return f"node {node.place} is not ok"
            for other in self.nodes:
                known = state.nodes[other.cluster.myself.id]
                if not known.is_reachable or known.is_primary != other.cluster.myself.is_primary:
                    return f"node {node.place} is wrong about node {other.place}"
        return ""

    # -- time ----------------------------------------------------------------------------------

    def at(self, delay_ms: int, call: Callable[[], None]) -> None:
        self.events += 1
        heapq.heappush(self.queue, (self.now_ms + delay_ms, self.events, call))

    def advance(self, ms: int) -> None:
        until_ms = self.now_ms + ms
        while self.queue[0][0] <= until_ms:
            self.now_ms, _, call = heapq.heappop(self.queue)
            call()
        self.now_ms = until_ms

    def ticker(self, node: ModelNode) -> Callable[[], None]:
        def tick() -> None:
            self.at(TICK_MS, tick)
            if node.is_up and not node.is_stopped:
                node.replicate()
                self.give(node, Tick())

        return tick

    # -- the network ---------------------------------------------------------------------------

    def reaches(self, one: int, other: int) -> bool:
        return self.groups[one] == self.groups[other] and self.nodes[other].is_up

    def give(self, node: ModelNode, event: Event) -> None:
        if not node.is_up:
            return
        if node.is_stopped:
            node.postponed.append(event)
            return
        link = getattr(event, "link", None)
        if link is not None and link not in node.peers and not isinstance(event, LinkLost):
            return  # it was closed meanwhile
        self.carry_out(node, node.cluster.step(event, self.now_ms))

    def carry_out(self, node: ModelNode, actions: list[Action]) -> None:
        is_promised = False
        for action in actions:
            if isinstance(action, Save):
                node.saved = action.text
                if action.is_promise:
                    node.synced, is_promised = action.text, True
            elif isinstance(action, Send):
                self.check_promise(node, action, is_promised)
                self.send(node, action)
            elif isinstance(action, Dial):
                self.dial(node, action)
            elif isinstance(action, Close):
                self.cut(node, action.link)
            elif isinstance(action, ReplicateFrom):
                node.primary_port = action.port
            elif isinstance(action, Promote):
                node.primary_port = None
        self.check_claims(node)

    def dial(self, node: ModelNode, dial: Dial) -> None:
        place = dial.port - 17_000
        delay_ms = self.draw.randrange(1, 20)
        if self.groups[node.place] != self.groups[place]:
            node.peers[dial.link] = Peer(place, Link())  # nobody answers
            return
        if not self.nodes[place].is_up:
            node.peers[dial.link] = Peer(place, Link())
            self.at(delay_ms, lambda: self.lose(node, dial.link))
            return
        other = self.nodes[place]
        accepted = Link(None, True, True, self.now_ms, "127.0.0.1", "127.0.0.1")
        node.peers[dial.link] = Peer(place, accepted)
        other.peers[accepted] = Peer(node.place, dial.link)
        self.at(delay_ms, lambda: self.give(node, LinkOpened(dial.link)))

    def send(self, node: ModelNode, send: Send) -> None:
        peer = node.peers.get(send.link)
        if peer is None or self.groups[node.place] != self.groups[peer.place]:
            return
        if (node.place, peer.place) in self.deaf or self.draw.random() < self.loss:
            return
        message = send.message
        if self.uses_bytes:
            message = messages.unpack(messages.pack(message))
        for _ in range(1 + (self.draw.random() < self.doubled)):
            is_late = self.draw.random() < self.late
            delay_ms = self.draw.randrange(1, 3_000 if is_late else 20)
            self.deliver_later(peer, message, delay_ms)

    def deliver_later(self, peer: Peer, message: Message, delay_ms: int) -> None:
        self.at(delay_ms, lambda: self.give(self.nodes[peer.place], Received(peer.link, message)))

    def lose(self, node: ModelNode, link: Link) -> None:
        if node.peers.pop(link, None) is not None:
            self.give(node, LinkLost(link))

    def cut(self, node: ModelNode, link: Link) -> None:
        """One end is closed; the other hears of that, unless the network is cut."""
        peer = node.peers.pop(link, None)
        if peer is not None and self.groups[node.place] == self.groups[peer.place]:
            other = self.nodes[peer.place]
            self.at(self.draw.randrange(1, 20), lambda: self.lose(other, peer.link))

    # -- the rules -----------------------------------------------------------------------------

    def check_promise(self, node: ModelNode, send: Send, is_promised: bool) -> None:
        """Votes, and requests for them, are promises; a node has one vote in an epoch.

        Who asks for votes has given its own to itself.
        """
        message = send.message
        if message.type not in (AUTH_ACK, AUTH_REQUEST):
            return
        if not is_promised:
            raise Broken("a promise was sent before it was saved")
        assert send.link.node is not None
        candidate = message.sender if message.type == AUTH_REQUEST else send.link.node.id
        vote = message.sender, message.current_epoch
        if self.votes.setdefault(vote, candidate) != candidate:
            raise Broken(f"{vote} voted for {self.votes[vote]} and for {candidate}")

    def check_claims(self, node: ModelNode) -> None:
        """No two primaries own a slot by the same epoch, as long as all epochs are granted."""
        me = node.cluster.myself
        if not me.is_primary or not me.slots or self.is_unilateral:
            return
        claims = self.claims.setdefault(me.config_epoch, {})
        claims[me.id] = me.slots
        for other, slots in claims.items():
            if other != me.id and slots & me.slots:
                raise Broken(f"{me.id} and {other} own a slot by epoch {me.config_epoch}")


def set_up(cluster: Cluster, place: int) -> None:
    """A node before it meets others."""
    cluster.set_config_epoch(b"%d" % (place + 1))
    if place < 4:
        cluster.add_slots_range([b"%d" % (place * 4096), b"%d" % (place * 4096 + 4095)])


def first_configs(draw: random.Random) -> list[str]:
    """nodes.conf of each node of a cluster that was just made.

    It has four primaries, of which one has no replica, or three, of which one has two.
    """
    ids = [f"{draw.getrandbits(160):040x}" for _ in range(NODES)]
    primaries = draw.choice((3, 4))
    lines = []
    for place, node_id in enumerate(ids):
        if place < primaries:
            bounds = [SLOT_COUNT * number // primaries for number in (place, place + 1)]
            role = f"master - 0 0 {place + 1} connected {bounds[0]}-{bounds[1] - 1}"
        else:
            primary = place % primaries
            role = f"slave {ids[primary]} 0 0 {primary + 1} connected"
        lines.append((node_id, f"127.0.0.1:{7000 + place}@{17000 + place}", role))
    epochs = f"vars currentEpoch {primaries} lastVoteEpoch 0\n"
    return [
        "".join(
            f"{node_id} {address} {'myself,' * (node_id == me)}{role}\n"
            for node_id, address, role in lines
        )
        + epochs
        for me in ids
    ]
