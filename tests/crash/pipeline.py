"""A connection that adds entries in pipelines of 64, with IDs from the server.

What came back is written down reply by reply: after a crash, each entry of a reply that was seen
must be there under that ID, as far as the policy promises, and none may be missing before another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.crash.expectation import Wrong
from tests.crash.observation import Ask
from tests.crash.workload import Request, Step, is_refusal

KEY = b"pipelined"
SIZE = 64


@dataclass(frozen=True)
class Added:
    """An entry that was acknowledged: the number in it, its ID, and when, in Unix ms."""

    number: bytes
    entry_id: bytes
    when_ms: int


@dataclass
class Pipeline:
    """What one connection has added since the last look, and what was there then."""

    there: list[list[Any]] = field(default_factory=list)  # entries: ID, [b"n", number]
    acknowledged: list[Added] = field(default_factory=list)
    unanswered: list[bytes] = field(default_factory=list)  # the numbers, in order
    _next: int = 0

    def draw(self, count: int, now_ms: int) -> list[Step]:
        """The next pipeline, whatever the count."""
        numbers = [b"%d" % number for number in range(self._next, self._next + SIZE)]
        self._next += SIZE
        self.unanswered += numbers
        argvs = [(b"XADD", KEY, b"*", b"n", number) for number in numbers]
        return [Step((Request(argv, lambda keys, facts: None),)) for argv in argvs]

    def receive(self, reply: Any, now_ms: int) -> None:
        """The next reply. Raises Wrong if it is neither an ID nor a refusal."""
        number = self.unanswered.pop(0)
        if isinstance(reply, bytes):
            self.acknowledged.append(Added(number, reply, now_ms))
        elif not is_refusal(reply):
            raise Wrong(f"XADD in a pipeline was answered {reply!r}")

    def check(self, ask: Ask, lossless_until_ms: int) -> None:
        """Compare with what a server holds; go on from there. Raises Wrong."""
        found = ask("XRANGE", KEY, "-", "+") or []
        if len(found) < len(self.there):
            raise Wrong(f"{KEY!r} has {len(found)} entries, {len(self.there)} before")
        expected = self.there + [[one.entry_id, [b"n", one.number]] for one in self.acknowledged]
        for entry, wanted in zip(found, expected, strict=False):
            if entry != wanted:
                raise Wrong(f"{KEY!r} has {entry}, where {wanted} was acknowledged")
        for one in self.acknowledged[max(0, len(found) - len(self.there)) :]:
            if one.when_ms <= lossless_until_ms:
                raise Wrong(f"{one} is lost")
        rest = iter(self.unanswered)
        for entry in found[len(expected) :]:
            if entry[1][1] not in rest:  # in this order; those between were refused
                raise Wrong(f"{KEY!r} has {entry}, which was not added then")
        self.there, self.acknowledged, self.unanswered = found, [], []
