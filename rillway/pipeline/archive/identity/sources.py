"""Reads what recognition needs: the identity of servers, and streams with markers and anchors.

In a cluster each stream is on one of several servers, and may move with its markers to another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rillway.pipeline.archive.identity.epochs import Source
from rillway.pipeline.ranges.anchors import Anchor, entry_hash
from rillway.pipeline.wire.connection import Connection, Reply, ServerError
from rillway.pipeline.wire.facts import (
    StreamFacts,
    all_facts,
    all_group_infos,
    group_positions,
)
from rillway.pipeline.wire.ids import format_id

NO_REPLID = "0" * 40
STREAMS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Sighting:
    """A stream at one moment.

    `source`: its server; `sources`: all servers of the cluster; `groups`: XINFO GROUPS; `markers`:
    the positions of the archive's groups, by name; `anchors`: the last one if it exists with the
    same hash, otherwise all others that do.
    """

    source: Source
    sources: tuple[Source, ...]
    facts: StreamFacts
    groups: list[dict[bytes, Reply]]
    markers: dict[str, int]
    anchors: tuple[Anchor, ...]

    def is_known_by(self, stored: Source) -> bool:
        """Return True if the stream's server is `stored`, or has taken over from it.

        In a cluster it may be any of the servers, as slots move between them.
        """
        return any(source.is_known_by(stored) for source in self.sources)


def look(
    connection: Connection, group: str, anchors: Mapping[str, Sequence[Anchor]]
) -> dict[str, Sighting]:
    """Read the streams of `anchors`, using few pipelines. Raises ServerError.

    `group`: the prefix of the archive's groups; `anchors`: the expected ones by stream.
    """
    sources = {node: read_source(node) for node in connection.nodes()}
    found: dict[str, Sighting] = {}
    names = list(anchors)
    for begin in range(0, len(names), STREAMS_AT_ONCE):
        part = names[begin : begin + STREAMS_AT_ONCE]
        all_of_them = all_facts(connection, part)
        groups = all_group_infos(connection, part)
        there = _found(connection, {name: anchors[name][:1] for name in part})
        lacking = [name for name in part if anchors[name][1:] and not there[name]]
        there |= _found(connection, {name: anchors[name][1:] for name in lacking})
        for name in part:
            markers = {
                marker: position
                for marker, position in group_positions(groups[name]).items()
                if is_own(marker, group)
            }
            node = connection.of(name)
            source = sources[node] = sources.get(node) or read_source(node)
            known = tuple(sources.values())
            found[name] = Sighting(
                source, known, all_of_them[name], groups[name], markers, tuple(there[name])
            )
    return found


def _found(
    connection: Connection, wanted: Mapping[str, Sequence[Anchor]]
) -> dict[str, list[Anchor]]:
    """Return the anchors that exist, by stream."""
    asked = [(name, anchor) for name, anchors in wanted.items() for anchor in anchors]
    replies = connection.call_all([_entry_request(name, one.id) for name, one in asked])
    found: dict[str, list[Anchor]] = {name: [] for name in wanted}
    for (name, anchor), reply in zip(asked, replies, strict=True):
        if is_there(anchor, reply):
            found[name].append(anchor)
    return found


def is_own(name: str, group: str) -> bool:
    """Return True if a group belongs to the archive. `group`: the prefix of its groups."""
    return name == group or name.startswith(f"{group}:")


def _entry_request(stream: str, entry_id: int) -> tuple[str, ...]:
    return ("XRANGE", stream, format_id(entry_id), format_id(entry_id))


def is_there(anchor: Anchor, reply: Reply) -> bool:
    """Return True if the reply to XRANGE holds the anchor's entry, unchanged."""
    return isinstance(reply, list) and bool(reply) and entry_hash(reply[0][1]) == anchor.hash


def read_run_ids(connection: Connection) -> frozenset[str]:
    """Return the run IDs of the servers; none if INFO is not allowed. Raises ServerError."""
    connection.refresh()
    found = {read_source(node).run_id for node in connection.nodes()}
    return frozenset(found - {""})


def read_source(connection: Connection) -> Source:
    """Return the identity of a server; only the database if INFO is not allowed."""
    replies = connection.call_all([("INFO", "server"), ("INFO", "replication")])
    fields: dict[str, str] = {}
    for reply in replies:
        if not isinstance(reply, ServerError):
            lines = reply.decode(errors="replace").splitlines()
            fields |= dict(line.split(":", 1) for line in lines if ":" in line)
    names = fields.get("master_replid", ""), fields.get("master_replid2", "")
    offset = fields.get("master_repl_offset", "")
    return Source(
        connection.database,
        fields.get("run_id", ""),
        tuple(name for name in names if name and name != NO_REPLID),
        int(offset) if offset.isdecimal() else 0,
    )
