"""A server with recorded keys, and what finds queues in it; no sockets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hiredis
import pytest

from rillway.queues.finder import Finder, Known
from rillway.queues.frameworks import BY_NAME
from rillway.queues.queue import Action, Job, State, Steps
from rillway.sampler.replies import Reply, Words
from server.inprocess.server import InProcessServer
from tests.rillway.queues.keys import ALL, NOW_MS


class Found:
    """The queues of a server with the keys of `frameworks`."""

    def __init__(self, *frameworks: str) -> None:
        self.server = InProcessServer(now_ms=NOW_MS)
        self.client = self.server.connect()
        self.sent: list[str] = []
        self.finder = Finder()
        self.now_s = 0.0
        for name in frameworks:
            for request in ALL[name]:
                assert not isinstance(self.call(*request), Exception)

    def call(self, *words: bytes | str | int | float) -> Reply:
        self.sent.append(str(words[0]))
        reader = hiredis.Reader(replyError=RuntimeError)
        reader.feed(
            self.client.execute(*(str(one) if isinstance(one, float) else one for one in words))
        )
        return reader.gets()

    def call_all(self, requests: Sequence[Words]) -> list[Reply]:
        return [self.call(*words) for words in requests]

    def look(self) -> dict[tuple[str, bytes], Known]:
        """Look through all names once more, and measure all queues."""
        self.finder.begin_round()
        for _ in range(10_000):
            if self.finder.is_complete:
                break
            self.now_s += 0.1
            requests = self.finder.plan(self.now_s)
            if requests:
                self.finder.accept(self.call_all(requests), self.now_s)
        return {(one.queue.framework, one.queue.label): one for one in self.finder.queues}

    def run(self, steps: Steps[Any]) -> Any:
        try:
            requests = next(steps)
            while True:
                requests = steps.send(self.call_all(requests))
        except StopIteration as end:
            return end.value

    def jobs(
        self, framework: str, label: bytes, state: State, first: int = 0, count: int = 50
    ) -> list[Job]:
        known = self.finder.find(framework, label)
        assert known is not None
        notes = self.finder.notes_of(known.queue)
        steps = BY_NAME[framework].jobs(known.queue, state, first, count, notes, NOW_MS)
        found: list[Job] = self.run(steps)
        return found

    def ids(self, framework: str, label: bytes, state: State) -> list[str]:
        return [one.id for one in self.jobs(framework, label, state)]

    def act(self, framework: str, label: bytes, action: Action, *ids: str) -> int:
        known = self.finder.find(framework, label)
        assert known is not None
        done: int = self.run(BY_NAME[framework].act(action, known.queue, ids, NOW_MS))
        return done


@pytest.fixture
def everything() -> Found:
    found = Found(*ALL)
    found.look()
    return found
