"""The commits of other programs in the log of a table.

Own commits have the number of their actions in `commitInfo`, which other programs do not write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from rillway.pipeline.archive.files.log_files import ACTIONS, read_version
from rillway.pipeline.archive.table import ArchiveTable

OPERATION = "rillway.operation"
REPAIR = "repair"
RESTORE = "RESTORE"
MAX_LISTED = 5


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of another program."""

    version: int
    operation: str
    actions: Sequence[Mapping[str, Any]]

    @property
    def added(self) -> Iterator[Mapping[str, Any]]:
        return (action["add"] for action in self.actions if "add" in action)

    @property
    def removed(self) -> list[str]:
        """The files whose rows it removed, or wrote again with changes."""
        found = (action["remove"] for action in self.actions if "remove" in action)
        return [unquote(one["path"]) for one in found if one.get("dataChange", True)]


@dataclass(frozen=True, slots=True)
class Found:
    """Commits of other programs, in order. `is_whole`: False if the log begins after the first."""

    commits: list[Commit]
    is_whole: bool


def commits_since(
    table: ArchiveTable,
    mark: Mapping[str, str],
    first: int = 0,
    known: frozenset[int] = frozenset(),
) -> Found:
    """Return the commits of other programs after the last own one with `mark`.

    Looks back to version `first`. `known`: versions that are certainly own ones.
    """
    found: list[Commit] = []
    for version in range(table.version, first - 1, -1):
        if version in known:
            continue
        try:
            actions = read_version(table.store, version)
        except FileNotFoundError:
            return Found(found[::-1], is_whole=False)
        except (OSError, ValueError):
            # A damaged version: `verify` reports it.
            continue
        info: Mapping[str, Any] = next(
            (one["commitInfo"] for one in actions if "commitInfo" in one), {}
        )
        if ACTIONS in info and mark.items() <= info.items():
            break
        if ACTIONS not in info:
            found.append(Commit(version, str(info.get("operation", "commit")), actions))
    return Found(found[::-1], is_whole=True)


def listed(commits: Sequence[Commit]) -> str:
    """Return versions and operations as part of a sentence."""
    shown = ", ".join(f"{one.version} ({one.operation})" for one in commits[:MAX_LISTED])
    more = len(commits) - MAX_LISTED
    return f"{shown} and {more:,} more" if more > 0 else shown
