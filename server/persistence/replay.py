"""Requests of an append-only file, run on an instance.

They go straight to the handlers: no statistics, slow log, monitors, propagation or events. The
client is one without a connection that `replays`: keys do not expire meanwhile, and what a command
has already decided once (an explicit ID with IDMP) is taken over. A transaction runs when its EXEC
is there; before that it has changed nothing. Long runs of XADD take a short way (xadd_runs.py).

What a handler refuses was not refused when it was written, so the data is not what it was then. As
Redis does, the loading goes on; the log tells of the first refusal of each kind, and counts. A
request that no handler can take (unknown, wrong number of words) stops it: what would be lost with
it is not known; and so does a database that there is not (UnfitContent), because what follows would
be done to another one. Commands that change nothing are passed over: a file cannot stop the server.

Source: redis-server 7.0.15, tried out. It takes a wrong number of words, and crashes.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

from commands.client import Client
from commands.instance import Instance
from commands.registry import COMMANDS, WRITE, Argv, Command
from commands.streams.add_run import find_run_end
from protocol.errors import ReplyError
from server.persistence.filling import no_database
from server.persistence.xadd_runs import append_run
from storage.append_only.reader import Batch
from storage.packed_node import DamagedNode
from storage.values import as_int64

# The client is nobody's: no other one has this ID.
_CLIENT_ID = -1


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
        self.refusals: Counter[bytes] = Counter()  # what handlers refused, by command
        self._instance = instance
        self._file_name = file_name
        self._client = Client(instance, _CLIENT_ID, instance.databases[0])
        self._client.replays = True
        self._client.deny_blocking = True
        # The requests of a transaction that has begun, its MULTI first: batches and indexes.
        self._unit: list[tuple[Batch, int]] = []

    @property
    def open_unit_offset(self) -> int | None:
        """Where in the file the transaction begins that has no end yet."""
        if not self._unit:
            return None
        batch, index = self._unit[0]
        return batch.offset_of(index)

    def run(self, batch: Batch) -> None:
        """Run all requests of a batch.

        Raises UnreplayableRequest and UnfitContent; what was before it has run.
        """
        with _in_silence(self._instance):
            if batch.columns is None or self._unit:
                position = 0
                while position < len(batch.requests):
                    position = self._run_from(batch, position)
            elif append_run(self._client, batch.columns):
                self.requests += len(batch.columns[0])
            else:
                for index in range(len(batch.requests)):
                    self._take(batch, index)

    def _run_from(self, batch: Batch, position: int) -> int:
        """Run one request, or the run of XADD that begins there; where to go on."""
        end = position if self._unit else find_run_end(batch.requests, position)
        run = batch.requests[position:end]
        if run and append_run(self._client, list(zip(*run, strict=True))):
            self.requests += end - position
            return end
        end = max(end, position + 1)
        for index in range(position, end):
            self._take(batch, index)
        return end

    def _take(self, batch: Batch, index: int) -> None:
        """Run a request, or the transaction that it ends, or let it wait for that end."""
        name = batch.requests[index][0].upper()
        if not self._unit and name != b"MULTI":
            self._execute(batch, index)
        elif self._unit and name == b"EXEC":
            self._execute_unit()
        else:
            self._unit.append((batch, index))

    def _execute_unit(self) -> None:
        (first, *unit), self._unit = self._unit, []
        try:
            for batch, index in unit:
                self._execute(batch, index)
        except UnreplayableRequest as error:
            batch, index = first
            error.unit_offset = batch.offset_of(index)
            raise

    def _execute(self, batch: Batch, index: int) -> None:
        argv = batch.requests[index]
        command = _find(argv)
        if command is None or not command.accepts(len(argv)):
            name = b" ".join(argv[:1] if command is None else argv[:2]).decode("latin-1")
            what = "Unknown command" if command is None else "Wrong number of arguments for"
            raise UnreplayableRequest(batch.offset_of(index), f"{what} '{name[:128]}'")
        self.requests += 1
        if not command.flags & WRITE and command.fullname != b"select":
            self._refused(command, "it changes no data")
            return
        assert command.handler is not None
        try:
            command.handler(self._client, argv)
        except ReplyError as error:
            database = as_int64(argv[1]) if command.fullname == b"select" else None
            if database is not None:
                # Redis goes on, and does to another database what follows.
                raise no_database(self._instance, database, batch.offset_of(index)) from None
            self._refused(command, error.text.decode("latin-1"))
        except DamagedNode as error:
            raise UnreplayableRequest(batch.offset_of(index), str(error)) from error

    def _refused(self, command: Command, reason: str) -> None:
        """Tell of the first refusal of each command; the others are only counted."""
        name = command.fullname
        self.refusals[name] += 1
        if self.refusals[name] == 1:
            self._instance.host.log(
                "warning",
                f"{self._file_name}: '{name.decode()}' was refused while loading: {reason}",
            )


def _find(argv: Argv) -> Command | None:
    """The command or sub-command in any spelling; None if there is none that runs."""
    command = COMMANDS.get(argv[0].lower())
    if command is not None and command.subcommands:
        command = command.subcommands.get(argv[1].lower()) if len(argv) > 1 else None
    return command


@contextlib.contextmanager
def _in_silence(instance: Instance) -> Iterator[None]:
    """Nobody hears of what changes, and no statistics count it."""
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
