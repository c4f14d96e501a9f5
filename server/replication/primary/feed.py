"""The replication stream that a primary sends, and its offset.

Propagated requests come encoded and counted (commands/core/propagation.py): the same
bytes for the append-only file and all replicas. The feed adds SELECT where the database changes,
PING and GETACK. Once per cycle it hands the new bytes to the backlog and to every replica: the same
bytes objects, so the fan-out copies nothing.

A replica passes on the bytes of its primary unchanged, with their offsets (`pass_on`); requests
that its own commands propagate go to its append-only file only.

Source: Redis 7.0 for the bytes; docs/architecture/replication.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from itertools import islice

from commands.core.instance import Instance
from commands.core.propagation import ANY_DATABASE, Sink
from commands.replication.replica_table import Replica, ReplicaTable
from storage.append_only.requests import encode_request, select_request

MIN_BYTES = 16 * 1024
# Smaller chunks are joined: a million of them would take more memory than their bytes.
_JOIN_BYTES = 16 * 1024


class Backlog:
    """The backlog of one replication history."""

    def __init__(self, size_bytes: int, offset: int) -> None:
        """Empty; the next byte has the offset after `offset`."""
        self.size_bytes = size_bytes
        self.length = 0
        self._chunks: deque[bytes] = deque()
        self._next_offset = offset + 1

    @property
    def first_offset(self) -> int:
        """The offset of the first byte that is held; that of the next byte if it is empty."""
        return self._next_offset - self.length

    def append(self, data: bytes) -> None:
        """Append the next bytes of the stream; drop old chunks."""
        chunks = self._chunks
        if chunks and len(chunks[-1]) + len(data) <= _JOIN_BYTES:
            chunks[-1] += data
        else:
            chunks.append(data)
        self._next_offset += len(data)
        self.length += len(data)
        limit = max(self.size_bytes, MIN_BYTES)
        while self.length - len(chunks[0]) >= limit:
            self.length -= len(chunks.popleft())

    def holds(self, offset: int) -> bool:
        """Return True if a replica can resume at `offset`, which may be that of the next byte."""
        return self.first_offset <= offset <= self._next_offset

    def since(self, offset: int) -> list[bytes]:
        """The bytes from `offset` on."""
        assert self.holds(offset)
        skipped = offset - self.first_offset
        starts: list[int] = []
        position = 0
        for chunk in self._chunks:
            starts.append(position)
            position += len(chunk)
        if skipped == position:
            return []
        index = bisect_right(starts, skipped) - 1
        first, *rest = islice(self._chunks, index, None)
        return [first[skipped - starts[index] :], *rest]


PING = encode_request([b"PING"])
GETACK = encode_request([b"REPLCONF", b"GETACK", b"*"])
_DELETED_AT_ONCE = 100


class Feed:
    """The stream of one instance. `send(replica, data)` sends bytes to a replica."""

    def __init__(self, instance: Instance, send: Callable[[Replica, bytes], object]) -> None:
        self.backlog: Backlog | None = None
        self._must_select = True
        self._instance = instance
        self._state = instance.replication
        self._table = instance.feature(ReplicaTable)
        self._send = send
        self._propagation = instance.propagation
        self._sink = Sink(self._begin_batch, self._take, takes_messages=True)
        self._fresh: list[bytes] = []  # counted, but not yet sent

    # -- beginning and end ---------------------------------------------------------------------

    def begin_backlog(self) -> None:
        """Begin an empty backlog at the present offset; an old one is dropped."""
        self._propagation.hand_over()
        self._fresh.clear()
        size_bytes = self._instance.config.repl_backlog_size
        self.backlog = self._state.backlog = Backlog(size_bytes, self._state.offset)

    def drop_backlog(self) -> None:
        """Drop the backlog, because no replica has used it for a while: the history ends."""
        self.stop()
        self.backlog = self._state.backlog = None

    def start(self) -> None:
        """Accept propagated requests: this server is a primary with a backlog."""
        assert self.backlog is not None
        if not self._propagation.feeds_stream:
            self._propagation.add_sink(self._sink)
            self._propagation.feeds_stream = True
        self.forget_database()

    def stop(self) -> None:
        """Accept no more requests."""
        self.flush()
        if self._propagation.feeds_stream:
            self._propagation.remove_sink(self._sink)
            self._propagation.feeds_stream = False

    def forget_database(self) -> None:
        """Send a SELECT before the next write, because a replica begins to read here."""
        self._propagation.hand_over()
        self._must_select = True

    # -- what the stream is made of ------------------------------------------------------------

    def _begin_batch(self, db_index: int) -> None:
        """Select the database that a batch begins in."""
        if db_index == ANY_DATABASE:
            return
        if self._must_select or db_index != self._state.stream_db:
            self._add(select_request(db_index))
            self._must_select = False
            self._state.stream_db = db_index

    def _take(self, wire: bytes, last_db: int) -> None:
        self._fresh.append(wire)
        if last_db != ANY_DATABASE:
            self._state.stream_db = last_db

    def _put(self, data: bytes) -> None:
        """Send bytes after what was propagated before."""
        self._propagation.hand_over()
        self._add(data)

    def _add(self, data: bytes) -> None:
        self._fresh.append(data)
        self._propagation.offset += len(data)

    def delete(self, keys: list[tuple[int, bytes]]) -> None:
        """Send a DEL for each removed (database, key), in small pieces.

        The backlog drops whole pieces: if there are more than it holds, no replica can resume.
        """
        for index, (db_index, key) in enumerate(keys, 1):
            self._begin_batch(db_index)
            self._put(encode_request([b"DEL", key]))
            if index % _DELETED_AT_ONCE == 0:
                self.flush()
        self.flush()

    def ping(self) -> None:
        """Send PING, as a sign of life."""
        self._put(PING)

    def ask_for_acknowledgement(self) -> None:
        """Send GETACK: every replica answers with its offset (WAIT)."""
        self._put(GETACK)

    def pass_on(self, data: bytes) -> None:
        """Pass on bytes of this server's own primary that were applied here."""
        self._put(data)

    # -- where it goes -------------------------------------------------------------------------

    def flush(self) -> None:
        """Send the new bytes: a step of the cycle, before output is sent."""
        self._propagation.hand_over()
        if not self._fresh:
            return
        fresh, self._fresh = self._fresh, []
        if self.backlog is None:
            return
        data = fresh[0] if len(fresh) == 1 else b"".join(fresh)
        self.backlog.append(data)
        for replica in list(self._table.replicas.values()):
            if replica.holds:
                replica.held.append(data)
                replica.held_bytes += len(data)
            elif replica.is_online and not replica.wants_snapshot_only:
                self._state.output_bytes += len(data)
                self._send(replica, data)
