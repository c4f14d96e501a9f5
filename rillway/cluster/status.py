"""The status of a cluster: each node's address, role, slots and process, as lines or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rillway.cluster.creation import division
from rillway.cluster.folder import ClusterFolder
from rillway.cluster.member import SLOT_COUNT, Member, Node, NoPassword, NotReady
from rillway.cluster.process import NodeProcess
from rillway.plurals import count_of


@dataclass(frozen=True)
class NodeStatus:
    """A node. `pid`: None if it does not run here. `node`: None if no node knows it."""

    address: str
    port: int
    is_ours: bool
    pid: int | None
    node: Node | None
    problem: str = ""  # "" if there is none

    @property
    def process(self) -> str:
        """The process: `pid 4211`, `down`, or `another's`."""
        if not self.is_ours:
            return "another's"
        return "down" if self.pid is None else f"pid {self.pid}"

    @property
    def slots(self) -> str:
        """The slots: `0-5460 5470 (5,462 slots)`, or "" for none."""
        if self.node is None or not self.node.slots:
            return ""
        ranges = [f"{a}-{b}" if a != b else str(a) for a, b in self.node.slots]
        return f"{' '.join(ranges)} ({count_of(self.node.slot_count, 'slot')})"


@dataclass(frozen=True)
class Status:
    """All nodes. `problems`: sentences; empty if the cluster is sound."""

    nodes: tuple[NodeStatus, ...]
    is_ok: bool  # the cluster serves, according to all nodes that answer
    problems: tuple[str, ...]

    @property
    def is_running(self) -> bool:
        return any(node.pid for node in self.nodes)

    @property
    def served(self) -> int:
        """The number of slots whose owner answers; other nodes may detect a failure later."""
        owners = [each.node for each in self.nodes if each.node and not each.problem]
        return sum(node.slot_count for node in owners)

    @property
    def state(self) -> str:
        """The state: `ok`, `fail` or `stopped`."""
        if not self.is_running:
            return "stopped"
        return "ok" if self.is_ok and self.served == SLOT_COUNT else "fail"

    @property
    def is_sound(self) -> bool:
        return self.state == "ok" and not self.problems


@dataclass(frozen=True)
class Answer:
    """The answer of a node: all nodes, and whether it serves; or its problem."""

    port: int
    pid: int | None
    view: list[Node]
    is_ok: bool
    problem: str = ""


def read_status(folder: ClusterFolder) -> Status:
    """Ask all nodes. Raises ClusterFailed if there is no cluster, or no password."""
    answers = [_ask(folder, process) for process in folder.processes()]
    views = {answer.port: answer.view for answer in answers if answer.view}
    known = known_nodes(folder, views)
    statuses = [
        NodeStatus(f"127.0.0.1:{a.port}", a.port, True, a.pid, known.get(a.port), a.problem)
        for a in answers
    ]
    ids = {status.node.id for status in statuses if status.node is not None}
    statuses += [_ask_other(node) for node in known.values() if node.id not in ids]
    sentences = [f"{status.address} {status.problem}" for status in statuses if status.problem]
    if len({division(view) for view in views.values()}) > 1:
        sentences.append("the nodes do not agree who has which slots (yet)")
    sentences += _of_plan(folder)
    in_use = [a for a in answers if a.view and a.port in folder.existing().ports]
    is_ok = bool(in_use) and all(answer.is_ok for answer in in_use)
    return Status(tuple(statuses), is_ok, tuple(sentences))


def _ask(folder: ClusterFolder, process: NodeProcess) -> Answer:
    pid = process.pid
    if pid is None:
        problem = f"is down: {folder.command('start')} brings it back; its log: {process.log}"
        return Answer(process.port, None, [], False, problem)
    member = folder.member(process.port)
    try:
        return Answer(process.port, pid, member.nodes(), member.is_ok())
    except NotReady:
        return Answer(process.port, pid, [], False, f"does not answer; its log: {process.log}")
    finally:
        member.close()


def known_nodes(folder: ClusterFolder, views: dict[int, list[Node]]) -> dict[Any, Node]:
    """Return the nodes by port, each as it sees itself, or as another sees it.

    If none runs, they are read from files. Nodes started elsewhere have their IDs as names.
    """
    seen = views or {port: folder.saved_nodes(port) for port in folder.existing().ports}
    ports = {node.id: port for port, view in seen.items() for node in view if node.is_myself}
    ports |= {
        node.id: process.port
        for process in folder.processes()
        for node in folder.saved_nodes(process.port)
        if node.is_myself
    }
    found: dict[Any, Node] = {}
    for view in seen.values():
        for node in view:
            name = ports.get(node.id, node.id)
            if node.is_myself or name not in found:
                found[name] = node
    return found


def _ask_other(node: Node) -> NodeStatus:
    member, problem = Member(node.port, host=node.host), ""
    try:
        member.ask("PING")
    except NoPassword:
        pass  # it answers
    except NotReady:
        problem = "does not answer, and was not started here"
    finally:
        member.close()
    return NodeStatus(node.address, node.port, False, None, node, problem)


def _of_plan(folder: ClusterFolder) -> list[str]:
    plan = folder.existing()
    if not plan.is_created:
        return [f"it was not made to the end: `{folder.command('start')}` goes on"]
    if plan.adding:
        return [f"a node is being added ({plan.adding[0]}): `{folder.command('add')}` goes on"]
    if plan.removing:
        port = plan.removing[0]
        return [f"a node is being removed ({port}): `{folder.command(f'remove {port}')}` goes on"]
    if plan.restarting:
        left = count_of(len(plan.restarting), "node")
        return [f"{left} left to restart: `{folder.command('restart')}` goes on"]
    return []


# -- for people and for programs ------------------------------------------------------------------


def lines(status: Status) -> list[str]:
    """Return a line for each node, one for the cluster, and one for each problem."""
    rows = [_row(status.nodes, each) for each in status.nodes]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    shown = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    ]
    problems = status.problems if status.is_running else ()  # the last line says that all are down
    return [*(line.rstrip() for line in shown), sentence(status), *problems]


def _row(nodes: Sequence[NodeStatus], status: NodeStatus) -> tuple[str, str, str, str]:
    return status.address, role(nodes, status), status.process, status.slots


def role(nodes: Sequence[NodeStatus], status: NodeStatus) -> str:
    """Return `primary`, `replica of 127.0.0.1:7000`, or `new` for one without slots or primary."""
    if status.node is None:
        return "new"
    if status.node.is_primary:
        return "primary"
    primary_id = status.node.primary_id
    addresses = [each.address for each in nodes if each.node and each.node.id == primary_id]
    return f"replica of {addresses[0]}" if addresses else "replica"


def sentence(status: Status) -> str:
    """Return the state of the cluster as a line."""
    owners = [each for each in status.nodes if each.node and each.node.slots]
    primaries = count_of(len(owners), "primary")
    if status.state == "stopped":
        return f"cluster: stopped, {primaries}"
    return f"cluster: {status.state}, {status.served:,} of {SLOT_COUNT:,} slots served, {primaries}"


def as_json(folder: ClusterFolder, status: Status) -> dict[str, Any]:
    """Return the status for JSON. `state`: ok, fail, or stopped if no node runs."""
    return {
        "dir": str(folder.path),
        "state": status.state,
        "slots_served": status.served if status.is_running else 0,
        "problems": list(status.problems),
        "nodes": [_node_as_json(each) for each in status.nodes],
    }


def _node_as_json(status: NodeStatus) -> dict[str, Any]:
    node = status.node
    return {
        "address": status.address,
        "port": status.port,
        "id": node.id if node else None,
        "role": None if node is None else "primary" if node.is_primary else "replica",
        "primary_id": node.primary_id if node else None,
        "slots": [list(each) for each in node.slots] if node else [],
        "started_here": status.is_ours,
        "pid": status.pid,
        "problem": status.problem or None,
    }
