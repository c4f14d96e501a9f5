"""Repairs: the log, the state, files that are gone. Each is one step, and may be done again.

Nothing is deleted: what is taken out of the way goes to `_rillway/damaged/`.

Archivers and upkeep may run meanwhile. There are no leases: those of archivers are in a server,
which a repair does not need, and compaction and expiry have none. A commit of a repair succeeds
as the very next version only, like any other, and else it looks again. A damaged version is
replaced in one step, so there is no moment in which another commit could take its number.

A version of the log that is damaged is made again from the state that it named, which names its
files. Where that is not known, it goes, and with it all that come after it: as if they had never
been committed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from rillway.pipeline.archive.files.actions import add_content
from rillway.pipeline.archive.files.log_files import (
    ACTIONS,
    LAST_CHECKPOINT,
    Damage,
    LogFiles,
    checkpoint_path,
    kept_checkpoint,
    kept_checkpoints,
    kept_path,
    read_log,
    read_version,
    version_path,
)
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.files.store import LogDamaged, Store, StoreFailed
from rillway.pipeline.archive.identity.state_files import FOLDER, numbers, read_written
from rillway.pipeline.archive.repair.findings import (
    check_state,
    file_damage,
    file_finding,
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
from rillway.plurals import count_of

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
        if repair_log(store, outcome, goes_back=goes_back):
            table = ArchiveTable.open(store)
            _repair_table(table, outcome, drops_files=drops_files, reads_rows=reads_rows)
    except OSError as error:
        raise ArchiveError(f"{store}: {first_line(error)}") from None
    return outcome


# -- the log --------------------------------------------------------------------------------------


def repair_log(store: Store, outcome: Repaired, *, goes_back: bool) -> bool:
    """False if the table still cannot be read. Raises ArchiveError, OSError."""
    has_changed = False
    for _ in range(MAX_COMMIT_ATTEMPTS):
        error = text = ""
        try:
            open_delta(store)
        except LogDamaged as failure:
            error, text = failure.reason, str(failure)
        log = read_log(store, error)
        if not log.is_damaged:
            if has_changed:
                _have_checkpoint(store, outcome)
            return True
        is_lost = log.last_whole < 0
        kept = kept_checkpoint(store, log) if is_lost else None
        if is_lost and kept is None:
            outcome.left.append(text)
            return False
        _set_checkpoints_aside(store, log, outcome)
        if kept is not None:
            store.copy(kept_path(kept), checkpoint_path(kept))
            outcome.done.append(f"the checkpoint of version {kept} is there again, from its copy")
        elif not _repair_versions(store, log, outcome, goes_back=goes_back):
            return False
        has_changed = True
    raise _too_many_commits(store)


def _too_many_commits(store: Store) -> ArchiveError:
    return ArchiveError(f"{store}: others commit all the time")


def _have_checkpoint(store: Store, outcome: Repaired) -> None:
    table = ArchiveTable.open(store)
    table.checkpoint()
    outcome.done.append(f"the log is whole up to version {table.version}, with a new checkpoint")


def _set_checkpoints_aside(store: Store, log: LogFiles, outcome: Repaired) -> None:
    for damage in log.damaged_checkpoints:
        set_aside(store, damage.path)
        outcome.done.append(f"{damage.path} was damaged ({damage.reason}) and is set aside")
    if log.damaged_checkpoints:
        store.remove(LAST_CHECKPOINT)


def _repair_versions(store: Store, log: LogFiles, outcome: Repaired, *, goes_back: bool) -> bool:
    for damage in log.damaged:
        found = _written_for(store, log, damage.version)
        if found is not None:
            _write_version(store, damage.version, *found)
            outcome.done.append(
                f"version {damage.version} was damaged ({damage.reason}) and is made again, with "
                f"the {count_of(len(found[1]), 'file')} that its state names"
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
    """Give up the last versions, the last one first: what is left is a log at any time."""
    for version in range(last, damage.version - 1, -1):
        set_aside(store, version_path(version))
    for version in kept_checkpoints(store):
        if version >= damage.version:
            set_aside(store, kept_path(version))
    if read_log(store).last >= damage.version:
        return  # An archiver that had them in memory has committed on top: look again.
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
    """As deltalake writes it, in one step, in place of what is there, of which a copy is kept.

    `number`: of its state.
    """
    info = {"operation": "WRITE", "rillway.operation": "repair"}
    actions = [{"add": add_content(file)} for file in files]
    transaction = {"txn": {"appId": STATE, "version": number}}
    info[ACTIONS] = str(len(actions) + 1)
    lines = [
        json.dumps(one, ensure_ascii=False) for one in ({"commitInfo": info}, *actions, transaction)
    ]
    path = version_path(version)
    if store.has(path):
        store.copy(path, _aside(store, path))
    new = path if store.folder is None else f"{FOLDER}/version-{version}.json"
    store.write(new, "\n".join(lines).encode())
    if new != path:  # an object is put in one step, and a file moved
        store.filesystem.move(new, path)
    sync_log(store, version)


def set_aside(store: Store, path: str) -> None:
    """Move a file, if it is there, to where nothing reads it. Raises OSError."""
    if store.has(path):
        store.filesystem.move(path, _aside(store, path))


def _aside(store: Store, path: str) -> str:
    aside = f"{DAMAGED_FOLDER}/{path.replace('/', '.')}"
    store.make_parent(aside)
    return aside


# -- the state, and files -------------------------------------------------------------------------


def _repair_table(
    table: ArchiveTable, outcome: Repaired, *, drops_files: bool, reads_rows: bool
) -> None:
    """Raises ArchiveError, OSError."""
    reasons: dict[ArchivedFile, str] = {}  # of all files that were looked at: they never change
    for _ in range(MAX_COMMIT_ATTEMPTS):
        try:
            for file in table.files():
                if file not in reasons:
                    reasons[file] = _file_damage(table, file, reads_rows=reads_rows)
            damaged = [file for file in table.files() if reasons[file]]
            lost = [str(file_finding(file, reasons[file])) for file in damaged]
            if damaged and drops_files:
                _drop(table, damaged)
                outcome.done += [f"{text}: taken out of the table" for text in lost]
            left = _repair_state(table, outcome, lacks_files=bool(lost) and not drops_files)
        except CommitConflict:
            table.refresh()
            continue
        if lost and not drops_files:
            outcome.left += lost
            outcome.left.append(
                f"{table.store}: restore these files from a backup, or --drop-files takes them out "
                "of the table: their rows are lost then"
            )
        outcome.left += left
        return
    raise _too_many_commits(table.store)


def _file_damage(table: ArchiveTable, file: ArchivedFile, *, reads_rows: bool) -> str:
    """Empty if nothing is wrong with it."""
    return file_damage(table.store, file) or (unreadable(table, file) if reads_rows else "")


def _drop(table: ArchiveTable, files: Sequence[ArchivedFile]) -> None:
    """Raises ArchiveError, CommitConflict, OSError.

    What these files had of a stream may be in memory still: it is compared with the rows then.
    """
    for file in files:
        set_aside(table.store, file.path)
    try:
        records = table.records
    except StoreFailed:
        raise
    except ArchiveError:
        table.expire(files, [], None, "repair")
        return
    changed = {
        name: unproven(record)
        for name, record in records.items()
        if any(file.first_stream <= name <= file.last_stream for file in files)
    }
    table.expire(files, [], table.write_state(changed, None), "repair")


def _repair_state(table: ArchiveTable, outcome: Repaired, *, lacks_files: bool) -> list[str]:
    """What is left to do. Raises ArchiveError, CommitConflict, OSError."""
    found = check_state(table)
    if not found:
        return []
    reason = str(found[0])
    if lacks_files:
        return [f"{reason}: it can be made again when all files are there, or dropped"]
    records, version = rebuilt(table)
    table.append(table.write_whole_state(records), [], {"rillway.operation": "repair"})
    origin = "the rows alone" if version is None else f"that of version {version} and the rows"
    outcome.done.append(
        f"{reason}: made again from {origin}, {count_of(len(records), 'stream')}; the next "
        "round compares each with what is in memory"
    )
    return []
