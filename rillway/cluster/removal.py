"""Which nodes leave a cluster, and how the others forget them."""

from __future__ import annotations

from collections.abc import Sequence

from rillway.cluster.failure import ClusterFailed
from rillway.cluster.member import Member


def leaving_ports(name: str, ours: Sequence[Member]) -> list[int]:
    """The port of the node with this port, address or ID; of a primary, those of its replicas too.

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
    """Have a primary that loses its last slot not follow the one that took it: it would load all
    that this one has, and answer nothing meanwhile.
    """
    for member in leaving:
        member.ask("CONFIG", "SET", "cluster-allow-replica-migration", "no")


def forget(leaving: Sequence[Member], staying: Sequence[Member]) -> None:
    """Have those that stay forget those that leave, and these become new nodes without data.

    A replica of a primary that leaves, which was not started here, follows another. Raises
    ClusterFailed; it can be run again.
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
