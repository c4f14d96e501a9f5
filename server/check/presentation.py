"""Reports as text for people, and as JSON for programs.

Texts may come from a file that is no data of a server at all: all of them are made printable.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from typing import TypeAlias

from server.check.inspection import (
    BOTH,
    MANIFEST,
    SNAPSHOT,
    Contents,
    DatabaseContents,
    FileReport,
    Problem,
    Report,
)
from server.printable import printable

# Puts a text in a colour, where that is shown.
Paint: TypeAlias = Callable[[str, str], str]

SINGULAR = {"entries": "entry", "hashes": "hash"}


def plain(text: str, colour: str) -> str:
    """The text as it is."""
    return text


def as_json(reports: list[Report]) -> str:
    """A JSON list with an object for each report; the fields are those of the dataclasses."""
    objects = [{**dataclasses.asdict(report), "is_sound": report.is_sound} for report in reports]
    return json.dumps(objects, indent=2)


def as_text(report: Report, paint: Paint = plain) -> str:
    """A paragraph for each file, and one for their content."""
    lines: list[str] = []
    for file in report.files:
        lines += _describe_file(file, paint)
    if len(report.files) > 1 or report.files[0].kind != MANIFEST:
        lines += _describe_contents(report.contents)
    return "\n".join(lines)


def _describe_file(file: FileReport, paint: Paint) -> list[str]:
    state = paint("sound", "green")
    if file.refused:
        state = paint(f"{sum(file.refused.values()):,} REFUSED WRITES", "red")
    if file.problem is not None:
        what = "NOT SUPPORTED from" if file.problem.is_foreign else "BROKEN at"
        state = paint(f"{what} offset {file.problem.offset:,}", "red")
    lines = [f"{printable(file.path)}: {file.kind}, {file.size:,} bytes: {state}"]
    if file.kind in (SNAPSHOT, BOTH) and file.version:
        lines.append(_row("format", f"version {file.version}, checksum {_checksum(file)}"))
    if file.written_by or file.written_at_s:
        when = f", {_date(file.written_at_s)}" if file.written_at_s else ""
        maker = f"Redis {file.written_by or '?'} or as such"
        if file.written_by.startswith("Valkey "):
            maker = file.written_by
        lines.append(_row("written by", f"{maker}{when}"))
    if file.requests:
        until = f", the last from {_date(file.last_written_s)}" if file.last_written_s else ""
        lines.append(_row("requests", f"{file.requests:,}{until}"))
    for name, count in sorted(file.unsupported.items()):
        lines.append(_row("unsupported", f"{count:,} of type {name}"))
    for name, count in sorted(file.no_effect.items()):
        lines.append(_row("no effect", f"{count:,} x {name}"))
    if file.refused:
        lines += _describe_refusals(file)
    if file.problem is not None:
        lines += _describe_problem(file, file.problem)
    if file.fixed:
        lines.append(_row("fixed", file.fixed))
    return lines


def _describe_refusals(file: FileReport) -> list[str]:
    lines = [_row("refused", f"{count:,} x {name}") for name, count in sorted(file.refused.items())]
    lines.append(_row("the first", file.first_refusal))
    lines.append(
        _row("start", "stops here; with --aof-skip-refused-writes yes goes on without them")
    )
    return lines


def _checksum(file: FileReport) -> str:
    return {"": "not reached", "none": "none (rdbchecksum no)"}.get(file.checksum, file.checksum)


def _describe_problem(file: FileReport, problem: Problem) -> list[str]:
    lines = [_row("problem", problem.reason)]
    if problem.sound_bytes:
        lines.append(_row("sound", f"the first {problem.sound_bytes:,} bytes"))
    if problem.lost_bytes:
        readable = f", with {problem.lost_requests:,} requests that can still be read"
        text = f"{problem.lost_bytes:,} bytes{readable if problem.lost_requests else ''}"
        lines.append(_row("after it", text))
    if file.fixed:
        return lines
    if problem.can_be_cut:
        lines.append(_row("repair", f"rillway check --fix {file.path}"))
    elif problem.is_foreign:
        lines.append(_row("repair", "none here: load it with the server that wrote it"))
    elif problem.sound_bytes:
        lines.append(_row("repair", "none here: other files of the manifest follow this one"))
    else:
        lines.append(_row("repair", "none: restore the file from a backup"))
    return lines


def _describe_contents(contents: Contents) -> list[str]:
    if not contents.databases:
        return [_row("contents", "no keys")]
    lines = []
    for db in contents.databases:
        lines.append(_row(f"database {db.index}", _keys(db)))
        if db.streams:
            lines.append(
                _row(
                    "streams",
                    f"{_counted(db.entries, 'entries')}, {_counted(db.groups, 'groups')},"
                    f" {_counted(db.consumers, 'consumers')}, {db.pending:,} pending",
                )
            )
    for stream in contents.biggest_streams:
        lines.append(
            _row(
                "large stream",
                f"{stream.key} (database {stream.database}): {_counted(stream.entries, 'entries')},"
                f" {_counted(stream.groups, 'groups')}, {stream.pending:,} pending",
            )
        )
    return lines


def _keys(db: DatabaseContents) -> str:
    types = [_counted(db.streams, "streams"), _counted(db.strings, "strings")]
    for name in ("lists", "sets", "sorted_sets", "hashes"):
        if count := getattr(db, name):
            types.append(_counted(count, name.replace("_", " ")))
    text = f"{_counted(db.keys, 'keys')}: {', '.join(types)}"
    if db.expiring:
        text += f"; {db.expiring:,} with a time to live, {db.expired:,} past it"
    return text


def _counted(count: int, plural: str) -> str:
    """A count with its noun: `1 stream`, `2 entries`."""
    if count != 1:
        return f"{count:,} {plural}"
    return f"1 {SINGULAR.get(plural, plural.removesuffix('s'))}"


def _row(name: str, text: str) -> str:
    return f"  {name:<14}{printable(text)}"


def _date(unix_s: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(unix_s))
