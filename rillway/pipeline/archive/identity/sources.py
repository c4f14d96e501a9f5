"""A server's replies when a round begins: about itself, the stream, its markers and anchors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rillway.pipeline.archive.identity.epochs import Source
from rillway.pipeline.client.connection import Connection, Reply, ServerError
from rillway.pipeline.client.facts import (
    StreamFacts,
    all_facts,
    all_group_infos,
    group_name,
)
from rillway.pipeline.client.ids import format_id, parse_id
from rillway.pipeline.ranges.anchors import Anchor, entry_hash

NO_REPLID = "0" * 40
STREAMS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Sighting:
    """A stream at one moment, as far as it concerns an archive.

    `markers`: the archive's groups by name, with their positions; `anchors`: those of the asked
    ones that are there with the same hash.
    """

    source: Source
    facts: StreamFacts
    markers: dict[str, int]
    anchors: tuple[Anchor, ...]


def look(
    connection: Connection, group: str, anchors: Mapping[str, Sequence[Anchor]]
) -> dict[str, Sighting]:
    """`group`: the common part of the names of the archive's markers; `anchors`: by stream.

    In few pipelines, however many streams there are. Raises ServerError.
    """
    source = read_source(connection)
    found: dict[str, Sighting] = {}
    names = list(anchors)
    for begin in range(0, len(names), STREAMS_AT_ONCE):
        part = names[begin : begin + STREAMS_AT_ONCE]
        all_of_them = all_facts(connection, part)
        groups = all_group_infos(connection, part)
        wanted = [(name, anchor) for name in part for anchor in anchors[name]]
        replies = connection.call_all([_entry_request(name, a.id) for name, a in wanted])
        there: dict[str, list[Anchor]] = {name: [] for name in part}
        for (name, anchor), reply in zip(wanted, replies, strict=True):
            if is_there(anchor, reply):
                there[name].append(anchor)
        for name in part:
            markers = {
                group_name(info): parse_id(info[b"last-delivered-id"])
                for info in groups[name]
                if is_own(group_name(info), group)
            }
            found[name] = Sighting(source, all_of_them[name], markers, tuple(there[name]))
    return found


def is_own(name: str, group: str) -> bool:
    """Return True if a group is one of the archive's, `group` being their common part."""
    return name == group or name.startswith(f"{group}:")


def _entry_request(stream: str, entry_id: int) -> tuple[str, ...]:
    return ("XRANGE", stream, format_id(entry_id), format_id(entry_id))


def is_there(anchor: Anchor, reply: Reply) -> bool:
    """Return True if the reply to XRANGE holds the anchor's entry, unchanged."""
    return isinstance(reply, list) and bool(reply) and entry_hash(reply[0][1]) == anchor.hash


def read_source(connection: Connection) -> Source:
    """Who the server is; no more than the database where INFO is not allowed."""
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
