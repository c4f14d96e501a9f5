"""Starts, stops, adds and removes the nodes of a cluster's folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from shlex import join, quote
from typing import Any

from rillway.cluster.creation import create, follow, introduce, knows, wait_for_agreement
from rillway.cluster.folder import ClusterFolder, Plan
from rillway.cluster.member import ClusterFailed, Member, Node
from rillway.cluster.ports import check_free
from rillway.cluster.process import OWN_PROGRAM, NodeProcess
from rillway.cluster.resharding import (
    Resharding,
    fair_share,
    forget,
    leaving_ports,
    parting_shares,
    stay_alone,
)
from rillway.cluster.restarting import Restart
from rillway.pipeline.cli.progress import Progress
from rillway.plurals import count_of

MIN_FOR_FAILOVER = 3
NO_FAILOVER = (
    "note: there is no failover with fewer than three primaries: when one fails, no majority is "
    "left to vote for a replica"
)
# MIGRATE of a large value takes long.
MOVE_SECONDS = 120.0


@dataclass(frozen=True)
class Wish:
    """The request of the command line; None for options that are not given."""

    primaries: int | None
    replicas: int | None
    port: int | None
    options: list[str]


class Launch:
    """Changes the cluster of a locked folder. `say` prints a line for the user."""

    def __init__(self, folder: ClusterFolder, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._say = say

    # -- which nodes ---------------------------------------------------------------------------

    def plan(self, wish: Wish, default_port: int) -> None:
        """Plan the nodes of a new cluster. Raises ClusterFailed if their ports are taken."""
        assert wish.primaries is not None
        replicas = wish.replicas or 0
        first = wish.port or default_port
        ports = list(range(first, first + wish.primaries * (1 + replicas)))
        check_free(ports, "Others are chosen by --port.")
        self._folder.save(Plan(wish.primaries, replicas, ports, wish.options, first_port=first))
        if replicas and wish.primaries < MIN_FOR_FAILOVER:
            self._say(NO_FAILOVER)

    def check(self, wish: Wish) -> None:
        """Compare with the existing cluster, and adopt changed options. Raises ClusterFailed."""
        plan = self._folder.existing()
        given = (
            (
                "--nodes",
                wish.primaries,
                plan.primaries,
                f"; `{self._folder.command('add')}` adds one",
            ),
            ("--replicas", wish.replicas, plan.replicas, ""),
            ("--port", wish.port, plan.first_port or plan.ports[0], ""),
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
                    + self._folder.command("stop")
                )
            plan.options = wish.options
            self._folder.save(plan)

    # -- start and stop ------------------------------------------------------------------------

    def start(self) -> None:
        """Start the nodes that do not run, and wait until the cluster serves.

        Raises ClusterFailed.
        """
        plan = self._folder.existing()
        if self._started([*plan.ports, *plan.removing]) == 0 and plan.is_created:
            self._say("all nodes run already")
        members = self._members(plan.ports)
        if plan.is_created:
            wait_for_agreement(members)
        else:
            create(members, plan.primaries)
            plan.is_created = True
            self._folder.save(plan)

    def _started(self, ports: Sequence[int]) -> int:
        """Start nodes that do not run, wait until all answer, and return the number started."""
        plan = self._folder.existing()
        processes = [self._folder.process(port) for port in ports]
        down = [process for process in processes if process.pid is None]
        check_free([process.port for process in down], "They are the nodes' of this folder.")
        if down:
            self._say(f"starting {len(down)} node{'s' * (len(down) > 1)} in {self._folder.path}")
        for process in down:
            process.start(plan.options, plan.program)
        for process in processes:
            process.wait_until_it_answers(self._folder.member(process.port))
        return len(down)

    def stop(self) -> None:
        """Send SIGTERM to all nodes and wait until they have ended. Raises ClusterFailed."""
        if not self._end(self._folder.processes()):
            self._say("no node runs")

    def _end(self, processes: Sequence[NodeProcess]) -> int:
        """Stop the running nodes, and return their number."""
        for process in processes:
            if process.pid is not None:
                self._folder.member(process.port).end_without_failover()
        ended: list[tuple[NodeProcess, int | None]] = []
        for process in processes:
            pid = process.pid
            if process.ask_to_end():
                ended.append((process, pid))
        for process, pid in ended:
            process.wait_for_its_end()
            self._say(f"127.0.0.1:{process.port} (pid {pid}) ended")
        return len(ended)

    # -- restarting ----------------------------------------------------------------------------

    def restart(self, program: list[str] | None = None) -> None:
        """Restart all nodes one by one, or those that an interrupted restart has left.

        `program`: the words that `serve` follows, from now on; None for no change. Raises
        ClusterFailed, with what to do.
        """
        plan = self._folder.existing()
        if plan.restarting:
            self._say(f"{count_of(len(plan.restarting), 'node')} left to restart")
        else:
            self._whole()
        if plan.adding or plan.removing:
            again = self._folder.command("add" if plan.adding else f"remove {plan.removing[0]}")
            raise ClusterFailed(f"nodes are being added or removed. First: {again}")
        if program is not None and program != plan.program:
            plan.former_program, plan.program = plan.program, program
            plan.restarting = []
        plan.restarting = plan.restarting or list(plan.ports)
        self._folder.save(plan)
        try:
            self._started(plan.ports)
            ours = self._members(plan.ports)
            Restart(self._folder, ours, self._others(ours), self._say).run()
        except ClusterFailed as failure:
            raise ClusterFailed(f"{failure}\n{self._way_on(plan)}") from None

    def _way_on(self, plan: Plan) -> str:
        left = ", ".join(map(str, plan.restarting))
        text = f"Left to restart: {left}. {self._folder.command('restart')} goes on"
        if plan.program != plan.former_program:
            former = join(plan.former_program or OWN_PROGRAM)
            text += f"; {self._folder.command(f'upgrade --to {quote(former)}')} goes back"
        return f"{text}."

    # -- adding --------------------------------------------------------------------------------

    def add(self) -> None:
        """Add a primary with its replicas, or continue an interrupted addition.

        Raises ClusterFailed.
        """
        plan = self._whole()
        if plan.removing:
            again = self._folder.command(f"remove {plan.removing[0]}")
            raise ClusterFailed(f"a node is being removed. First: {again}")
        if not plan.adding:
            first = max(plan.ports) + 1
            ports = list(range(first, first + 1 + plan.replicas))
            check_free(ports, "A new node takes the port after the last one's.")
            plan.adding = ports
            self._folder.save(plan)
        self._started(plan.adding)
        ours = self._members(plan.ports)
        target, *replicas = added = self._members(plan.adding)
        # Nodes added by redis-cli come first: the new node introduces itself to them.
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

    def _whole(self) -> Plan:
        """Return the plan of a complete, running cluster. Raises ClusterFailed."""
        plan = self._folder.existing()
        down = [str(p.port) for p in map(self._folder.process, plan.ports) if p.pid is None]
        if down or not plan.is_created:
            what = f"down: {', '.join(down)}" if down else "not made to the end"
            first = self._folder.command("start")
            raise ClusterFailed(f"the cluster is {what}. First: {first}")
        return plan

    def _others(self, ours: Sequence[Member]) -> list[Member]:
        """Return the nodes that were started elsewhere and have not failed."""
        plan = self._folder.existing()
        ids = {member.id for member in ours}
        ids |= {self._folder.member(port).id for port in (*plan.adding, *plan.removing)}
        found = [node for node in ours[0].nodes() if node.id not in ids and not node.has_failed]
        return [self._member(node.port, host=node.host, bus_port=node.bus_port) for node in found]

    def _move_slots_to(self, target: Member, members: Sequence[Member]) -> None:
        """Move the target's share of the slots to it, from all primaries."""
        what = f"moving slots to {target.address}"
        self._say(f"{what}; clients go on meanwhile")
        nodes = target.nodes()
        total = sum(map(len, fair_share(nodes, target.id).values()))
        primaries = [*_owners(nodes, members), target]
        with Progress(what, total, unit="slot") as progress:
            Resharding(target, primaries, moved=progress.advance).run()
        self._say(f"{count_of(progress.done, 'slot')} moved")

    # -- removing ------------------------------------------------------------------------------

    def remove(self, name: str) -> None:
        """Remove a primary with its replicas, or a replica, or continue an interrupted removal.

        `name`: its port, address or ID. Raises ClusterFailed.
        """
        plan = self._whole()
        if plan.adding:
            again = self._folder.command("add")
            raise ClusterFailed(f"a node is being added. First: {again}")
        if not plan.removing:
            plan.removing = leaving_ports(name, self._members(plan.ports))
            plan.ports = [port for port in plan.ports if port not in plan.removing]
            self._folder.save(plan)
        elif name not in self._names(plan.removing[0]):
            again = self._folder.command(f"remove {plan.removing[0]}")
            raise ClusterFailed(f"another node is being removed. First: {again}")
        self._started(plan.removing)
        ours, leaving = self._members(plan.ports), self._members(plan.removing)
        staying = [*ours, *self._others(ours)]
        stay_alone(leaving)
        self._take_slots_from(leaving[0], staying)
        forget(leaving, staying)
        wait_for_agreement(staying)
        self._end([self._folder.process(port) for port in plan.removing])
        plan.removing = []
        self._folder.save(plan)

    def _names(self, port: int) -> list[str]:
        """Return the names by which a node that is being removed may be given."""
        ids = [node.id for node in self._folder.saved_nodes(port) if node.is_myself]
        return [str(port), f"127.0.0.1:{port}", *ids]

    def _take_slots_from(self, source: Member, staying: Sequence[Member]) -> None:
        """Divide the source's slots among all other primaries that have some."""
        primaries = _owners(staying[0].nodes(), staying)
        total = sum(map(len, parting_shares(primaries[0].nodes(), source.id).values()))
        if not total:
            return
        what = f"moving slots from {source.address}"
        self._say(f"{what}; clients go on meanwhile")
        with Progress(what, total, unit="slot") as progress:
            moves = {
                target.id: Resharding(target, [*primaries, source], moved=progress.advance)
                for target in primaries
            }
            for resharding in moves.values():
                resharding.finish()
            for target_id, slots in parting_shares(primaries[0].nodes(), source.id).items():
                moves[target_id].take(source.id, slots)
        self._say(f"{count_of(progress.done, 'slot')} moved")
        if self._folder.existing().replicas and len(primaries) < MIN_FOR_FAILOVER:
            self._say(NO_FAILOVER)

    def _members(self, ports: Sequence[int]) -> list[Member]:
        return [self._member(port) for port in ports]

    def _member(self, port: int, **address: Any) -> Member:
        """Return a connection with a timeout long enough for MIGRATE of a large value."""
        password = self._folder.existing().password
        return Member(port, password=password, answer_seconds=MOVE_SECONDS, **address)


def _owners(nodes: Sequence[Node], members: Sequence[Member]) -> list[Member]:
    """Return the members that are primaries with slots."""
    ids = {node.id for node in nodes if node.is_primary and node.slots}
    return [member for member in members if member.id in ids]
