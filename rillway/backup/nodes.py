"""The nodes that a back-up is made of: one server, or all primaries of a cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rillway.backup.manifest import BackupError
from rillway.cluster.member import SLOT_COUNT, parse_nodes
from rillway.pipeline.wire.cluster import url_at
from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.urls import public_url

ONLY = "server"


@dataclass(frozen=True)
class Place:
    """A node: its name in the back-up, its URL, its slots."""

    name: str
    url: str
    slots: tuple[tuple[int, int], ...] = ()


def places(url: str, *, is_cluster: bool) -> list[Place]:
    """The servers to copy. Raises BackupError if slots have no primary, or are being moved."""
    with Connection(url) as link:
        try:
            text = link.call("CLUSTER", "NODES").decode()
        except ServerError as error:
            if is_cluster:
                raise BackupError(f"{public_url(url)}: CLUSTER NODES: {error}") from None
            return [Place(ONLY, url)]
    nodes = [node for node in parse_nodes(text) if node.is_known]
    if not is_cluster:
        mine = next(node for node in nodes if node.is_myself)
        return [Place(ONLY, url, mine.slots)]
    primaries = [node for node in nodes if node.is_primary and node.slots]
    if away := [node.address for node in primaries if node.has_failed]:
        raise BackupError(f"nodes do not answer: {', '.join(away)}")
    if any(node.migrating or node.importing for node in nodes):
        raise BackupError("slots are being moved: back up when that is done")
    served = sum(node.slot_count for node in primaries)
    if served < SLOT_COUNT:
        raise BackupError(f"{SLOT_COUNT - served} slots have no primary")
    found = []
    for node in sorted(primaries, key=lambda node: node.slots):
        name = re.sub(r"[^\w.-]", "_", f"{node.host or 'node'}-{node.port}")
        is_asked = node.is_myself and not node.host
        where = url if is_asked else url_at(url, (node.host, node.port))
        found.append(Place(name, where, node.slots))
    return found
