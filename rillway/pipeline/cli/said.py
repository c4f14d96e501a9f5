"""What a command that runs for ever has said, and does not say again soon."""

from __future__ import annotations

import time
from collections.abc import Callable

SILENT_SECONDS = 60


class Said:
    """What was said in the last minute, so that rounds of a second do not fill a log."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[object, float] = {}

    def lets(self, about: object) -> bool:
        """Return True, and not again for a minute, for something that is to be said."""
        now = self._clock()
        self._until = {key: until for key, until in self._until.items() if until > now}
        if about in self._until:
            return False
        self._until[about] = now + SILENT_SECONDS
        return True
