"""The table of queues: what the keys do not tell is a dash."""

from __future__ import annotations

from collections.abc import Sequence

from rillway.queues.finder import Known
from rillway.queues.queue import Figures, Queue
from rillway.top.queue_table import queue_lines
from rillway.top.state import Shown, State
from rillway.top.tables import View

MAIL = Known(Queue("rq", b"", b"mail\x1b"), figures=Figures(12_000, 3, 0, 2, 4, 65_000, done=9))
HUEY = Known(Queue("huey", b"", b"app"), figures=Figures(1))


def lines(queues: Sequence[Known] | None) -> list[str]:
    return [line.text.rstrip() for line in queue_lines(View(State(), Shown(), queues=queues), 100)]


def test_queues_are_one_line_each() -> None:
    heading, mail, huey = lines([MAIL, HUEY])
    assert heading.split() == [
        *("QUEUE,", "2", "framework", "waiting", "running", "delayed", "failed", "workers"),
        *("in/s", "out/s", "oldest"),
    ]
    assert mail.split() == ["mail\\x1b", "rq", "12.0k", "3", "0", "2", "4", "-", "-", "1m05s"]
    assert huey.split() == ["app", "huey", "1", *"-" * 7]


def test_without_queues_it_says_whether_they_are_still_looked_for() -> None:
    assert lines(None) == ["  QUEUES: looking through the names of keys"]
    assert lines([]) == ["  QUEUES: no queues"]
