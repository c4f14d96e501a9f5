"""Repairs: the log, the state, files that are gone. Each is one step, and may be done again.

Nothing is deleted: what is taken out of the way goes to `_rillway/damaged/`.

A version of the log that is damaged is made again from the state that it named, which names its
files. Where that is not known, it goes, and with it all that come after it: as if they had never
been committed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyarrow.fs import FileType

from rillway.pipeline.archive.files.actions import add_content
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.files.store import LogDamaged, Store
from rillway.pipeline.archive.identity.state_files import FOLDER, numbers, read_written
from rillway.pipeline.archive.repair.findings import (
    check_files,
    check_state,
    file_damage,
    file_finding,
)
from rillway.pipeline.archive.repair.log_files import (
    ACTIONS,
    LAST_CHECKPOINT,
    Damage,
    LogFiles,
    read_log,
    read_version,
    version_path,
)
from rillway.pipeline.archive.repair.rebuilding import rebuilt, unproven
from rillway.pipeline.archive.repair.rows import unreadable
from rillway.pipeline.archive.table import (
    MAX_COMMIT_ATTEMPTS,
    STATE,
    ArchiveError,
    ArchiveTable,
    CommitConflict,
    first_line,
    open_delta,
    sync_log,
)

DAMAGED_FOLDER = f"{FOLDER}/damaged"


@dataclass(slots=True)
class Repaired:
    """The outcome. `done`: sentences; `left`: what is damaged still, and how to go on."""

    done: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def repair(
    store: Store,
    *,
    drops_files: bool = False,
    goes_back: bool = False,
    reads_rows: bool = False,
) -> Repaired:
    """Put right what can be.

    `drops_files`: take files that are gone or damaged out of the table; `goes_back`: give up
    versions of the log that come after a damaged one; `reads_rows`: find files that are damaged
    although their footers are not. Raises ArchiveError.
    """
    outcome = Repaired()
    try:
        if not repair_log(store, outcome, goes_back=goes_back):
            return outcome
        table = ArchiveTable.open(store)
        damaged = _damaged(table, reads_rows=reads_rows)
        _repair_state_and_files(table, outcome, damaged, drops_files=drops_files)
    except OSError as error:
        raise ArchiveError(f"{store}: {first_line(error)}") from None
    return outcome


# -- the log --------------------------------------------------------------------------------------


def repair_log(store: Store, outcome: Repaired, *, goes_back: bool) -> bool:
    """False if the table still cannot be read. Raises ArchiveError, OSError."""
    error = text = ""
    try:
        open_delta(store)
    except LogDamaged as failure:
        error, text = failure.reason, str(failure)
    log = read_log(store, error)
    if not log.is_damaged:
        return True
    if log.last_whole < 0:
        outcome.left.append(text)
        return False
    for damage in log.damaged_checkpoints:
        set_aside(store, damage.path)
        outcome.done.append(f"{damage.path} was damaged ({damage.reason}) and is set aside")
    if log.damaged_checkpoints and store.filesystem.get_file_info(LAST_CHECKPOINT).is_file:
        store.filesystem.delete_file(LAST_CHECKPOINT)
    if not _repair_versions(store, log, outcome, goes_back=goes_back):
        return False
    table = ArchiveTable.open(store)
    table.checkpoint()
    outcome.done.append(f"the log is whole up to version {table.version}, with a new checkpoint")
    return True


def _repair_versions(store: Store, log: LogFiles, outcome: Repaired, *, goes_back: bool) -> bool:
    for damage in log.damaged:
        found = _written_for(store, log, damage.version)
        if found is not None:
            set_aside(store, damage.path)
            _write_version(store, damage.version, *found)
            outcome.done.append(
                f"version {damage.version} was damaged ({damage.reason}) and is made again, with "
                f"the {len(found[1]):,} files that its state names"
            )
        elif damage.version == log.last or goes_back:
            _go_back(store, damage, log.last, outcome)
            return True
        else:
            outcome.left.append(
                f"{damage.path}: {damage.reason}, and no state says what it was: restore it from "
                f"a backup, or --go-back gives up versions {damage.version} to {log.last}"
            )
            return False
    return True


def _go_back(store: Store, damage: Damage, last: int, outcome: Repaired) -> None:
    for version in range(damage.version, last + 1):
        set_aside(store, version_path(version))
    outcome.done.append(
        f"version {damage.version} was damaged ({damage.reason}): the table is what it was in "
        f"version {damage.version - 1}. Streams that were archived further than that are refused "
        "until --new-epoch archives what is in memory"
    )


def _written_for(
    store: Store, log: LogFiles, version: int
) -> tuple[int, Sequence[ArchivedFile]] | None:
    """The state that a version named, and the files that it added, if that is known and all of them
    are whole.
    """
    number = _state_of(store, log, version)
    written = None if number is None else read_written(store, number)
    if number is None or written is None or written.files is None:
        return None
    if any(file_damage(store, file) for file in written.files):
        return None
    return number, written.files


def _state_of(store: Store, log: LogFiles, version: int) -> int | None:
    """The state that a version named, if that is known.

    By the states that came later, each of which says what was before: archivers that stopped or
    had a conflict leave others, and what they had read is archived by a later version. Where no
    whole version names one, that begins with the latest, if it is the only one for its version.
    """
    later = (_named_state(store, other) for other in log.versions if other > version)
    number = next((found for found in later if found is not None), None)
    if number is None:
        every = ((other, read_written(store, other)) for other in numbers(store))
        found = {o: w.version for o, w in every if w and version <= w.version <= log.last}
        last = [other for other, its in found.items() if its == max(found.values())]
        number = last[0] if len(last) == 1 else None
    while number is not None:
        written = read_written(store, number)
        if written is None or written.version < version:
            return None
        if written.version == version:
            return number
        number = written.before
    return None


def _named_state(store: Store, version: int) -> int | None:
    """The state that a whole version names."""
    named = [action["txn"] for action in read_version(store, version) if "txn" in action]
    return next((int(one["version"]) for one in named if one["appId"] == STATE), None)


def _write_version(store: Store, version: int, number: int, files: Sequence[ArchivedFile]) -> None:
    """As deltalake writes it. `number`: of its state."""
    info = {"operation": "WRITE", "rillway.operation": "repair"}
    actions = [{"add": add_content(file)} for file in files]
    transaction = {"txn": {"appId": STATE, "version": number}}
    info[ACTIONS] = str(len(actions) + 1)
    lines = [
        json.dumps(one, ensure_ascii=False) for one in ({"commitInfo": info}, *actions, transaction)
    ]
    path = version_path(version)
    with store.filesystem.open_output_stream(path, buffer_size=1 << 16) as file:
        file.write("\n".join(lines).encode())
    sync_log(store, version)


def set_aside(store: Store, path: str) -> None:
    """Move a file, if it is there, to where nothing reads it. Raises OSError."""
    if store.filesystem.get_file_info(path).type == FileType.File:
        aside = f"{DAMAGED_FOLDER}/{path.replace('/', '.')}"
        store.make_parent(aside)
        store.filesystem.move(path, aside)


# -- the state, and files -------------------------------------------------------------------------


def _damaged(table: ArchiveTable, *, reads_rows: bool) -> dict[ArchivedFile, str]:
    damaged = dict(check_files(table.store, table.files()))
    if reads_rows:
        others = [file for file in table.files() if file not in damaged]
        damaged |= {file: why for file in others if (why := unreadable(table, file))}
    return damaged


def _repair_state_and_files(
    table: ArchiveTable, outcome: Repaired, damaged: dict[ArchivedFile, str], *, drops_files: bool
) -> None:
    """Raises ArchiveError, OSError."""
    lost = [str(file_finding(file, reason)) for file, reason in damaged.items()]
    if damaged and not drops_files:
        outcome.left += lost
        outcome.left.append(
            f"{table.store}: restore these files from a backup, or --drop-files takes them out of "
            "the table: their rows are lost then"
        )
    for _ in range(MAX_COMMIT_ATTEMPTS):
        try:
            if drops_files and damaged:
                _drop(table, list(damaged))
                outcome.done += [f"{text}: taken out of the table" for text in lost]
            _repair_state(table, outcome)
            return
        except CommitConflict:
            table.refresh()
    raise ArchiveError(f"{table.store}: others commit all the time")


def _drop(table: ArchiveTable, files: Sequence[ArchivedFile]) -> None:
    """Raises ArchiveError, CommitConflict, OSError.

    What these files had of a stream may be in memory still: it is compared with the rows then.
    """
    for file in files:
        set_aside(table.store, file.path)
    try:
        records = table.records
    except ArchiveError:
        table.expire(files, [], None, "repair")
        return
    changed = {
        name: unproven(record)
        for name, record in records.items()
        if any(file.first_stream <= name <= file.last_stream for file in files)
    }
    table.expire(files, [], table.write_state(changed, None), "repair")


def _repair_state(table: ArchiveTable, outcome: Repaired) -> None:
    """Raises ArchiveError, CommitConflict, OSError."""
    found = check_state(table)
    if not found:
        return
    reason = str(found[0])
    if any(True for _ in check_files(table.store, table.files())):
        outcome.left.append(f"{reason}: it can be made again when all files are there, or dropped")
        return
    records, version = rebuilt(table)
    table.append(table.write_whole_state(records), [], {"rillway.operation": "repair"})
    origin = "the rows alone" if version is None else f"that of version {version} and the rows"
    outcome.done.append(
        f"{reason}: made again from {origin}, {len(records):,} streams; the next round compares "
        "each with what is in memory"
    )
