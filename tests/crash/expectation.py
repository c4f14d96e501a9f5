"""What one connection's keys must hold after the commands that were acknowledged to it.

Each connection of a crash round has keys of its own, so its own commands, in their order, say what
is in them. Streams are those of tests/storage/stream_model.py; around them is kept what a crash may
blur, and only that:

* a delivery happened between sending the request and reading its reply: a window, not a moment;
* reading the history counts a delivery, but Redis does not write that down: after a restart the
  count may be lower by as many (`unwritten`);
* a key expires when its time has come, seen or not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.crash.observation import ObservedKeys, Window
from tests.storage.stream_model import ModelMessages, StreamModel

NODE_ENTRIES = 100
IDEMPOTENT_IDS = 100  # the default of stream-idmp-maxsize


class Wrong(Exception):
    """A server said or holds what it must not; the text says which and why."""


@dataclass(frozen=True)
class Facts:
    """What is known of one request.

    reply: None when none came before the crash: then `found`, the keys after the restart, says
    what the server chose (an ID from its clock, how much an approximate trim removed).
    """

    reply: Any
    window: Window
    found: ObservedKeys | None = None

    def check(self, expected: object) -> None:
        """The reply, if there was one, is this."""
        if self.reply is not None and self.reply != expected:
            raise Wrong(f"the reply is {self.reply!r}, expected {expected!r}")


@dataclass
class ExpectedStream:
    """A stream, and what a crash may blur of it. `unwritten`, `windows`: by group and entry."""

    model: StreamModel = field(default_factory=StreamModel)
    messages: ModelMessages = field(default_factory=lambda: ModelMessages(IDEMPOTENT_IDS))
    messages_added: int = 0
    duplicates: int = 0
    windows: dict[tuple[bytes, int], Window] = field(default_factory=dict)
    unwritten: dict[tuple[bytes, int], int] = field(default_factory=dict)

    def is_alive(self, entry_id: int) -> bool:
        return any(entry.entry_id == entry_id for entry in self.model.entries())

    def deliver(
        self, group: bytes, entry_id: int, consumer: bytes, window: Window, count: int
    ) -> None:
        self.model.groups[group].claim(entry_id, consumer, window[0], count)
        self.note(group, entry_id, window)

    def note(self, group: bytes, entry_id: int, window: Window) -> None:
        """Time and count of a delivery were written down."""
        self.windows[group, entry_id] = window
        self.unwritten.pop((group, entry_id), None)

    def read_again(self, group: bytes, entry_id: int, window: Window) -> None:
        """An entry of the history was read: nothing of it is written down."""
        self.model.groups[group].pending[entry_id].delivery_count += 1
        self.windows[group, entry_id] = self.windows[group, entry_id][0], window[1]
        self.unwritten[group, entry_id] = self.unwritten.get((group, entry_id), 0) + 1

    def release(self, group: bytes, entry_id: int, count: int) -> None:
        self.model.groups[group].release(entry_id, count)
        self.windows[group, entry_id] = 0, 0

    def delete(self, entry_id: int, policy: str) -> int:
        """XDELEX's answer for one entry."""
        if policy == "ACKED" and self.model.is_referenced(entry_id):
            return 2
        if policy == "DELREF":
            self.model.drop_references(entry_id)
        return 1 if self.model.delete(entry_id) else -1


@dataclass
class ExpectedString:
    text: bytes


@dataclass
class Shared:
    """What one connection did with the stream that all of them share."""

    added: list[int] = field(default_factory=list)
    pending: set[int] = field(default_factory=set)


@dataclass
class Expectation:
    """One connection's keys. `expires`: when a key's time comes."""

    streams: dict[bytes, ExpectedStream] = field(default_factory=dict)
    strings: dict[bytes, ExpectedString] = field(default_factory=dict)
    expires: dict[bytes, Window] = field(default_factory=dict)
    shared: Shared = field(default_factory=Shared)

    def forget(self, key: bytes) -> bool:
        self.expires.pop(key, None)
        gone = self.streams.pop(key, None) or self.strings.pop(key, None)
        return gone is not None
