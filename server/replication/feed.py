"""The replication stream: what replicas are sent, and how far it has come.

What commands propagate comes encoded (commands/core/sinks.py), once for the append-only file and
all replicas. The feed adds what only a stream has (SELECT where the database changes, PING,
GETACK), counts bytes, and once per cycle hands what is new to the backlog and to every replica, as
the same bytes objects.

On a replica there is nothing to encode: the bytes of its primary are passed on as they are, with
their offsets (`pass_on`), and what commands propagate here goes to the file only.

Source: Redis 7.0 for the bytes; docs/architecture/replication.md.
"""

from __future__ import annotations

from collections.abc import Callable

from commands.core.instance import Instance
from commands.core.sinks import ANY_DATABASE, Sink
from commands.replication.state import Replica
from server.replication.backlog import Backlog
from storage.append_only.requests import encode_request, select_request

PING = encode_request([b"PING"])
GETACK = encode_request([b"REPLCONF", b"GETACK", b"*"])


class Feed:
    """Of one instance. `send(replica, data)` brings bytes to a replica."""

    def __init__(self, instance: Instance, send: Callable[[Replica, bytes], object]) -> None:
        self.backlog: Backlog | None = None
        self._must_select = True
        self._instance = instance
        self._state = instance.replication
        self._send = send
        self._sink = Sink(take_encoded=self._take, takes_messages=True)
        self._fresh: list[bytes] = []  # counted already, not yet handed on

    # -- beginning and end ---------------------------------------------------------------------

    def begin_backlog(self) -> None:
        """Hold the history from the present offset on, in the place of what was held."""
        self._fresh.clear()
        size_bytes = self._instance.config.repl_backlog_size
        self.backlog = self._state.backlog = Backlog(size_bytes, self._state.offset)

    def drop_backlog(self) -> None:
        """Nobody has asked for a while: there is no history any more."""
        self.stop()
        self.backlog = self._state.backlog = None

    def start(self) -> None:
        """Take what commands propagate: this server is a primary, and has a backlog."""
        assert self.backlog is not None
        if not self._state.is_feeding:
            self._state.is_feeding = True
            self._instance.sinks.append(self._sink)
        self.forget_database()

    def stop(self) -> None:
        """Take nothing any more."""
        self.flush()
        if self._state.is_feeding:
            self._state.is_feeding = False
            self._instance.sinks.remove(self._sink)

    def forget_database(self) -> None:
        """The next write says for which database it is: a replica begins to read here."""
        self._must_select = True

    # -- what the stream is made of ------------------------------------------------------------

    def _take(self, db_index: int, wire: bytes, last_db: int) -> None:
        state = self._state
        if db_index != state.stream_db or last_db != db_index or self._must_select:
            self._select(db_index, last_db)
        self._fresh.append(wire)
        state.offset += len(wire)

    def _select(self, db_index: int, last_db: int) -> None:
        """What follows is for the one database at first, for the other at last."""
        if db_index == ANY_DATABASE:
            return
        if self._must_select or db_index != self._state.stream_db:
            self._put(select_request(db_index))
            self._must_select = False
        self._state.stream_db = last_db

    def _put(self, data: bytes) -> None:
        self._fresh.append(data)
        self._state.offset += len(data)

    def ping(self) -> None:
        """A sign of life."""
        self._put(PING)

    def ask_for_acknowledgement(self) -> None:
        """Have every replica say at once how far it is (WAIT)."""
        self._put(GETACK)

    def pass_on(self, data: bytes) -> None:
        """Bytes of this server's own primary, which were applied here."""
        self._put(data)

    # -- where it goes -------------------------------------------------------------------------

    def flush(self) -> None:
        """Hand on what is new: a step of the cycle, before output leaves."""
        if not self._fresh:
            return
        fresh, self._fresh = self._fresh, []
        if self.backlog is None:
            return
        data = fresh[0] if len(fresh) == 1 else b"".join(fresh)
        self.backlog.append(data)
        for replica in list(self._state.replicas.values()):
            if replica.holds:
                replica.held.append(data)
                replica.held_bytes += len(data)
            elif replica.is_online and not replica.wants_snapshot_only:
                self._state.output_bytes += len(data)
                self._send(replica, data)
