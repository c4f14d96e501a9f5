"""The delivery policy of a group, as far as a consumer has to know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import redis

from rillway.consumer.entry import paired
from rillway.consumer.nodes import Nodes


@dataclass(frozen=True, slots=True)
class Policy:
    """What the server does by itself; all None where it does nothing."""

    ack_wait_ms: int | None = None  # after this time an entry goes to another consumer
    max_deliveries: int | None = None
    dead_letter: str | None = None

    @property
    def redelivers(self) -> bool:
        """Whether reads of new entries return those again that were not acknowledged."""
        return self.ack_wait_ms is not None


async def policy_of(nodes: Nodes, stream: str, group: str) -> Policy:
    """Return a group's policy; one without values from servers that have none."""
    try:
        reply = await nodes.execute(stream, "XINFO", "POLICY", stream, group)
    except redis.ResponseError:
        return Policy()
    found: dict[bytes, Any] = dict(paired(reply))
    letters = found.get(b"dead-letter")
    return Policy(
        found.get(b"ack-wait") or None,
        found.get(b"max-deliveries") or None,
        letters.decode(errors="surrogateescape") if letters else None,
    )
