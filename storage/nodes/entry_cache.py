"""A two-queue cache of the entries of frozen nodes, unpacked for readers.

Reads hit the same nodes repeatedly: a reader in steps of a few entries, many readers of one stream,
or popular data. A bounded cache keeps the unpacked entries.

It has two queues. A node that is opened for the first time enters the short probation queue. A node
that is read again before it leaves that queue, or that is opened a second time, enters the long
queue and stays as long as it is read once in each round (second chance). So a single scan of a
whole stream does not evict what others read (scan resistance).

Once the long queue is full, only a fraction of the partly read nodes is admitted to it directly. If
the working set is larger than the cache, most cached nodes then stay until they are read again;
otherwise each would be evicted shortly before that.

A reader that can do without unpacking a whole node does so unless the cache admits the node.

The server ages the cache periodically: nodes that are not read for some time are evicted.

A node that was deleted may keep its slot until its turn comes; its bytes still count.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

# A million small entries, as they are sent.
NEW_MAX_BYTES = 4 * 1024 * 1024
PROVEN_MAX_BYTES = 60 * 1024 * 1024

# A queue that is full to this share has no room; then one in this many reopened nodes is admitted.
FULL_SHARE = 15 / 16
NEWCOMERS = 16


class Opened(Protocol):
    """The attributes of a node that the cache uses."""

    opened: bytes | None  # its entries, while it is in the cache
    was_read: bool  # since it entered its queue; before that: whether it was ever in one


class _Queue:
    """Nodes in the order in which they entered (FIFO)."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.used_bytes = 0
        self._nodes: deque[Opened] = deque()
        # A round of aging covers the nodes that are in the queue when it begins.
        self._round_nodes = self._round_left = 0
        self._owed_nodes = 0.0

    def append(self, node: Opened) -> None:
        assert node.opened is not None
        node.was_read = False
        self._nodes.append(node)
        self.used_bytes += len(node.opened)

    def pop(self) -> Opened:
        node = self._nodes.popleft()
        assert node.opened is not None
        self.used_bytes -= len(node.opened)
        return node

    def begin_aging(self, share: float) -> int:
        """The number of nodes to age with this share of a round."""
        if not self._round_left:
            self._round_nodes = self._round_left = len(self._nodes)
        self._owed_nodes += self._round_nodes * share
        nodes = min(int(self._owed_nodes), self._round_left)
        self._owed_nodes -= nodes
        self._round_left -= nodes
        return min(nodes, len(self._nodes))

    @property
    def is_full(self) -> bool:
        return self.used_bytes > self.max_bytes


class EntryCache:
    """A two-queue cache of unpacked entries."""

    def __init__(
        self, new_max_bytes: int = NEW_MAX_BYTES, proven_max_bytes: int = PROVEN_MAX_BYTES
    ) -> None:
        self._new = _Queue(new_max_bytes)
        self._proven = _Queue(proven_max_bytes)
        self._is_enabled = True
        self._turned_away = 0

    @property
    def used_bytes(self) -> int:
        """The bytes of entries in the cache."""
        return self._new.used_bytes + self._proven.used_bytes

    def wants(self, node: Opened, *, is_whole: bool) -> bool:
        """Return True to admit a node to the long queue; to be called once for each read.

        False for the first read. Later ones are admitted if they read the node as a whole
        (`is_whole`) or there is room; otherwise one in a few is.
        """
        if not node.was_read:
            node.was_read = True
            return False
        if is_whole or self._proven.used_bytes < self._proven.max_bytes * FULL_SHARE:
            return self._is_enabled
        self._turned_away = (self._turned_away + 1) % NEWCOMERS
        return self._is_enabled and not self._turned_away

    def add(self, node: Opened, payload: bytes, *, is_wanted: bool) -> None:
        """Keep the entries of a node that is not in the cache. `is_wanted`: what `wants` said."""
        if not self._is_enabled:
            return
        node.opened = payload
        (self._proven if is_wanted else self._new).append(node)
        for queue in (self._new, self._proven):
            while queue.is_full:
                self._pass(queue)

    def age(self, share: float) -> None:
        """Evict those of the oldest nodes, this share of all, that were not read.

        A node that was read since it entered its queue starts again in the long one. So a node that
        is no longer read is evicted after at most three rounds (shares that add up to 1).
        """
        for queue in (self._proven, self._new):
            for _ in range(queue.begin_aging(share)):
                self._pass(queue)

    def _pass(self, queue: _Queue) -> None:
        """Evict the oldest node of `queue`, or move it to the end of the long one if it was
        read.
        """
        node = queue.pop()
        if node.was_read:
            self._proven.append(node)
        else:
            _close(node)

    def clear(self) -> None:
        """Evict everything."""
        for queue in (self._new, self._proven):
            while queue.used_bytes:
                _close(queue.pop())

    def disable(self) -> None:
        """Cache nothing from now on: for a child that reads everything once, and ends."""
        self._is_enabled = False


def _close(node: Opened) -> None:
    node.opened = None
    node.was_read = True
