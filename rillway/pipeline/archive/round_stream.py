"""The streams in a round of the archiver: what is to be archived of each, and what a batch adds.

Pure: archiver.py does the I/O. stages.py has the stages of a stream in a round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rillway.pipeline.archive.columns.layouts import united
from rillway.pipeline.archive.files.rows import INT64_MAX
from rillway.pipeline.archive.identity.epochs import Epoch, StreamRecord
from rillway.pipeline.archive.identity.guards import MarkerMove
from rillway.pipeline.archive.identity.recognition import Recognised
from rillway.pipeline.archive.report.rounds import RoundOutcome, StreamReport
from rillway.pipeline.archive.stages import UNFINISHED, Event, Stage, Stages
from rillway.pipeline.archive.table import ArchiveError
from rillway.pipeline.archive.tasks import ArchiveLossPolicy, Part, PartRead
from rillway.pipeline.archive.trim import Archived
from rillway.pipeline.ranges.anchors import Anchor, extended
from rillway.pipeline.ranges.loss import check_count
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.ranges.plan import backlog
from rillway.pipeline.wire.facts import StreamFacts
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, MS, ms_of
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

    @classmethod
    def recognised(
        cls,
        report: StreamReport,
        policy: ArchiveLossPolicy,
        before: StreamRecord | None,
        found: Recognised,
        unit: str | None,
    ) -> RoundStream:
        """Return a recognised stream with the range to archive.

        Raises DataLost if entries are missing after the archived end, and ArchiveError for IDs that
        Parquet cannot hold.
        """
        name, facts = report.stream, found.seen.facts
        if ms_of(facts.last_id) > INT64_MAX:
            raise ArchiveError(f"{name}: has IDs of 2^63 ms or more, which Parquet cannot hold")
        start = found.checked_start(policy, name, facts)
        record = StreamRecord(found.state, start, unit=unit)
        if before is not None:
            record = replace(before, state=found.state, end=start, unit=unit)
        report.unit = unit or MS
        return cls(
            name,
            report,
            policy,
            before,
            found,
            record,
            start,
            Position(max(facts.last_id, start.id), facts.entries_added),
            found.anchor,
            found.is_changed,
            # If XDEL removed entries in between, the number before a batch is unknown.
            facts.max_deleted_id <= start.id and (start.id != MIN_ID or not facts.trimmed),
        )

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

    def archived(self, marker: str, group: str, kept_from: int = MAX_ID) -> Archived:
        """Return what a trim needs: the archived end, with marker and anchor."""
        return Archived(marker, self.at.id, self.anchor, group, self.record.unit or MS, kept_from)

    # -- a batch ----------------------------------------------------------------------------------

    def needs_facts(self, reads: Sequence[PartRead]) -> bool:
        """Return True if `step` needs the facts of the stream from after the batch was read."""
        if reads[-1].end != self.end.id:
            return self.at.n is not None and self.counts_are_exact
        is_known = self.start.id == MIN_ID or self.facts.max_deleted_id > self.start.id
        return not is_known and self._missing(reads) > 0

    def step(self, reads: Sequence[PartRead], facts: StreamFacts | None = None) -> Step:
        """Return the stream after a batch. Raises DataLost, LayoutClash.

        `facts`: XINFO STREAM from after the batch was read, if it needs them.
        """
        state, layouts = self.record.state, self.record.layouts
        anchors, rows = state.anchors, rows_of(reads)
        for read in reads:
            layouts = united(layouts, read.layouts)
            anchors = extended(anchors, read.rows, read.anchors)
            self.policy.notes += read.notes
        end = reads[-1].end
        if end == self.end.id:
            position = self.end
            self._check_whole(reads, facts or self.facts)
        else:
            # The number of entries ever added up to `end`, unless XDEL has removed some of them.
            n = self.at.n
            is_exact = facts is not None and facts.max_deleted_id <= self.start.id
            position = Position(end, None if n is None or not is_exact else n + rows)
        state = replace(state, anchors=anchors, source=self.found.seen.source)
        record = replace(self.record, state=state, end=position, layouts=layouts)
        return Step(self, record, rows)

    def _missing(self, reads: Sequence[PartRead]) -> int:
        """How many more entries were ever added than read by now; 0 if it is unknown."""
        if self.end.n is None or self.start.n is None:
            return 0
        return self.end.n - self.start.n - self.counted - rows_of(reads)

    def _check_whole(self, reads: Sequence[PartRead], facts: StreamFacts) -> None:
        """Compare the number of entries read with the number ever added. Raises DataLost."""
        if (missing := self._missing(reads)) <= 0:
            return
        if self.start.id == MIN_ID:
            self.policy.unclear(
                f"{self.name}: {count_of(missing, 'entry')} had been trimmed or deleted "
                "before the first round"
            )
        else:
            counted = self.counted + rows_of(reads)
            check_count(self.policy, self.name, self.start, self.end, counted, facts)

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


def rows_of(reads: Iterable[PartRead]) -> int:
    """Return the number of entries that were read."""
    return sum(read.rows for read in reads)


@dataclass(frozen=True, slots=True)
class Step:
    """A stream and its next record. `rows`: the number of its entries in the batch."""

    stream: RoundStream
    record: StreamRecord
    rows: int = 0


class RoundStreams:
    """The streams of a round: at which stage each is, its report, or the error that excluded it."""

    def __init__(self, names: Iterable[str], *, accepts_loss: bool) -> None:
        names = list(names)
        self.outcome = RoundOutcome({name: StreamReport(name) for name in names})
        self._stages = Stages(names)
        self._policies = {name: ArchiveLossPolicy(accepts=accepts_loss) for name in names}
        self._recognised: dict[str, RoundStream] = {}

    def __getitem__(self, name: str) -> RoundStream:
        return self._recognised[name]

    def at(self, *stages: Stage) -> list[RoundStream]:
        """Return the recognised streams at some stages."""
        return [self._recognised[name] for name in self._stages.at(*stages)]

    def uncommitted(self, *stages: Stage) -> list[RoundStream]:
        """Return the streams whose state must be committed even if they have no new entries."""
        return [stream for stream in self.at(*stages) if stream.needs_commit]

    def unrecognised(self) -> list[str]:
        """Return the streams that this attempt has not checked yet."""
        return self._stages.at(Stage.UNRECOGNISED)

    def changed(self) -> dict[str, str]:
        """Return the streams that have changed since they were recognised, and why."""
        return {name: self._stages.reasons[name] for name in self._stages.at(Stage.CHANGED)}

    # -- what happens to them ---------------------------------------------------------------------

    def add(
        self, name: str, before: StreamRecord | None, found: Recognised, unit: str | None
    ) -> None:
        """Add what was found of a stream. Raises ArchiveError and DataLost."""
        report, policy = self.outcome.reports[name], self._policies[name]
        stream = RoundStream.recognised(report, policy, before, found, unit)
        self._recognised[name] = stream
        event = Event.HAS_ENTRIES if stream.has_entries else Event.HAS_NONE_LEFT
        self._stages.move([name], event)

    def miss(self, name: str) -> None:
        """Note that the server has no such key."""
        self._stages.move([name], Event.IS_MISSING)

    def take_archived(self) -> list[RoundStream]:
        """Return the streams that have no more entries after a commit; they are archived now."""
        done = [stream for stream in self.at(Stage.READING) if not stream.has_entries]
        self._stages.move([stream.name for stream in done], Event.HAS_NONE_LEFT)
        return done

    def change(self, names: Iterable[str], reason: str) -> None:
        """Note that streams are no longer those that were read."""
        self._stages.move(names, Event.CHANGED, reason)

    def change_all(self, reason: str) -> None:
        """Have all unfinished streams recognised again."""
        self._stages.move(self._stages.at(*UNFINISHED), Event.CHANGED, reason)

    def retry(self) -> None:
        """Begin the next attempt with the streams that have changed."""
        self._stages.move(self._stages.at(Stage.CHANGED), Event.RETRIED)

    def fail(self, errors: Mapping[str, Exception]) -> None:
        """Leave streams out of the round."""
        self.outcome.failures |= errors
        self._stages.move(errors, Event.FAILED)
        for name in errors:
            del self.outcome.reports[name]

    def finish(self, names: Iterable[str]) -> None:
        """End the round of trimmed streams, unless they turned out to have changed."""
        changed = self.changed()
        self._stages.move([name for name in names if name not in changed], Event.TRIMMED)

    def note_losses(self) -> None:
        """Add to the reports what the policies of loss have noted."""
        for name, report in self.outcome.reports.items():
            report.notes = list(dict.fromkeys([*report.notes, *self._policies[name].notes]))
