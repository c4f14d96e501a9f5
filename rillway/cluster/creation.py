"""Makes a cluster of nodes that run: divides the slots, introduces the nodes, places replicas.

Works like redis-cli, except that every node is introduced to every other, without waiting for
gossip: three nodes agree within half a second. Steps that are done are skipped, so an interrupted
creation can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from rillway.cluster.member import SLOT_COUNT, Member, Node, wait_until

AGREEMENT_SECONDS = 60.0


def divided(primaries: int) -> list[tuple[int, int]]:
    """Return the first and the last slot of each primary."""
    ends = [round(SLOT_COUNT * number / primaries) for number in range(primaries + 1)]
    return [(first, end - 1) for first, end in pairwise(ends)]


def create(members: Sequence[Member], primaries: int) -> None:
    """Create a cluster; the first `primaries` members get slots, the others replicate them in turn.

    Returns when all serve and all replicas are synchronised. Raises ClusterFailed.
    """
    for number, (member, (first, last)) in enumerate(
        zip(members, divided(primaries), strict=False)
    ):
        nodes = member.nodes()
        me = member.myself()
        if len(nodes) == 1 and not me.epoch:
            # Two nodes with the same epoch would have to resolve the conflict.
            member.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        if not me.slots:
            member.ask("CLUSTER", "ADDSLOTSRANGE", first, last)
    introduce(members)
    for number, replica in enumerate(members[primaries:]):
        follow(replica, members[number % primaries])
    wait_for_agreement(members)


def introduce(members: Sequence[Member]) -> None:
    """Introduce each member to all others. Raises ClusterFailed."""
    for number, member in enumerate(members):
        meet(member, members[:number])
    patiently(members, lambda: all(knows(each, members) for each in members))


def meet(member: Member, others: Sequence[Member]) -> None:
    """Start the introduction of a member to others that it does not know."""
    known = {node.id for node in member.nodes()}
    for other in others:
        if other.id not in known:
            member.ask("CLUSTER", "MEET", other.host, other.port, other.bus_port)


def knows(member: Member, others: Sequence[Member]) -> bool:
    known = {node.id for node in member.nodes() if node.is_known}
    return known.issuperset(other.id for other in others)


def follow(replica: Member, primary: Member) -> None:
    """Make a member the replica of another, unless it is one already."""
    if replica.myself().is_primary:
        replica.ask("CLUSTER", "REPLICATE", primary.id)


def wait_for_agreement(
    members: Sequence[Member], check: Callable[[], object] = lambda: None
) -> None:
    """Wait until all members agree that all slots are served, and replicas are synchronised.

    `check` is called before each look, and may raise ClusterFailed. Raises ClusterFailed.
    """

    def serve() -> bool:
        check()
        return agree(members)

    def are_in_step() -> bool:
        check()
        return all(member.is_synchronised() for member in members)

    patiently(members, serve)
    patiently(members, are_in_step)


def patiently(members: Sequence[Member], holds: Callable[[], bool]) -> None:
    """Wait until a condition holds. Raises ClusterFailed."""

    def sentence() -> str:
        unready = [member.address for member in members if not member.is_ok()]
        where = f"; these do not serve: {', '.join(unready)}" if unready else ""
        return f"the nodes do not agree after {AGREEMENT_SECONDS:.0f} s{where}"

    wait_until(holds, AGREEMENT_SECONDS, sentence)


def agree(members: Sequence[Member]) -> bool:
    """Return True if all members serve, know one another, and have the same map of slots."""
    views = [member.nodes() for member in members]
    return (
        len({division(view) for view in views}) == 1
        and all(node.is_known for view in views for node in view)
        and all(knows(member, members) for member in members)
        and all(member.is_ok() for member in members)
    )


def division(
    nodes: Sequence[Node],
) -> frozenset[tuple[str, str | None, tuple[tuple[int, int], ...]]]:
    """Return the slots of each primary, and the primary of each replica."""
    return frozenset((node.id, node.primary_id, node.slots) for node in nodes)
