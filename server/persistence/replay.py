"""Replays the requests of an append-only file on an instance.

They go straight to the handlers: no statistics, slow log, monitors, propagation or events. The
client has no connection, and `replays`: keys do not expire meanwhile, and a decision that the
command made when it first ran (an explicit ID with IDMP) is kept. A transaction runs once its EXEC
is read; before that it has changed nothing. A command with a `raw` handler gets the request's bytes
from the file.

A write that a handler refuses now was accepted when it first ran, so the data differs from then.
The replay goes on, to count such writes: `refusals` has their number, `first_refusal` the place of
the first, and the caller decides. A request that no handler can run (unknown, wrong number of
words) stops the replay, because its effect is unknown. So does a database that does not exist
(UnfitContent), because the following requests would change another one. Commands that change no
data are skipped: a file cannot stop the server. Of these, an ECHO may carry a request of Rillway's
own, which runs (commands/core/carried.py).

Source: redis-server 7.0.15, by experiment. It accepts a wrong number of words, and crashes.
"""

from __future__ import annotations

import contextlib
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from commands.core.carried import carried
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import COMMANDS, MAY_REPLICATE, PUBSUB, WRITE, Argv, Command, RawHandler
from protocol.cutter import Cutter
from protocol.errors import ReplyError
from server.persistence.snapshot_restore import no_database
from storage.append_only.reader import Batch
from storage.nodes.listpack_node import DamagedNode
from storage.values import as_int64

# The spellings of a transaction's first word.
_MULTI = re.compile(rb"\$5\r\nmulti\r\n", re.IGNORECASE)

# The ID of the replaying client; no real client has it.
_CLIENT_ID = -1

# The commands with a raw handler.
_RAW: dict[bytes, RawHandler] = {
    name.upper(): command.raw
    for name, command in COMMANDS.items()
    if command.raw is not None and command.flags & WRITE
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A write that its handler refused; `offset` is its place in the file."""

    offset: int
    command: str
    error: str

    def __str__(self) -> str:
        return f"'{self.command}' at offset {self.offset}: {self.error}"


class UnreplayableRequest(Exception):
    """The request at `offset` cannot be run; `reason` says why, with the command's name.

    `unit_offset` is where its transaction begins, or the same if it is in none.
    """

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"{reason} at offset {offset}")
        self.offset = self.unit_offset = offset
        self.reason = reason


class Replay:
    """Runs the requests of one file. The first is for database 0."""

    def __init__(self, instance: Instance, file_name: str) -> None:
        self.requests = 0  # that were run
        self.refusals: Counter[str] = Counter()  # writes that handlers refused, by command
        self.first_refusal: Refusal | None = None
        self.passed_over: Counter[str] = Counter()  # commands that change no data
        self._instance = instance
        self._file_name = file_name
        self._client = Client(instance, _CLIENT_ID, instance.databases[0])
        self._cutter = Cutter()
        self._client.replays = True
        self._client.deny_blocking = True
        # An open transaction: batches, with the range of indexes that it covers in each.
        self._unit: list[tuple[Batch, int, int]] = []

    @property
    def open_unit_offset(self) -> int | None:
        """The file offset of an unfinished transaction; None if there is none."""
        if not self._unit:
            return None
        batch, start, _ = self._unit[0]
        return batch.offset_of(start)

    def run(self, batch: Batch) -> None:
        """Run all requests of a batch.

        Raises UnreplayableRequest and UnfitContent; the requests before that one have run.
        """
        with _in_silence(self._instance):
            if batch.text is not None and not self._unit and not _MULTI.search(batch.text):
                self._run_text(batch, batch.text)
                return
            position = 0
            while position < len(batch.requests):
                if self._unit or batch.requests[position][0].upper() == b"MULTI":
                    position = self._take_unit(batch, position)
                else:
                    self._execute(batch.requests[position], partial(batch.offset_of, position))
                    position += 1

    def _run_text(self, batch: Batch, text: bytes) -> None:
        """Run a batch without transactions from its bytes."""
        cutter, client = self._cutter, self._client
        cutter.load(text)
        start = 0
        while cutter.next():
            raw = _RAW.get(cutter.word(0))
            if raw is not None and raw(client, cutter) is not None:
                self.requests += 1
            else:
                self._execute(cutter.words(), partial(operator.add, batch.offset, start))
            start = cutter.position

    def _take_unit(self, batch: Batch, position: int) -> int:
        """Collect the requests of a transaction, and run it at its end; returns where to go on."""
        requests = batch.requests
        end = position
        while end < len(requests) and requests[end][0].upper() != b"EXEC":
            end += 1
        self._unit.append((batch, position, end))
        if end == len(requests):
            return end
        self._execute_unit()
        return end + 1

    def _execute_unit(self) -> None:
        unit, self._unit = self._unit, []
        first, start, _ = unit[0]
        try:
            for batch, position, end in unit:
                if batch is first:
                    position += 1  # MULTI itself
                for index in range(position, end):
                    self._execute(batch.requests[index], partial(batch.offset_of, index))
        except UnreplayableRequest as error:
            error.unit_offset = first.offset_of(start)
            raise

    def _execute(self, argv: Argv, offset: Callable[[], int]) -> None:
        """Run one request; `offset` finds where it begins in the file."""
        command = _find(argv)
        if command is None or not command.accepts(len(argv)):
            name = b" ".join(argv[:1] if command is None else argv[:2]).decode("latin-1")
            what = "Unknown command" if command is None else "Wrong number of arguments for"
            raise UnreplayableRequest(offset(), f"{what} '{name[:128]}'")
        self.requests += 1
        if command.fullname == b"echo":
            try:
                command, argv = carried(argv) or (command, argv)
            except ReplyError as error:
                reason = error.text.removeprefix(b"ERR ").decode("latin-1")
                raise UnreplayableRequest(offset(), reason) from None
        if not _may_change_data(command):
            self.passed_over[command.fullname.decode()] += 1
            return
        assert command.handler is not None
        try:
            command.handler(self._client, argv)
        except ReplyError as error:
            database = as_int64(argv[1]) if command.fullname == b"select" else None
            if database is not None:
                # Redis goes on, and applies the following requests to another database.
                raise no_database(self._instance, database, offset()) from None
            self._refused(offset(), command, error.text.decode("latin-1"))
        except DamagedNode as error:
            raise UnreplayableRequest(offset(), str(error)) from error

    def _refused(self, offset: int, command: Command, error: str) -> None:
        """Log the first refusal of each command; the others are only counted."""
        refusal = Refusal(offset, command.fullname.decode(), error)
        self.refusals[refusal.command] += 1
        if self.first_refusal is None:
            self.first_refusal = refusal
        if self.refusals[refusal.command] == 1:
            self._instance.host.log(
                "warning", f"{self._file_name}: refused while loading: {refusal}"
            )


def _may_change_data(command: Command) -> bool:
    """Whether a command may change data. Scripts may: older servers propagated the scripts."""
    if command.fullname == b"select" or command.flags & WRITE:
        return True
    return bool(command.flags & MAY_REPLICATE and not command.flags & PUBSUB)


def _find(argv: Argv) -> Command | None:
    """The command or sub-command in any spelling; None if there is none with a handler."""
    command = COMMANDS.get(argv[0].lower())
    if command is not None and command.subcommands:
        command = command.subcommands.get(argv[1].lower()) if len(argv) > 1 else None
    return command


@contextlib.contextmanager
def _in_silence(instance: Instance) -> Iterator[None]:
    """Suppress notifications, propagation and statistics."""
    config, stats = instance.config, instance.stats
    events, config.notify_keyspace_events = config.notify_keyspace_events, 0
    sinks, instance.sinks = instance.sinks, []
    hits, misses = stats.keyspace_hits, stats.keyspace_misses
    try:
        yield
    finally:
        config.notify_keyspace_events = events
        instance.sinks = sinks
        stats.keyspace_hits, stats.keyspace_misses = hits, misses
