"""An in-process server without sockets, real clock or real randomness, for tests and file checks.

    server = InProcessServer(now_ms=1_700_000_000_000, stream_node_max_entries="10")
    client = server.connect()
    client.execute("XADD", "s", "*", "f", "v")      # raw reply bytes; b"" while it blocks
    server.advance(1000)                            # moves the clock, fires deadlines
    client.received()                               # output since then: pushes, served waits

Every `execute` is one loop cycle; `pipeline` puts several requests into one. Batches have no time
slice, unless `server.dispatcher.turn_ns = -1` ends each after its first request.

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
from signal import SIGTERM
from typing import NoReturn, Self

from commands.acl.access_control import AccessControl
from commands.config.configuration import Configuration
from commands.config.redaction import without_bytes
from commands.connection.client_memory import ClientMemory
from commands.core.blocked_clients import Block
from commands.core.client import Client, Clients
from commands.core.host import ProcessFacts
from commands.core.instance import Instance
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
from server.loop.cron import (
    count_memory,
    expire_fields,
    expire_keys,
    forget_idempotent_ids,
)
from server.loop.cycle import EventLoopCycle
from server.persistence.append_only.sync_thread import ManualSyncer
from server.persistence.persistence import Persistence
from server.replication.replication import Replication
from server.requests.dispatch import NEVER_NS, Dispatcher
from server.requests.session import Session
from server.shutdown import Ending

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


class InProcessServer:
    """An instance with a manual clock and seeded randomness."""

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
        self.network = network
        self.now_ms = now_ms
        self._seed, self._directives = seed, directives
        self.random = random.Random(seed)
        self.clock_step_us = self.clock_us_passed = 0
        self.log_lines: list[tuple[str, str]] = []
        self.supervisor_states: list[str] = []
        self.shutdown_requested = self._is_interrupted = False
        config = Configuration()
        config.set("save", [""])  # a test that wants save points says so
        for name, text in directives.items():
            for line in text.split("\n"):
                config.set(name.replace("_", "-"), split_words(line) or [line])
        self.instance = Instance(config, self, now_ms)
        self.dispatcher = Dispatcher(self.instance)
        self.dispatcher.turn_ns = NEVER_NS
        self.instance.feature(Services).migration = NoWayOut()
        self.cycle = EventLoopCycle(
            self.dispatcher, lambda _: None, self._write, lambda: self.now_ms
        )
        self.cycle.after.append(self.dispatcher.client_limit.check_after)
        self.client_memory = self.instance.feature(ClientMemory)
        self._first_db = 0
        self._batches: list[tuple[int, bytes]] = []
        self._propagated: list[tuple[int, list[Argv]]] = []
        self._make_durable(files)
        self._make_replicated()
        user_files.load_users(self.instance)
        self._load()
        self.instance.propagation.sinks.append(Sink(self._begin_batch, self._take_batch))

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

    def _make_durable(self, files: MemoryFiles) -> None:
        self.files = files
        self.children = InProcessChildren(files)
        self.syncer = ManualSyncer()
        self.syncs_are_held = False  # if not, jobs of the syncer run at each tick
        self.persistence = Persistence(
            self.dispatcher, files, self.children, self.syncer, self.fatal
        )
        self.cycle.before_output.append(self.persistence.flush)

    def _make_replicated(self) -> None:
        self.snapshot_children = InProcessChildren(self.files)
        self.replication = Replication(
            self.dispatcher,
            self.network.outside_of(self),
            self.snapshot_children,
            self.files,
            self._send,
        )
        self.cycle.before_output.append(self.replication.flush)
        self.ending = Ending(
            self.instance,
            self.replication,
            self._end,
        )

    def _load(self) -> None:
        for _ in self.persistence.load():
            pass
        self.persistence.open()
        self.replication.open()

    def _send(self, client: Client, data: bytes) -> None:
        client.output.append(data)
        self.cycle.add_output(client)

    def fatal(self, message: str) -> NoReturn:
        """The process would end: the test sees `ServerDied`."""
        raise ServerDied(message)

    def restart(self, files: MemoryFiles | None = None) -> Self:
        """A new server with the same configuration, after this one was killed.

        `files`: its files, e.g. `server.files.crash()`; by default all that was written.
        """
        files = files or self.files.kill()
        return self.on_files(files, self.now_ms, self._seed, **self._directives)

    def connect(self) -> InProcessClient:
        """A new client."""
        return InProcessClient(self)

    def advance(self, ms: int) -> None:
        """Move the clock, and do one timer tick: deadlines, active expiry, files, replication."""
        self.now_ms += ms
        self.tick()

    def tick(self) -> None:
        """One cycle without input."""
        self.dispatcher.start_batch(self.now_ms)
        self.dispatcher.waiters.retry_due(self.now_ms)
        self.dispatcher.waiters.expire(self.now_ms)
        self.dispatcher.admission.end_pause_when_over()
        if not self.instance.is_cron_paused:
            self._run_cron()
        self.instance.background_work.finish()
        self.finish_cycle()

    def _run_cron(self) -> None:
        expire_fields(self.instance, limit=1000)
        expire_keys(self.instance, limit=1000)
        forget_idempotent_ids(self.instance, limit=1000)
        count_memory(self.instance)
        self.dispatcher.memory_limit.check()
        if not self.syncs_are_held:
            self.syncer.wait()
        self.persistence.tick()
        self.replication.tick()
        if self.ending.due_signal:
            self._end_for_signal()
        self.ending.tick()

    @property
    def port(self) -> int:
        """The port by which other servers of the network reach this one."""
        return self.instance.config.port

    def run_cycle(self, event: Callable[[], object]) -> None:
        """Run an event of the network in a cycle of its own."""
        self.dispatcher.start_batch(self.now_ms)
        event()
        self.finish_cycle()

    def finish_cycle(self) -> None:
        """End the cycle, and run further ones until no client has requests left."""
        self.cycle.finish()
        while self.dispatcher.turns.has_yielded:
            self.cycle.go_on()
            self.cycle.finish()

    def _write(self, client: Client) -> None:
        connection = client.transport
        assert isinstance(connection, InProcessClient)
        connection.buffer += b"".join(client.output)
        client.output.clear()
        self.client_memory.note(client)
        if client.close_after_reply:
            connection.abort()

    # -- Host ----------------------------------------------------------------------------------

    def clock_us(self) -> int:
        """The manual clock; each call advances it by `clock_step_us`."""
        self.clock_us_passed += self.clock_step_us
        return self.now_ms * 1000 + self.clock_us_passed

    def is_interrupted(self) -> bool:
        """Return True if the test has called `interrupt`, and no cycle has handled it."""
        return self._is_interrupted

    def interrupt(self) -> None:
        """A signal to end the server arrives, in the middle of whatever runs."""
        self._is_interrupted = True

    def handle_signal(self) -> None:
        """Handle the signal of `interrupt` as the event loop does."""
        self._is_interrupted = False
        self.ending.signal = SIGTERM
        if not self.instance.is_cron_paused:
            self._end_for_signal()

    def _end_for_signal(self) -> None:
        self.dispatcher.end_script()
        if not self.begin_shutdown(save=None, now=False, force=False):
            self.shut_down(save=None, force=False)

    def random_below(self, limit: int) -> int:
        """Seeded."""
        return self.random.randrange(limit)

    def random_hex(self, digits: int) -> str:
        """Seeded."""
        return "".join(self.random.choice("0123456789abcdef") for _ in range(digits))

    def resume_postponed(self) -> None:
        """CLIENT UNPAUSE."""
        self.dispatcher.admission.resume_postponed()

    def pause(self, seconds: float) -> None:
        """DEBUG SLEEP moves the clock."""
        self.now_ms += int(seconds * 1000)

    def begin_shutdown(self, *, save: bool | None, now: bool, force: bool) -> bool:
        """Wait for replicas to catch up, then end. False if there is nothing to wait for."""
        return self.ending.begin(save=save, now=now, force=force)

    def abort_shutdown(self) -> bool:
        """Cancel a shutdown that waits (SHUTDOWN ABORT); False if none does."""
        return self.ending.abort()

    def shut_down(self, *, save: bool | None, force: bool) -> bool:
        """Save, and record the shutdown for the test (SHUTDOWN); False if saving fails."""
        return self.ending.finish(save=save, force=force)

    def _end(self, save: bool | None, force: bool) -> bool:
        """Record the shutdown for the test, if saving succeeds."""
        self.shutdown_requested = self.persistence.shut_down(
            save=save, force=force, is_signal=bool(self.ending.signal)
        )
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

    def purge_memory(self) -> None:
        """Nothing to give back."""

    def apply_config(self, names: list[str]) -> None:
        """Only the files and replication depend on the configuration."""
        for name in names:
            self.persistence.apply_config(name)
            self.replication.apply_config(name)

    def tell_supervisor(self, state: str) -> None:
        """Keep what systemd would be told."""
        self.supervisor_states.append(state)

    def rewrite_config(self) -> None:
        """Refuse: there is no file."""
        raise ValueError("The server is running without a config file")

    def read_acl_file(self) -> bytes:
        """The content of the ACL file, in memory."""
        return user_files.read_file(self.files, self.instance.config)

    def write_acl_file(self, text: bytes) -> None:
        """Replace the ACL file, in memory."""
        user_files.write_file(self.files, self.instance.config, text)

    def resume(self) -> None:
        """Nothing: the cycle that runs handles it."""

    def log(self, level: str, message: str) -> None:
        """Record the line for the test."""
        if self.instance.config.hide_user_data_from_log:
            message = without_bytes(message)
        self.log_lines.append((level, message))
        if level == "warning":
            LOGGER.warning(message)

    def log_bounded(self, level: str, kind: str, message: str) -> None:
        """Record each line."""
        self.log(level, message)


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
        self.state.transport = self
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
        server.dispatcher.start_batch(server.now_ms)
        if not self.closed:
            self.session.receive(data)
            server.client_memory.note(self.state)
            server.cycle.touch(self.state)

    def received(self) -> bytes:
        """Return the bytes that the client received since the last call."""
        data, self.buffer = self.buffer, b""
        return data

    def disconnect(self) -> None:
        """Close the peer's side."""
        self.abort()

    # -- Transport -----------------------------------------------------------------------------

    def is_encrypted(self) -> bool:
        """False."""
        return False

    def send_soon(self) -> None:
        """The cycle that runs will write the client's output."""
        self.server.cycle.touch(self.state)

    def abort(self) -> None:
        """The connection ends."""
        self.closed = True
        self.server.cycle.sessions.pop(self.state, None)
        self.server.instance.feature(Clients).forget(self.state)

    def peer_is_gone(self) -> bool:
        """Return True if the test has set `is_gone`."""
        return self.is_gone

    def set_delay(self, *, is_allowed: bool) -> None:
        """Nothing: there is no network."""

    def unsent_bytes(self) -> int:
        """Return what the test has set; all output is sent at once."""
        return self.unsent
