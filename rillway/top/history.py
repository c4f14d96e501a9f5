"""The lag of each stream and group over the last minutes, for sparklines."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from rillway.sampler import StreamFigures

KEPT_MS = 300_000
Key = tuple[bytes, bytes | None]


class History:
    """Values by stream and group; None for a stream as a whole."""

    def __init__(self) -> None:
        self._values: dict[Key, deque[tuple[int, int]]] = {}

    def add(self, streams: Mapping[bytes, StreamFigures]) -> None:
        """Add the samples since the last call."""
        for name, stream in streams.items():
            if self._note((name, None), stream.time_ms, stream.lag):
                for group in stream.groups or ():
                    self._note((name, group.name), stream.time_ms, group.lag)
        if len(self._values) > 2 * len(streams) + 1000:
            self._values = {key: one for key, one in self._values.items() if key[0] in streams}

    def _note(self, key: Key, time_ms: int, value: int | None) -> bool:
        known = self._values.setdefault(key, deque())
        if known and known[-1][0] >= time_ms:
            return False
        if value is not None:
            known.append((time_ms, value))
        while known and known[0][0] < time_ms - KEPT_MS:
            known.popleft()
        return True

    def cells(
        self, stream: bytes, group: bytes | None, now_ms: int, span_ms: int, count: int
    ) -> list[int | None]:
        """Return the greatest value in each of `count` parts of the last `span_ms`.

        A part without a sample has the previous value.
        """
        found: list[int | None] = [None] * count
        start_ms = now_ms - span_ms
        before = None
        for time_ms, value in self._values.get((stream, group), ()):
            if time_ms <= start_ms:
                before = value
                continue
            part = min((time_ms - start_ms) * count // span_ms, count - 1)
            found[part] = max(found[part] or 0, value)
        for part in range(count):
            if found[part] is None:
                found[part] = before
            before = found[part]
        return found
