"""A year, day by day: departures are added, two groups read them, the archiver comes each night.

The IDs are the departures' own times, so the archive's days are those of the data set. `boards`
keeps up; `billing` is days behind, and leaves some entries unacknowledged for as long again: what
it needs stays in memory, and nothing else does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rillway.demo.departures.data_set import Departure
from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.engine import Engine
from rillway.pipeline.archive.files.periods import MS_PER_DAY
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.wire.connection import Connection, Reply
from rillway.pipeline.wire.facts import as_map

STREAM = "departures"
PROMPT, SLOW = "boards", "billing"
SLOW_DAYS = 3
# One in this number is left alone by the slow group until it is that far behind once more.
LEFT_ALONE = 50
KEEP_MS = MS_PER_DAY
PIPELINED = 500


@dataclass(frozen=True, slots=True)
class Sample:
    """The end of a day. `archived` a second is the archiver's own rate, trim included."""

    day: int
    produced: int
    archived: int
    trimmed: int
    in_memory: int
    lags: dict[str, int]
    pending: int
    used_memory_bytes: int
    archive_bytes: int
    archive_rate: float
    held_up_by: str


class Year:
    """Runs days on one server and one archive."""

    def __init__(self, url: str, table: ArchiveTable, engine: Engine) -> None:
        self._url, self._table, self.engine = url, table, engine
        self._connection = Connection(url)
        self._produced = self._archived = self._trimmed = 0
        self._archive_bytes = 0
        self._days: list[int] = []
        for group in (PROMPT, SLOW):
            self._connection.call("XGROUP", "CREATE", STREAM, group, "0", "MKSTREAM")

    def close(self) -> None:
        self._connection.close()

    def run(
        self, departures: Sequence[Departure], advanced: Callable[[int], None]
    ) -> Iterator[Sample]:
        """All days that the departures have, each with its night."""
        for day, on_day in groupby(departures, key=day_of):
            todays = list(on_day)
            self.produce(todays)
            advanced(len(todays))
            self._read(PROMPT, None)
            self._acknowledge(PROMPT, 1)
            self._days.append(len(todays))
            if len(self._days) > SLOW_DAYS:
                self._read(SLOW, self._days[-SLOW_DAYS - 1])
                self._acknowledge(SLOW, LEFT_ALONE)
            yield self.night(day)

    def produce(self, departures: Sequence[Departure]) -> None:
        for begin in range(0, len(departures), PIPELINED):
            requests = [
                ("XADD", STREAM, f"{departure.scheduled_ms}-*", *flat(departure))
                for departure in departures[begin : begin + PIPELINED]
            ]
            for reply in self._connection.call_all(requests):
                if isinstance(reply, Exception):
                    raise reply
        self._produced += len(departures)

    def catch_up(self) -> None:
        """Both groups read and acknowledge everything."""
        for group in (PROMPT, SLOW):
            self._read(group, None)
            self._acknowledge(group, 1)

    def night(self, day: int, keep_ms: int = KEEP_MS) -> Sample:
        """The archiver, and how things are after it."""
        began = time.monotonic()
        settings = ArchiverSettings(self._url, rules=TrimRules(keep_ms=keep_ms))
        outcome = Archiver(self._table, self.engine, settings).round([STREAM])
        report = outcome.reports[STREAM]
        seconds = time.monotonic() - began
        self._archived += report.archived
        self._trimmed += report.trimmed
        self._archive_bytes += outcome.bytes
        groups = [as_map(group) for group in self._connection.call("XINFO", "GROUPS", STREAM)]
        lags = {group[b"name"].decode(): group[b"lag"] or 0 for group in groups}
        return Sample(
            day=day,
            produced=self._produced,
            archived=self._archived,
            trimmed=self._trimmed,
            in_memory=report.remaining,
            lags={name: lags[name] for name in (PROMPT, SLOW)},
            pending=sum(group[b"pending"] for group in groups),
            used_memory_bytes=used_memory(self._connection.call("INFO", "memory")),
            archive_bytes=self._archive_bytes,
            archive_rate=report.archived / seconds,
            held_up_by=", ".join(holdup.group for holdup in report.holdups),
        )

    def _read(self, group: str, count: int | None) -> None:
        """`count` None: everything."""
        left = count if count is not None else self._produced
        while left > 0:
            words = ("XREADGROUP", "GROUP", group, "c", "COUNT", min(left, 1000))
            reply = self._connection.call(*words, "STREAMS", STREAM, ">")
            if not reply:
                return
            left -= len(reply[0][1])

    def _acknowledge(self, group: str, all_but_one_in: int) -> None:
        """All that is pending; or all that is of former days, and of the new all but some."""
        pending = [entry[0] for entry in self._pending(group)]
        older = len(pending) // 2 if all_but_one_in > 1 else 0
        chosen = [
            entry_id
            for place, entry_id in enumerate(pending)
            if all_but_one_in == 1 or place % all_but_one_in or place < min(older, LEFT_ALONE)
        ]
        for begin in range(0, len(chosen), PIPELINED):
            self._connection.call("XACK", STREAM, group, *chosen[begin : begin + PIPELINED])

    def _pending(self, group: str) -> Reply:
        return self._connection.call("XPENDING", STREAM, group, "-", "+", 1_000_000)


def day_of(departure: Departure) -> int:
    """The UTC day since 1970."""
    return departure.scheduled_ms // MS_PER_DAY


def flat(departure: Departure) -> list[str]:
    return [word for pair in departure.fields().items() for word in pair]


def used_memory(info: bytes) -> int:
    lines = dict(line.split(":", 1) for line in info.decode().split() if ":" in line)
    return int(lines["used_memory"])
