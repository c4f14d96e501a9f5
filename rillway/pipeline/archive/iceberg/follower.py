"""A mirror beside an archiver: it follows after each commit, and its failures stay its own.

The archive is what counts. Where the mirror cannot follow, archiving and trimming go on; it is
tried again at the end of the round, and what still fails then is one line, and an exit status.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from rillway.pipeline.archive.files.store import ArchiveError, Store

if TYPE_CHECKING:
    from rillway.pipeline.archive.iceberg.mirror import Mirror

PATIENCE_SECONDS = 60.0


def open_mirror(store: Store, uri: str, name: str) -> Mirror:
    """Raises ArchiveError if pyiceberg is not installed."""
    try:
        from rillway.pipeline.archive.iceberg.mirror import Mirror
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise ArchiveError(f"{package} is missing: pip install 'rillway[iceberg]'") from None
    return Mirror(store, uri, name)


class Follower:
    """`failed`: the mirror lagged at the end of the last round.

    A catalogue that does not answer is not waited for any longer than `patience_seconds`; nothing
    in pyiceberg or below it has a limit.
    """

    def __init__(
        self,
        mirror: Mirror,
        report: Callable[[str], None],
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._mirror = mirror
        self._report = report
        self._patience_seconds = patience_seconds
        self._attempt: _Attempt | None = None
        self._has_failed_now = False
        self.failed = False

    def committed(self) -> None:
        """After a commit. Once it has failed, the rest of the round does not wait for it."""
        if not self._has_failed_now:
            self._has_failed_now = self._failure() is not None

    def round_ended(self) -> None:
        """Catch up with all that the round has committed, and with what was missed before."""
        failure = self._failure()
        self._has_failed_now, self.failed = False, failure is not None
        if failure is not None:
            self._report(f"not mirrored: {failure}")

    def _failure(self) -> Exception | None:
        """Follow. Why it could not, or None."""
        if self._attempt is None or not self._attempt.is_alive():
            self._attempt = _Attempt(self._mirror)
            self._attempt.start()
            self._attempt.join(self._patience_seconds)
        if self._attempt.is_alive():
            return TimeoutError("the catalogue does not answer")
        return self._attempt.failure


class _Attempt(threading.Thread):
    """Of a mirror to follow. The process does not wait for it when it ends."""

    def __init__(self, mirror: Mirror) -> None:
        super().__init__(daemon=True)
        self._mirror = mirror
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            self._mirror.follow()
        except Exception as failure:
            self.failure = failure
