"""A stream, its group and its dead letters on one server, as the consumer's tests look at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

STREAM, GROUP, DEAD = "orders", "billing", "orders:dead"


@dataclass(frozen=True)
class Scene:
    """A server with one stream and its group, and what tests look at there."""

    url: str
    client: Any  # redis-py's annotations unite every protocol and setting

    def add(self, *values: object) -> list[str]:
        """Adds an entry {n: value} for each value; returns the IDs."""
        return [self.client.xadd(STREAM, {"n": str(value)}).decode() for value in values]

    def create_group(self) -> None:
        self.client.xgroup_create(STREAM, GROUP, "0", mkstream=True)

    def deliver(self, consumer: str, count: int) -> None:
        """Gives entries to a consumer that does nothing with them."""
        self.client.xreadgroup(GROUP, consumer, {STREAM: ">"}, count=count)

    def age(self, consumer: str, idle_ms: int) -> None:
        """Makes all pending entries look as if that consumer had had them idle for `idle_ms`."""
        ids = list(self.pending())
        self.client.xclaim(STREAM, GROUP, consumer, 0, ids, idle=idle_ms, justid=True)

    def pending(self) -> dict[str, tuple[str, int]]:
        """ID -> consumer and number of deliveries."""
        found = self.client.xpending_range(STREAM, GROUP, "-", "+", 1000)
        return {
            entry["message_id"].decode(): (entry["consumer"].decode(), entry["times_delivered"])
            for entry in found
        }
