"""Updates a mirror after each commit of an archiver; failures do not affect the archiver.

If an update fails, archiving and trimming continue. It is retried at the end of the round; if it
still fails, one line reports it, and the exit status shows it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rillway.pipeline.archive.files.store import ArchiveError, Store

if TYPE_CHECKING:
    from rillway.pipeline.archive.iceberg.mirror import Mirror

PATIENCE_SECONDS = 60.0


def check_installed() -> None:
    """Raise ArchiveError if pyiceberg is not installed, without importing it, which is slow."""
    if find_spec("pyiceberg") is None:
        raise ArchiveError("pyiceberg is missing: pip install 'rillway[iceberg]'")


def open_mirror(store: Store, uri: str, name: str) -> Mirror:
    """Return a mirror. Raises ArchiveError if pyiceberg is not installed."""
    check_installed()
    from rillway.pipeline.archive.iceberg.mirror import Mirror

    return Mirror(store, uri, name)


class Follower:
    """Updates a mirror. `failed`: True if the mirror lagged at the end of the last round.

    It waits for a catalogue that does not answer for `patience_seconds` at most: pyiceberg and its
    clients have no timeouts.
    """

    def __init__(
        self,
        opened: Callable[[], Mirror],
        report: Callable[[str], None],
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._open = opened
        self._mirror: Mirror | None = None
        self._report = report
        self._patience_seconds = patience_seconds
        self._attempt: _Attempt | None = None
        self._has_failed_now = False
        self.failed = False

    def committed(self) -> None:
        """Update the mirror after a commit, unless that has failed before in the round."""
        if not self._has_failed_now:
            self._has_failed_now = self._failure() is not None

    def round_ended(self) -> None:
        """Update the mirror at the end of a round, including what earlier attempts missed."""
        failure = self._failure()
        self._has_failed_now, self.failed = False, failure is not None
        if failure is not None:
            self._report(f"not mirrored: {failure}")

    def _failure(self) -> Exception | None:
        """Update the mirror; return the error if that failed."""
        if self._attempt is None or not self._attempt.is_alive():
            self._attempt = _Attempt(self._follow)
            self._attempt.start()
            self._attempt.join(self._patience_seconds)
        if self._attempt.is_alive():
            return TimeoutError("the catalogue does not answer")
        return self._attempt.failure

    def _follow(self) -> None:
        if self._mirror is None:
            self._mirror = self._open()
        self._mirror.follow()


class _Attempt(threading.Thread):
    """An update in a daemon thread, which the process does not wait for when it ends."""

    def __init__(self, follow: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._follow = follow
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            self._follow()
        except Exception as failure:
            self.failure = failure
