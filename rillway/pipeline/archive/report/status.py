"""The status of the streams of an archive: archived end, lag, groups that hold up trims, refusals.

Nothing is written. Streams are recognised as an archiver would recognise them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rillway.pipeline.archive.columns.uncovered import count, sentence
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.groups import Holdup, find_holdups, read_all_groups
from rillway.pipeline.archive.identity.epochs import Absence, line_of
from rillway.pipeline.archive.identity.recognition import (
    Recognised,
    Refused,
    Rules,
    recognise_all,
)
from rillway.pipeline.archive.identity.sources import is_own
from rillway.pipeline.archive.report.rounds import failure_as_json, holdup_as_json
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.trim import server_time_ms
from rillway.pipeline.ranges.offsets import BEGINNING
from rillway.pipeline.ranges.plan import backlog
from rillway.pipeline.wire.cluster import away_of
from rillway.pipeline.wire.connection import Connection, NodeAway
from rillway.pipeline.wire.facts import StreamFacts, all_facts, all_group_infos
from rillway.pipeline.wire.ids import MAX_SEQ, MS, format_id, ms_of, unit_text
from rillway.plurals import count_of

# An archiver may change the table and a stream between the two reads.
MAX_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """The status of a stream at one moment.

    `entries`: the number archived, in all epochs; `end`: the archived end; `lag`: the number not
    archived yet, an estimate unless `is_counted`; `epoch`: 0 if nothing was archived; `holdups`:
    groups that need archived entries; `refusal`: why the archiver would leave the stream out;
    `uncovered`: fields without a column, if the stream has columns; `unit`: the unit of its IDs,
    None if it is not known yet; `absent`: what its rows lack. If the node of the stream does not
    answer, `lag` and `in_memory` are None, and the rest is what the archive knows.
    """

    stream: str
    entries: int
    end: int
    lag: int | None
    is_counted: bool
    in_memory: int | None
    is_missing: bool
    epoch: int
    holdups: list[Holdup] = field(default_factory=list)
    refusal: Refused | NodeAway | None = None
    uncovered: Counter[bytes] = field(default_factory=Counter)
    unit: str | None = None
    absent: tuple[Absence, ...] = ()

    def line(self) -> str:
        """Return the status in one line, for people."""
        end = format_id(self.end) if self.epoch else "nothing"
        parts = [
            count_of(self.entries, "entry"),
            f"archived up to {end}",
            *self._in_memory(),
        ]
        if self.unit not in (None, MS):
            parts.append(unit_text(self.unit))
        if self.epoch > 1:
            parts.append(f"epoch {self.epoch}")
        if self.holdups:
            parts.append("held up by " + ", ".join(holdup.label for holdup in self.holdups))
        if lost := [one for one in self.absent if one.is_lost]:
            parts.append(f"missing: {', '.join(map(_span, lost))}")
        if self.uncovered:
            parts.append(sentence(self.uncovered))
        if isinstance(self.refusal, NodeAway):
            parts.append(str(self.refusal))
        elif self.refusal is not None:
            parts.append(f"refused: {str(self.refusal).removeprefix(f'{self.stream}: ')}")
        return f"{self.stream}: " + "; ".join(parts)

    def _in_memory(self) -> Iterator[str]:
        if self.is_missing:
            yield "not in memory at all"
        elif self.in_memory is not None:
            yield f"{self.in_memory:,} in memory"
        if self.lag is not None:
            yield f"{'' if self.is_counted else 'about '}{self.lag:,} not archived yet"

    def as_json(self) -> dict[str, Any]:
        """Return the status as plain values; unknown ones are None."""
        return {
            "stream": self.stream,
            "entries": self.entries,
            "end": format_id(self.end) if self.epoch else None,
            "epoch": self.epoch or None,
            "lag": self.lag,
            "lag_is_exact": self.is_counted,
            "in_memory": self.in_memory,
            "exists": None if self.in_memory is None else not self.is_missing,
            "missing": [_span_as_json(one) for one in self.absent if one.is_lost],
            "deleted": [_span_as_json(one) for one in self.absent if not one.is_lost],
            "id_unit": self.unit,
            "held_up": list(map(holdup_as_json, self.holdups)),
            "refused": None if self.refusal is None else failure_as_json(self.refusal),
            "without_column": {
                name.decode(errors="backslashreplace"): rows
                for name, rows in self.uncovered.items()
            },
        }


def _span(absence: Absence) -> str:
    number = "entries" if absence.entries is None else count_of(absence.entries, "entry")
    return f"{number} from {format_id(absence.first)} to {format_id(absence.last)}"


def _span_as_json(absence: Absence) -> dict[str, Any]:
    first, last = format_id(absence.first), format_id(absence.last)
    return {"from": first, "to": last, "entries": absence.entries}


def current_line_sql(table: ArchiveTable) -> str:
    """Return SQL for engines: the rows of the present lines; empty if no stream has others."""
    hidden = []
    for stream, record in sorted(table.records.items()):
        state = record.state
        if len(state.epochs) == 1:
            continue
        line = line_of(state.epochs, state.present.number)
        parts = []
        for epoch, last in line:
            ms, seq = ms_of(last), last & MAX_SEQ
            is_open = epoch == state.present.number
            until = "" if is_open else f" AND (ms < {ms} OR (ms = {ms} AND seq <= {seq}))"
            parts.append(f"(epoch = {epoch}{until})")
        name = stream.replace("'", "''")
        hidden.append(f"(stream <> '{name}' OR {' OR '.join(parts)})")
    if not hidden:
        return ""
    return f"SELECT * FROM delta_scan('{table.store}') WHERE {' AND '.join(hidden)}"


def find_status(
    connection: Connection,
    table: ArchiveTable,
    streams: Sequence[str],
    files: Sequence[ArchivedFile],
) -> list[StreamStatus]:
    """Return the status of each stream, using few pipelines.

    `files`: the readable files of the table. Raises ArchiveError, ServerError, ConnectionLost.
    """
    away = away_of(connection, streams)
    there = [name for name in streams if name not in away]
    archived = [name for name in there if table.record(name) is not None]
    recognised = _recognised(connection, table, archived)
    counts = count(table, streams, files)
    facts = all_facts(connection, there)
    holdups = _holdups(connection, table, recognised)
    found = [
        _status(
            table,
            name,
            counts.rows[name],
            facts.get(name),
            holdups.get(name, []),
            away.get(name) or recognised.get(name),
        )
        for name in streams
    ]
    others = counts.uncovered
    return [replace(one, uncovered=others.get(one.stream, one.uncovered)) for one in found]


def _status(
    table: ArchiveTable,
    stream: str,
    entries: int,
    facts: StreamFacts | None,
    holdups: list[Holdup],
    found: Recognised | Refused | NodeAway | None,
) -> StreamStatus:
    record = table.record(stream)
    end = BEGINNING if record is None else record.end
    return StreamStatus(
        stream,
        entries,
        end.id,
        None if facts is None else backlog(end.id, end.n, facts),
        facts is not None and (end.n is not None or facts.last_id <= end.id),
        None if facts is None else facts.length,
        facts is not None and facts.is_missing,
        0 if record is None else record.state.present.number,
        holdups,
        found if isinstance(found, (Refused, NodeAway)) else None,
        unit=None if record is None else record.unit,
        absent=() if record is None else record.absent,
    )


def _recognised(
    connection: Connection, table: ArchiveTable, streams: Sequence[str]
) -> dict[str, Recognised | Refused | None]:
    """Recognise streams. Repeats refusals until stream and table were read at one moment."""
    found: dict[str, Recognised | Refused | None] = {}
    names = list(streams)
    for _ in range(MAX_ATTEMPTS):
        before = {name: table.record(name) for name in names}
        found |= recognise_all(connection, table, names, Rules(), now_ms=0)
        names = [name for name in names if isinstance(found[name], Refused)]
        if names:
            table.refresh()
        names = [name for name in names if table.record(name) != before[name]]
        if not names:
            break
    return found


def _holdups(
    connection: Connection, table: ArchiveTable, found: dict[str, Recognised | Refused | None]
) -> dict[str, list[Holdup]]:
    """Return the groups that would hold up a trim up to the last archived entry."""
    goals = {
        name: one.anchor.id
        for name, one in found.items()
        if isinstance(one, Recognised) and one.anchor is not None
    }
    now_ms = server_time_ms(connection)
    holdups = {}
    infos = all_group_infos(connection, list(goals))
    for name, groups in read_all_groups(connection, infos).items():
        others = [group for group in groups if not is_own(group.name, table.group)]
        holdups[name] = find_holdups(
            connection, name, others, goals[name], now_ms, table.unit(name)
        )
    return holdups


def as_total(table: ArchiveTable, streams: int) -> str:
    """Return a summary of the archive's files in one line."""
    files = table.files()
    if not files:
        return f"{table.store}: has no rows"
    days = sorted(file.date for file in files)
    return (
        f"{count_of(streams, 'stream')} in {count_of(len(files), 'file')}, "
        f"{count_of(sum(file.size_bytes for file in files), 'byte')}, {days[0]} to {days[-1]}"
    )
