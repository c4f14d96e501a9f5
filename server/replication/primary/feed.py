"""The replication stream that a primary sends, and its offset.

Propagated requests come encoded (commands/core/sinks.py), once for the append-only file and all
replicas. The feed adds SELECT when the database changes, PING and GETACK, and counts bytes. Once
per cycle it hands the new bytes to the backlog and to every replica: the same bytes objects, so the
fan-out copies nothing.

A replica passes on the bytes of its primary unchanged, with their offsets (`pass_on`); requests
that its own commands propagate go to its append-only file only.

Source: Redis 7.0 for the bytes; docs/architecture/replication.md.
"""

from __future__ import annotations

from collections.abc import Callable

from commands.core.instance import Instance
from commands.core.sinks import ANY_DATABASE, Sink
from commands.replication.replica_table import Replica, ReplicaTable
from server.replication.primary.backlog import Backlog
from storage.append_only.requests import encode_request, select_request

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
        self._sink = Sink(take_encoded=self._take, takes_messages=True)
        self._fresh: list[bytes] = []  # counted, but not yet sent

    # -- beginning and end ---------------------------------------------------------------------

    def begin_backlog(self) -> None:
        """Begin an empty backlog at the present offset; an old one is dropped."""
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
        if not self._state.is_feeding:
            self._state.is_feeding = True
            self._instance.sinks.append(self._sink)
        self.forget_database()

    def stop(self) -> None:
        """Accept no more requests."""
        self.flush()
        if self._state.is_feeding:
            self._state.is_feeding = False
            self._instance.sinks.remove(self._sink)

    def forget_database(self) -> None:
        """Send a SELECT before the next write, because a replica begins to read here."""
        self._must_select = True

    # -- what the stream is made of ------------------------------------------------------------

    def _take(self, db_index: int, wire: bytes, last_db: int) -> None:
        state = self._state
        if db_index != state.stream_db or last_db != db_index or self._must_select:
            self._select(db_index, last_db)
        self._fresh.append(wire)
        state.offset += len(wire)

    def _select(self, db_index: int, last_db: int) -> None:
        """Send a SELECT for requests that begin in `db_index` and end in `last_db`, if needed."""
        if db_index == ANY_DATABASE:
            return
        if self._must_select or db_index != self._state.stream_db:
            self._put(select_request(db_index))
            self._must_select = False
        self._state.stream_db = last_db

    def _put(self, data: bytes) -> None:
        self._fresh.append(data)
        self._state.offset += len(data)

    def delete(self, keys: list[tuple[int, bytes]]) -> None:
        """Send a DEL for each (database, key) that is gone already, in small pieces.

        The backlog drops whole pieces: if there are more than it holds, no replica can resume.
        """
        for index, (db_index, key) in enumerate(keys, 1):
            self._take(db_index, encode_request([b"DEL", key]), db_index)
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
