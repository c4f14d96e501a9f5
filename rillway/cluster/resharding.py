"""Moves slots with their keys to a node, like redis-cli's reshard; it can be interrupted.

A slot is marked on the target, then on the source; its keys are sent by MIGRATE; then the slot is
assigned to the target on both and on all other primaries. The marks of an interrupted run are
found, and its slots finished first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rillway.cluster.member import SLOT_COUNT, ClusterFailed, Member, Node

SLOTS_AT_ONCE = 64
KEYS_AT_ONCE = 100
MIGRATE_MS = 60_000


def fair_share(nodes: Sequence[Node], target_id: str) -> dict[str, list[int]]:
    """Return the slots that each primary gives to the target, by ID: its last ones.

    Primaries with most slots give, until all have the same number, give or take one.
    """
    owners = {node.id: list(node.each_slot()) for node in nodes if node.is_primary and node.slots}
    fair = SLOT_COUNT // len(owners.keys() | {target_id})
    missing = fair - len(owners.pop(target_id, []))
    gifts: dict[str, list[int]] = {}
    for source_id, slots in sorted(owners.items(), key=lambda item: -len(item[1])):
        number = min(len(slots) - fair, missing)
        if number > 0:
            gifts[source_id] = slots[-number:]
            missing -= number
    return gifts


def parting_shares(nodes: Sequence[Node], source_id: str) -> dict[str, list[int]]:
    """Divide all slots of the source among the other primaries with slots, by ID.

    Primaries with fewest slots get most, until all have the same number, give or take one.
    """
    slots = [slot for node in nodes if node.id == source_id for slot in node.each_slot()]
    takers = {node.id: node.slot_count for node in nodes if node.is_primary and node.slots}
    takers.pop(source_id, None)
    fair = -(-(sum(takers.values()) + len(slots)) // max(len(takers), 1))
    shares: dict[str, list[int]] = {}
    for target_id, number in sorted(takers.items(), key=lambda item: item[1]):
        missing = max(fair - number, 0)
        if slots and missing:
            shares[target_id], slots = slots[:missing], slots[missing:]
    return shares


class Resharding:
    """Moves slots to `target`. `primaries`: all primaries with slots, and the target."""

    def __init__(
        self,
        target: Member,
        primaries: Iterable[Member],
        *,
        moved: Callable[[int], None] = lambda number: None,
    ) -> None:
        """`moved` is called with the number of slots after each step."""
        self._target = target
        self._primaries = {member.id: member for member in primaries}
        self._moved = moved

    def run(self) -> None:
        """Move a fair share. Raises ClusterFailed, and can be repeated."""
        self.finish()
        for source_id, slots in fair_share(self._target.nodes(), self._target.id).items():
            self.take(source_id, slots)

    def take(self, source_id: str, slots: Sequence[int]) -> None:
        """Move slots of one source, in steps. Raises ClusterFailed."""
        for first in range(0, len(slots), SLOTS_AT_ONCE):
            self.move(self._source(source_id), slots[first : first + SLOTS_AT_ONCE])

    def finish(self) -> None:
        """Move the slots that an interrupted run has marked."""
        nodes = self._target.nodes()
        owners = {slot: node.id for node in nodes for slot in node.each_slot()}
        marked: dict[str, list[int]] = {}
        for slot in self._target.myself().importing:
            marked.setdefault(owners.get(slot, "none"), []).append(slot)
        for source_id, slots in marked.items():
            self.move(self._source(source_id), slots)
        for source in self._primaries.values():
            # Slots that the target has, which the source may not know yet.
            marks = source.myself().migrating
            self._give([slot for slot in marks if owners.get(slot) == self._target.id], [source])

    def move(self, source: Member, slots: Sequence[int]) -> None:
        """Move some slots of one source. Clients are redirected meanwhile."""
        self._target.ask_all([("CLUSTER", "SETSLOT", s, "IMPORTING", source.id) for s in slots])
        source.ask_all([("CLUSTER", "SETSLOT", s, "MIGRATING", self._target.id) for s in slots])
        self._send_keys(source, slots)
        others = [each for each in self._primaries.values() if each not in (source, self._target)]
        self._give(slots, [self._target, source, *others])
        self._moved(len(slots))

    def _send_keys(self, source: Member, slots: Sequence[int]) -> None:
        """Send the keys of slots. REPLACE overwrites copies that were not confirmed."""
        target = self._target
        auth = ("AUTH", target.password) if target.password else ()
        migrate = ("MIGRATE", target.host, target.port, "", 0, MIGRATE_MS, "REPLACE", *auth, "KEYS")
        get = [("CLUSTER", "GETKEYSINSLOT", slot, KEYS_AT_ONCE) for slot in slots]
        while found := [keys for keys in source.ask_all(get) if keys]:
            source.ask_all((*migrate, *keys) for keys in found)

    def _give(self, slots: Sequence[int], members: Iterable[Member]) -> None:
        """Assign the slot, on the target first: after an interruption the target announces it."""
        for member in members:
            member.ask_all([("CLUSTER", "SETSLOT", s, "NODE", self._target.id) for s in slots])

    def _source(self, node_id: str) -> Member:
        if node_id not in self._primaries:
            raise ClusterFailed(f"the node {node_id} has slots to give, and cannot be reached")
        return self._primaries[node_id]


def leaving_ports(name: str, ours: Sequence[Member]) -> list[int]:
    """Return the port of the node with this port, address or ID, and those of its replicas.

    `ours`: all nodes that were started here. Raises ClusterFailed if the node cannot leave.
    """
    found = [each for each in ours if name in (str(each.port), each.address, each.id)]
    nodes = ours[0].nodes()
    if not found and any(name in (str(node.port), node.address, node.id) for node in nodes):
        raise ClusterFailed(f"{name} was not started here: redis-cli --cluster del-node removes it")
    if not found:
        known = ", ".join(each.address for each in ours)
        raise ClusterFailed(f"the cluster has no node {name}: there are {known}")
    leaving = found[0]
    owners = {node.id for node in nodes if node.is_primary and node.slots}
    if owners == {leaving.id}:
        raise ClusterFailed(
            f"{leaving.address} is the only primary: there is none to take its slots; `stop` ends "
            "the cluster"
        )
    replicas = {node.id for node in nodes if node.primary_id == leaving.id}
    return [leaving.port, *(member.port for member in ours if member.id in replicas)]


def stay_alone(leaving: Sequence[Member]) -> None:
    """Keep primaries that lose their last slot from replicating the node that took it.

    Such a replica would load all of that node's data, and answer nothing meanwhile.
    """
    for member in leaving:
        member.ask("CONFIG", "SET", "cluster-allow-replica-migration", "no")


def forget(leaving: Sequence[Member], staying: Sequence[Member]) -> None:
    """Make the staying nodes forget the leaving ones, which become new nodes without data.

    A replica started elsewhere whose primary leaves follows another one. Raises ClusterFailed, and
    can be repeated.
    """
    ids = [member.id for member in leaving]
    primary = next(member for member in staying if member.myself().slots)
    for member in staying:
        if member.myself().primary_id in ids:
            member.ask("CLUSTER", "REPLICATE", primary.id)
        known = {node.id for node in member.nodes()}
        for node_id in ids:
            if node_id in known:
                member.ask("CLUSTER", "FORGET", node_id)
    for member in leaving:
        member.ask("CLUSTER", "RESET", "HARD")
