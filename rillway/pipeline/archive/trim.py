"""Removes archived entries from a stream, except those that a consumer group still needs.

Only entries before the anchor, the last archived entry, are removed, and only if marker and anchor
are as expected (identity/guards.py).

Where XTRIM has ACKED (Rillway, Redis 8.2), the server decides what groups need: it removes every
entry that was delivered to all groups and acknowledged, and skips the others. Elsewhere the trim
ends at the first entry that a group needs, and check and trim are one atomic step. The first needed
entry only moves forward while a group reads and acknowledges, so a check stays valid until a group
is created or its position is set back.

ACKED has no exceptions, so the second kind of trim is used if groups are to be ignored. It is also
used if ACKED removes nothing: with `~`, Redis 8.2.3 never removes any (redis#14623). One stream of
each server is trimmed first, to find that out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rillway.pipeline.archive.groups import (
    Group,
    Holdup,
    find_holdups,
    floor_of,
    is_ignored,
    read_all_groups,
    read_groups,
)
from rillway.pipeline.archive.identity.guards import GROUP, MISSING, REASONS, Guards, Trimming
from rillway.pipeline.archive.identity.sources import is_own
from rillway.pipeline.archive.pins import expired_pins
from rillway.pipeline.ranges.anchors import Anchor
from rillway.pipeline.wire.capabilities import Capabilities
from rillway.pipeline.wire.connection import Connection, Reply
from rillway.pipeline.wire.facts import StreamFacts, all_facts, all_group_infos
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, MS, id_of_time, time_ms

MAX_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class TrimRules:
    """The user's rules for a trim: how much to keep, and which groups to ignore."""

    keep_ms: int = 0
    ignored_groups: frozenset[str] = frozenset()
    group_max_idle_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Archived:
    """The archived end of a stream, with the marker and anchor that must confirm it.

    `anchor`: the last archived entry that is live, None if there is none; `group`: the common
    prefix of the names of the archive's groups, of which only `marker` is in use; `unit`: the unit
    of the IDs; `kept_from`: the first entry that must stay, as the archive has lost it.
    """

    marker: str
    end: int
    anchor: Anchor | None
    group: str = ""
    unit: str = MS
    kept_from: int = MAX_ID

    def is_stale(self, name: str) -> bool:
        """Return True for the archive's groups of earlier epochs and of other streams."""
        return bool(self.group) and is_own(name, self.group) and name != self.marker


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The outcome of a trim.

    `by`: the method, for information; `refused`: why the guards prevented it, one of their REASONS,
    empty if they did not; `left`: the number of entries in the stream.
    """

    removed: int
    by: str
    refused: str = ""
    holdups: list[Holdup] = field(default_factory=list)
    left: int = 0


@dataclass(frozen=True, slots=True)
class _Plan:
    """The planned trim of a stream. `needed`: the groups that may hold it up."""

    facts: StreamFacts
    needed: list[Group]
    unit: str
    trimming: Trimming | None = None


class Trimmer:
    """Trims streams of one server."""

    def __init__(self, connection: Connection, rules: TrimRules) -> None:
        self._connection = connection
        self._capabilities = Capabilities(connection)
        self._guards = Guards(connection, self._capabilities)
        self._rules = rules
        # Servers, by Connection.place, whose ACKED has removed nothing although it should have.
        self._acked_in_vain: set[object] = set()

    def trim(self, stream: str, archived: Archived) -> Trimmed:
        """Trim one stream; see trim_all."""
        facts = all_facts(self._connection, [stream])
        infos = all_group_infos(self._connection, [stream])
        return self.trim_all({stream: archived}, facts, infos)[stream]

    def trim_all(
        self,
        streams: Mapping[str, Archived],
        facts: Mapping[str, StreamFacts],
        infos: Mapping[str, Sequence[dict[bytes, Reply]]],
    ) -> dict[str, Trimmed]:
        """Remove entries that precede the anchor, need not be kept, and that no group needs.

        Returns the outcomes by stream; takes few pipelines for all of them. `facts`, `infos`: XINFO
        STREAM and GROUPS, which may be outdated: the trim itself checks again. Raises ServerError.
        """
        now_ms = server_time_ms(self._connection)
        groups = read_all_groups(self._connection, infos)
        self._drop_pins(groups, now_ms)
        plans = {
            stream: self._plan(archived, facts[stream], groups[stream])
            for stream, archived in streams.items()
        }
        trimmings = {
            stream: plan.trimming
            for stream, plan in plans.items()
            # Otherwise no entry is before the floor.
            if plan.trimming is not None and plan.facts.first_id < plan.trimming.floor
        }
        done = self._trim(trimmings, groups, facts)
        return {
            stream: self._outcome(stream, plan, done.get(stream, 0), now_ms)
            for stream, plan in plans.items()
        }

    def _drop_pins(self, groups: dict[str, list[Group]], now_ms: int) -> None:
        """Destroy the pins whose owners have died."""
        requests = []
        for stream, listed in groups.items():
            expired = set(expired_pins((group.name for group in listed), now_ms))
            requests += [("XGROUP", "DESTROY", stream, name) for name in expired]
            groups[stream] = [group for group in listed if group.name not in expired]
        self._connection.call_all(requests)

    def _plan(self, archived: Archived, facts: StreamFacts, groups: Sequence[Group]) -> _Plan:
        rules = self._rules
        ignored = {
            group.name
            for group in groups
            if archived.is_stale(group.name)
            or is_ignored(group, rules.ignored_groups, rules.group_max_idle_ms)
        }
        needed = [group for group in groups if group.name not in ignored]
        floor = self._floor(facts, archived)
        if archived.anchor is None or floor == MIN_ID:
            return _Plan(facts, needed, archived.unit)
        acked = not ignored and self._capabilities.has_option("XTRIM", "ACKED")
        trimming = Trimming(
            archived.marker,
            archived.end,
            archived.anchor,
            floor,
            frozenset(ignored),
            acked,
            facts.length,
        )
        return _Plan(facts, needed, archived.unit, trimming)

    def _floor(self, facts: StreamFacts, archived: Archived) -> int:
        """The first ID that must stay.

        The time to keep counts back from the newest entry, not from the clock, as IDs may have
        another origin. It is ignored if IDs are not times.
        """
        if archived.anchor is None:
            return MIN_ID
        newest_ms = time_ms(facts.last_id, archived.unit)
        last = min(archived.anchor.id, archived.kept_from)
        if not self._rules.keep_ms or newest_ms is None:
            return last
        kept = id_of_time(max(newest_ms - self._rules.keep_ms, 0), archived.unit)
        return last if kept is None else min(last, kept)

    def _trim(
        self,
        trimmings: Mapping[str, Trimming],
        groups: Mapping[str, list[Group]],
        facts: Mapping[str, StreamFacts],
    ) -> dict[str, int | str]:
        exact = {
            stream: one
            for stream, one in _up_to_needed(trimmings, groups).items()
            if facts[stream].first_id < one.floor
        }
        place = self._connection.place
        # One stream of each server that has entries to remove.
        first = {place(stream): stream for stream in exact if trimmings[stream].acked}
        done = self._trim_some({stream: trimmings[stream] for stream in first.values()}, exact)
        rest = {stream: one for stream, one in trimmings.items() if stream not in done}
        done |= self._trim_some(rest, exact)
        for stream, outcome in done.items():
            if outcome == GROUP:
                done[stream] = self._trim_again(stream, replace(trimmings[stream], acked=False))
        return done

    def _trim_some(
        self, trimmings: Mapping[str, Trimming], exact: Mapping[str, Trimming]
    ) -> dict[str, int | str]:
        """Trim some streams. `exact`: the trims without ACKED that would remove entries."""
        acked = {stream: one for stream, one in trimmings.items() if self._is_acked(stream, one)}
        done = self._guards.trim_all(acked)
        left = [stream for stream in trimmings if stream in exact and not done.get(stream)]
        found = self._guards.trim_all({stream: exact[stream] for stream in left})
        self._acked_in_vain |= {
            self._connection.place(stream)
            for stream, removed in found.items()
            if stream in acked and isinstance(removed, int) and removed
        }
        return done | found

    def _is_acked(self, stream: str, trimming: Trimming) -> bool:
        return trimming.acked and self._connection.place(stream) not in self._acked_in_vain

    def _trim_again(self, stream: str, trimming: Trimming) -> int | str:
        """Trim after a group has changed in the meantime."""
        for _ in range(MAX_ATTEMPTS):
            floor = floor_of(
                read_groups(self._connection, stream), trimming.floor, trimming.ignored
            )
            if floor == MIN_ID:
                return 0
            done = self._guards.trim(stream, replace(trimming, floor=floor))
            if done != GROUP:
                return done
        return GROUP

    def _outcome(self, stream: str, plan: _Plan, done: int | str, now_ms: int) -> Trimmed:
        if plan.trimming is None:
            return Trimmed(0, "nothing to trim", left=plan.facts.length)
        scripted = "script" if self._guards.runs_scripts else "WATCH"
        by = "XTRIM ACKED" if self._is_acked(stream, plan.trimming) else scripted
        floor = plan.trimming.floor
        holdups = find_holdups(self._connection, stream, plan.needed, floor, now_ms, plan.unit)
        if isinstance(done, int):
            return Trimmed(done, by, holdups=holdups, left=plan.facts.length - done)
        refused = "" if done in (GROUP, MISSING) else REASONS[done]
        return Trimmed(0, by, refused, holdups, plan.facts.length)


def _up_to_needed(
    trimmings: Mapping[str, Trimming], groups: Mapping[str, list[Group]]
) -> dict[str, Trimming]:
    """Return the trims without ACKED: up to the first entry that a group needs."""
    floors = {
        stream: floor_of(groups[stream], trimming.floor, trimming.ignored)
        for stream, trimming in trimmings.items()
    }
    return {
        stream: replace(trimming, floor=floors[stream], acked=False)
        for stream, trimming in trimmings.items()
    }


def server_time_ms(connection: Connection) -> int:
    """Return the time of the server's clock, which pins and leases refer to."""
    seconds, microseconds = connection.call("TIME")
    return int(seconds) * 1000 + int(microseconds) // 1000
