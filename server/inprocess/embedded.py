"""A server inside of a user's process, for tests: sockets without a port, and files in memory.

    thread = loop_thread.running()
    server = thread.call(embedded.start, thread.loop, {"maxclients": ["10"]})
    server.door                        # whoever has this socket may connect: see below
    thread.loop.call_soon_threadsafe(server.close)    # or: await server.closed(), in the thread

It is `Service` with the real clock, the event loop and the connections of a server process. What
belongs to the user's process it leaves alone: signals, the garbage collector, the current folder,
the log, the allocator; nothing forks, and nothing is written to a disk. Saving is done at once.

A client connects by sending one end of a pair of sockets through `door` (SCM_RIGHTS). So any thread
can connect, and any process that was forked since.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from typing import NoReturn, cast

from commands.config.configuration import Configuration
from server import user_files
from server.allocator import FreeMemory
from server.config_file import ConfigurationError, Line, apply_lines, quote
from server.inprocess.children import InProcessChildren
from server.inprocess.memory_files import MemoryFiles
from server.inprocess.memory_network import MemoryPipe
from server.log_file import LEVELS
from server.loop.connection import Connection
from server.loop.server import Server
from server.loop.service import LoopEnvironment, Service, resident_bytes
from server.persistence.append_only.directory import Job
from server.persistence.children import Children
from server.persistence.files import Files
from server.replication.sockets import Outside, Pipe, Sockets
from server.user_files import InvalidUsers

# Lines of the log that are kept.
LOG_LINES = 10_000
# Directives of listeners and of the process: there are none.
REFUSED = {
    "port", "bind", "tls-port", "unixsocket", "metrics-port", "daemonize", "pidfile", "dir",
    "logfile",
}  # fmt: skip


def start(
    loop: asyncio.AbstractEventLoop, directives: Mapping[str, Sequence[str]]
) -> EmbeddedService:
    """A server that accepts clients. `directives`: those of a configuration file, with their words.

    To be called in the loop's thread. Raises ValueError with what is wrong in them.
    """
    config = Configuration()
    config.set("save", [""])
    lines = [
        Line("FakeServer", " ".join([name, *map(quote, words)]), [name, *words])
        for name, words in directives.items()
    ]
    if refused := REFUSED & directives.keys():
        raise ValueError(f"'{min(refused)}' cannot be set: there is no port and no process")
    try:
        apply_lines(config, lines)
        server = EmbeddedService(config, loop)
        server.open()
    except (ConfigurationError, InvalidUsers) as error:
        raise ValueError(str(error)) from None
    return server


class EmbeddedEnvironment(LoopEnvironment):
    """A loop that servers share, files in memory, and a log that is kept."""

    def __init__(self, loop: asyncio.AbstractEventLoop, config: Configuration) -> None:
        super().__init__(loop)
        self.log_lines: deque[str] = deque(maxlen=LOG_LINES)
        self._config = config
        self._files = MemoryFiles()

    def log(self, level: str, message: str) -> None:
        """Keep the line."""
        if LEVELS[level] >= LEVELS[self._config.loglevel]:
            self.log_lines.append(message)

    def files(self) -> Files:
        """None yet."""
        return self._files

    def children(self, server: Server) -> Children:
        """They save at once."""
        return InProcessChildren(self._files)

    def syncer(self, server: Server) -> _AtOnce:
        """It syncs at once."""
        return _AtOnce()

    def outside(self, server: Server) -> Outside:
        """Sockets to a primary; pipes in memory."""
        return _Outside(self.loop, server.begin_event, server.cycle.wake, lambda: None)

    def free_memory(self) -> FreeMemory:
        """The user's process keeps its memory."""
        return FreeMemory(resident_bytes, lambda: None, lambda: None)


class EmbeddedService(Service):
    """One server; several may share a loop, and then share its thread."""

    def __init__(self, config: Configuration, loop: asyncio.AbstractEventLoop) -> None:
        environment = EmbeddedEnvironment(loop, config)
        self.log_lines = environment.log_lines
        super().__init__(config, None, loop, environment)
        self.door, self._inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._inside.setblocking(False)
        self._tasks: set[asyncio.Task[None]] = set()

    # -- life ----------------------------------------------------------------------------------

    def open(self) -> None:
        """Accept clients from now on. Raises InvalidUsers."""
        user_files.load_users(self.instance)
        for _ in self.persistence.load():
            pass  # there are no files yet
        self.persistence.open()
        self.replication.open()
        self.loop.call_later(1 / self.instance.config.hz, self._tick)
        self.loop.add_reader(self._inside, self._admit)
        self._life = self._keep(self.run())

    async def closed(self) -> None:
        """End the server, saving nothing, and wait until its clients are disconnected."""
        self.close()
        await self._life

    def close(self) -> None:
        """Begin to end the server, saving nothing."""
        if not self.is_ending:
            self._stop()

    async def leave(self) -> None:
        """Close everything."""
        self.loop.remove_reader(self._inside)
        self._inside.close()
        await super().leave()

    def _end(self, save: bool | None, force: bool) -> bool:
        return Server._end(self, save, force)

    def fatal(self, message: str) -> NoReturn:
        """End the server, not the process."""
        self.log("warning", message)
        self.close()
        raise RuntimeError(message)

    # -- clients -------------------------------------------------------------------------------

    def _admit(self) -> None:
        """Accept what came through the door."""
        while True:
            try:
                _, descriptors, _, _ = socket.recv_fds(self._inside, 1, 1)
            except OSError:  # nothing is left
                return
            for descriptor in descriptors:
                self._keep(self._accept(socket.socket(fileno=descriptor)))

    async def _accept(self, sock: socket.socket) -> None:
        await self.loop.connect_accepted_socket(self._connection, sock)

    def _connection(self, *, unix_socket: bool = True) -> asyncio.Protocol:
        connection = _Connection(
            self.loop, self.cycle, self._on_room, self._closings, unix_socket=unix_socket
        )
        return cast("asyncio.Protocol", connection)

    def _keep(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Run a coroutine, of which the loop alone would let go."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- Host ----------------------------------------------------------------------------------

    def _apply_to_process(self, names: list[str]) -> None:
        if refused := REFUSED & set(names):
            raise ValueError(f"'{min(refused)}' has no effect here: no port and no process")


class _Connection(Connection):
    """A connection whose client has an address of its own, which its socket has not."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        super().connection_made(transport)
        self.client.address = b"127.0.0.1:%d" % self.client.id


class _AtOnce:
    """Runs each job when it is submitted: files in memory take no time."""

    def submit(self, job: Job) -> None:
        """Run the job."""
        job.run()

    def wait(self) -> None:
        """No job is left."""


class _Outside(Sockets):
    """Connections over TCP to a primary; a child's pipe is in memory, as the child is."""

    def open_pipe(self) -> Pipe:
        """Return a new pipe in memory."""
        return MemoryPipe(self.call_soon)
