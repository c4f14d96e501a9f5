"""A stream in a round of the archiver: what is to be archived of it, and what a batch adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rillway.pipeline.archive.columns.layouts import united
from rillway.pipeline.archive.identity.epochs import Epoch, StreamRecord
from rillway.pipeline.archive.identity.guards import MarkerMove
from rillway.pipeline.archive.identity.recognition import Recognised
from rillway.pipeline.archive.report.rounds import StreamReport
from rillway.pipeline.archive.tasks import ArchiveLossPolicy, Part, PartRead
from rillway.pipeline.archive.trim import Archived
from rillway.pipeline.ranges.anchors import Anchor, extended
from rillway.pipeline.ranges.loss import check_count
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.ranges.plan import backlog
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.facts import StreamFacts, read_facts
from rillway.pipeline.wire.ids import MIN_ID, MS
from rillway.plurals import count_of


@dataclass(slots=True)
class RoundStream:
    """A recognised stream.

    `before`: the record in the table when it was recognised, or after the last commit; `record`:
    the one to commit next; `start`, `end`: the range to archive; `anchor`: the last archived entry
    that is live; `needs_commit`: True if `record` must be committed even without new entries;
    `counted`: the number of entries archived since `start`.
    """

    name: str
    report: StreamReport
    policy: ArchiveLossPolicy
    before: StreamRecord | None
    found: Recognised
    record: StreamRecord
    start: Position
    end: Position
    anchor: Anchor | None
    needs_commit: bool
    counts_are_exact: bool
    counted: int = 0

    @property
    def at(self) -> Position:
        """The archived end."""
        return self.record.end

    @property
    def epochs(self) -> tuple[Epoch, ...]:
        return self.record.state.epochs

    @property
    def has_entries(self) -> bool:
        """True if there are entries to archive."""
        return self.at.id < self.end.id

    @property
    def is_moved(self) -> bool:
        """True if this round has created or moved its marker."""
        return not self.found.is_proven or self.at.id != self.found.end.id

    @property
    def facts(self) -> StreamFacts:
        """XINFO STREAM from when it was recognised."""
        return self.found.seen.facts

    @property
    def left(self) -> int:
        """An estimate of the number of entries to archive."""
        return max(backlog(self.at.id, self.at.n, self.facts), 1)

    def part(self) -> Part:
        """The range to archive. It begins with an entry that exists."""
        anchor = self.anchor
        return Part(
            self.name,
            self.at.id,
            self.end.id,
            self.facts.first_id if anchor is None else anchor.id,
            self.left,
            self.record.state.present.number,
            anchor,
            self.record.layouts,
            self.record.unit or MS,
        )

    def first_move(self, *markers: str) -> MarkerMove:
        """The move of the marker to where archiving continues. `markers`: those of all epochs."""
        found = self.found
        branch = MIN_ID if found.anchor is None else found.anchor.id
        *earlier, marker = markers
        others = {name: found.seen.markers.get(name) for name in earlier}
        return MarkerMove(
            marker, found.marker_at, found.anchor, found.end.id, None, found.anchor, branch, others
        )

    def archived(self, marker: str, group: str) -> Archived:
        """Return what a trim needs: the archived end, with marker and anchor."""
        return Archived(marker, self.at.id, self.anchor, group, self.record.unit or MS)

    # -- a batch ----------------------------------------------------------------------------------

    def step(self, connection: Connection, reads: Sequence[PartRead]) -> Step:
        """Return the stream after a batch. Raises DataLost, LayoutClash."""
        state, layouts = self.record.state, self.record.layouts
        anchors, rows = state.anchors, sum(read.rows for read in reads)
        for read in reads:
            layouts = united(layouts, read.layouts)
            anchors = extended(anchors, read.rows, read.anchors)
            self.policy.notes += read.notes
        end = reads[-1].end
        if end == self.end.id:
            position = self.end
            self._check_whole(connection, self.counted + rows)
        else:
            position = Position(end, self._counted(connection, rows))
        state = replace(state, anchors=anchors, source=self.found.seen.source)
        record = replace(self.record, state=state, end=position, layouts=layouts)
        return Step(self, record, rows)

    def _counted(self, connection: Connection, rows: int) -> int | None:
        """The number of entries ever added up to the end of a batch; None if it is unknown.

        XDEL may have removed some before they were read, also since the stream was recognised.
        """
        n = self.at.n
        if n is None or not self.counts_are_exact:
            return None
        facts = read_facts(connection, self.name)
        return n + rows if facts.max_deleted_id <= self.start.id else None

    def _check_whole(self, connection: Connection, counted: int) -> None:
        """Compare the number of entries read with the number ever added. Raises DataLost."""
        start, end = self.start, self.end
        if end.n is None or start.n is None or counted >= end.n - start.n:
            return
        if start.id != MIN_ID:
            facts = self.facts
            if facts.max_deleted_id <= start.id:
                facts = read_facts(connection, self.name)
            check_count(self.policy, self.name, start, end, counted, facts)
        else:
            self.policy.unclear(
                f"{self.name}: {count_of(end.n - counted, 'entry')} had been trimmed or deleted "
                "before the first round"
            )

    def committed(self, step: Step, known: StreamRecord | None, marker: str) -> MarkerMove | None:
        """Update the stream after a commit. Returns the move of the marker that follows, if any.

        `known`: the stream's record in the table now.
        """
        before = self.record
        self.before, self.record = known, known or step.record
        self.needs_commit = False
        self.report.archived += step.rows
        self.report.batches += step.rows > 0
        self.counted += step.rows
        end = step.record.end
        if end.id <= before.end.id:
            return None
        old, last = self.anchor, step.record.state.anchors[0] if step.rows else self.anchor
        self.anchor = last
        return MarkerMove(marker, before.end.id, last, end.id, end.n, old, before.end.id)


@dataclass(frozen=True, slots=True)
class Step:
    """A stream and its next record. `rows`: the number of its entries in the batch."""

    stream: RoundStream
    record: StreamRecord
    rows: int = 0
