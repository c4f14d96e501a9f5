"""`rillway cluster top`: nodes, slots, links, lags and rates of a cluster in one table.

Rates come from two readings of the nodes' counters, so they are exact for the time between them,
and unknown in the first sample and for a node that restarted meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rillway.cluster.folder import ClusterFolder
from rillway.cluster.member import Member, NotReady
from rillway.cluster.status import NodeStatus, Status, as_json, read_status, role, sentence
from rillway.text import UNKNOWN, short_count, short_size, text_table

HEADINGS = (
    *("node", "role", "process", "slots", "links", "lag", "requests/s", "in/s", "out/s"),
    *("clients", "memory"),
)
COUNTERS = {
    "requests_per_s": "total_commands_processed",
    "input_bytes_per_s": "total_net_input_bytes",
    "output_bytes_per_s": "total_net_output_bytes",
}


@dataclass(frozen=True)
class Reading:
    """What a node says of itself: INFO, and its links to other nodes."""

    seconds: float  # when, monotonic
    info: Mapping[str, Any]
    links: int  # to nodes that it reaches
    others: int


@dataclass(frozen=True)
class Figures:
    """The figures of a node; None if they are unknown.

    `lag_bytes`: of a replica, what its primary has sent and it has not processed.
    """

    links: int | None = None
    others: int | None = None
    is_synchronised: bool | None = None
    lag_bytes: int | None = None
    requests_per_s: float | None = None
    input_bytes_per_s: float | None = None
    output_bytes_per_s: float | None = None
    clients: int | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Sample:
    """The nodes, and the figures of each by its address."""

    status: Status
    figures: Mapping[str, Figures]


class Picture:
    """Takes samples of the cluster of a folder."""

    def __init__(self, folder: ClusterFolder) -> None:
        self._folder = folder
        self._before: dict[str, Reading] = {}

    def take(self) -> Sample:
        """Ask all nodes. Raises ClusterFailed if there is no cluster, or no password."""
        status = read_status(self._folder)
        readings = {each.address: self._read(each) for each in status.nodes if not each.problem}
        found = {address: reading for address, reading in readings.items() if reading is not None}
        figures = {each.address: self._figures(each, status, found) for each in status.nodes}
        self._before = found
        return Sample(status, figures)

    def _read(self, status: NodeStatus) -> Reading | None:
        host = status.address.rpartition(":")[0]
        member = Member(status.port, host=host, password=self._folder.existing().password)
        try:
            info, others = member.ask("INFO"), [n for n in member.nodes() if not n.is_myself]
        except NotReady:
            return None
        finally:
            member.close()
        links = sum(node.is_linked and not node.has_failed for node in others)
        return Reading(time.monotonic(), info, links, len(others))

    def _figures(
        self, status: NodeStatus, all_of_them: Status, readings: Mapping[str, Reading]
    ) -> Figures:
        reading = readings.get(status.address)
        if reading is None:
            return Figures()
        info, lag = reading.info, None
        primary_id = status.node.primary_id if status.node else None
        if primary_id:
            owners = [n.address for n in all_of_them.nodes if n.node and n.node.id == primary_id]
            primary = readings.get(owners[0]) if owners else None
            if primary is not None:
                sent = primary.info["master_repl_offset"]
                lag = max(sent - info.get("slave_repl_offset", 0), 0)
        return Figures(
            links=reading.links,
            others=reading.others,
            is_synchronised=info.get("master_link_status", "up") == "up",
            lag_bytes=lag,
            clients=info["connected_clients"],
            memory_bytes=info["used_memory"],
            **rates(self._before.get(status.address), reading),
        )


def rates(before: Reading | None, now: Reading) -> dict[str, float | None]:
    """Return the growth of the counters in a second; None if the process is another one."""
    if before is None or before.info["run_id"] != now.info["run_id"]:
        return dict.fromkeys(COUNTERS)
    seconds = now.seconds - before.seconds
    return {
        name: (now.info[field] - before.info[field]) / seconds for name, field in COUNTERS.items()
    }


def table(sample: Sample) -> str:
    """Return the table, and below it the state of the cluster and its problems."""
    status = sample.status
    rows = [_row(status, each, sample.figures[each.address]) for each in status.nodes]
    problems = status.problems if status.is_running else ()
    return "\n".join([text_table(HEADINGS, rows), sentence(status), *problems])


def _row(status: Status, node: NodeStatus, figures: Figures) -> tuple[object, ...]:
    lag = short_size(figures.lag_bytes) if figures.is_synchronised in (True, None) else "link down"
    return (
        node.address,
        role(status.nodes, node),
        node.process,
        node.node.slot_count if node.node and node.node.slots else None,
        UNKNOWN if figures.links is None else f"{figures.links}/{figures.others}",
        lag,
        short_count(figures.requests_per_s),
        short_size(figures.input_bytes_per_s),
        short_size(figures.output_bytes_per_s),
        figures.clients,
        short_size(figures.memory_bytes),
    )


def sample_as_json(folder: ClusterFolder, sample: Sample) -> dict[str, Any]:
    """Return the status for JSON, with the figures of each node."""
    document = as_json(folder, sample.status)
    for node in document["nodes"]:
        node |= asdict(sample.figures[node["address"]])
    return document
