"""MIGRATE over the network: RESTORE to another server, then DEL here.

Writes wait from the request until the keys are deleted, so nothing that is written in between can
be lost. Keys are serialized in pieces, and others read meanwhile.

Leaves out: connections that are kept for the next MIGRATE.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import hiredis

from commands.core.blocking.blocked_clients import Block, BlockedClients
from commands.core.client import Client
from commands.core.gates import GATE_MIGRATING
from commands.core.services import MigrationOrder, Services
from commands.keys.serialization import OLD_OPTIONS, snapshot_options
from commands.state import notifications
from protocol import replies
from server.requests.dispatch import Dispatcher
from storage.keyspace.database import Database
from storage.snapshot.options import SnapshotOptions
from storage.snapshot.payload import dump_pieces

_Result = TypeVar("_Result")

RECEIVE_BYTES = 65_536
CONNECTING = b"IOERR error or timeout connecting to the client"
WRITING = b"IOERR error or timeout writing to target instance"
# Of a server that does not know what a newer one has added to streams: it gets them without.
_TOO_NEW = b"ERR DUMP payload version or checksum are wrong"
READING = b"IOERR error or timeout reading from target instance"


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
        self._instance.feature(Services).migration = self

    def start(self, client: Client, block: Block, order: MigrationOrder) -> None:
        """Begin to send; see `commands.core.services.Migration`."""
        self._instance.set_gate(GATE_MIGRATING, is_shut=True)
        task = self._loop.create_task(self._run(client, block, order, client.db))
        self._tasks.add(task)

    def stop(self) -> None:
        """Give up what is under way: the keys stay here, and may be there as well."""
        for task in self._tasks:
            task.cancel()

    async def _run(self, client: Client, block: Block, order: MigrationOrder, db: Database) -> None:
        transfer = _Transfer(order, db, self._dispatcher)
        try:
            reply = await transfer.run()
        except _Failed as failed:
            reply = replies.error(failed.text)
        finally:
            self._begin_event()
            if not order.copies:
                self._delete(transfer.moved, db)
            task = asyncio.current_task()
            assert task is not None
            self._tasks.discard(task)
            if not self._tasks:
                self._instance.set_gate(GATE_MIGRATING, is_shut=False)
                self._dispatcher.admission.resume_postponed()
        if self._instance.feature(BlockedClients).waits_on(client, block):
            self._dispatcher.end_waiting(client, reply)
        self._wake()

    def _delete(self, keys: list[bytes], db: Database) -> None:
        """Delete keys that have arrived; file and replicas get one DEL."""
        instance = self._instance
        for key in keys:
            instance.remove(db, key)
            instance.key_modified(db, key, None)
            instance.notify(notifications.GENERIC, b"del", key, db.index)
        if keys:
            instance.dirty += len(keys)
            instance.propagate(db.index, [b"DEL", *keys])


class _Transfer:
    """One MIGRATE. `moved`: the keys that the other server has taken so far."""

    def __init__(self, order: MigrationOrder, db: Database, dispatcher: Dispatcher) -> None:
        self.moved: list[bytes] = []
        self._errors: dict[bytes, bytes] = {}  # of the keys that were refused
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
                await self._restore(reader, writer, snapshot_options(self._instance.config))
                if self._refused(_TOO_NEW):
                    await self._restore(reader, writer, OLD_OPTIONS)
                errors = list(self._errors.values())
        finally:
            writer.close()
        for error in errors:
            if error is not None:
                raise _Failed(b"ERR Target instance replied with error: " + error)
        return replies.OK

    def _refused(self, text: bytes) -> list[bytes]:
        return [key for key, error in self._errors.items() if error == text]

    async def _restore(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, options: SnapshotOptions
    ) -> None:
        """Send all keys, or those that an older server could not read, and read the replies."""
        keys = self._refused(_TOO_NEW) or self._order.keys
        for key in keys:
            await self._write_restore(writer, key, options)
        for key in keys:
            error = await self._reply(reader)
            if error is None:
                self._errors.pop(key, None)
                self.moved.append(key)
            else:
                self._errors[key] = error

    async def _write_restore(
        self, writer: asyncio.StreamWriter, key: bytes, options: SnapshotOptions
    ) -> None:
        words = [
            b"RESTORE-ASKING" if self._instance.is_cluster else b"RESTORE",
            key,
            b"%d" % self._time_to_live(key),
            b"".join(await self._payload(key, options)),
        ]
        if self._order.replaces:
            words.append(b"REPLACE")
        writer.write(replies.command(words))
        await self._within(writer.drain(), WRITING)

    async def _payload(self, key: bytes, options: SnapshotOptions) -> list[bytes]:
        """The value, serialized in pieces: others have their turns in between."""
        instance, value = self._instance, self._db.values.get(key)
        if value is None:
            raise _Failed(b"ERR The data was replaced while keys were migrated")
        twin = value.copy()
        try:
            pieces = []
            for piece in dump_pieces(twin, options, instance.now_ms):
                pieces.append(piece)
                await asyncio.sleep(0)
            return pieces
        finally:
            twin.release()

    def _time_to_live(self, key: bytes) -> int:
        """In ms; 0 for a key that does not expire."""
        when_ms = self._db.expires.get(key)
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
