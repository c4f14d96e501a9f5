"""The server process: listeners, connections, signals, and what else a process has.

`Service` is a `Server` (server/loop/server.py) over the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import gc
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, cast

from commands.acl.access_control import AccessControl
from commands.cluster.slot_stats import SlotStats
from commands.config.configuration import Configuration
from commands.connection.client_memory import MemoryUse
from commands.core.client import Clients
from commands.core.host import REDIS_VERSION, RILLWAY_VERSION, ProcessFacts
from protocol.request import IS_COMPILED
from server import allocator, clock, user_files
from server.config_file import rewrite_configuration
from server.log_file import LEVELS, set_log_format
from server.loop.connection import Closings, Connection, write_output
from server.loop.listeners import Listeners, exposure_warning
from server.loop.server import Environment, Server
from server.migration import Migrations
from server.persistence.append_only.directory import Syncer, ThreadSyncer
from server.persistence.children import Children, ForkedChildren
from server.persistence.files import Files, OsFiles
from server.persistence.loading.loader import LoadFailed
from server.process import notify_systemd
from server.replication.sockets import Outside, Sockets
from server.tls.contexts import TlsError
from server.tls.credentials import Credentials
from server.tls.handshakes import Handshakes
from storage.append_only.manifest import ManifestError

if TYPE_CHECKING:
    from server.cluster.host.runner import ClusterRunner
    from server.metrics.endpoint import MetricsEndpoint

LOGGER = logging.getLogger("rillway")
# The thresholds of Python's garbage collector. It looks at the 10,000 newest objects in half a
# millisecond, at the 60,000 newest in 3 ms, and never at all of them, which would take a second for
# ten million. Long-lived objects break their reference cycles themselves: streams and groups
# (Stream.release, Group.disband), connections (Connection.connection_lost).
GC_THRESHOLDS = (10_000, 5, 1_000_000_000)
# With less room for data than this under `maxmemory`, the log warns.
ROOM_BYTES = 16 * 1024**2
NO_LISTENER = "Unable to listen on this port. Check server logs."
# Directives that say where the endpoint for Prometheus listens.
METRICS_LISTENERS = {"metrics-port", "metrics-bind", "metrics-tls"}


class LoopEnvironment(Environment):
    """The real clock and chance, an event loop, and connections over sockets."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.call_later = loop.call_later
        self.call_soon = self.end_cycle_soon = loop.call_soon

    now_ms = staticmethod(clock.now_ms)
    now_us = staticmethod(clock.now_us)
    monotonic_ms = staticmethod(clock.monotonic_ms)
    monotonic_us = staticmethod(clock.monotonic_us)
    write = staticmethod(write_output)

    def sleep(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    def random_below(self, limit: int) -> int:
        """From the system's source of randomness."""
        import secrets  # it loads OpenSSL: not at the start

        return secrets.randbelow(limit)

    def random_hex(self, digits: int) -> str:
        """From the system's source of randomness."""
        return os.urandom((digits + 1) // 2).hex()[:digits]


class ProcessEnvironment(LoopEnvironment):
    """What a server process has to itself: files, children, a thread that syncs, the log."""

    def log(self, level: str, message: str) -> None:
        """Write to the process's log."""
        LOGGER.log(LEVELS[level], message)

    def files(self) -> Files:
        """Those of the operating system."""
        return OsFiles()

    def children(self, server: Server) -> Children:
        """Forks. A child reads each node once."""
        return ForkedChildren(server.files, server.instance.entry_cache.disable)

    def syncer(self, server: Server) -> Syncer:
        """A thread, which wakes the loop when a job is done."""
        return ThreadSyncer(lambda: self.loop.call_soon_threadsafe(server.cycle.wake))

    def outside(self, server: Server) -> Outside:
        """Sockets; encrypted, as the server's credentials for its primary say."""
        assert isinstance(server, Service)
        credentials = server.credentials
        return Sockets(
            self.loop, server.begin_event, server.cycle.wake, lambda: credentials.for_primary
        )

    def free_memory(self) -> allocator.FreeMemory:
        """That of the C library."""
        return allocator.FreeMemory(resident_bytes)


class Service(Server):
    """One server process."""

    def __init__(
        self,
        config: Configuration,
        config_file: str | None,
        loop: asyncio.AbstractEventLoop,
        environment: LoopEnvironment | None = None,
    ) -> None:
        self.config_file = config_file or ""
        self.supervisor = "no"  # under whose supervision the process runs
        self.loop = loop
        self.credentials = Credentials(config, self.log)
        super().__init__(config, environment or ProcessEnvironment(loop))
        self.dispatcher.send_in_pieces = self.long_replies.begin
        self._closings = Closings(loop.call_soon)
        self.handshakes = Handshakes(
            loop,
            lambda: self.credentials.for_clients,
            self._connection,
            self._admits,
            self.log_bounded,
        )
        accept = {
            "tcp": self._connection,
            "unix": lambda: self._connection(unix_socket=True),
        }
        self.listeners = Listeners(loop, config, accept, self.handshakes, self.log)
        self._metrics: MetricsEndpoint | None = None  # once it is asked for
        self._cluster: ClusterRunner | None = None  # in cluster mode
        self._stopped = asyncio.Event()
        self.migrations = Migrations(self.dispatcher, loop, self.begin_event, self.cycle.wake)
        self._startup_resident_bytes = 0

    # -- life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen. Raises OSError if an address cannot be bound, TlsError for unusable files.

        Clients are answered -LOADING until `load` has returned True.
        """
        config = self.instance.config
        self.instance.set_loading(True)
        self.credentials.load()
        # As an absolute path: CONFIG SET dir moves no file that is open.
        self.open_audit_log(config.audit_log and os.path.abspath(config.audit_log))
        self._open_cluster()
        await self.listeners.open()
        if self._cluster is not None:
            self._cluster.start()
        self._open_metrics()
        if config.pidfile:  # last, so that a failed start does not overwrite another server's
            self._write_pid_file(config.pidfile)
        self._watch_signals()
        self.loop.call_later(1 / config.hz, self._tick)
        gc.set_threshold(*GC_THRESHOLDS)
        gc.freeze()  # nothing so far is garbage: the first collection need not look through it
        gc.enable()  # off while modules are imported
        self._startup_resident_bytes = resident_bytes()
        self.instance.feature(MemoryUse).startup_bytes = self._startup_resident_bytes
        self._warn_of_small_limit()

    def _open_cluster(self) -> None:
        """Be a node of a cluster, if `cluster-enabled` says so. Raises OSError."""
        config = self.instance.config
        if not config.cluster_enabled:
            return
        from server.cluster.host.runner import open_node  # few need it: not at the start

        self._cluster = open_node(
            self.dispatcher,
            self.loop,
            self.credentials,
            self.begin_event,
            self.cycle.wake,
            self.fatal,
        )
        self.instance.feature(SlotStats).look_up()
        # Before the changes go to file and replicas: it may delete keys.
        self.cycle.before_output.insert(0, self._cluster.flush)

    def _open_metrics(self) -> None:
        """Listen for Prometheus, or no longer. Raises OSError and TlsError."""
        if self._metrics is None:
            if not self.instance.config.metrics_port:
                return
            from server.metrics.endpoint import MetricsEndpoint  # few need it: not at the start

            schedule = self.background_scheduler.schedule_if_needed
            self._metrics = MetricsEndpoint(self.loop, self.instance, self.credentials, schedule)
        self._metrics.open()

    def _warn_of_small_limit(self) -> None:
        limit, start = self.instance.config.maxmemory, self._startup_resident_bytes
        if 0 < limit < start + ROOM_BYTES:
            self.log(
                "warning",
                f"maxmemory {limit} leaves little room: without data the server takes {start}",
            )

    def _write_pid_file(self, path: str) -> None:
        """Write the PID file. As in Redis, the server starts even if that fails."""
        try:
            with open(path, "w") as pidfile:
                pidfile.write(f"{os.getpid()}\n")
        except OSError as error:
            self.log("warning", f"Failed to write PID file {path}: {error.strerror}")

    async def load(self) -> bool:
        """Load the data; meanwhile most commands are answered with -LOADING.

        False, with lines in the log, if that fails: then the server must not serve.
        """
        steps = self.persistence.load()
        try:
            for _ in steps:
                await asyncio.sleep(0)
                if self.is_ending:
                    return True
            self.persistence.open()
        except OSError as error:
            self.log("warning", f"Could not open the append only file: {error}")
            return False
        except (LoadFailed, ManifestError) as error:
            if self._is_interrupted:  # a library in the file was ended for that
                await self._stopped.wait()
                return True
            for line in str(error).splitlines():
                self.log("warning", line)
            self.cycle.stop()
            self.is_ending = True
            self._stopped.set()
            return False
        finally:
            steps.close()
        self.instance.set_loading(False)
        self.replication.open()
        if self._cluster is not None:
            self._cluster.begin()
        # All objects so far are long-lived: garbage collections need not look at them again.
        gc.freeze()
        return True

    async def run(self) -> None:
        """Serve until SHUTDOWN or a signal; then close everything."""
        await self._stopped.wait()
        if self.instance.config.pidfile:
            self.log("notice", "Removing the pid file.")
        if self.listeners.socket_file is not None:
            self.log("notice", "Removing the unix socket file.")
        await self.leave()
        self.log("warning", "Rillway is now ready to exit, bye bye...")

    async def leave(self) -> None:
        """Close everything; remove the PID file and the Unix socket."""
        self.handshakes.stop()
        if self._metrics is not None:
            self._metrics.close()
        if self._cluster is not None:
            self._cluster.stop()
        await self.listeners.close()
        if self.instance.config.pidfile:
            _remove(self.instance.config.pidfile)
        self.files.release()
        for client in list(self.instance.feature(Clients).by_id.values()):
            connection = client.connection
            if isinstance(connection, Connection):
                connection.write()
                connection.close()
                connection.transport.close()

    def introduce(self) -> None:
        """Log version and configuration, before the data is loaded: that may take long, or fail."""
        databases = self.instance.config.databases
        self.log(
            "notice",
            f"Rillway {RILLWAY_VERSION} (as Redis {REDIS_VERSION}), PID: {os.getpid()}, "
            f"{databases} databases, configuration {self.config_file or 'from defaults'}",
        )
        if inert := self.instance.config.without_effect():
            self.log("notice", f"Accepted without effect: {'; '.join(inert)}")
        if not IS_COMPILED:
            self.log(
                "notice",
                "Nothing is compiled: requests take several times as long. See "
                "docs/architecture/packaging.md",
            )

    def announce(self) -> None:
        """Log all listeners in one line, and a warning if they accept anyone."""
        requires_login = self.instance.feature(AccessControl).requires_login
        warning = exposure_warning(
            self.instance.config, self.listeners.places, requires_login=requires_login
        )
        if warning is not None:
            self.log("warning", warning)
        served = [
            f"unix socket {address}"
            if kind == "unix"
            else f"{'TLS ' if kind == 'tls' else ''}port {port} on {address}"
            for kind, address, port in self.listeners.places
        ]
        self.log("notice", "Ready to accept connections: " + ", ".join(served))

    # -- the end -------------------------------------------------------------------------------

    def _watch_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            self.loop.add_signal_handler(number, self._on_signal, number)
            # The loop learns of a signal by its descriptor. Python's own handler runs earlier, in
            # the middle of a script, which then pauses.
            signal.signal(number, self._note_signal)
            signal.siginterrupt(number, False)

    def _note_signal(self, number: int, frame: object) -> None:
        self._is_interrupted = True

    def _on_signal(self, number: int) -> None:
        if number == signal.SIGINT and self.ending.signal:
            self._insist()
        if self.instance.persistence.loading:
            self.log("warning", "Received shutdown signal during loading, exiting now.")
        else:
            self.log("warning", f"Received {signal.Signals(number).name} scheduling shutdown...")
        self.handle_signal(number)

    def _end(self, save: bool | None, force: bool) -> bool:
        """Save and sync everything, and end `run`. False if that fails."""
        signal.signal(signal.SIGINT, self._on_insistence)
        try:
            return super()._end(save, force)
        finally:
            self._watch_signals()

    def _stop(self) -> None:
        """End `run`: everything is saved."""
        self.migrations.stop()
        super()._stop()
        self._stopped.set()

    def _on_insistence(self, number: int, frame: object) -> None:
        """A second SIGINT, while the shutdown for the first is still under way."""
        self._insist()

    def _insist(self) -> NoReturn:
        self.log("warning", "You insist... exiting now.")
        self.persistence.snapshots.discard_own()
        self._exit()

    def fatal(self, message: str) -> NoReturn:
        """Log the message and end the process at once, with exit status 1."""
        self.log("warning", message)
        self._exit()

    def _exit(self) -> NoReturn:
        if self.instance.config.pidfile:
            _remove(self.instance.config.pidfile)
        self.files.release()
        os._exit(1)

    # -- listeners -----------------------------------------------------------------------------

    def _admits(self, handshakes: int) -> bool:
        """Return True if `maxclients` allows a client beside those whose handshakes go on."""
        clients = len(self.instance.feature(Clients).by_id)
        if clients + handshakes < self.instance.config.maxclients:
            return True
        self.instance.stats.rejected_connections += 1
        return False

    def _connection(self, *, unix_socket: bool = False) -> asyncio.Protocol:
        # A C type cannot have a base class of Python's; the loop wants only the methods.
        connection = Connection(
            self.loop, self.cycle, self._on_room, self._closings, unix_socket=unix_socket
        )
        return cast("asyncio.Protocol", connection)

    # -- timers --------------------------------------------------------------------------------

    def _tick(self) -> None:
        """`hz` times a second, also after one of the steps has failed."""
        if self.is_ending:
            return
        try:
            self._work_periodically()
        finally:
            if not self.is_ending:
                self.loop.call_later(1 / self.instance.config.hz, self._tick)

    def _renew_credentials(self) -> None:
        self.credentials.reload_if_due(self.instance.monotonic_ms)

    # -- Host ----------------------------------------------------------------------------------

    def facts(self) -> ProcessFacts:
        """Ask the operating system."""
        mine = resource.getrusage(resource.RUSAGE_SELF)
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        thread = resource.getrusage(resource.RUSAGE_THREAD)
        system = os.uname()
        return ProcessFacts(
            pid=os.getpid(),
            supervisor=self.supervisor,
            executable=sys.executable,
            config_file=self.config_file,
            os=f"{system.sysname} {system.release} {system.machine}",
            started_ms=self.instance.started_ms,
            resident_bytes=resident_bytes(),
            peak_resident_bytes=mine.ru_maxrss * 1024,
            total_system_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
            cpu_user_s=mine.ru_utime,
            cpu_system_s=mine.ru_stime,
            cpu_user_children_s=children.ru_utime,
            cpu_system_children_s=children.ru_stime,
            listeners=list(self.listeners.places),
            certificates=list(self.credentials.certificates),
            event_loop=type(self.loop).__module__.partition(".")[0],
            startup_resident_bytes=self._startup_resident_bytes,
            cpu_user_main_thread_s=thread.ru_utime,
            cpu_system_main_thread_s=thread.ru_stime,
        )

    def purge_memory(self) -> None:
        """MEMORY PURGE: collect garbage, then let the C library return what is free."""
        gc.collect()
        self.free_memory.give_back()

    def _apply_to_process(self, names: list[str]) -> None:
        """Apply the directives on listeners, files and the log."""
        config = self.instance.config
        if any(name.startswith("tls-") for name in names):
            self._reload_credentials()
        if "bind" in names:
            self._listen("Failed to bind to specified addresses.", self.listeners.rebind)
        if "port" in names or "tls-port" in names:
            self._listen(NO_LISTENER, self.listeners.rebind)
        if not METRICS_LISTENERS.isdisjoint(names):
            self._listen(NO_LISTENER, self._open_metrics)
        if "dir" in names:
            try:
                if config.appendonly or config.save:
                    self.persistence.claim_folder(config.dir)
                os.chdir(config.dir)
            except OSError as error:
                raise ValueError(error.strerror) from None
            config.dir = os.getcwd()
        if "log-format" in names:
            set_log_format(config)
        if "loglevel" in names:
            LOGGER.setLevel(LEVELS[config.loglevel])
        if self._cluster is not None:
            self._cluster.apply_config()

    def _listen(self, refusal: str, change: Callable[[], None]) -> None:
        """Listen as the directives say. Raises ValueError; nothing is changed then."""
        try:
            change()
        except OSError as error:
            self.log("warning", f"Could not listen: {error}")
            raise ValueError(refusal) from None
        except TlsError as error:
            raise self._refused(error) from None

    def _reload_credentials(self) -> None:
        """Read certificates and keys again. Raises ValueError; nothing is changed then."""
        try:
            self.credentials.load()
        except TlsError as error:
            raise self._refused(error) from None

    def _refused(self, error: TlsError) -> ValueError:
        self.log("warning", str(error))
        return ValueError("Unable to update TLS configuration. Check server logs.")

    def rewrite_config(self) -> None:
        """CONFIG REWRITE."""
        if not self.config_file:
            raise ValueError("The server is running without a config file")
        config = self.instance.config
        if config.port == self.listeners.picked_port:
            config = copy.copy(config)
            config.port = 0  # the next start picks one again
        lines = user_files.config_lines(self.instance)
        rewrite_configuration(self.config_file, config, lines)

    def tell_supervisor(self, state: str) -> None:
        """Tell systemd what the process does, if that started it."""
        if self.supervisor == "systemd":
            notify_systemd(state + "\n", os.environ)

    def announce_readiness(self) -> None:
        """Tell systemd that the server is ready; a replica that must synchronise says so."""
        waits = self.instance.replication.is_replica
        suffix = " in read-only mode. Waiting for MASTER <-> REPLICA sync" if waits else ""
        self.tell_supervisor(f"STATUS=Ready to accept connections{suffix}\nREADY=1")


def _remove(path: str) -> None:
    """Remove a file of this server, if it still exists."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def resident_bytes() -> int:
    """The memory that the process occupies; the most so far if too many files are open to ask."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
