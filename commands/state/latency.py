"""The latency monitor: slow events by name, as LATENCY reports them.

An event (`command`, `fast-command`, `expire-cycle`, ...) that took at least
latency-monitor-threshold milliseconds leaves a sample. Each event keeps its 160 latest samples, one
for each second; of several in the same second the slowest is kept.

Source: LATENCY of Redis 7.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commands.config.configuration import Configuration

MAX_SAMPLES = 160


class LatencyEvent:
    """The samples of one event."""

    def __init__(self) -> None:
        self.samples: deque[tuple[int, int]] = deque(
            maxlen=MAX_SAMPLES
        )  # (Unix s, ms), oldest first
        self.max_ms = 0  # since the event was seen first

    def add(self, time_s: int, duration_ms: int) -> None:
        """One more sample."""
        self.max_ms = max(self.max_ms, duration_ms)
        if self.samples and self.samples[-1][0] == time_s:
            duration_ms = max(duration_ms, self.samples.pop()[1])
        self.samples.append((time_s, duration_ms))


class LatencyMonitor:
    """Samples of slow events."""

    def __init__(self, config: Configuration) -> None:
        self.config = config
        self.events: dict[bytes, LatencyEvent] = {}

    def sample(self, event: bytes, duration_ms: int, now_ms: int) -> None:
        """`event` took `duration_ms`, at or above latency-monitor-threshold."""
        self.events.setdefault(event, LatencyEvent()).add(now_ms // 1000, duration_ms)

    def reset(self, names: list[bytes]) -> int:
        """Delete the named events, or all if none is named; return the number deleted."""
        return sum(self.events.pop(name, None) is not None for name in names or list(self.events))
