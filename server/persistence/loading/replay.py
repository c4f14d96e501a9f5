"""Replays the requests of an append-only file on an instance.

They go straight to the handlers: no statistics, slow log, monitors, propagation or events. The
client has no connection, and `replays`: keys do not expire meanwhile, and a decision that the
command made when it first ran (an explicit ID with IDMP) is kept. A transaction runs once its EXEC
is read; before that it has changed nothing.

A write that a handler refuses now was accepted when it first ran, so the data differs from then.
The replay goes on, to count such writes: `refusals` has their number, `first_refusal` the place of
the first, and the caller decides. A request that no handler can run (unknown, wrong number of
words) stops the replay, because its effect is unknown. So does a database that does not exist
(UnfitContent), because the following requests would change another one. Commands that change no
data are skipped: a file cannot stop the server. Of these, an ECHO may carry a request of Rillway's
own, which runs (commands/core/registry.py).

Source: redis-server 7.0.15, by experiment. It accepts a wrong number of words, and crashes.
"""

from __future__ import annotations

from collections import Counter

import cython

import commands.catalogue  # noqa: F401  (declares every command)
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import MAY_REPLICATE, PUBSUB, WRITE, Command, CommandTable, carried
from commands.streams.lookup import report_damage
from protocol.errors import ReplyError
from protocol.records import frozen_record
from protocol.request import Cutter, Request
from protocol.requests import Argv
from server.persistence.loading.snapshot_restore import no_database
from storage.append_only.reader import Batch
from storage.nodes.listpack_node import DamagedNode
from storage.types.value import as_int64

# The ID of the replaying client; no real client has it.
_CLIENT_ID = -1


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
        self._place = 0  # of the request that runs, in the file
        # The write that ran last, by what name, and how many words it may have.
        self._command: Command | None = None
        self._name = b""
        self._least_words = self._most_words = 0
        self._instance = instance
        self._commands = instance.feature(CommandTable)
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
        instance = self._instance
        config, stats, propagation = instance.config, instance.stats, instance.propagation
        # Without notifications, propagation and statistics.
        events, config.notify_keyspace_events = config.notify_keyspace_events, 0
        instance.look_up_settings()
        propagation.hand_over()
        sinks, propagation.sinks = propagation.sinks, []
        hits, misses = stats.keyspace_hits, stats.keyspace_misses
        try:
            self._run_batch(batch.offset, batch.text)
        finally:
            config.notify_keyspace_events = events
            instance.look_up_settings()
            propagation.sinks = sinks
            stats.keyspace_hits, stats.keyspace_misses = hits, misses

    @cython.cfunc
    def _run_batch(self, offset: cython.Py_ssize_t, text: bytes) -> None:
        cutter = self._cutter
        start: cython.Py_ssize_t = 0
        unit_start: cython.Py_ssize_t = 0
        cutter.load(text)
        while cutter.next():
            self._place = offset + start
            if self.open_unit_offset is not None:
                if _is_named(cutter, b"EXEC"):
                    self._unit.append(Batch(offset + unit_start, text[unit_start:start]))
                    self._run_unit()
            elif cutter.count == 1 and _is_named(cutter, b"MULTI"):
                self.open_unit_offset, unit_start = self._place, cutter.position
            else:
                self._execute(cutter)
            start = cutter.position
        if self.open_unit_offset is not None:
            self._unit.append(Batch(offset + unit_start, text[unit_start:]))

    def _run_unit(self) -> None:
        """Run the requests of the transaction whose end was read."""
        unit, self._unit = self._unit, []
        multi_offset, self.open_unit_offset = self.open_unit_offset, None
        try:
            for part in unit:
                self._run_each(part.offset, part.text)
        except UnreplayableRequest as error:
            assert multi_offset is not None
            error.unit_offset = multi_offset
            raise

    @cython.cfunc
    def _run_each(self, offset: cython.Py_ssize_t, text: bytes) -> None:
        """Run requests of a transaction."""
        cutter = self._unit_cutter
        start: cython.Py_ssize_t = 0
        cutter.load(text)
        while cutter.next():
            self._place = offset + start
            self._execute(cutter)
            start = cutter.position

    @cython.cfunc
    def _execute(self, request: Request) -> None:
        """Run one request: most are writes of the same few commands, in one spelling."""
        if self._command is None or not request.is_word(0, self._name):
            self._name = request.word(0)
            self._command = self._commands.writes.get(self._name)
            if self._command is None:
                self._execute_other(request)
                return
            self._least_words = self._command.least_words
            self._most_words = self._command.most_words
        if not self._least_words <= request.count <= self._most_words:
            raise self._unreplayable("Wrong number of arguments for", request[:2])
        self._handle(self._command, request)

    def _execute_other(self, request: Request) -> None:
        """Run a request that changes no data, or has another spelling, or carries another one."""
        command = self._commands.find_replayed(request)
        if command is None:
            raise self._unreplayable("Unknown command", request[:1])
        if not command.accepts(request.count):
            raise self._unreplayable("Wrong number of arguments for", request[:2])
        if command.fullname == b"echo":
            try:
                found = carried(self._client, request)
            except ReplyError as error:
                reason = error.text.removeprefix(b"ERR ").decode("latin-1")
                raise UnreplayableRequest(self._place, reason) from None
            if found is not None:
                command, request = found[0], Request(found[1])
        if _may_change_data(command):
            self._handle(command, request)
        else:
            self.requests += 1
            self.passed_over[command.fullname.decode()] += 1

    @cython.cfunc
    def _handle(self, command: Command, request: Request) -> None:
        handler = command.handler
        assert handler is not None
        self.requests += 1
        try:
            handler(self._client, request)
        except ReplyError as error:
            database = as_int64(request[1]) if command.fullname == b"select" else None
            if database is not None:
                # Redis goes on, and applies the following requests to another database.
                raise no_database(self._instance, database, self._place) from None
            self._refused(self._place, command, self._instance.shown(error.text))
        except DamagedNode as error:
            words = request.words()
            keys = [words[i] for i in command.key_positions(words)]
            found = report_damage(self._client, error, keys)
            reason = found.text.removeprefix(b"ERR ").decode("utf-8", "backslashreplace")
            raise UnreplayableRequest(self._place, reason) from error

    def _unreplayable(self, what: str, names: Argv) -> UnreplayableRequest:
        name = names[0].decode("latin-1")[:128]
        if len(names) > 1:
            name += " " + self._instance.shown(names[1][:128])
        return UnreplayableRequest(self._place, f"{what} '{name}'")

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
