"""Makes a cluster of nodes that run elsewhere, and introduces those whose address has changed.

NODES: HOST:PORT of each, the primaries of a new cluster first; PRIMARIES: how many these are;
REDISCLI_AUTH: the password of all. It may run as often as one likes: what is well stays as it is.
Ends with 1 and a sentence if that is not possible now.
"""

from __future__ import annotations

import os
import socket
import sys

from rillway.cluster.creation import create, wait_for_agreement
from rillway.cluster.member import SLOT_COUNT, ClusterFailed, Member


def main() -> int:
    primaries, password = int(os.environ["PRIMARIES"]), os.environ.get("REDISCLI_AUTH", "")
    try:
        members = [member_of(place, password) for place in os.environ["NODES"].split()]
        introduce(members)
        if is_new(members):
            create(members, primaries)
        wait_for_agreement(members)
    except (ClusterFailed, OSError) as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


def member_of(place: str, password: str) -> Member:
    """A node by its present address: nodes do not take names."""
    host, _, port = place.rpartition(":")
    return Member(int(port), host=socket.gethostbyname(host), password=password)


def introduce(members: list[Member]) -> None:
    """Tell each node of those that it does not know, or knows by an address that is no longer."""
    for member in members:
        known = {node.id: node.address for node in member.nodes()}
        for other in members:
            if other is not member and known.get(other.id) != other.address:
                member.ask("CLUSTER", "MEET", other.host, other.port, other.bus_port)


def is_new(members: list[Member]) -> bool:
    """True until all slots have an owner and no node is without a role."""
    nodes = [member.myself() for member in members]
    owned = sum(node.slot_count for node in nodes)
    return owned < SLOT_COUNT or any(node.is_primary and not node.slots for node in nodes)


if __name__ == "__main__":
    sys.exit(main())
