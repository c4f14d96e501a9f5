"""A two-queue cache of the entries of frozen nodes, unpacked for readers.

Readers come to the same nodes again: in steps of a few entries, many readers one behind the other,
or because everybody wants to know the same. A bounded cache keeps what was opened.

It has two queues. What was opened for the first time goes into the shorter one. What was read
again by the end of that, or is opened for the second time, goes into the longer one, and goes round
it as long as it is read between two rounds. So somebody who reads a whole stream once does not
drive out what others read.

Once the longer queue is full, only one in so many of the nodes of which a part is read goes there
right away. If readers come to more places than there is room for, most of what is in the cache then
stays until it is read again; all would be driven out shortly before that otherwise.

Who can do without opening a node does so unless the cache wants it for long.

Whoever runs the server has the cache age: what nobody reads for some time goes.

A node that has gone may keep its place until its turn comes: the bound holds all the same.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

# A million small entries, as they are sent.
NEW_MAX_BYTES = 4 * 1024 * 1024
PROVEN_MAX_BYTES = 60 * 1024 * 1024

# A queue that is full to this share has no room; then one in so many nodes that are opened again
# is given some.
FULL_SHARE = 15 / 16
NEWCOMERS = 16


class Opened(Protocol):
    """What a node has for the cache."""

    opened: bytes | None  # its entries, as long as it is in the cache
    was_read: bool  # since it came into its queue; before that, whether it ever was in one


class _Queue:
    """Nodes in the order in which they came."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.used_bytes = 0
        self._nodes: deque[Opened] = deque()
        # A round of aging: as many nodes as there are when it begins.
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
        """How many nodes come to their turn with this share of a round."""
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
    """The cache; see the module."""

    def __init__(
        self, new_max_bytes: int = NEW_MAX_BYTES, proven_max_bytes: int = PROVEN_MAX_BYTES
    ) -> None:
        self._new = _Queue(new_max_bytes)
        self._proven = _Queue(proven_max_bytes)
        self._is_enabled = True
        self._turned_away = 0

    @property
    def used_bytes(self) -> int:
        """How many bytes of entries there are in the cache."""
        return self._new.used_bytes + self._proven.used_bytes

    def wants(self, node: Opened, *, is_whole: bool) -> bool:
        """Whether a node that is not in the cache is to stay there for long. To be asked once.

        It was read before, and there is room, or it `is_whole` what is read of it.
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
        """Look at this share of the nodes, the oldest ones, and let go of what was not read.

        A node stays that was read since it came into its queue, and begins anew in the longer one.
        So what nobody reads any more is gone after three rounds, each of shares that make 1.
        """
        for queue in (self._proven, self._new):
            for _ in range(queue.begin_aging(share)):
                self._pass(queue)

    def _pass(self, queue: _Queue) -> None:
        """The oldest node's turn has come."""
        node = queue.pop()
        if node.was_read:
            self._proven.append(node)
        else:
            _close(node)

    def clear(self) -> None:
        """Let go of everything."""
        for queue in (self._new, self._proven):
            while queue.used_bytes:
                _close(queue.pop())

    def disable(self) -> None:
        """Keep no more than there is: for a process that reads everything once, and ends."""
        self._is_enabled = False


def _close(node: Opened) -> None:
    node.opened = None
    node.was_read = True
