"""A ready-made consumer for consumer groups: retries, claiming idle entries, dead letters.

- `Consumer`: an asyncio class on redis-py (rillway/consumer/consumer.py);
- `SyncConsumer`: the same for handlers that are plain functions (rillway/consumer/sync.py);
- `rillway consume`: the same with a command as the handler (rillway/consumer/command.py).

All are clients like any other: they work against Rillway and against Redis from 7.0 on. See
docs/reference/consumer.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rillway.lazy import lazy

if TYPE_CHECKING:
    from rillway.consumer.consumer import Consumer
    from rillway.consumer.entry import Entry
    from rillway.consumer.sync import SyncConsumer
    from rillway.consumer.worker import Counts, GiveUp, Handler

__all__ = ["Consumer", "Counts", "Entry", "GiveUp", "Handler", "SyncConsumer"]

HOMES = {
    "Consumer": "rillway.consumer.consumer",
    "Counts": "rillway.consumer.worker",
    "Entry": "rillway.consumer.entry",
    "GiveUp": "rillway.consumer.worker",
    "Handler": "rillway.consumer.worker",
    "SyncConsumer": "rillway.consumer.sync",
}

__getattr__ = lazy(__name__, HOMES)
