"""Log lines that clients can cause at will: one of a kind a minute, and the number of the others.

Otherwise a stranger who connects again and again fills the disk, and hides what else is logged.
"""

from __future__ import annotations

from collections.abc import Callable

from protocol.records import entity

PERIOD_US = 60_000_000


@entity
class _Kind:
    """Lines of one kind: since the last that was written."""

    ends_us: int  # of its minute
    level: str
    last: str = ""
    count: int = 0


class BoundedLog:
    """The kinds of which a line was written within the last minute."""

    def __init__(self, log: Callable[[str, str], None]) -> None:
        self._log = log
        self._kinds: dict[str, _Kind] = {}

    def add(self, level: str, kind: str, message: str, now_us: int) -> None:
        """Write a line, or count it if its kind has had one."""
        found = self._kinds.get(kind)
        if found is None:
            self._kinds[kind] = _Kind(now_us + PERIOD_US, level)
            self._log(level, message)
        else:
            found.count += 1
            found.last = message

    def tick(self, now_us: int) -> None:
        """Called several times a second: write how many there were, once their minute is over."""
        due = [name for name, kind in self._kinds.items() if kind.ends_us <= now_us]
        for name in due:
            kind = self._kinds.pop(name)
            if kind.count:
                text = f"{name}: {kind.count} more within a minute. The last: {kind.last}"
                self._log(kind.level, text)
                self._kinds[name] = _Kind(now_us + PERIOD_US, kind.level)
