"""MIGRATE over the network: RESTORE to another server, then DEL here.

Writes to the keys wait from the request until the keys are deleted, so nothing that is written in
between can be lost (commands/keys/migrate.py). Keys are serialized in pieces, and other
clients are served meanwhile. The pieces are sent as they are, and let go: a value is in memory
twice.

The deletion is a write: it waits while writes are paused, and a server that has become a replica
leaves the keys to its primary.

The policies of a stream, its scheduled entries included, go beside its payload (RESTORE ...
POLICIES). A server that is no Rillway gets the stream without them, but not one with scheduled
entries: those were promised. A copy (COPY) gets no scheduled entries, which would appear twice.

Leaves out: connections that are kept for the next MIGRATE.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

import hiredis

from commands.core import notifications
from commands.core.blocked_clients import Block, BlockedClients
from commands.core.client import Client
from commands.core.gates import GATE_FAILOVER, GATE_MIGRATING, GATE_PAUSED
from commands.core.services import MigrationOrder, Services
from commands.keys.migrate import MovingKeys
from commands.keys.serialization import OLD_OPTIONS, VALKEY_OPTIONS, snapshot_options
from protocol import replies
from server import clock
from server.requests.dispatch import Dispatcher
from storage.keyspace.database import Database
from storage.policies.rows import texts_of
from storage.policies.schedule import ROW_KINDS
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.payload import dump_pieces
from storage.stream import Stream

_Result = TypeVar("_Result")

RECEIVE_BYTES = 65_536
PAUSE_SECONDS = 0.01  # how often it is asked whether writes are still paused
SLICE_US = 1000  # how long keys are serialized or sent at a time
CONNECTING = b"IOERR error or timeout connecting to the client"
WRITING = b"IOERR error or timeout writing to target instance"
# The error of a target that is too old for the payload: the older format is sent instead.
_TOO_NEW = b"ERR DUMP payload version or checksum are wrong"
# The error of a target that does not know policies.
_NO_POLICIES = b"ERR syntax error"
_NO_SCHEDULE = b"ERR Target can't hold the key's scheduled entries"
READING = b"IOERR error or timeout reading from target instance"
_REPLACED = b"ERR The data was replaced while keys were migrated"
_TOO_LARGE = (
    b"ERR The value of '%b' takes more than %d bytes when it is serialized: by proto-max-bulk-len"
    b" the other server would not accept it"
)


class _Failed(Exception):
    """The text of the error that the client gets."""

    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.text = text


class Migrations:
    """The moves of one server that are under way."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        loop: asyncio.AbstractEventLoop,
        begin_event: Callable[[], None],
        wake: Callable[[], None],
    ) -> None:
        self._dispatcher = dispatcher
        self._instance = dispatcher.instance
        self._loop = loop
        self._begin_event = begin_event
        self._wake = wake
        self._tasks: set[asyncio.Task[None]] = set()
        self._moving = dispatcher.instance.feature(MovingKeys)
        self._is_stopped = False
        self._instance.feature(Services).migration = self

    def start(self, client: Client, block: Block, order: MigrationOrder) -> None:
        """Begin to send; see `commands.core.services.Migration`."""
        self._instance.set_gate(GATE_MIGRATING, is_shut=True)
        self._moving.names.update(order.keys)
        task = self._loop.create_task(self._run(client, block, order, client.db))
        self._tasks.add(task)

    def stop(self) -> None:
        """Give up what is under way: the keys stay here, and may be there as well.

        The data is saved by now: nothing may be deleted any more.
        """
        self._is_stopped = True
        for task in self._tasks:
            task.cancel()

    async def _run(self, client: Client, block: Block, order: MigrationOrder, db: Database) -> None:
        transfer = _Transfer(order, db, self._dispatcher)
        try:
            reply = await self._outcome(transfer)
        finally:
            is_whole = self._end(transfer, order, db)
        if not is_whole:
            reply = replies.error(_REPLACED)
        if self._instance.feature(BlockedClients).waits_on(client, block):
            self._dispatcher.end_waiting(client, reply)
        self._wake()

    async def _outcome(self, transfer: _Transfer) -> bytes:
        """Send the keys, and wait until writes are allowed: the deletion is one."""
        try:
            reply = await transfer.run()
        except _Failed as failed:
            reply = replies.error(failed.text)
        while self._instance.gates & (GATE_PAUSED | GATE_FAILOVER):
            await asyncio.sleep(PAUSE_SECONDS)
        return reply

    def _end(self, transfer: _Transfer, order: MigrationOrder, db: Database) -> bool:
        """Delete what has arrived, and let writes to the keys go on.

        Returns False if keys that have arrived stay here as well.
        """
        task = asyncio.current_task()
        assert task is not None
        self._tasks.discard(task)
        if self._is_stopped:
            return True
        self._begin_event()
        is_whole = order.copies or self._delete(transfer.moved, db)
        self._moving.names.difference_update(order.keys)
        if not self._tasks:
            self._instance.set_gate(GATE_MIGRATING, is_shut=False)
        self._dispatcher.admission.resume_postponed()
        return is_whole

    def _delete(self, moved: dict[bytes, object], db: Database) -> bool:
        """Delete keys that have arrived; file and replicas get one DEL. Returns True if none stays.

        Those stay that are not what was sent, because all data was replaced, and all of a replica.
        """
        instance = self._instance
        if instance.replication.is_replica:
            return not moved
        keys = [key for key, value in moved.items() if db.values.get(key) is value]
        for key in keys:
            instance.remove(db, key)
            instance.key_modified(db, key, None)
            instance.notify(notifications.GENERIC, b"del", key, db.index)
        if keys:
            instance.dirty += len(keys)
            instance.propagation.propagate(db.index, [b"DEL", *keys])
        return len(keys) == len(moved)


class _TimeSlice:
    """The time slice of a transfer."""

    def __init__(self) -> None:
        self._end_us = clock.monotonic_us() + SLICE_US

    async def yield_if_over(self) -> None:
        """Let the loop go on if the time slice is over; then begin the next one."""
        if clock.monotonic_us() > self._end_us:
            await asyncio.sleep(0)
            self._end_us = clock.monotonic_us() + SLICE_US


class _Transfer:
    """One MIGRATE. `moved`: what the other server has taken so far, by key."""

    def __init__(self, order: MigrationOrder, db: Database, dispatcher: Dispatcher) -> None:
        self.moved: dict[bytes, object] = {}
        self._sent: dict[bytes, object] = {}
        self._errors: dict[bytes, bytes] = {}  # of the keys that were refused
        self._policies: dict[bytes, list[bytes]] = {}  # of the keys whose policies were sent
        self._has_policies = True  # the other server knows them, as far as is known
        self._order, self._db = order, db
        self._instance = dispatcher.instance
        self._received = hiredis.Reader()

    async def run(self) -> bytes:
        """The reply. Raises _Failed."""
        order = self._order
        connecting = asyncio.open_connection(order.host, order.port)
        reader, writer = await self._within(connecting, CONNECTING)
        try:
            # First alone: after an error the keys would go to another database.
            prelude = [[b"AUTH", *order.credentials]] if order.credentials else []
            prelude.append([b"SELECT", b"%d" % order.db])
            writer.writelines(map(replies.command, prelude))
            errors = [await self._reply(reader) for _ in prelude]
            if not any(errors):
                own_options = snapshot_options(self._instance.config)
                for options in (own_options, VALKEY_OPTIONS, OLD_OPTIONS):
                    await self._restore(reader, writer, options)
                    if not self._refused(_TOO_NEW):
                        break
                errors = list(self._errors.values())
        finally:
            writer.close()
        if _NO_SCHEDULE in errors:
            raise _Failed(_NO_SCHEDULE)
        for error in errors:
            if error is not None:
                raise _Failed(b"ERR Target instance replied with error: " + error)
        return replies.OK

    def _refused(self, text: bytes) -> list[bytes]:
        return [key for key, error in self._errors.items() if error == text]

    async def _restore(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, options: SnapshotOptions
    ) -> None:
        """Send all keys, or those that the server could not read, and read the replies."""
        await self._send(reader, writer, self._refused(_TOO_NEW) or self._order.keys, options)
        if refused := [key for key in self._refused(_NO_POLICIES) if self._policies[key]]:
            self._has_policies = False
            await self._send(reader, writer, refused, options)

    async def _send(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        keys: list[bytes],
        options: SnapshotOptions,
    ) -> None:
        """Send keys, and read the replies."""
        sent = [key for key in keys if self._may_send(key)]
        for key in sent:
            await self._write_restore(writer, key, options)
        for key in sent:
            error = await self._reply(reader)
            if error is None:
                self._errors.pop(key, None)
                self.moved[key] = self._sent[key]
            else:
                self._errors[key] = error

    def _may_send(self, key: bytes) -> bool:
        """Return False, with an error for the key, if it would lose what was promised."""
        stream = self._db.values.get(key)
        policy = stream.policy if isinstance(stream, Stream) else None
        schedule = None if policy is None or self._order.copies else policy.schedule
        if schedule is None or not schedule.count or self._has_policies:
            return True
        self._errors[key] = _NO_SCHEDULE
        return False

    async def _policies_of(self, key: bytes) -> list[bytes]:
        """The words of RESTORE for the policies of a key."""
        stream = self._db.values.get(key)
        texts: list[bytes] = []
        slice_ = _TimeSlice()
        if isinstance(stream, Stream) and self._has_policies:
            for text in texts_of(stream, without=ROW_KINDS if self._order.copies else ()):
                texts.append(text)
                await slice_.yield_if_over()
        self._policies[key] = texts
        return [b"POLICIES", b"%d" % len(texts), *texts] if texts else []

    async def _write_restore(
        self, writer: asyncio.StreamWriter, key: bytes, options: SnapshotOptions
    ) -> None:
        policies = await self._policies_of(key)
        pieces = await self._payload(key, options)
        if writer.transport.is_closing():  # lost meanwhile: uvloop would raise RuntimeError
            raise _Failed(WRITING)
        name = b"RESTORE-ASKING" if self._instance.is_cluster else b"RESTORE"
        head = [name, key, b"%d" % self._time_to_live(key)]
        tail = [b"REPLACE", *policies] if self._order.replaces else policies
        writer.write(b"*%d\r\n" % (len(head) + 1 + len(tail)))
        writer.writelines(map(replies.bulk, head))
        writer.write(b"$%d\r\n" % sum(map(len, pieces)))
        pieces.append(b"\r\n")
        pieces.extend(map(replies.bulk, tail))
        slice_ = _TimeSlice()
        while pieces:
            writer.write(pieces.popleft())
            await self._within(writer.drain(), WRITING)
            await slice_.yield_if_over()  # drain() does not, as long as the socket takes all

    async def _payload(self, key: bytes, options: SnapshotOptions) -> deque[bytes]:
        """The value, serialized in pieces: the loop goes on in between.

        No copy is needed: what would write the value waits. Only what replaces all data does not.
        """
        instance, value = self._instance, self._db.values.get(key)
        pieces: deque[bytes] = deque()
        limit_bytes, size = instance.config.proto_max_bulk_len, 0
        slice_ = _TimeSlice()
        for piece in dump_pieces(value, options, instance.now_ms) if value is not None else ():
            pieces.append(piece)
            size += len(piece)
            if size > limit_bytes:
                raise _Failed(_TOO_LARGE % (key, limit_bytes))
            await slice_.yield_if_over()
            if self._db.values.get(key) is not value:
                break
        if value is None or self._db.values.get(key) is not value:
            raise _Failed(_REPLACED)
        self._sent[key] = value
        return pieces

    def _time_to_live(self, key: bytes) -> int:
        """In ms; 0 for a key that does not expire."""
        when_ms = self._db.deadline(key)
        return 0 if when_ms is None else max(1, when_ms - self._instance.now_ms)

    async def _reply(self, reader: asyncio.StreamReader) -> bytes | None:
        """The text of an error; None for any other reply."""
        try:
            while (reply := self._received.gets()) is False:
                data = await self._within(reader.read(RECEIVE_BYTES), READING)
                if not data:
                    raise _Failed(READING)
                self._received.feed(data)
        except (hiredis.ProtocolError, ValueError):  # that is no server of Redis's protocol
            raise _Failed(READING) from None
        return str(reply).encode() if isinstance(reply, hiredis.ReplyError) else None

    async def _within(self, step: Awaitable[_Result], failure: bytes) -> _Result:
        """The result of a step that has the time of the request. Raises _Failed."""
        try:
            async with asyncio.timeout(self._order.timeout_ms / 1000):
                return await step
        except ConnectionRefusedError:
            raise _Failed(WRITING) from None  # as in Redis, which connects while it writes
        except (OSError, OverflowError, ValueError):  # among them TimeoutError, and no host's name
            raise _Failed(failure) from None
