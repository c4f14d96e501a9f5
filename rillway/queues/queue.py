"""What is known of a queue and of its jobs, whatever framework keeps them; no I/O.

A framework asks the server by `Steps`: a generator that yields requests for one pipeline, takes
their unprocessed replies (bytes, ints, lists; an error is an exception in the list), and returns
what it found. Whoever drives it has the connection: `Link` of the console, `Feed` of `top`.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
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
# Larger results, and jobs among which failures are looked for, are not read.
NOTE_BYTES = 1 << 16
# Digits of the largest number that is believed: a time in µs has sixteen.
DIGITS = 18
# Levels of JSON that are shown; deeper ones are no job of a framework's.
DEPTH = 100
HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


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

    def registry(self, key: bytes) -> Words | None:
        """Return a request for a key that lists queues; None if `key` is no such key."""
        return None

    def registered(self, key: bytes, reply: Reply) -> list[Queue]:
        """Return the queues in the reply to `registry`."""
        return []

    def check(self, queue: Queue) -> Words | None:
        """Return a request that shows whether a name is a queue's; None if the name shows it."""
        return None

    def is_own(self, reply: Reply) -> bool:
        """Return whether the reply to `check` is that of a queue."""
        return True

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


def read_notes(notes: Sequence[bytes]) -> Steps[list[tuple[bytes, bytes]]]:
    """Return key and value of notes, without those that are no strings, or large."""
    found = []
    for at in range(0, len(notes), 500):
        keys = notes[at : at + 500]
        replies = yield [("GETRANGE", key, 0, NOTE_BYTES) for key in keys]
        found += [
            (key, data)
            for key, data in zip(keys, replies, strict=True)
            if isinstance(data, bytes) and len(data) <= NOTE_BYTES
        ]
    return found


def number(reply: Reply) -> int | None:
    """Return a reply as a number; None for an error or nothing."""
    if is_error(reply) or reply is None:
        return None
    return int(reply)


def whole(data: Reply) -> int | None:
    """Return decimal digits as a number; None if there are none, or more than a number has."""
    is_number = isinstance(data, bytes) and data.isdigit() and len(data) < DIGITS
    return int(data) if is_number else None


def number_of(value: Any) -> int | None:
    """Return a number of JSON, or a score; None for another value, and for one without end."""
    is_number = isinstance(value, int | float) and abs(value) < 10**DIGITS
    return int(value) if is_number else None


def number_in(found: Any, name: str) -> int | None:
    return number_of(found.get(name)) if isinstance(found, dict) else None


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


def parsed(data: Reply) -> Any:
    """Return JSON as a value that can be written as JSON again; None if it is none.

    What Python reads, and JSON does not have, is replaced: NaN, infinity, half a surrogate pair.
    """
    if not isinstance(data, bytes):
        return None
    try:
        text = data.decode()
        value = json.loads(text, parse_float=finite, parse_constant=lambda _: None)
        if is_deep(value):
            return None
        if HALF_PAIR.search(text):
            whole_text = json.dumps(value, ensure_ascii=False).encode(errors="replace")
            value = json.loads(whole_text)
        return value
    except (ValueError, RecursionError):
        return None


def finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def is_deep(value: Any) -> bool:
    """Return True if lists and objects are nested deeper than DEPTH."""
    level = [value]
    for _ in range(DEPTH):
        level = [one for outer in level if isinstance(outer, list | dict) for one in inner(outer)]
        if not level:
            return False
    return True


def inner(value: list[Any] | dict[str, Any]) -> Iterable[Any]:
    return value if isinstance(value, list) else value.values()


def shown(data: bytes) -> str:
    """Return bytes as text, cut to SHOWN_BYTES; a pickle is only named."""
    if data.startswith(b"\x80"):
        return f"(pickle, {len(data)} bytes)"
    text = as_text(data[:SHOWN_BYTES])
    return text + "…" if len(data) > SHOWN_BYTES else text


def last_line(text: str) -> str:
    """Return the last line of a traceback."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")[:SHOWN_BYTES]
