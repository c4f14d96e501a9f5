"""What is known of a queue and of its jobs, whatever framework keeps them; no I/O.

A framework asks the server by `Steps`: a generator that yields requests for one pipeline, takes
their unprocessed replies (bytes, ints, lists; an error is an exception in the list), and returns
what it found. Whoever drives it has the connection: `Link` of the console, `Feed` of `top`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from rillway.sampler.replies import Reply, Words, as_text, is_error

State: TypeAlias = Literal["waiting", "running", "delayed", "failed"]
STATES: tuple[State, ...] = ("waiting", "running", "delayed", "failed")
Action: TypeAlias = Literal["retry", "remove", "front"]
ACTIONS: tuple[Action, ...] = ("retry", "remove", "front")
Result = TypeVar("Result")
Steps: TypeAlias = Generator[list[Words], list[Reply], Result]

# Jobs among which an action looks for its IDs, and notes kept for a queue.
SEARCHED, NOTES = 10_000, 10_000
SHOWN_BYTES = 4096


class Refused(Exception):
    """The framework's own rules do not allow the action; the text says why."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The identity of a queue: its framework, and how its keys begin."""

    framework: str
    prefix: bytes
    name: bytes

    @property
    def label(self) -> bytes:
        """The name by which the queue is shown and addressed: with a prefix that is not usual."""
        return self.prefix + self.name


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a queue; None is what its keys do not tell. Ages in ms.

    `taken` and `done`: jobs that came in and that were finished since the queue exists.
    """

    waiting: int | None = None
    running: int | None = None
    delayed: int | None = None
    failed: int | None = None
    workers: int | None = None
    oldest_ms: int | None = None
    taken: int | None = None
    done: int | None = None

    def as_json(self) -> dict[str, int | None]:
        return {
            "waiting": self.waiting,
            "running": self.running,
            "delayed": self.delayed,
            "failed": self.failed,
            "workers": self.workers,
            "oldest_ms": self.oldest_ms,
        }


@dataclass(frozen=True, slots=True)
class Job:
    """A job. `arguments`: a value of JSON, or text if the framework keeps none."""

    id: str
    name: str = ""
    arguments: Any = None
    attempts: int | None = None
    error: str = ""
    time_ms: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "arguments": self.arguments,
            "attempts": self.attempts,
            "error": self.error,
            "time_ms": self.time_ms,
        }


@dataclass(frozen=True, slots=True)
class Find:
    """A key that belongs to a queue. `note`: the key itself holds a job of it."""

    queue: Queue
    note: bytes | None = None


class Framework(ABC):
    """What a framework keeps in Redis. `unknown` says why figures are missing."""

    name: ClassVar[str]
    actions: ClassVar[tuple[Action, ...]] = ()
    unknown: ClassVar[dict[str, str]] = {}

    @abstractmethod
    def recognise(self, key: bytes) -> Find | None:
        """Return the queue that a key belongs to, judged by its name alone."""

    def registered(self, key: bytes) -> Callable[[], Steps[list[Queue]]] | None:
        """Return how to read a key that lists queues; None if `key` is no such key."""
        return None

    @abstractmethod
    def measure(self, queue: Queue, notes: Sequence[bytes], now_ms: int) -> Steps[Figures | None]:
        """Return figures; None if the keys are of something else."""

    @abstractmethod
    def jobs(
        self,
        queue: Queue,
        state: State,
        first: int,
        count: int,
        notes: Sequence[bytes],
        now_ms: int,
    ) -> Steps[list[Job]]:
        """Return jobs in the order in which workers take them."""

    def act(self, action: Action, queue: Queue, ids: Sequence[str], now_ms: int) -> Steps[int]:
        """Do an action to jobs, and return to how many. Raises Refused."""
        raise Refused(f"ERR jobs of {self.name} are shown only")
        yield []


# -- replies ---------------------------------------------------------------------------------------


def number(reply: Reply) -> int | None:
    """Return a reply as a number; None for an error or nothing."""
    if is_error(reply) or reply is None:
        return None
    return int(reply)


def total(replies: Iterable[Reply]) -> int | None:
    """Return the sum of counts; None if a key has another type."""
    counts = [number(reply) for reply in replies]
    return None if None in counts else sum(one or 0 for one in counts)


def listed(reply: Reply) -> list[Any]:
    """Return a reply that is a list; empty for an error."""
    return [] if is_error(reply) or reply is None else list(reply)


def scored(reply: Reply) -> dict[bytes, float]:
    """Return members with their scores, flat in RESP2 and paired in RESP3."""
    flat = listed(reply)
    pairs = flat if flat and isinstance(flat[0], list) else zip(flat[::2], flat[1::2], strict=True)
    return {member: float(score) for member, score in pairs}


def mapped(reply: Reply) -> dict[bytes, bytes]:
    """Return a hash; empty for an error."""
    if isinstance(reply, dict):
        return reply
    flat = listed(reply)
    return dict(zip(flat[::2], flat[1::2], strict=True))


def raised(replies: Iterable[Reply]) -> None:
    """Raise the first error among replies."""
    for reply in replies:
        if is_error(reply):
            raise reply


def parsed(data: bytes | None) -> Any:
    """Return JSON as a value; None if it is none."""
    try:
        return json.loads(data) if data is not None else None
    except (ValueError, RecursionError):
        return None


def shown(data: bytes) -> str:
    """Return bytes as text, cut to SHOWN_BYTES; a pickle is only named."""
    if data.startswith(b"\x80"):
        return f"(pickle, {len(data)} bytes)"
    text = as_text(data[:SHOWN_BYTES])
    return text + "…" if len(data) > SHOWN_BYTES else text


def last_line(text: str) -> str:
    """Return the last line of a traceback."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")[:SHOWN_BYTES]
