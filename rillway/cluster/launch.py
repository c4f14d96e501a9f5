"""Starts and stops the nodes of a cluster's folder, and takes in one more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rillway.cluster.creation import create, follow, introduce, knows, wait_for_agreement
from rillway.cluster.failure import ClusterFailed
from rillway.cluster.folder import ClusterFolder, Plan
from rillway.cluster.member import Member
from rillway.cluster.ports import check_free
from rillway.cluster.process import NodeProcess
from rillway.cluster.resharding import Resharding

MIN_FOR_FAILOVER = 3
# MIGRATE of a large value takes its time.
MOVE_SECONDS = 120.0


@dataclass(frozen=True)
class Wish:
    """What the command line asks for; None where it says nothing."""

    primaries: int | None
    replicas: int | None
    port: int | None
    options: list[str]


class Launch:
    """Works in a folder that is locked. `say` gets a line for the user."""

    def __init__(self, folder: ClusterFolder, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._say = say

    # -- which nodes ---------------------------------------------------------------------------

    def plan(self, wish: Wish, default_port: int) -> None:
        """Write down the nodes of a new cluster. Raises ClusterFailed if their ports are taken."""
        assert wish.primaries is not None
        replicas = wish.replicas or 0
        first = wish.port or default_port
        ports = list(range(first, first + wish.primaries * (1 + replicas)))
        check_free(ports, "Others are chosen by --port.")
        self._folder.save(Plan(wish.primaries, replicas, ports, wish.options))
        if replicas and wish.primaries < MIN_FOR_FAILOVER:
            self._say(
                "note: there is no failover with fewer than three primaries: when one fails, no "
                "majority is left to vote for a replica"
            )

    def check(self, wish: Wish) -> None:
        """Compare with the cluster that is there; take over other options. Raises ClusterFailed."""
        plan = self._folder.existing()
        given = (
            ("--nodes", wish.primaries, plan.primaries, "; `rillway cluster add` adds one"),
            ("--replicas", wish.replicas, plan.replicas, ""),
            ("--port", wish.port, plan.ports[0], ""),
        )
        for name, wanted, has, advice in given:
            if wanted not in (None, has):
                raise ClusterFailed(
                    f"the cluster in {self._folder.path} was made with {name} {has}; leave it "
                    f"out{advice}"
                )
        if wish.options and wish.options != plan.options:
            if any(process.pid for process in self._folder.processes()):
                raise ClusterFailed(
                    "other options than before need all nodes to start again: "
                    f"rillway cluster stop --dir {self._folder.path}"
                )
            plan.options = wish.options
            self._folder.save(plan)

    # -- start and stop ------------------------------------------------------------------------

    def start(self) -> None:
        """Start the nodes that do not run, and wait until the cluster serves.

        Raises ClusterFailed.
        """
        plan = self._folder.existing()
        if self._started(plan.ports) == 0 and plan.is_created:
            self._say("all nodes run already")
        members = self._members(plan.ports)
        if plan.is_created:
            wait_for_agreement(members)
        else:
            create(members, plan.primaries)
            plan.is_created = True
            self._folder.save(plan)

    def _started(self, ports: Sequence[int]) -> int:
        """Start those nodes that do not run, and return their number, when all answer."""
        plan = self._folder.existing()
        processes = [self._folder.process(port) for port in ports]
        down = [process for process in processes if process.pid is None]
        check_free([process.port for process in down], "They are the nodes' of this folder.")
        if down:
            self._say(f"starting {len(down)} node{'s' * (len(down) > 1)} in {self._folder.path}")
        for process in down:
            process.start(plan.options)
        for process in processes:
            process.wait_until_it_answers(self._folder.member(process.port))
        return len(down)

    def stop(self) -> None:
        """Send SIGTERM to all nodes and wait for their ends. Raises ClusterFailed."""
        ended: list[tuple[NodeProcess, int | None]] = []
        for process in self._folder.processes():
            pid = process.pid
            if process.ask_to_end():
                ended.append((process, pid))
        for process, pid in ended:
            process.wait_for_its_end()
            self._say(f"127.0.0.1:{process.port} (pid {pid}) ended")
        if not ended:
            self._say("no node runs")

    # -- one more ------------------------------------------------------------------------------

    def add(self) -> None:
        """Take in a primary and its replicas, or go on with those of before.

        Raises ClusterFailed.
        """
        plan = self._folder.existing()
        down = [str(p.port) for p in map(self._folder.process, plan.ports) if p.pid is None]
        if down or not plan.is_created:
            what = f"down: {', '.join(down)}" if down else "not made to the end"
            raise ClusterFailed(f"the cluster is {what}. First: rillway cluster start")
        if not plan.adding:
            first = max(plan.ports) + 1
            ports = list(range(first, first + 1 + plan.replicas))
            check_free(ports, "A new node takes the port after the last one's.")
            plan.adding = ports
            self._folder.save(plan)
        self._started(plan.adding)
        ours = self._members(plan.ports)
        target, *replicas = added = self._members(plan.adding)
        # Others may have been added by redis-cli. They come first: the new node introduces itself.
        members = [*self._others(ours), *ours, *added]
        if not all(knows(member, members) for member in members):
            introduce(members)
        wait_for_agreement(members)
        self._move_slots_to(target, members)
        for replica in replicas:
            follow(replica, target)
        wait_for_agreement(members)
        plan.ports, plan.adding = [*plan.ports, *plan.adding], []
        self._folder.save(plan)

    def _others(self, ours: Sequence[Member]) -> list[Member]:
        """The nodes that were not started here, but for those that have failed."""
        ids = {member.id for member in ours}
        ids |= {self._folder.member(port).id for port in self._folder.existing().adding}
        found = [node for node in ours[0].nodes() if node.id not in ids and not node.has_failed]
        return [self._member(node.port, host=node.host, bus_port=node.bus_port) for node in found]

    def _move_slots_to(self, target: Member, members: Sequence[Member]) -> None:
        """The target's share, of all primaries that there are: those of others give as well."""
        self._say(f"moving slots to {target.address}; clients go on meanwhile")
        moved: list[int] = []
        owners = {node.id for node in target.nodes() if node.is_primary and node.slots}
        primaries = [member for member in members if member.id in owners]
        Resharding(target, [*primaries, target], moved=moved.append).run()
        self._say(f"{sum(moved):,} slots moved")

    def _members(self, ports: Sequence[int]) -> list[Member]:
        return [self._member(port) for port in ports]

    def _member(self, port: int, **address: Any) -> Member:
        """A connection that waits for a MIGRATE of a large value."""
        password = self._folder.existing().password
        return Member(port, password=password, answer_seconds=MOVE_SECONDS, **address)
