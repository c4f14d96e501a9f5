"""Repairs the log, the state, and the table after files were lost. Each repair can be repeated.

Nothing is deleted: damaged files are moved to `_rillway/damaged/`.

Archivers and upkeep may run meanwhile. A repair takes no leases: those of archivers are in a
server, which a repair does not need, and compaction and expiry have none. Like any commit, that of
a repair succeeds only as the next version; after a conflict it starts again. A damaged version is
replaced atomically, so no other commit can take its number.

A damaged version of the log is rebuilt from the state that it named, which lists its files. If that
state is unknown, the version is given up with all that follow it, as if they had never been
committed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from rillway.pipeline.archive.earlier.adding import Origin
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
    sync_log,
    version_path,
)
from rillway.pipeline.archive.files.opening import open_delta
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.files.store import LogDamaged, Store, StoreFailed
from rillway.pipeline.archive.foreign.absences import lost_with, removed_by
from rillway.pipeline.archive.foreign.commits import OPERATION, REPAIR, commits_since, listed
from rillway.pipeline.archive.foreign.holes import fill
from rillway.pipeline.archive.identity.epochs import StreamRecord
from rillway.pipeline.archive.identity.state_files import FOLDER, numbers, read_commit
from rillway.pipeline.archive.repair.findings import (
    check_state,
    file_damage,
    file_finding,
)
from rillway.pipeline.archive.repair.rebuilding import rebuilt
from rillway.pipeline.archive.repair.rows import unreadable
from rillway.pipeline.archive.table import (
    MAX_COMMIT_ATTEMPTS,
    STATE,
    ArchiveError,
    ArchiveTable,
    CommitConflict,
    first_line,
)
from rillway.pipeline.archive.upkeep.compaction import compact_others
from rillway.plurals import count_of

DAMAGED_FOLDER = f"{FOLDER}/damaged"


@dataclass(slots=True)
class Repaired:
    """The outcome. `done`: sentences; `left`: remaining damage, and how to proceed."""

    done: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def repair(
    store: Store,
    *,
    drops_files: bool = False,
    goes_back: bool = False,
    reads_rows: bool = False,
    origin: Origin | None = None,
) -> Repaired:
    """Repair an archive. Raises ArchiveError.

    `drops_files`: remove missing and damaged files from the table; `goes_back`: give up versions of
    the log after a damaged one; `reads_rows`: also find damage that footers do not show; `origin`:
    remove such files, too, and fill in what was lost from there.
    """
    outcome = Repaired()
    try:
        if repair_log(store, outcome, goes_back=goes_back):
            table = ArchiveTable.open(store)
            drops = drops_files or origin is not None
            _repair_table(table, outcome, drops_files=drops, reads_rows=reads_rows)
            for is_filled, text in () if origin is None else fill(table, origin):
                (outcome.done if is_filled else outcome.left).append(text)
    except OSError as error:
        raise ArchiveError(f"{store}: {first_line(error)}") from None
    return outcome


# -- the log --------------------------------------------------------------------------------------


def repair_log(store: Store, outcome: Repaired, *, goes_back: bool) -> bool:
    """Repair the log; False if the table remains unreadable. Raises ArchiveError, OSError."""
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
            outcome.done.append(f"the checkpoint of version {kept} was restored from its copy")
        elif not _repair_versions(store, log, outcome, goes_back=goes_back):
            return False
        has_changed = True
    raise _too_many_commits(store)


def _too_many_commits(store: Store) -> ArchiveError:
    return ArchiveError(f"{store}: gave up, because others kept committing")


def _have_checkpoint(store: Store, outcome: Repaired) -> None:
    table = ArchiveTable.open(store)
    table.checkpoint()
    outcome.done.append(f"the log is intact up to version {table.version}, with a new checkpoint")


def _set_checkpoints_aside(store: Store, log: LogFiles, outcome: Repaired) -> None:
    for damage in log.damaged_checkpoints:
        set_aside(store, damage.path)
        outcome.done.append(f"{damage.path} was damaged ({damage.reason}) and was moved away")
    if log.damaged_checkpoints:
        store.remove(LAST_CHECKPOINT)


def _repair_versions(store: Store, log: LogFiles, outcome: Repaired, *, goes_back: bool) -> bool:
    for damage in log.damaged:
        found = _written_for(store, log, damage.version)
        if found is not None:
            _write_version(store, damage.version, *found)
            outcome.done.append(
                f"version {damage.version} was damaged ({damage.reason}) and was rebuilt with "
                f"the {count_of(len(found[1]), 'file')} that its state names"
            )
        elif damage.version == log.last or goes_back:
            _go_back(store, damage, log.last, outcome)
            return True
        else:
            outcome.left.append(
                f"{damage.path}: {damage.reason}, and no state describes it: restore it from "
                f"a backup, or --go-back gives up versions {damage.version} to {log.last}"
            )
            return False
    return True


def _go_back(store: Store, damage: Damage, last: int, outcome: Repaired) -> None:
    """Give up versions from the last one back, so that the rest is a valid log at any time."""
    for version in range(last, damage.version - 1, -1):
        set_aside(store, version_path(version))
    for version in kept_checkpoints(store):
        if version >= damage.version:
            set_aside(store, kept_path(version))
    if read_log(store).last >= damage.version:
        return  # An archiver that had read them has committed on top of them: start again.
    outcome.done.append(
        f"version {damage.version} was damaged ({damage.reason}): the table is back at "
        f"version {damage.version - 1}. Streams that were archived beyond it are refused "
        "until --new-epoch archives what is in memory"
    )


def _written_for(
    store: Store, log: LogFiles, version: int
) -> tuple[int, Sequence[ArchivedFile]] | None:
    """Return the state that a version named and the files that it added, if they are known and
    intact.
    """
    number = _state_of(store, log, version)
    written = None if number is None else read_commit(store, number)
    if number is None or written is None or written.files is None:
        return None
    if any(file_damage(store, file) for file in written.files):
        return None
    return number, written.files


def _state_of(store: Store, log: LogFiles, version: int) -> int | None:
    """Return the state that a version named, if it can be found.

    Follows the chain of predecessors back from a later state. States of aborted commits are not on
    the chain. If no intact version names a state, starts from the newest one, provided it is
    unambiguous.
    """
    later = (_named_state(store, other) for other in log.versions if other > version)
    number = next((found for found in later if found is not None), None)
    if number is None:
        every = ((other, read_commit(store, other)) for other in numbers(store))
        found = {o: w.version for o, w in every if w and version <= w.version <= log.last}
        last = [other for other, its in found.items() if its == max(found.values())]
        number = last[0] if len(last) == 1 else None
    while number is not None:
        written = read_commit(store, number)
        if written is None or written.version < version:
            return None
        if written.version == version:
            return number
        number = written.before
    return None


def _named_state(store: Store, version: int) -> int | None:
    """Return the state that an intact version names, if any."""
    named = [action["txn"] for action in read_version(store, version) if "txn" in action]
    return next((int(one["version"]) for one in named if one["appId"] == STATE), None)


def _write_version(store: Store, version: int, number: int, files: Sequence[ArchivedFile]) -> None:
    """Replace a version atomically, in deltalake's format, keeping a copy of the old file.

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
    if new != path:  # putting an object is atomic, and so is moving a file
        store.filesystem.move(new, path)
    sync_log(store, version)


def set_aside(store: Store, path: str) -> None:
    """Move a file, if it exists, to where nothing reads it. Raises OSError."""
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
    """Repair the table: files and state. Raises ArchiveError, OSError."""
    reasons: dict[ArchivedFile, str] = {}  # of all checked files, which never change
    for _ in range(MAX_COMMIT_ATTEMPTS):
        try:
            for file in table.files():
                if file not in reasons:
                    reasons[file] = _file_damage(table, file, reads_rows=reads_rows)
            damaged = [file for file in table.files() if reasons[file]]
            lost = [str(file_finding(file, reasons[file])) for file in damaged]
            if damaged and drops_files:
                _drop(table, damaged)
                outcome.done += [f"{text}: removed from the table" for text in lost]
            left = _repair_state(table, outcome, lacks_files=bool(lost) and not drops_files)
            if not left and not (lost and not drops_files):
                left = _repair_others(table, outcome)
        except CommitConflict:
            table.refresh()
            continue
        if lost and not drops_files:
            outcome.left += lost
            outcome.left.append(
                f"{table.store}: restore these files from a backup, or --drop-files removes them "
                "from the table: their rows are lost then, unless --url or --from fills them in"
            )
        outcome.left += left
        return
    raise _too_many_commits(table.store)


def _file_damage(table: ArchiveTable, file: ArchivedFile, *, reads_rows: bool) -> str:
    """Return what is wrong with a file; empty if nothing is."""
    return file_damage(table.store, file) or (unreadable(table, file) if reads_rows else "")


def _drop(table: ArchiveTable, files: Sequence[ArchivedFile]) -> None:
    """Remove files from the table. Raises ArchiveError, CommitConflict, OSError.

    The records of the streams say from then on what is missing.
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
    changed = {name: one for name, one in lost_with(table, files).items() if name in records}
    table.expire(files, [], table.write_state(changed, None), "repair")


def _repair_others(table: ArchiveTable, outcome: Repaired) -> list[str]:
    """Record what other programs have removed, and write their files again; return what is left.

    Raises ArchiveError, CommitConflict, OSError.
    """
    commits = [one for one in commits_since(table, {OPERATION: REPAIR}).commits if one.removed]
    if commits:
        changed, unknown = removed_by(table, commits)
        table.append(table.write_state(changed, ()), [], {OPERATION: REPAIR})
        outcome.done.append(
            f"other programs removed or changed rows in versions {listed(commits)}; now known: "
            + (
                ", ".join(f"{name} lacks {absences(one)}" for name, one in changed.items())
                or "nothing is lacking"
            )
        )
        if unknown:
            outcome.done.append(f"not known: the rows of {count_of(unknown, 'deleted file')}")
    if not all(file.is_own for file in table.files()):
        try:
            done = compact_others(table)
        except ArchiveError as error:
            return [str(error)]
        outcome.done.append(
            f"{count_of(done.files_before, 'file')} written again in order, as other programs had "
            "written some of them"
        )
    return []


def absences(record: StreamRecord) -> str:
    """Return the known absences of a stream in a few words."""
    numbers = [one.entries for one in record.absent]
    known = sum(number or 0 for number in numbers)
    return f"{'at least ' if None in numbers else ''}{count_of(known, 'entry')}"


def _repair_state(table: ArchiveTable, outcome: Repaired, *, lacks_files: bool) -> list[str]:
    """Repair the state; return what is left to do. Raises ArchiveError, CommitConflict, OSError."""
    found = check_state(table)
    if not found:
        return []
    reason = str(found[0])
    if lacks_files:
        return [f"{reason}: it can be rebuilt when no file is missing, or those are dropped"]
    records, version = rebuilt(table)
    table.append(table.write_whole_state(records), [], {"rillway.operation": "repair"})
    origin = "the rows alone" if version is None else f"that of version {version} and the rows"
    outcome.done.append(
        f"{reason}: rebuilt from {origin}, {count_of(len(records), 'stream')}; the next "
        "round compares each with the entries in memory"
    )
    return []
