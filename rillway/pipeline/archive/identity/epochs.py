"""Epochs: the histories of one stream in an archive, as PostgreSQL has timelines.

A stream may diverge from its archive: a failover loses its last entries and new ones get lower IDs,
or it is deleted and created again. Nothing is overwritten then: a new epoch begins after the last
entry that both have in common, its branch. The line of an epoch is the history that leads to it:
the rows of each ancestor up to the branch of the next, then its own.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rillway.pipeline.archive.columns.layouts import Layout, Layouts
from rillway.pipeline.ranges.anchors import Anchor
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, MS, format_id, parse_id

TOKEN_BYTES = 8
FIRST = 1


@dataclass(frozen=True, slots=True)
class Epoch:
    """One history.

    `parent`, `branch`: 0 and 0-0 if it has nothing in common with an earlier epoch;
    `token`: random, part of the marker's name, empty if a repair could not recover it;
    `end`: the last archived ID of an epoch that has a successor, None for the present one.
    """

    number: int
    token: str
    parent: int = 0
    branch: int = MIN_ID
    reason: str = ""
    began_ms: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The identity that a server reports: a hint, which proves nothing about a stream.

    `replids`: its replication IDs, the present one first; empty if INFO is not allowed.
    """

    database: int = 0
    run_id: str = ""
    replids: tuple[str, ...] = ()
    offset: int = 0

    def is_known_by(self, stored: Source) -> bool:
        """Return True if this is the server `stored`, or has taken over from it."""
        if self.run_id and self.run_id == stored.run_id:
            return True
        return bool(stored.replids) and stored.replids[0] in self.replids


@dataclass(frozen=True, slots=True)
class StreamState:
    """The histories of a stream: its epochs, the present one last.

    `anchors`: those of the present epoch, the last entry first; `source`: None if it is unknown.
    """

    epochs: tuple[Epoch, ...]
    anchors: tuple[Anchor, ...] = ()
    source: Source | None = None

    @property
    def present(self) -> Epoch:
        return self.epochs[-1]


@dataclass(frozen=True, slots=True)
class Absence:
    """Archived entries that the rows are known to lack.

    `first`, `last`: IDs; `entries`: their number, None if it is unknown; `is_lost`: True if they
    were not removed on purpose, so they may be filled in again; `of_file`: if `entries` is unknown,
    the number of rows that the lost file had, of all its streams.
    """

    epoch: int
    first: int
    last: int
    entries: int | None
    is_lost: bool = False
    of_file: int | None = None


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """The archive's record of a stream.

    `end`: the archived end of the present epoch; `expired_before_ms`: the time before which rows
    have expired, None if none have; `expired`: by epoch, the ms of the last expired row; `layouts`:
    those of rows with typed columns; `unit`: the unit of the IDs (wire/ids.py), None before
    the first entry; `erasures`: the numbers of journals with erased entries (erasure/journal.py);
    `absent`: known absences.
    """

    state: StreamState
    end: Position
    expired_before_ms: int | None = None
    expired: Mapping[int, int] = field(default_factory=dict)
    layouts: Layouts = field(default_factory=dict)
    unit: str | None = MS
    erasures: tuple[int, ...] = ()
    absent: tuple[Absence, ...] = ()

    @property
    def ends(self) -> dict[int, int]:
        """The archived end by epoch."""
        epochs = self.state.epochs
        return {one.number: self.end.id if one.end is None else one.end for one in epochs}

    def spans(self, epoch: int) -> list[tuple[int, int]]:
        """Return the absent ranges of IDs of an epoch, in order and without overlaps."""
        found: list[tuple[int, int]] = []
        for first, last in sorted((a.first, a.last) for a in self.absent if a.epoch == epoch):
            if found and first <= found[-1][1]:
                first, last = found[-1][0], max(found.pop()[1], last)
            found.append((first, last))
        return found

    def lacks(self, epoch: int, entry_id: int) -> bool:
        """Return True if the absence of an entry of an epoch is known."""
        return any(one.epoch == epoch and one.first <= entry_id <= one.last for one in self.absent)

    def is_as_archived_in(self, other: StreamRecord | None) -> bool:
        """Return True if between the two records no archiver has committed the stream, and nothing
        of it was erased.
        """
        if other is None or self.erasures != other.erasures:
            return False
        return (self.state, self.end) == (other.state, other.end)


def new_token() -> str:
    return secrets.token_hex(TOKEN_BYTES)


def line_of(epochs: Sequence[Epoch], number: int) -> list[tuple[int, int]]:
    """Return the line of an epoch: its ancestors and itself, each with the last ID that counts."""
    by_number = {epoch.number: epoch for epoch in epochs}
    line: list[tuple[int, int]] = []
    last = MAX_ID
    while number:
        line.append((number, last))
        epoch = by_number[number]
        number, last = epoch.parent, min(last, epoch.branch)
    return line[::-1]


# -- as rows of a file ----------------------------------------------------------------------------


def to_row(record: StreamRecord) -> dict[str, Any]:
    """Return a record as a row: plain values by column."""
    state, source = record.state, record.state.source
    return {
        "end": format_id(record.end.id),
        "n": record.end.n,
        "epochs": [epoch_as_json(epoch) for epoch in state.epochs],
        "anchors": [{"id": format_id(a.id), "hash": a.hash, "back": a.back} for a in state.anchors],
        "source": None
        if source is None
        else {
            "database": source.database,
            "run_id": source.run_id,
            "replids": source.replids,
            "offset": source.offset,
        },
        "expired_before_ms": record.expired_before_ms,
        "expired": [{"epoch": epoch, "ms": ms} for epoch, ms in record.expired.items()],
        "layouts": [
            {"number": number, "names": layout.names, "columns": layout.columns}
            for number, layout in record.layouts.items()
        ],
        "id_unit": record.unit,
        "erasures": record.erasures,
        "absent": list(map(_absence_as_json, record.absent)),
    }


def _absence_as_json(absence: Absence) -> dict[str, Any]:
    return {
        "epoch": absence.epoch,
        "first": format_id(absence.first),
        "last": format_id(absence.last),
        "entries": absence.entries,
        "lost": absence.is_lost,
        "of_file": absence.of_file,
    }


def epoch_as_json(epoch: Epoch) -> dict[str, Any]:
    return {
        "epoch": epoch.number,
        "token": epoch.token,
        "parent": epoch.parent,
        "branch": format_id(epoch.branch),
        "reason": epoch.reason,
        "began_ms": epoch.began_ms,
        "end": None if epoch.end is None else format_id(epoch.end),
    }


def from_row(row: Mapping[str, Any]) -> StreamRecord:
    """Return the record of a row. Raises ValueError, KeyError or TypeError for anything else."""
    return StreamRecord(
        _state(row),
        Position(parse_id(row["end"]), row["n"]),
        row["expired_before_ms"],
        {item["epoch"]: item["ms"] for item in row["expired"]},
        {
            item["number"]: Layout(tuple(item["names"]), tuple(item["columns"]))
            for item in row["layouts"]
        },
        row["id_unit"],
        # States of earlier versions do not have it.
        tuple(row.get("erasures") or ()),
        tuple(map(_absence, row.get("absent") or ())),
    )


def _absence(item: Mapping[str, Any]) -> Absence:
    first, last = parse_id(item["first"]), parse_id(item["last"])
    return Absence(item["epoch"], first, last, item["entries"], item["lost"], item["of_file"])


def _state(row: Mapping[str, Any]) -> StreamState:
    source = row["source"]
    anchors = row["anchors"]
    return StreamState(
        tuple(map(_epoch, row["epochs"])),
        tuple(Anchor(parse_id(item["id"]), item["hash"], item["back"]) for item in anchors),
        None
        if source is None
        else Source(
            int(source["database"]),
            str(source["run_id"]),
            tuple(map(str, source["replids"])),
            int(source["offset"]),
        ),
    )


def _epoch(item: Mapping[str, Any]) -> Epoch:
    return Epoch(
        number=int(item["epoch"]),
        token=str(item["token"]),
        parent=int(item["parent"]),
        branch=parse_id(item["branch"]),
        reason=str(item["reason"]),
        began_ms=int(item["began_ms"]),
        end=None if item["end"] is None else parse_id(item["end"]),
    )
