"""Which streams remember producers' IDs, so that the old ones are forgotten in the background.

What a stream remembers is watched from its first ID on, by a weak reference: a stream that is
deleted takes its memory along, and one that is renamed or moved needs no notice. A round begins
with the stream that waited longest, and ends where it has looked at so many producers
(server/cron.py).
"""

from __future__ import annotations

from collections import OrderedDict
from weakref import ref

from storage.idempotence import Idempotence


class IdempotenceWatch:
    """The memories that hold at least one ID, in the order in which they are looked at."""

    def __init__(self) -> None:
        self._queue: OrderedDict[ref[Idempotence], None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._queue)

    def watch(self, idempotence: Idempotence) -> None:
        """See to it that the old IDs are forgotten; nothing if it is watched already."""
        self._queue.setdefault(ref(idempotence))

    def expire(self, now_ms: int, limit: int) -> None:
        """Let streams forget what is too old, until `limit` producers were looked at."""
        for _ in range(len(self._queue)):
            if limit <= 0:
                return
            reference, _ = self._queue.popitem(last=False)
            idempotence = reference()
            if idempotence is None:
                continue
            looked_at = min(limit, idempotence.pids_tracked)
            idempotence.expire(now_ms, looked_at)
            limit -= looked_at
            if idempotence.pids_tracked:
                self.watch(idempotence)
