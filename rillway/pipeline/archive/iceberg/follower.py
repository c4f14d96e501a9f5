"""A mirror beside an archiver: it follows after each commit, and its failures stay its own.

The archive is what counts. Where the mirror cannot follow, archiving and trimming go on; it is
tried again at the end of the round, and what still fails then is one line, and an exit status.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rillway.pipeline.archive.files.store import ArchiveError, Store

if TYPE_CHECKING:
    from rillway.pipeline.archive.iceberg.mirror import Mirror


def open_mirror(store: Store, uri: str, name: str) -> Mirror:
    """Raises ArchiveError if pyiceberg is not installed."""
    try:
        from rillway.pipeline.archive.iceberg.mirror import Mirror
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise ArchiveError(f"{package} is missing: pip install 'rillway[iceberg]'") from None
    return Mirror(store, uri, name)


class Follower:
    """`failed`: the mirror lagged at the end of the last round."""

    def __init__(self, mirror: Mirror, report: Callable[[str], None]) -> None:
        self._mirror = mirror
        self._report = report
        self._has_failed_now = False
        self.failed = False

    def committed(self) -> None:
        """After a commit. Once it has failed, the rest of the round does not wait for it."""
        if not self._has_failed_now:
            try:
                self._mirror.follow()
            except ArchiveError:
                self._has_failed_now = True

    def round_ended(self) -> None:
        """Catch up with all that the round has committed, and with what was missed before."""
        self._has_failed_now = self.failed = False
        try:
            self._mirror.follow()
        except ArchiveError as error:
            self.failed = True
            self._report(f"not mirrored: {error}")
