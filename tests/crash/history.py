"""What one connection sent and was answered since the last look, and which part of it survived."""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.crash.comparison import Comparison, adopt, differences
from tests.crash.expectation import Expectation, Facts, Wrong
from tests.crash.observation import ObservedKeys
from tests.crash.workload import Step, Workload


@dataclass
class Record:
    """A step that was sent. `received` fills up until the step is acknowledged. Times: Unix ms."""

    step: Step
    sent_ms: int
    received: list[Any] = field(default_factory=list)
    acknowledged_ms: int | None = None

    def apply(self, keys: Expectation, found: ObservedKeys | None, now_ms: int) -> None:
        if self.acknowledged_ms is not None:
            facts = Facts(None, (self.sent_ms, self.acknowledged_ms))
            self.step.apply(keys, self.received, facts)
        else:
            self.step.apply(keys, None, Facts(None, (self.sent_ms, now_ms), found))


@dataclass(frozen=True)
class Survival:
    """How many records of a history have survived. `problem`: why no number fits."""

    records: int
    problem: str = ""


class History:
    """One connection's requests, and what its keys must hold because of them."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.keys = Expectation()  # after every acknowledged step
        self.acknowledged: list[Record] = []
        self.unanswered: list[Record] = []
        self._before = copy.deepcopy(self.keys)  # at the last look

    def draw(self, count: int, now_ms: int) -> list[Step]:
        """The next steps to send, all at once: `count` at most."""
        steps = [self.workload.step(self.keys)]
        while len(steps) < count and not steps[-1].is_chosen:
            steps.append(self.workload.step(self.keys))
        self.unanswered += [Record(step, now_ms) for step in steps]
        return steps

    def receive(self, reply: Any, now_ms: int) -> None:
        """The next reply. Raises Wrong if it is not what the keys say."""
        record = self.unanswered[0]
        record.received.append(reply)
        if len(record.received) == record.step.reply_count:
            record.acknowledged_ms = now_ms
            self.acknowledged.append(self.unanswered.pop(0))
            record.apply(self.keys, None, now_ms)

    def survived(
        self, found: ObservedKeys, how: Comparison, *, lossless_until_ms: int, now_ms: int
    ) -> Survival:
        """Which of the states that are allowed this is; the longest one is looked for first.

        lossless_until_ms: what was acknowledged up to then must be there.
        """
        keys = copy.deepcopy(self.keys)
        said = differences(keys, found, how)
        count = len(self.acknowledged)
        if not said:
            return self._take(keys, found, count)
        for more, record in enumerate(self.unanswered, 1):
            with suppress(Wrong):  # with a state that is not this one
                record.apply(keys, found, now_ms)
            if not differences(keys, found, how):
                return self._take(keys, found, count + more)
        least = sum((r.acknowledged_ms or 0) <= lossless_until_ms for r in self.acknowledged)
        fitting = self.prefixes_that_fit(found, how, now_ms)
        if fitting and fitting[-1] >= least:
            return self._take(self.after(fitting[-1], now_ms), found, fitting[-1])
        lines = [f"after {count} acknowledged steps, of which {least} must be there:", *said]
        if self.unanswered:
            lines.append(f"not answered: {[r.step.requests for r in self.unanswered][:3]}")
        return Survival(0, "\n  ".join(lines))

    def _take(self, keys: Expectation, found: ObservedKeys, count: int) -> Survival:
        adopt(keys, found)
        self.keys = keys
        return Survival(count)

    def after(self, count: int, now_ms: int) -> Expectation:
        """The keys after the first `count` of the steps that were acknowledged."""
        keys = copy.deepcopy(self._before)
        for record in self.acknowledged[:count]:
            record.apply(keys, None, now_ms)
        return keys

    def prefixes_that_fit(self, found: ObservedKeys, how: Comparison, now_ms: int) -> list[int]:
        """After how many of the acknowledged steps the keys held what is there, ascending.

        There are several where steps changed nothing.
        """
        keys = copy.deepcopy(self._before)
        fitting = []
        for number, record in enumerate([*self.acknowledged, None]):
            if not differences(keys, found, how):
                fitting.append(number)
            if record is not None:
                record.apply(keys, None, now_ms)
        return fitting

    def start_anew(self) -> None:
        """The state is the one that was taken; a new round begins."""
        self.acknowledged, self.unanswered = [], []
        self._before = copy.deepcopy(self.keys)
