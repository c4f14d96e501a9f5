"""A cluster core of one node, its data, and IDs, for tests."""

from __future__ import annotations

import random

from protocol.records import entity
from server.cluster.core import Cluster
from server.cluster.events import Action, Save, Tick
from server.cluster.state import Settings

START_MS = 1_700_000_000_000


@entity
class FakeData:
    """Keys and replication as the test says."""

    keys: dict[int, int]
    offset: int = 0
    age_ms: int | None = 0

    def replication_offset(self) -> int:
        return self.offset

    def data_age_ms(self) -> int | None:
        return self.age_ms

    def keys_in_slot(self, slot: int) -> int:
        return self.keys.get(slot, 0)

    def has_keys(self) -> bool:
        return any(self.keys.values())


class SingleNode:
    """A core with a clock of its own. `saved` is what the last Save had."""

    def __init__(self, config: str = "", **settings: object) -> None:
        self.now_ms = START_MS
        self.data = FakeData({})
        self.settings = Settings(**settings)  # type: ignore[arg-type]
        self.cluster = Cluster(self.settings, self.data, random.Random(1), config, self.now_ms)
        self.saved = ""
        self.take()

    def take(self) -> list[Action]:
        """The actions since the last call."""
        return self._keep(self.cluster.take_actions(self.now_ms))

    def tick(self, seconds: float = 0.1) -> list[Action]:
        """The actions of the ticks of some time."""
        actions: list[Action] = []
        for _ in range(round(seconds * 10)):
            self.now_ms += 100
            actions += self._keep(self.cluster.step(Tick(), self.now_ms))
        return actions

    def _keep(self, actions: list[Action]) -> list[Action]:
        for action in actions:
            if isinstance(action, Save):
                self.saved = action.text
        return actions
