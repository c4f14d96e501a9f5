"""Restarts the nodes of a cluster one by one, while clients continue.

Replicas come first. A primary hands its slots over to a replica before it ends, so that they are
served all the time; without a replica they are not, until it is back. After each node the cluster
must be whole again: all nodes agree, replicas are synchronised, and a write reaches them. The plan
keeps what is left, so that a restart that was interrupted goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from redis.crc import key_slot

from rillway.cluster.creation import wait_for_agreement
from rillway.cluster.folder import ClusterFolder
from rillway.cluster.member import ClusterFailed, Member, Node, NoMemory
from rillway.net.polling import poll

TAKEOVER_SECONDS = 6.0  # a manual failover is given up after five
TAKEOVERS = 5
KEY = "rillway:restart:%d"
KEY_MS = 60_000
REPLICATION_MS = 10_000


class Restart:
    """The restart of the nodes that the plan of a locked folder names.

    `ours`: the nodes of the folder; `others`: those that were started elsewhere.
    """

    def __init__(
        self,
        folder: ClusterFolder,
        ours: Sequence[Member],
        others: Sequence[Member],
        say: Callable[[str], None],
    ) -> None:
        self._folder = folder
        self._ours = ours
        self._members = [*ours, *others]
        self._say = say

    def run(self) -> None:
        """Restart the nodes that are left. Raises ClusterFailed at the first doubt."""
        plan = self._folder.existing()
        self._agree()
        while plan.restarting:
            left = [member for member in self._ours if member.port in plan.restarting]
            # min() takes the first: replicas in their order, then primaries.
            member = min(left, key=lambda member: member.myself().is_primary)
            self._restart(member)
            plan.restarting.remove(member.port)
            self._folder.save(plan)

    def _agree(self) -> None:
        """Wait until the cluster is whole. Raises ClusterFailed, at once if a node has ended."""
        wait_for_agreement(self._members, self._check_processes)

    def _check_processes(self) -> None:
        for process in self._folder.processes():
            if process.pid is None:
                raise ClusterFailed(f"the node on port {process.port} has ended")

    def _restart(self, member: Member) -> None:
        if member.myself().is_primary:
            self._hand_over(member)
        plan, process = self._folder.existing(), self._folder.process(member.port)
        former = process.pid
        member.end_without_failover()
        process.ask_to_end()
        process.wait_for_its_end()
        process.start(plan.options, plan.program)
        process.wait_until_it_answers(member)
        self._agree()
        self._check_writes(member)
        self._say(f"{member.address} restarted (pid {former}, now {process.pid})")

    def _hand_over(self, primary: Member) -> None:
        """Have a replica take over, if there is one. Raises ClusterFailed if it does not."""
        ids = {node.id for node in primary.nodes() if node.primary_id == primary.id}
        replicas = [member for member in self._members if member.id in ids]
        if not replicas:
            self._say(f"{primary.address} has no replica: its slots are not served meanwhile")
            return
        heir = replicas[0]

        def leads() -> bool:
            self._check_processes()
            return heir.myself().is_primary

        for _ in range(TAKEOVERS):
            heir.ask("CLUSTER", "FAILOVER")
            if poll(leads, TAKEOVER_SECONDS):
                self._agree()
                return
        raise ClusterFailed(f"{heir.address} does not take over from {primary.address}")

    def _check_writes(self, member: Member) -> None:
        """Write to the shard of a node, and wait until all its replicas have that.

        Raises ClusterFailed.
        """
        nodes = member.nodes()
        me = next(node for node in nodes if node.is_myself)
        owner = next(node for node in nodes if node.id == (me.primary_id or me.id))
        if not owner.slots:
            return
        primary = next(each for each in self._members if each.id == owner.id)
        replicas = sum(node.primary_id == owner.id for node in nodes)
        key = _key_of(owner)
        try:
            primary.ask("SET", key, "", "PX", KEY_MS)
            reached = primary.ask("WAIT", replicas, REPLICATION_MS)
            primary.ask("DEL", key)
        except NoMemory:
            self._say(f"{owner.address} is at maxmemory: no trial write, offsets are compared")
            reached = reached_replicas(primary, replicas)
        if reached < replicas:
            raise ClusterFailed(
                f"a write to {owner.address} reached {reached} of {replicas} replicas"
            )


def reached_replicas(primary: Member, wanted: int) -> int:
    """Return how many replicas acknowledge what the primary has now; waits for `wanted`."""
    _, offset, _ = primary.ask("ROLE")
    reached = 0

    def have_all() -> bool:
        nonlocal reached
        _, _, replicas = primary.ask("ROLE")
        reached = sum(int(acknowledged) >= offset for _, _, acknowledged in replicas)
        return reached >= wanted

    poll(have_all, REPLICATION_MS / 1000)
    return reached


def _key_of(owner: Node) -> str:
    """A key in one of a primary's slots."""
    slots = set(owner.each_slot())
    return next(key for key in (KEY % n for n in count()) if key_slot(key.encode()) in slots)
