"""Recognises a stream that was archived: continue, open a new epoch, or refuse.

The marker decides first: a group that is moved to the archived end only if all entries up to it are
archived. It is part of the stream, so whatever copies, loses or replaces the stream does the same
to the marker. If the marker proves nothing, the walk compares entries byte for byte. Counts and the
identities of servers prove nothing; they only decide whether a stream without any marker may start
a new epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rillway.pipeline.archive.identity.compared import MIN_ENTRIES, Compared, known, remember
from rillway.pipeline.archive.identity.epochs import (
    FIRST,
    Epoch,
    StreamState,
    line_of,
    new_token,
)
from rillway.pipeline.archive.identity.sources import Sighting, look
from rillway.pipeline.archive.identity.walk import Walk, live_identities, walk
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.ranges.anchors import Anchor
from rillway.pipeline.ranges.loss import LossPolicy, check_start
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.facts import StreamFacts
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, format_id, parse_id
from rillway.plurals import count_of

REMEDY = "--new-epoch archives it as a history of its own"


class Refused(Exception):
    """The stream is not the one that was archived, and continuing would be unsafe."""


class OtherDatabase(Refused):
    """The stream was archived from another database of the server."""


class OtherSource(Refused):
    """No entry of the stream is archived, and the server is unknown."""


class ArchiveBehind(Refused):
    """The stream was archived beyond the archive's end: the archive is a backup or a copy."""


class SplitHistory(Refused):
    """The archive has continued with another copy of the stream."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """The result of recognising a stream: where and how archiving continues.

    `end`: the position after which archiving continues; `anchor`: the last archived entry that is
    live; `marker_at`: the marker's position, None if it must be created; `is_changed`: True if the
    state must be committed even without new entries; `is_proven`: True if the marker itself proves
    that the history is the same.
    """

    state: StreamState
    end: Position
    anchor: Anchor | None
    marker_at: int | None
    seen: Sighting
    is_changed: bool = False
    is_proven: bool = False
    notes: list[str] = field(default_factory=list)

    def checked_start(self, policy: LossPolicy, stream: str, facts: StreamFacts) -> Position:
        """Return `end`, with its count if that is still valid; report later losses to `policy`."""
        end = self.end
        if end.id == MIN_ID or end.n is None:
            return end
        unknown = Position(end.id, None)
        if facts.entries_added < end.n:
            return unknown
        if self.anchor is not None:
            # Trims remove the first entries, so none has reached `end`, whatever the counts say.
            is_plausible = facts.trimmed <= end.n or facts.max_deleted_id > end.id
            return end if self.is_proven and is_plausible else unknown
        stored = self.state.source
        if not self.is_proven and (stored is None or stored.run_id != self.seen.source.run_id):
            return unknown
        check_start(policy, stream, end, facts)
        return end


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of recognition.

    `opens_new`: open an epoch instead of refusing; `source_is_known`: another stream has proven the
    identity of the server; `first`, `last`: the range of a reader, to which a comparison is limited
    if it finds nothing wrong; `say`: called with a sentence before a long comparison.
    """

    opens_new: bool = False
    source_is_known: bool = False
    first: int = MIN_ID
    last: int = MAX_ID
    say: Callable[[str], None] | None = None


def recognise(
    connection: Connection, table: ArchiveTable, stream: str, rules: Rules, now_ms: int
) -> Recognised | None:
    """Recognise one stream; None if it does not exist. Raises Refused, ArchiveError."""
    found = recognise_all(connection, table, [stream], rules, now_ms)[stream]
    if isinstance(found, Refused):
        raise found
    return found


def recognise_all(
    connection: Connection,
    table: ArchiveTable,
    streams: Sequence[str],
    rules: Rules,
    now_ms: int,
) -> dict[str, Recognised | Refused | None]:
    """Recognise streams; the result of a missing one is None. Raises ArchiveError, ServerError.

    If one of them proves that the server is the one on record, that counts for all.
    """
    known = table.records
    anchors = {name: known[name].state.anchors if name in known else () for name in streams}
    seen = look(connection, table.group, anchors)
    found = {
        name: _recognised(connection, table, name, sighting, rules, now_ms)
        for name, sighting in seen.items()
    }
    is_proven = any(isinstance(one, Recognised) and one.is_proven for one in found.values())
    if is_proven and not rules.source_is_known:
        better = replace(rules, source_is_known=True)
        for name in [name for name, one in found.items() if isinstance(one, OtherSource)]:
            found[name] = _recognised(connection, table, name, seen[name], better, now_ms)
    return found


def _recognised(
    connection: Connection,
    table: ArchiveTable,
    stream: str,
    seen: Sighting,
    rules: Rules,
    now_ms: int,
) -> Recognised | Refused | None:
    if seen.facts.is_missing:
        return None
    record = table.record(stream)
    if record is None:
        first = Epoch(FIRST, new_token(), reason="the first", began_ms=now_ms)
        state = StreamState((first,), (), seen.source)
        return Recognised(state, Position(), None, None, seen, is_changed=True)
    known = record.state, record.end
    try:
        return _Recognition(connection, table, stream, *known, seen, rules, now_ms).decide()
    except Refused as refusal:
        return refusal


@dataclass(frozen=True, slots=True)
class _Recognition:
    """The recognition of one stream that was archived before."""

    connection: Connection
    table: ArchiveTable
    stream: str
    state: StreamState
    end: Position
    seen: Sighting
    rules: Rules
    now_ms: int

    def decide(self) -> Recognised:
        """Apply the first rule that matches; docs/architecture/pipeline.md has the table."""
        source, seen = self.state.source, self.seen
        if source is not None and source.database != seen.source.database:
            return self._refuse(
                OtherDatabase,
                f"was archived from database {source.database}, and this is {seen.source.database}",
            )
        present = self.state.present
        marker = seen.markers.get(self.table.marker(present)) if present.token else None
        if marker is not None:
            if self._is_same(marker):
                anchor = seen.anchors[0] if seen.anchors else None
                return Recognised(self.state, self.end, anchor, marker, seen, is_proven=True)
            if marker > self.end.id:
                return self._refuse(
                    ArchiveBehind,
                    f"was archived up to {format_id(marker)}, and this archive has it up to "
                    f"{format_id(self.end.id)}: it is older, or a copy of it is in use",
                )
            return self._walked(self._compared(), marker)
        earlier = [epoch for epoch in self.state.epochs[:-1] if epoch.token]
        if any(self.table.marker(epoch) in seen.markers for epoch in earlier):
            if self._is_known:
                # After a second failover, to a copy that the present marker had not reached.
                return self._diverged(f"the marker of epoch {present.number} was lost")
            return self._refuse(
                SplitHistory,
                f"the archive has gone on with another copy of it, as epoch {present.number}",
            )
        return self._unmarked()

    @property
    def _is_known(self) -> bool:
        """True if the server is the one on record, or has taken over its replication."""
        stored = self.state.source
        return stored is not None and self.seen.is_known_by(stored)

    def _is_same(self, marker: int) -> bool:
        """Return True if the marker is at the end, and an anchor or the live entries agree."""
        facts = self.seen.facts
        if marker != self.end.id or facts.last_id < self.end.id:
            return False
        return bool(self.seen.anchors) or not facts.length or facts.first_id > self.end.id

    def _unmarked(self) -> Recognised:
        """Decide on a stream that has none of its markers."""
        found = self._compared()
        if found.agreed is not None:
            return self._walked(found, None)
        if self._is_known or self.rules.source_is_known:
            return self._diverged("nothing of the archived history is left in the stream")
        return self._refuse(
            OtherSource,
            f"is archived up to {format_id(self.end.id)}, and nothing shows that this is the same "
            "stream: no entry of it is archived, and the server is another one",
        )

    def _walk(self, epoch: int, end: int) -> Walk:
        return walk(self.connection, self.table, self.stream, epoch, end)

    def _compared(self) -> Walk:
        """Compare the present line with memory: for a reader, with its range if that agrees."""
        rules, end, epoch = self.rules, self.end.id, self.state.present.number
        if rules.say is None:
            return self._walk(epoch, end)
        first, last = rules.first, min(rules.last, end)
        run_id = self.seen.source.run_id
        question = Compared(
            self.table.id, self.stream, epoch, end, run_id, first, last, MIN_ID, "", 0
        )
        before = known(question)
        if before is not None and self._has(before.agreed, before.hash):
            return Walk(Anchor(before.agreed, before.hash), None, before.absent)
        if self.seen.facts.length >= MIN_ENTRIES:
            rules.say(
                f"{self.stream}: has no group of this archive, so its entries in memory, up to "
                f"{self.seen.facts.length:,}, are compared with the rows"
            )
        found = walk(self.connection, self.table, self.stream, epoch, last, first)
        if found.agreed is None and found.lacking is None:
            # Nothing of the range is in memory: one entry shows whether the history is the same.
            newest = self._newest(end)
            found = walk(self.connection, self.table, self.stream, epoch, newest, newest)
        if found.agreed is None or found.lacking is not None:
            return self._walk(epoch, end)
        if self.seen.facts.length >= MIN_ENTRIES:
            remember(
                replace(
                    question,
                    agreed=found.agreed.id,
                    hash=found.agreed.hash,
                    absent=found.absent,
                )
            )
        return found

    def _newest(self, end: int) -> int:
        """Return the last entry in memory up to `end`, or `end` if there is none."""
        found = self.connection.call("XREVRANGE", self.stream, format_id(end), "-", "COUNT", 1)
        return parse_id(found[0][0]) if found else end

    def _has(self, entry_id: int, its_hash: str) -> bool:
        found = next(live_identities(self.connection, self.stream, entry_id, entry_id), None)
        return found == (entry_id, its_hash)

    def _walked(self, found: Walk, marker: int | None) -> Recognised:
        if found.lacking is not None:
            return self._diverged(
                f"{format_id(found.lacking)} is not archived, although {format_id(self.end.id)} is"
            )
        if self.seen.facts.last_id < self.end.id:
            return self._diverged(f"it ends at {format_id(self.seen.facts.last_id)}")
        state = self._named()
        if found.agreed is not None and found.agreed.id not in {a.id for a in state.anchors}:
            state = replace(state, anchors=(found.agreed,))
        is_changed = state is not self.state
        same = Recognised(state, self.end, found.agreed, marker, self.seen, is_changed)
        if found.agreed is not None and found.absent:
            same.notes.append(
                f"{self.stream}: not in memory: {count_of(found.absent, 'archived entry')} after "
                f"{format_id(found.agreed.id)}, deleted or lost in a failover"
            )
        return same

    def _named(self) -> StreamState:
        """Return the state with a token for the present epoch: a repair leaves it without one."""
        state = self.state
        if state.present.token:
            return state
        named = replace(state.present, token=new_token(), began_ms=self.now_ms)
        return replace(state, epochs=(*state.epochs[:-1], named))

    def _diverged(self, reason: str) -> Recognised:
        """Open a new epoch. It branches off the epoch with which it has most in common."""
        parent, branch, agreed = 0, MIN_ID, None
        epochs = self.state.epochs
        ends = {e.number: self.end.id if e.end is None else e.end for e in epochs}
        walks = {number: self._walk(number, end) for number, end in ends.items()}
        witness, proven = self._proof(ends, walks)
        for number, walked in reversed(walks.items()):
            if dict(line_of(epochs, number)).get(witness, MIN_ID) < proven:
                continue
            common = max(walked.branch, proven) if number == witness else walked.branch
            if common > branch:
                parent, branch, agreed = number, common, walked.agreed
        closed = replace(self.state.present, end=self.end.id)
        opened = Epoch(
            number=closed.number + 1,
            token=new_token(),
            parent=parent,
            branch=branch,
            reason=reason,
            began_ms=self.now_ms,
        )
        anchors = () if agreed is None else (agreed,)
        state = StreamState((*self.state.epochs[:-1], closed, opened), anchors, self.seen.source)
        start = Position() if branch == MIN_ID else Position(branch, None)
        return Recognised(
            state,
            start,
            agreed,
            None,
            self.seen,
            is_changed=True,
            notes=[
                f"{self.stream}: the history diverged, {reason}: epoch {opened.number} begins "
                + (f"after {format_id(branch)}" if parent else "with the first entry")
            ],
        )

    def _proof(self, ends: Mapping[int, int], walks: Mapping[int, Walk]) -> tuple[int, int]:
        """Return the last epoch whose marker the stream has, and the ID up to which that proves
        its line; 0-0 if it proves nothing.

        A marker also vouches for entries that were deleted or trimmed, which a walk cannot compare.
        It proves nothing if a live entry before it is not archived, or if the stream or the archive
        ends before it: then one of them was replaced by an older copy.
        """
        for epoch in self.state.epochs[::-1]:
            marker = self.seen.markers.get(self.table.marker(epoch)) if epoch.token else None
            if marker is not None:
                lacking = walks[epoch.number].lacking
                is_contradicted = lacking is not None and lacking <= marker
                is_beyond = marker > min(ends[epoch.number], self.seen.facts.last_id)
                return epoch.number, MIN_ID if is_contradicted or is_beyond else marker
        return 0, MIN_ID

    def _refuse(self, kind: type[Refused], text: str) -> Recognised:
        if self.rules.opens_new:
            return self._diverged(f"{text} (--new-epoch)")
        raise kind(f"{self.stream}: {text} ({REMEDY})")
