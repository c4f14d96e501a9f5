"""Expires the producers' IDs that streams remember for idempotent XADD, in the background.

A stream's IDs are watched from the first one on, through a weak reference: deleting the stream ends
the watch, and renaming or moving it needs no update. A round begins with the stream that has waited
longest and ends after a given number of producers (server/loop/cron.py).
"""

from __future__ import annotations

from collections import OrderedDict
from weakref import ref

from storage.idempotence import Idempotence


class IdempotenceWatch:
    """The sets of remembered IDs that hold at least one ID, in the order of the next check."""

    def __init__(self) -> None:
        self._queue: OrderedDict[ref[Idempotence], None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._queue)

    def watch(self, idempotence: Idempotence) -> None:
        """Expire the old IDs of `idempotence` from now on; no effect if it is watched already."""
        self._queue.setdefault(ref(idempotence))

    def expire(self, now_ms: int, limit: int) -> None:
        """Drop expired IDs, one stream after another, until `limit` producers were checked."""
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
