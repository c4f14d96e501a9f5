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
own, which runs (commands/core/carried_requests.py).

Source: redis-server 7.0.15, by experiment. It accepts a wrong number of words, and crashes.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import cython

from commands.core.carried_requests import carried
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import COMMANDS, MAY_REPLICATE, PUBSUB, WRITE, Command
from protocol.cutter import Cutter
from protocol.errors import ReplyError
from protocol.records import frozen_record
from protocol.requests import Argv
from server.persistence.loading.snapshot_restore import no_database
from storage.append_only.reader import Batch
from storage.nodes.listpack_node import DamagedNode
from storage.types.value import as_int64

# The ID of the replaying client; no real client has it.
_CLIENT_ID = -1

# The commands with a raw handler, which have a minimum of words.
_RAW: dict[bytes, Command] = {
    name.upper(): command
    for name, command in COMMANDS.items()
    if command.raw is not None and command.flags & WRITE
}


@frozen_record
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


@cython.cclass
class Replay:
    """Runs the requests of one file. The first is for database 0."""

    def __init__(self, instance: Instance, file_name: str) -> None:
        self.requests = 0  # that were run
        self.refusals: Counter[str] = Counter()  # writes that handlers refused, by command
        self.first_refusal: Refusal | None = None
        self.passed_over: Counter[str] = Counter()  # commands that change no data
        # An open transaction: where its MULTI is in the file, and the requests after it.
        self.open_unit_offset: int | None = None
        self._unit: list[Batch] = []
        self._instance = instance
        self._file_name = file_name
        self._cutter = Cutter()
        self._unit_cutter = Cutter()
        self._client = Client(instance, _CLIENT_ID, instance.databases[0])
        self._client.replays = True
        self._client.deny_blocking = True

    def run(self, batch: Batch) -> None:
        """Run all requests of a batch.

        Raises UnreplayableRequest and UnfitContent; the requests before that one have run.
        """
        with _in_silence(self._instance):
            if batch.text is None:
                self._run_words(batch)
            else:
                self._run_text(batch, batch.text)

    @cython.cfunc
    def _run_text(self, batch: Batch, text: bytes) -> None:
        """Run a batch from its bytes."""
        cutter = self._cutter
        offset: cython.Py_ssize_t = batch.offset
        start: cython.Py_ssize_t = 0
        unit_start: cython.Py_ssize_t = 0
        cutter.load(text)
        while cutter.next():
            if self.open_unit_offset is not None:
                if _is_named(cutter, b"EXEC"):
                    self._unit.append(batch.cut(unit_start, start))
                    self._run_unit()
            elif cutter.count == 1 and _is_named(cutter, b"MULTI"):
                self.open_unit_offset, unit_start = offset + start, cutter.position
            else:
                self._run_cut(cutter, offset + start)
            start = cutter.position
        if self.open_unit_offset is not None:
            self._unit.append(batch.cut(unit_start, len(text)))

    def _run_words(self, batch: Batch) -> None:
        """Run a batch that is parsed into words."""
        unit_start = 0
        for index, argv in enumerate(batch.requests):
            if self.open_unit_offset is not None:
                if argv[0].upper() == b"EXEC":
                    self._unit.append(batch.part(unit_start, index))
                    self._run_unit()
            elif len(argv) == 1 and argv[0].upper() == b"MULTI":
                self.open_unit_offset, unit_start = batch.offset_of(index), index + 1
            else:
                self._execute(argv, partial(batch.offset_of, index))
        if self.open_unit_offset is not None:
            self._unit.append(batch.part(unit_start, len(batch.requests)))

    def _run_unit(self) -> None:
        """Run the requests of the transaction whose end was read."""
        unit, self._unit = self._unit, []
        multi_offset, self.open_unit_offset = self.open_unit_offset, None
        try:
            for part in unit:
                if part.text is None:
                    for index, argv in enumerate(part.requests):
                        self._execute(argv, partial(part.offset_of, index))
                else:
                    self._run_each(part.offset, part.text)
        except UnreplayableRequest as error:
            assert multi_offset is not None
            error.unit_offset = multi_offset
            raise

    @cython.cfunc
    def _run_each(self, offset: cython.Py_ssize_t, text: bytes) -> None:
        """Run requests of a transaction from their bytes."""
        cutter = self._unit_cutter
        start: cython.Py_ssize_t = 0
        cutter.load(text)
        while cutter.next():
            self._run_cut(cutter, offset + start)
            start = cutter.position

    @cython.cfunc
    def _run_cut(self, request: Cutter, offset: cython.Py_ssize_t) -> None:
        """Run one request, which begins at `offset`, from its bytes if its command takes them."""
        command: Command | None = _RAW.get(request.word(0))
        if command is not None and request.count >= -command.arity:
            assert command.raw is not None
            try:
                if command.raw(self._client, request) is not None:
                    self.requests += 1
                    return
            except DamagedNode as error:
                raise UnreplayableRequest(offset, str(error)) from error
        self._execute(request.words(), partial(int, offset))

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
                "warning",
                "== CRITICAL == This server is sending an error to its AOF-loading-client:"
                f" '{error.removeprefix('ERR ')}' after processing the command"
                f" '{refusal.command}' of {self._file_name} at offset {offset}",
            )


def _is_named(request: Cutter, name: bytes) -> bool:
    """Return True if a request's command has this name, in any spelling."""
    return request.word(0).upper() == name


def _may_change_data(command: Command) -> bool:
    """Return True if a command may change data. Scripts may: older servers propagated them."""
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
    instance.look_up_settings()
    sinks, instance.sinks = instance.sinks, []
    hits, misses = stats.keyspace_hits, stats.keyspace_misses
    try:
        yield
    finally:
        config.notify_keyspace_events = events
        instance.look_up_settings()
        instance.sinks = sinks
        stats.keyspace_hits, stats.keyspace_misses = hits, misses
