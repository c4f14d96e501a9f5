"""An in-process server without sockets, real clock or real randomness, for tests and file checks.

    server = InProcessServer(now_ms=1_700_000_000_000, stream_node_max_entries="10")
    client = server.connect()
    client.execute("XADD", "s", "*", "f", "v")      # raw reply bytes; b"" while it blocks
    server.advance(1000)                            # lets time pass, fires deadlines
    server.now_ms -= 3_600_000                      # sets the clock, as an administrator may
    client.received()                               # output since then: pushes, served waits

Every `execute` is one loop cycle; `pipeline` puts several requests into one. Batches have no time
slice, unless `server.dispatcher.clock.slice_ns = -1` ends each after its first request.

Its files are in memory (memory_files.py), and are loaded at the start:

    server = InProcessServer(appendonly="yes")
    server.files.fail("sync", errno.EIO)            # see memory_files.py
    server.children.is_held = True                  # see children.py
    server = server.restart(server.files.crash())   # with the files that a power failure leaves

`rillway check` uses it, too: it loads files into an in-process server to count what they hold.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import NoReturn, Self

from commands.acl.access_control import AccessControl
from commands.config.configuration import Configuration
from commands.core.blocked_clients import Block
from commands.core.client import Client, Clients
from commands.core.host import ProcessFacts
from commands.core.propagation import Sink, units_in
from commands.core.services import MigrationOrder, Services
from protocol import replies
from protocol.errors import ReplyError
from protocol.requests import Argv
from server import user_files
from server.config_file import split_words
from server.inprocess.children import InProcessChildren
from server.inprocess.memory_files import MemoryFiles
from server.inprocess.memory_network import Network
from server.loop.server import Environment, Server, Timer
from server.persistence.append_only.directory import ManualSyncer
from server.replication.sockets import Outside
from server.requests.command_clock import NEVER_NS
from server.requests.session import Session

Word = str | bytes | int

# Warnings, so that pytest shows the traceback of a handler that failed with the test that it broke.
LOGGER = logging.getLogger("server.inprocess")
LOGGER.addHandler(logging.NullHandler())


def to_argv(words: tuple[Word, ...]) -> Argv:
    """Words as the bytes of a request."""
    return [w if isinstance(w, bytes) else str(w).encode() for w in words]


class ServerDied(Exception):
    """The server has ended itself; the message is its last log line."""


class NoWayOut:
    """MIGRATE without a network."""

    def start(self, client: Client, block: Block, order: MigrationOrder) -> None:
        """Refuse it, as if the other server could not be found."""
        raise ReplyError(b"IOERR error or timeout connecting to the client")


# What the monotonic clock of a new server shows: far from any time of day.
FIRST_MONOTONIC_MS = 10_000_000


class ManualEnvironment(Environment):
    """Manual clocks, seeded chance, files in memory, and callbacks that run at a tick."""

    grain_ms = 0  # the clocks are exact

    def __init__(self, files: MemoryFiles, now_ms: int, seed: int) -> None:
        self.unix_ms, self.running_ms = now_ms, FIRST_MONOTONIC_MS
        self.seed = seed
        self.random = random.Random(seed)
        self.clock_step_us = self.clock_us_passed = 0
        self.log_lines: list[tuple[str, str]] = []
        self._files = files
        self._callbacks: list[Callable[[], None]] = []
        self.call_soon = lambda callback: self._callbacks.append(callback)
        self.call_later = self._call_at_tick
        self.end_cycle_soon = lambda callback: None  # the test ends each cycle

    def now_ms(self) -> int:
        """The manual clock."""
        return self.unix_ms

    def now_us(self) -> int:
        """The manual clock; each call advances both by `clock_step_us`."""
        self.clock_us_passed += self.clock_step_us
        return self.unix_ms * 1000 + self.clock_us_passed

    def monotonic_us(self) -> int:
        """The manual clock; each call advances both by `clock_step_us`."""
        self.clock_us_passed += self.clock_step_us
        return self.running_ms * 1000 + self.clock_us_passed

    def monotonic_ms(self) -> int:
        """The manual clock."""
        return self.running_ms

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.pass_time(int(seconds * 1000))

    def pass_time(self, ms: int) -> None:
        """Move both clocks."""
        self.unix_ms += ms
        self.running_ms += ms

    def random_below(self, limit: int) -> int:
        """Seeded."""
        return self.random.randrange(limit)

    def random_hex(self, digits: int) -> str:
        """Seeded."""
        return f"{self.random.getrandbits(4 * digits):0{digits}x}"

    def log(self, level: str, message: str) -> None:
        """Record the line for the test."""
        self.log_lines.append((level, message))
        if level == "warning":
            LOGGER.warning(message)

    def _call_at_tick(self, _: float, callback: Callable[[], None]) -> Timer:
        """A pause is shorter than the time between two ticks."""
        self._callbacks.append(callback)
        return _Callback(self._callbacks, callback)

    def run_callbacks(self) -> None:
        """Run what waits for this tick; what that asks for waits for the next one."""
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def write(self, client: Client) -> None:
        """Give the client its output."""
        connection = client.connection
        assert isinstance(connection, InProcessClient)
        connection.write()

    def files(self) -> MemoryFiles:
        """Those of the test."""
        return self._files

    def children(self, server: Server) -> InProcessChildren:
        """They save at once, or when the test says so."""
        return InProcessChildren(self._files)

    def syncer(self, server: Server) -> ManualSyncer:
        """It syncs at a tick, or when the test says so."""
        return ManualSyncer()

    def outside(self, server: Server) -> Outside:
        """The test's network."""
        assert isinstance(server, InProcessServer)
        return server.network.outside_of(server)


class _Callback:
    """A callback that waits for a tick."""

    def __init__(self, callbacks: list[Callable[[], None]], callback: Callable[[], None]) -> None:
        self._callbacks, self._callback = callbacks, callback

    def cancel(self) -> None:
        """Do not call it."""
        if self._callback in self._callbacks:
            self._callbacks.remove(self._callback)


class InProcessServer(Server):
    """A server that a test runs by hand."""

    environment: ManualEnvironment
    files: MemoryFiles
    children: InProcessChildren
    snapshot_children: InProcessChildren
    syncer: ManualSyncer

    def __init__(self, now_ms: int = 1_700_000_000_000, seed: int = 0, **directives: str) -> None:
        self._begin(MemoryFiles(), now_ms, seed, directives, Network())

    @classmethod
    def in_network(
        cls, network: Network, files: MemoryFiles | None = None, **directives: str
    ) -> Self:
        """A server in a `Network` of in-process servers, which others reach by its port."""
        server = cls.__new__(cls)
        seed = len(network.peers)
        server._begin(files or MemoryFiles(), network.now_ms, seed, directives, network)
        return server

    @classmethod
    def on_files(
        cls,
        files: MemoryFiles,
        now_ms: int = 1_700_000_000_000,
        seed: int = 0,
        **directives: str,
    ) -> Self:
        """A server that starts with the given files. Raises LoadFailed."""
        server = cls.__new__(cls)
        server._begin(files, now_ms, seed, directives, Network())
        return server

    def _begin(
        self,
        files: MemoryFiles,
        now_ms: int,
        seed: int,
        directives: dict[str, str],
        network: Network,
    ) -> None:
        self.network, self._directives = network, directives
        self.environment = environment = ManualEnvironment(files, now_ms, seed)
        self.random = environment.random
        self.log_lines = environment.log_lines
        self.supervisor_states: list[str] = []
        self.shutdown_requested = False
        self.syncs_are_held = False  # if not, jobs of the syncer run at each tick
        config = Configuration()
        config.set("save", [""])  # a test that wants save points says so
        for name, text in directives.items():
            for line in text.split("\n"):
                config.set(name.replace("_", "-"), split_words(line) or [line])
        super().__init__(config, environment)
        self.dispatcher.clock.slice_ns = NEVER_NS
        self.instance.feature(Services).migration = NoWayOut()
        self._first_db = 0
        self._batches: list[tuple[int, bytes]] = []
        self._propagated: list[tuple[int, list[Argv]]] = []
        user_files.load_users(self.instance)
        self.open_audit_log(config.audit_log)
        self._load()
        self.instance.propagation.sinks.append(Sink(self._begin_batch, self._take_batch))

    @property
    def now_ms(self) -> int:
        """The manual time of day; set, it jumps: no time passes."""
        return self.environment.unix_ms

    @now_ms.setter
    def now_ms(self, now_ms: int) -> None:
        self.environment.unix_ms = now_ms

    @property
    def monotonic_ms(self) -> int:
        """The manual time for waiting."""
        return self.environment.running_ms

    @property
    def clock_step_us(self) -> int:
        """How much each reading of the clock advances it."""
        return self.environment.clock_step_us

    @clock_step_us.setter
    def clock_step_us(self, step_us: int) -> None:
        self.environment.clock_step_us = step_us

    def _begin_batch(self, db_index: int) -> None:
        self._first_db = db_index

    def _take_batch(self, wire: bytes, last_db: int) -> None:
        self._batches.append((self._first_db, wire))

    @property
    def propagated(self) -> list[tuple[int, list[Argv]]]:
        """The units that were propagated, each with its database; the list may be changed."""
        self.instance.propagation.hand_over()
        batches, self._batches = self._batches, []
        for db_index, wire in batches:
            self._propagated += units_in(db_index, wire)
        return self._propagated

    def _load(self) -> None:
        for _ in self.persistence.load():
            pass
        self.persistence.open()
        self.replication.open()

    def fatal(self, message: str) -> NoReturn:
        """The process would end: the test sees `ServerDied`."""
        raise ServerDied(message)

    def restart(self, files: MemoryFiles | None = None) -> Self:
        """A new server with the same configuration, after this one was killed.

        `files`: its files, e.g. `server.files.crash()`; by default all that was written.
        """
        files = files or self.files.kill()
        return self.on_files(files, self.now_ms, self.environment.seed, **self._directives)

    def connect(self) -> InProcessClient:
        """A new client."""
        return InProcessClient(self)

    def advance(self, ms: int) -> None:
        """Let time pass, and do one timer tick: deadlines, active expiry, files, replication."""
        self.environment.pass_time(ms)
        self.tick()

    def tick(self) -> None:
        """What the timers of a server do within a tenth of a second, and the end of the cycle."""
        self._on_alarm()
        if not (self.syncs_are_held or self.instance.is_cron_paused):
            self.syncer.wait()
        self._work_periodically()
        self.environment.run_callbacks()
        self.finish_cycle()

    @property
    def port(self) -> int:
        """The port by which other servers of the network reach this one."""
        return self.instance.config.port

    def run_cycle(self, event: Callable[[], object]) -> None:
        """Run an event of the network in a cycle of its own."""
        self.dispatcher.start_batch()
        event()
        self.finish_cycle()

    def finish_cycle(self) -> None:
        """End the cycle, and run further ones until no client has requests left."""
        self.cycle.finish()
        while self.dispatcher.queues.has_yielded:
            self.cycle.go_on()
            self.cycle.finish()

    # -- Host ----------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """A signal to end the server arrives, in the middle of whatever runs."""
        self._is_interrupted = True

    def _end(self, save: bool | None, force: bool) -> bool:
        """Record the shutdown for the test, if saving succeeds."""
        self.shutdown_requested = super()._end(save, force)
        return self.shutdown_requested

    def facts(self) -> ProcessFacts:
        """Fixed numbers."""
        mib = 1024 * 1024
        return ProcessFacts(
            pid=1, executable="/bin/rillway", config_file="", os="Test", started_ms=0,
            supervisor="no",
            resident_bytes=10 * mib, peak_resident_bytes=20 * mib, total_system_bytes=1024 * mib,
            cpu_user_s=1.0, cpu_system_s=0.5, cpu_user_children_s=0.0, cpu_system_children_s=0.0,
            listeners=[("tcp", "127.0.0.1", 6379)], event_loop="none",
        )  # fmt: skip

    def tell_supervisor(self, state: str) -> None:
        """Keep what systemd would be told."""
        self.supervisor_states.append(state)


class InProcessClient:
    """A connection to an `InProcessServer`."""

    def __init__(self, server: InProcessServer) -> None:
        self.server = server
        self.buffer = b""
        self.closed = False
        self.is_gone = False  # whether the peer has closed, unnoticed by the loop
        self.fd = -1
        self.unix_socket = False
        self.unsent = 0  # bytes that the peer has not taken
        self.state = server.instance.feature(Clients).new()
        self.state.connection = self
        self.state.address = b"127.0.0.1:%d" % (10000 + self.state.id)
        self.local_address = b"127.0.0.1:6379"
        server.instance.feature(AccessControl).admit(self.state)
        self.session = Session(self.state, server.dispatcher)
        server.cycle.sessions[self.state] = self.session

    def execute(self, *words: Word) -> bytes:
        """Send one request in a cycle of its own; returns what the client received in it."""
        return self.feed(replies.command(to_argv(words)))

    def pipeline(self, *requests: tuple[Word, ...]) -> bytes:
        """Send several requests in one cycle."""
        return self.feed(b"".join(replies.command(to_argv(words)) for words in requests))

    def feed(self, data: bytes) -> bytes:
        """Send raw bytes in one cycle."""
        self.send(data)
        self.server.finish_cycle()
        return self.received()

    def send(self, data: bytes) -> None:
        """Send raw bytes without ending the cycle."""
        server = self.server
        server.dispatcher.start_batch()
        if not self.closed and not server.cycle.is_stopped:
            self.session.receive(data)
            server.client_memory.note(self.state)
            server.cycle.touch(self.state)

    def write(self) -> None:
        """Take the client's output (the cycle's last step)."""
        self.buffer += b"".join(self.state.output)
        self.state.output.clear()
        self.server.client_memory.note(self.state)
        if self.state.close_after_reply:
            self.abort()

    def received(self) -> bytes:
        """Return the bytes that the client received since the last call."""
        data, self.buffer = self.buffer, b""
        return data

    def disconnect(self) -> None:
        """Close the peer's side."""
        self.abort()

    # -- Connection ----------------------------------------------------------------------------

    def is_encrypted(self) -> bool:
        """False."""
        return False

    def send_soon(self) -> None:
        """The cycle that runs will write the client's output."""
        self.server.cycle.touch(self.state)

    def read_on(self) -> None:
        """Nothing: the test sends what it likes."""

    def abort(self) -> None:
        """The connection ends."""
        self.closed = True
        self.server.cycle.sessions.pop(self.state, None)
        self.server.instance.feature(Clients).forget(self.state)

    def peer_has_closed(self) -> bool:
        """Return True if the test has set `is_gone`."""
        return self.is_gone

    def set_delay(self, *, is_allowed: bool) -> None:
        """Nothing: there is no network."""

    def unsent_bytes(self) -> int:
        """Return what the test has set; all output is sent at once."""
        return self.unsent
