"""`rillway check --truncate-to-timestamp T`: an append-only file goes back to a moment.

Requests after the annotations (`aof-timestamp-enabled`) of later seconds are cut off; those of the
second T itself stay. All that is cut is kept beside. First comes the copy, which may not fit on the
disk. Then the manifest loses the increments after the cut, so that an interruption leaves a history
without holes, and the same command finishes.

Source: redis-check-aof of Redis 7.0, which can cut the last increment only, and not all of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from server.check.inspection import (
    INCREMENT_SUFFIX,
    FileReport,
    Report,
    copy_rest,
    free_name,
    manifest_of,
    truncate_file,
)
from server.persistence.files import Files, replace_file
from storage.append_only import manifest as manifests
from storage.append_only.reader import DamagedFile, RequestFile, TornFile


class CannotTruncate(Exception):
    """The text says why the files cannot go back to that moment."""


@dataclass
class Truncation:
    """What was cut. `path` is empty if nothing is later."""

    path: str = ""
    offset: int = 0
    copies: list[str] = field(default_factory=list)


def truncate(files: Files, report: Report, time_s: int) -> Truncation:
    """Cut what is later than a Unix time from the files of a report (Inspector).

    Raises CannotTruncate if nothing may be cut, and OSError.
    """
    parts = [file for file in report.files if file.path != report.path or len(report.files) == 1]
    if listed := manifest_of(files, report.path)[0]:
        raise CannotTruncate(f"{report.path} is a part of {listed}: give that, with all its files")
    for part in parts:
        if part.written_at_s > time_s:
            raise CannotTruncate(
                f"{part.path} was written at {part.written_at_s}, later than {time_s}: it has no"
                " moment before. An earlier back-up may"
            )
        offset = _cut_at(files, part, time_s)
        if offset == 0 and not part.path.endswith(INCREMENT_SUFFIX):
            # Its data may be older than the file: a rewrite begins it with its own time.
            raise CannotTruncate(f"{part.path} has nothing before {time_s}. An earlier back-up may")
        if offset is not None:
            return _cut(files, report.path, part.path, offset)
        if part.problem is not None:
            raise CannotTruncate(
                f"{part.path} is damaged at offset {part.problem.offset:,}, before {time_s}:"
                f" {part.problem.reason}. --fix comes first"
            )
    if any(part.requests for part in parts) and not any(part.last_written_s for part in parts):
        raise CannotTruncate(
            f"{report.path} has no times: they come with aof-timestamp-enabled yes"
        )
    return Truncation()


def _cut_at(files: Files, part: FileReport, time_s: int) -> int | None:
    """The offset of the first annotation of a later second; None if there is none."""
    file = RequestFile(files.buffer(part.path), part.requests_at)
    end = part.requests_at
    try:
        for batch in file.batches():
            if (file.timestamp_s or 0) > time_s:
                return end
            end = batch.offset + len(batch.text)
    except (DamagedFile, TornFile):
        return end if (file.timestamp_s or 0) > time_s else None
    return None


def _cut(files: Files, listed: str, path: str, offset: int) -> Truncation:
    folder = os.path.dirname(path) or "."
    copies = [copy_rest(files, path, offset)]
    for name in [] if path == listed else _forget_later(files, listed, os.path.basename(path)):
        copies.append(free_name(files, f"{folder}/{name}.cut-0"))
        files.rename(f"{folder}/{name}", copies[-1])
    files.sync_directory(folder)
    truncate_file(files, path, offset)  # last: until then the same command finds something to do
    return Truncation(path, offset, copies)


def _forget_later(files: Files, listed: str, name: str) -> list[str]:
    """Put a manifest in force that names no increment after this file.

    Returns the names of these, and of those that an interruption has left: a server would
    overwrite them.
    """
    manifest = manifests.parse(bytes(files.buffer(listed)))
    place = [part.name for part in manifest.loaded].index(name) + 1
    later = manifest.loaded[place:]
    folder, own_name = os.path.split(listed)
    if later:
        kept = tuple(part for part in manifest.increments if part not in later)
        replace_file(files, folder or ".", own_name, replace(manifest, increments=kept).format())
    file_name = own_name.removesuffix(".manifest")
    known = {part.name for part in (*manifest.loaded[:place], *manifest.history)}
    return [
        other
        for other in sorted(files.names(folder or "."))
        if other.startswith(f"{file_name}.")
        and other.endswith(INCREMENT_SUFFIX)
        and other not in known
    ]
