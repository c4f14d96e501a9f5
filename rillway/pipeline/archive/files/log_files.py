"""The log of a table as files: finds damaged versions and checkpoints.

deltalake either opens a table or does not. Its errors concern its parser, and it accepts versions
that are empty or cut off after a line. This module reads each file by itself, so that an error can
name the damaged file, what is still intact, and what to do.
"""

from __future__ import annotations

import json
import os
import pwd
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileType

from rillway.pipeline.archive.files.store import (
    MAX_REASON,
    LogDamaged,
    Store,
    check_answered,
    first_line,
    reason_of,
    sync,
)
from rillway.pipeline.wire.places import LOG_FOLDER
from rillway.plurals import count_of

LAST_CHECKPOINT = f"{LOG_FOLDER}/_last_checkpoint"
VERSION = re.compile(r"(\d{20})\.json")
CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")
# In `commitInfo` of the archive's commits: the number of the other actions.
ACTIONS = "rillway.actions"
MAX_NAMED = 2
KEPT_FOLDER = "_rillway/checkpoints"


@dataclass(frozen=True, slots=True)
class Damage:
    """A damaged or missing file of the log. `reason`: part of a sentence."""

    version: int
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The files of a log, intact and damaged.

    `versions`, `checkpoints`: the intact ones; `damaged`: versions that are damaged, or missing
    between others, and that no checkpoint replaces, in order; `damaged_checkpoints`: including a
    pointer to one that is missing.
    """

    versions: tuple[int, ...]
    checkpoints: tuple[int, ...]
    damaged: tuple[Damage, ...]
    damaged_checkpoints: tuple[Damage, ...]

    @property
    def last(self) -> int:
        """The last version, intact or damaged; -1 if there is none."""
        return max([*self.versions, *(one.version for one in self.damaged)], default=-1)

    @property
    def last_whole(self) -> int:
        """The last version before any damage; -1 if there is none."""
        if self.damaged:
            return self.damaged[0].version - 1
        return max([*self.versions, *self.checkpoints], default=-1)

    @property
    def is_damaged(self) -> bool:
        return bool(self.damaged or self.damaged_checkpoints)

    @property
    def ends_with_damage(self) -> bool:
        """Return True if only the last version is damaged."""
        return [one.version for one in self.damaged] == [self.last]


def version_path(version: int) -> str:
    return f"{LOG_FOLDER}/{version:020d}.json"


def checkpoint_path(version: int) -> str:
    return f"{LOG_FOLDER}/{version:020d}.checkpoint.parquet"


def kept_path(version: int) -> str:
    """Return the path of the copy of a checkpoint, which replaces deleted versions."""
    return f"{KEPT_FOLDER}/{version:020d}.checkpoint.parquet"


def keep_checkpoint(store: Store) -> None:
    """Copy the last checkpoint, and delete copies of older ones. Raises OSError."""
    version = _hinted(store)
    if version is None or version <= max(kept_checkpoints(store), default=-1):
        return
    store.copy(checkpoint_path(version), kept_path(version))
    for other in kept_checkpoints(store):
        if other < version:
            store.remove(kept_path(other))


def kept_checkpoints(store: Store) -> list[int]:
    """Return the versions whose checkpoints have copies. Raises OSError."""
    names = (CHECKPOINT.fullmatch(info.base_name) for info in store.listed(KEPT_FOLDER))
    return sorted(int(found[1]) for found in names if found)


def kept_checkpoint(store: Store, log: LogFiles) -> int | None:
    """Return the version of an intact copy that makes the log readable. Raises OSError."""
    first = min(log.versions, default=0)
    for version in reversed(kept_checkpoints(store)):
        if version >= first - 1 and not _checkpoint_damage(store, kept_path(version)):
            return version
    return None


def read_log(store: Store, error: str = "") -> LogFiles:
    """Read the log. Raises OSError, StoreFailed.

    `error`: why deltalake does not open it. If no other damage is found, the checkpoint is to
    blame: deltalake reads checkpoints more strictly than Arrow.
    """
    log = _read_log(store, frozenset())
    if error and not log.is_damaged and log.checkpoints:
        damage = Damage(log.checkpoints[-1], checkpoint_path(log.checkpoints[-1]), error)
        log = _read_log(store, frozenset([damage.version]))
        log = replace(log, damaged_checkpoints=(damage, *log.damaged_checkpoints))
    return log


def _read_log(store: Store, rejected: frozenset[int]) -> LogFiles:
    """Read the log. `rejected`: checkpoints that are damaged although Arrow can read them."""
    names = [info.base_name for info in store.listed(LOG_FOLDER)]
    versions = sorted(int(found[1]) for name in names if (found := VERSION.fullmatch(name)))
    checkpoints = sorted(int(found[1]) for name in names if (found := CHECKPOINT.fullmatch(name)))
    reasons = {
        version: _checkpoint_damage(store, checkpoint_path(version)) for version in checkpoints
    }
    whole = [v for v, reason in reasons.items() if not reason and v not in rejected]
    damaged_checkpoints = [
        Damage(version, checkpoint_path(version), reason)
        for version, reason in reasons.items()
        if reason and not any(other > version for other in whole)
    ]
    damaged_checkpoints += _hint_damage(store, checkpoints)
    first = max(whole, default=-1) + 1
    there = set(versions)
    damaged = []
    if first not in there and first < min(versions, default=0):
        first_there = min(versions)
        reason = f"it is missing, like those up to version {first_there - 1}"
        damaged.append(Damage(first, version_path(first), reason))
        first = first_there
    for version in range(first, max(versions, default=-1) + 1):
        reason = version_damage(store, version) if version in there else "it is missing"
        if reason:
            damaged.append(Damage(version, version_path(version), reason))
    unwhole = {one.version for one in damaged}
    kept = tuple(version for version in versions if version not in unwhole)
    return LogFiles(kept, tuple(whole), tuple(damaged), tuple(damaged_checkpoints))


def version_damage(store: Store, version: int) -> str:
    """Return what is wrong with a version; empty if it is intact. Raises StoreFailed."""
    try:
        actions = read_version(store, version)
    except (OSError, ValueError) as error:
        check_answered(store, version_path(version), error)
        return reason_of(error)
    info = next((action["commitInfo"] for action in actions if "commitInfo" in action), None)
    if info is None:
        return "it is empty" if not actions else "it has no commitInfo"
    expected = info.get(ACTIONS)
    if expected is not None and int(expected) != len(actions) - 1:
        return f"it has {len(actions) - 1} of {count_of(int(expected), 'action')}"
    return ""


def read_version(store: Store, version: int) -> list[Mapping[str, Any]]:
    """Return the actions of a version. Raises OSError, ValueError."""
    with store.filesystem.open_input_stream(version_path(version)) as file:
        lines = file.read().decode().splitlines()
    actions = [json.loads(line) for line in lines if line]
    if not all(isinstance(action, dict) for action in actions):
        raise ValueError("it is not a list of actions")
    return actions


def _checkpoint_damage(store: Store, path: str) -> str:
    try:
        with pq.ParquetFile(path, filesystem=store.filesystem) as parquet:
            if not parquet.read(columns=["protocol", "metaData", "add"]).num_rows:
                return "it is empty"
    except (OSError, pa.ArrowException, ValueError) as error:
        check_answered(store, path, error)
        return reason_of(error)
    return ""


def _hint_damage(store: Store, checkpoints: Sequence[int]) -> list[Damage]:
    """Check that the checkpoint that `_last_checkpoint` names exists.

    deltalake ignores an unreadable `_last_checkpoint`.
    """
    version = _hinted(store)
    if version is None:
        return []
    # It may have been written since the log was listed.
    if version in checkpoints or store.has(checkpoint_path(version)):
        return []
    return [Damage(version, LAST_CHECKPOINT, f"it names version {version}, which is missing")]


def _hinted(store: Store) -> int | None:
    """Return the version that `_last_checkpoint` names, if it can be read."""
    try:
        with store.filesystem.open_input_stream(LAST_CHECKPOINT) as file:
            return int(json.loads(file.read())["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


# -- as sentences ---------------------------------------------------------------------------------


def log_damaged(store: Store, error: Exception) -> LogDamaged:
    """Return why a log cannot be read. Raises StoreFailed if `error`, deltalake's, is no damage."""
    check_answered(store, LOG_FOLDER, error)
    reason = first_line(error)
    return LogDamaged(log_sentence(store, reason), reason)


def check_version(store: Store, version: int) -> None:
    """Check the last version: deltalake accepts one that is empty or cut off after a line. A
    version with a checkpoint is not read. Raises LogDamaged.
    """
    is_there = store.filesystem.get_file_info(version_path(version)).type == FileType.File
    if is_there and version_damage(store, version) and read_log(store).is_damaged:
        raise LogDamaged(log_sentence(store, ""))


def log_sentence(store: Store, error: str) -> str:
    """Return why a log cannot be read: the damaged files, what is safe, how to repair it.

    `error`: deltalake's, used if the files themselves show no damage.
    """
    try:
        log = read_log(store, error[:MAX_REASON])
    except OSError as failure:
        return f"{store}: the log cannot be read: {reason_of(failure)}"
    if not log.is_damaged:
        return f"{store}: {error[: 2 * MAX_REASON]}"
    found = (*log.damaged_checkpoints, *log.damaged)
    where = "; ".join(f"{one.path}: {one.reason}" for one in found[:MAX_NAMED])
    more = f"; and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    return (
        f"{store}: the log is damaged: {where}{more}. The files with the rows are not affected; "
        f"{_remedy(store, log)}"
    )


def _remedy(store: Store, log: LogFiles) -> str:
    repair = f"`rillway archive repair --to {store}`"
    if log.last_whole < 0 and kept_checkpoint(store, log) is not None:
        return f"{repair} restores a checkpoint from its copy and continues from there"
    if log.last_whole < 0:
        return f"restore {LOG_FOLDER} from a backup, as nothing before the damage is left"
    if not log.damaged:
        return f"all versions up to {log.last} are intact, and {repair} makes a new checkpoint"
    if log.ends_with_damage:
        return f"{repair} rebuilds version {log.last}, or goes back to {log.last_whole}"
    return (
        f"versions up to {log.last_whole} are intact: restore the others from a backup, or "
        f"{repair} rebuilds what it can"
    )


def no_archive_sentence(store: Store) -> str:
    """Return a sentence about a place without an archive."""
    folder = store.folder
    if folder is None:
        return f"{store}: there is no archive"
    if not folder.exists():
        return f"{store}: there is no archive: there is no such folder"
    if not folder.is_dir():
        return f"{store}: there is no archive: it is a file"
    files = sum(1 for _ in folder.glob("date=*/*.parquet"))
    if not files:
        return f"{store}: there is no archive: the folder has no {LOG_FOLDER}"
    return (
        f"{store}: there is no archive: {LOG_FOLDER} is missing or empty; restore it from a backup."
        f" Still there: {count_of(files, 'file')} with rows"
    )


def check_readable(folder: Path) -> str:
    """Return why a log in a folder cannot be listed; empty if it can, or does not exist."""
    for path in (folder, folder / LOG_FOLDER):
        try:
            os.listdir(path)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError as error:
            return f"{path}: {error.strerror}{_owner(path)}"
    return ""


def _owner(path: Path) -> str:
    try:
        names = [pwd.getpwuid(number).pw_name for number in (path.stat().st_uid, os.geteuid())]
    except (OSError, KeyError):
        return ""
    return f": it belongs to {names[0]}, and this is {names[1]}" if names[0] != names[1] else ""


def sync_log(store: Store, version: int) -> None:
    """Sync a version of the log: a trim must not rely on a commit that a power cut can undo.

    Its checkpoint and the pointer to that are synced as well, if there are any.
    """
    if store.folder is None:
        return
    for path in (version_path(version), checkpoint_path(version), LAST_CHECKPOINT):
        if (store.folder / path).is_file():
            sync(store.folder / path)
    sync(store.folder / LOG_FOLDER)
    sync(store.folder)
