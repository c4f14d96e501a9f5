"""Applies the replication stream of a primary: parses its bytes and runs its requests.

Applied bytes are passed on unchanged to this server's own replicas and backlog, so that all servers
of a chain count the same offsets. The offset is always that of a boundary between requests; during
a transaction it stays before its MULTI until the EXEC has run, and while a FUNCTION LOAD is paused
it stays before that. A broken link resumes there.

The primary's requests are trusted. But bytes that are not a request, or a request for a database
that does not exist, show that the two servers disagree about the stream: `BrokenStream`.

Only commands that change data run, and those that belong to them, such as MULTI and SELECT; also an
ECHO that carries a request of Rillway's own (storage/append_only/requests.py). If such a command
returns an error, that is counted and logged, because the two servers now differ.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from time import perf_counter_ns

from commands.core.client import Client
from commands.core.gates import GATE_BUSY, GATE_MULTI, GATE_PRIMARY, GATE_SILENT, HOLDING_GATES
from commands.core.instance import Instance
from commands.core.registry import MAY_REPLICATE, WRITE, Command, CommandTable
from protocol.request import Cutter, Request
from server.replication.primary.feed import Feed
from server.requests.command_clock import TIME_SLICE_NS
from server.requests.dispatch import Dispatcher
from storage.append_only.reader import (
    Batch,
    DamagedFile,
    RequestFile,
    TornFile,
)
from storage.append_only.requests import is_carrier
from storage.types.value import as_int64

# The limits of a request in the stream: large enough for any value, and for many of them.
MAX_BULK_BYTES = 1 << 32
# Commands that change no data themselves, but belong to the stream.
_ALONGSIDE = {b"multi", b"exec", b"discard", b"select"}
_SCRIPTS = {b"eval", b"evalsha", b"eval_ro", b"evalsha_ro", b"fcall", b"fcall_ro"}


class BrokenStream(Exception):
    """The link must be dropped, and the next synchronisation must be a full one."""


class StreamRequests(RequestFile):
    """Parses the requests of a stream: as in a file, but without annotations."""

    def _next(self) -> Batch | None:
        if self._buffer[self.position] != ord("*"):
            found = self._buffer[self.position : self.position + 16]
            raise DamagedFile(self.position, "'*'", found)
        return self._cut() or self._scan()


class Following:
    """Applies the stream of one connection.

    `acknowledge` sends this server's offset at once.
    """

    def __init__(
        self,
        instance: Instance,
        feed: Feed,
        client: Client,
        dispatcher: Dispatcher,
        acknowledge: Callable[[], object],
    ) -> None:
        self.client = client
        self._execute = dispatcher.execute
        self._count_quick = dispatcher.clock.count_quick
        self._instance = instance
        self._commands = instance.feature(CommandTable)
        self._state = instance.replication
        self._feed = feed
        self._acknowledge = acknowledge
        self._parts: list[bytes] = []  # received, not parsed
        self._part_bytes = 0
        self._wanted_bytes = 0  # parsing needs at least this many bytes to get further
        self._batches: deque[bytes] = deque()  # parsed, not applied
        self._paused: Iterator[None] | None = None  # the rest of the batch that has paused
        self._cutter = Cutter()
        self._raw = b""  # the batch that is being applied
        self._passed = 0  # how many of its bytes were passed on
        self._open: list[bytes] = []  # applied requests of an open transaction
        client.gates |= GATE_PRIMARY | GATE_SILENT
        client.reply_mode = b"OFF"
        client.replays = client.deny_blocking = True

    @property
    def has_work(self) -> bool:
        """True if there are parsed requests to apply."""
        return bool(self._batches) or self._paused is not None

    # -- from bytes to requests ----------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take bytes of the stream. Raises BrokenStream."""
        self._state.link.received_offset += len(data)
        self._state.input_bytes += len(data)
        self.client.reads += 1
        self.client.net_input_bytes += len(data)
        self._parts.append(data)
        self._part_bytes += len(data)
        if self._part_bytes >= self._wanted_bytes:
            self._parse()

    def _parse(self) -> None:
        buffer = b"".join(self._parts)
        if buffer.startswith(b"\n"):
            # A newline is a sign of life, and no part of the stream.
            bare = len(buffer) - len(buffer.lstrip(b"\n"))
            self._state.link.received_offset -= bare
            buffer = buffer[bare:]
        requests = StreamRequests(buffer)
        try:
            self._batches.extend(batch.text for batch in requests.batches())
        except TornFile:
            pass
        except DamagedFile as error:
            raise BrokenStream(f"in the stream of the primary: {error}") from None
        rest = buffer[requests.position :]
        self._parts = [rest] if rest else []
        self._part_bytes = len(rest)
        self._wanted_bytes = _wanted_bytes(rest)

    # -- from requests to data -----------------------------------------------------------------

    def apply(self) -> None:
        """Run received requests for one time slice. Raises BrokenStream.

        One that pauses (Dispatcher.run_with_pauses) ends it; the next call goes on after it.
        """
        until_ns = perf_counter_ns() + TIME_SLICE_NS
        while self.has_work:
            steps, self._paused = self._paused or self._apply_batch(self._batches.popleft()), None
            for _ in steps:
                self._paused = steps
                break
            self._count_quick()
            if self._state.link.damage:
                reason, self._state.link.damage = self._state.link.damage, ""
                raise BrokenStream(f"the stream of the primary has met damage: {reason}")
            if self._paused is not None or perf_counter_ns() > until_ns:
                return

    def _apply_batch(self, batch: bytes) -> Iterator[None]:
        """Run the requests of a batch; yields when one has paused."""
        self._raw, self._passed = batch, 0
        cutter = self._cutter
        cutter.load(batch)
        position = 0
        while cutter.next():
            # None of these pauses.
            if cutter.word(0) in self._commands.writes and not self._instance.gates & HOLDING_GATES:
                self._execute(self.client, cutter)  # saves 1.4 us
            else:
                yield from self._apply_one(cutter, position, cutter.position)
            position = cutter.position
        self._pass_on(len(batch))

    def _apply_one(self, request: Request, position: int, end: int) -> Iterator[None]:
        """Run the request between two positions of the batch; yields if it has paused, and while
        writes are held back.
        """
        command = self._commands.find_replayed(request)
        name = b"" if command is None else (command.parent or command).name
        if name == b"REPLCONF":
            self._pass_on(position)  # the acknowledgement covers the requests before this one
            self._take_replconf(request)
        elif name == b"SELECT":
            self._check_database(request)
        if name in (b"SELECT", b"MULTI", b"FUNCTION"):
            self._pass_on(position)
        if name not in (b"REPLCONF", b"PING"):
            while self._instance.gates & HOLDING_GATES and name not in (b"SELECT", b"MULTI"):
                self._pass_on(position)
                yield
            self._run(command, request)
            if self._instance.gates & GATE_BUSY:
                yield
        if name in (b"SELECT", b"EXEC"):
            self._pass_on(end)

    def _pass_on(self, end: int) -> None:
        """Pass on the batch up to `end`; requests of an open transaction are held back."""
        fresh, self._passed = self._raw[self._passed : end], end
        if self.client.gates & GATE_MULTI:
            self._open.append(fresh)
            return
        opened, self._open = self._open, []
        data = b"".join([*opened, fresh]) if opened else fresh
        if data:
            self._state.stream_db = self.client.db.index
            self._feed.pass_on(data)

    def _run(self, command: Command | None, request: Request) -> None:
        if command is not None and not _belongs_here(command, request):
            name, instance = request[0][:128].decode("latin-1"), self._instance
            if request.count > 1:
                name += " " + instance.shown(request[1][:128])
            instance.host.log(
                "warning", f"The primary sends '{name}', which changes no data here: skipped"
            )
            return
        self._execute(self.client, request)

    def _take_replconf(self, argv: Request) -> None:
        if len(argv) > 1 and argv[1].upper() == b"GETACK":
            self._acknowledge()

    def _check_database(self, argv: Request) -> None:
        index = as_int64(argv[1]) if len(argv) == 2 else None
        if index is None or not 0 <= index < len(self._instance.databases):
            raise BrokenStream(f"the primary selects database {argv[1:2]!r}, which does not exist")


def _belongs_here(command: Command, request: Request) -> bool:
    """Return True if a command of the stream runs. Scripts do not: their effects are replicated."""
    name = command.fullname
    if name in _ALONGSIDE or (name == b"echo" and is_carrier(request.words())):
        return True
    return bool(command.flags & (WRITE | MAY_REPLICATE)) and name not in _SCRIPTS


def _wanted_bytes(rest: bytes) -> int:
    """Return the number of bytes of an incomplete request that parsing needs to get further.

    Raises BrokenStream if its header is not valid.
    """
    position = rest.find(b"\r\n") + 2
    if position < 2:
        return 0
    while True:
        line_end = rest.find(b"\r\n", position, position + 32)
        if line_end < 0:
            return 0
        length = as_int64(rest[position + 1 : line_end])
        if length is None or not 0 <= length <= MAX_BULK_BYTES:
            raise BrokenStream(f"the primary announces {rest[position:line_end]!r}")
        position = line_end + 2 + length + 2
        if position > len(rest):
            return position
