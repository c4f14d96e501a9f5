"""Removing from a stream what is archived, and nothing that a consumer group still needs.

Entries go only before the anchor, the last archived entry, which stays; and only while marker and
anchor are what they should be (identity/guards.py).

Where XTRIM has ACKED (Rillway, Redis 8.2), the server finds out what groups need: it removes every
entry that all groups were given and have acknowledged, and passes over the others. Else the trim
ends at the first entry that a group needs, and check and trim are one step. What a group needs only
moves on while it reads and acknowledges, so a check stays true until a group is made or set back.

ACKED knows no exceptions, so where groups are to be ignored the trim is always of the second kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rillway.pipeline.archive.groups import (
    Holdup,
    find_holdups,
    floor_of,
    is_ignored,
    read_groups,
)
from rillway.pipeline.archive.identity.guards import GROUP, MISSING, REASONS, Guards, Trimming
from rillway.pipeline.archive.pins import drop_expired_pins
from rillway.pipeline.client.capabilities import Capabilities
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.client.facts import read_facts
from rillway.pipeline.client.ids import MIN_ID, make_id, ms_of
from rillway.pipeline.ranges.anchors import Anchor

MAX_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class TrimRules:
    """The user's rules for a trim: how much to keep, and which groups to ignore."""

    keep_ms: int = 0
    ignored_groups: frozenset[str] = frozenset()
    group_max_idle_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Archived:
    """Up to where a stream is archived, and how the stream itself shows it.

    `anchor`: the last archived entry that is live, None if there is none. `stale`: the archive's
    own groups that mean nothing any more.
    """

    marker: str
    end: int
    anchor: Anchor | None
    stale: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The outcome of a trim. `by`: the method that was used, for information.

    `refused`: why the guards let nothing be removed, one of their REASONS; empty if they did.
    """

    removed: int
    by: str
    refused: str = ""
    holdups: list[Holdup] = field(default_factory=list)


class Trimmer:
    """Trims streams of one server."""

    def __init__(self, connection: Connection, rules: TrimRules) -> None:
        self._connection = connection
        self._capabilities = Capabilities(connection)
        self._guards = Guards(connection, self._capabilities)
        self._rules = rules

    def trim(self, stream: str, archived: Archived) -> Trimmed:
        """Remove what is before the anchor, is older than what is kept, and no group needs."""
        now_ms = server_time_ms(self._connection)
        drop_expired_pins(self._connection, stream, now_ms)
        groups = read_groups(self._connection, stream)
        ignored = archived.stale | {
            group.name
            for group in groups
            if is_ignored(group, self._rules.ignored_groups, self._rules.group_max_idle_ms)
        }
        needed = [group for group in groups if group.name not in ignored]
        floor = self._floor(stream, archived.anchor)
        if archived.anchor is None or floor == MIN_ID:
            return Trimmed(0, "nothing to trim")
        acked = not ignored & {group.name for group in groups} and self._capabilities.has_option(
            "XTRIM", "ACKED"
        )
        trimming = Trimming(archived.marker, archived.end, archived.anchor, floor, ignored, acked)
        done = self._trim(stream, trimming)
        by = "XTRIM ACKED" if acked else "script" if self._guards.runs_scripts else "WATCH"
        holdups = find_holdups(self._connection, stream, needed, floor, now_ms)
        if isinstance(done, int):
            return Trimmed(done, by, holdups=holdups)
        refused = "" if done in (GROUP, MISSING) else REASONS[done]
        return Trimmed(0, by, refused, holdups)

    def _floor(self, stream: str, anchor: Anchor | None) -> int:
        """The first ID that is to stay in any case.

        What is kept is counted back from the newest entry, not from a clock: the IDs may be of
        another time than now.
        """
        if anchor is None:
            return MIN_ID
        if not self._rules.keep_ms:
            return anchor.id
        newest_ms = ms_of(read_facts(self._connection, stream).last_id)
        return min(anchor.id, make_id(max(newest_ms - self._rules.keep_ms, 0)))

    def _trim(self, stream: str, trimming: Trimming) -> int | str:
        """Without ACKED to what is needed, again if a group has changed in the meantime."""
        if trimming.acked:
            return self._guards.trim(stream, trimming)
        for _ in range(MAX_ATTEMPTS):
            groups = read_groups(self._connection, stream)
            floor = floor_of(groups, trimming.floor, trimming.ignored)
            if floor == MIN_ID:
                return 0
            done = self._guards.trim(stream, replace(trimming, floor=floor))
            if done != GROUP:
                return done
        return GROUP


def server_time_ms(connection: Connection) -> int:
    """The server's clock: the one that pins and leases are reckoned by."""
    seconds, microseconds = connection.call("TIME")
    return int(seconds) * 1000 + int(microseconds) // 1000
