"""The server process: listeners, timers, signals, and the services that commands use.

`Service` implements `commands.core.host.Host` over the event loop and the operating system's clock
and randomness. It owns the instance, the dispatcher, the cycle and the connections.
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
from commands.config.configuration import Configuration
from commands.config.redaction import without_bytes
from commands.core.blocked_clients import BlockedClients
from commands.core.client import Client, Clients
from commands.core.gates import GATE_BUSY
from commands.core.host import REDIS_VERSION, RILLWAY_VERSION, ProcessFacts
from commands.core.instance import Instance
from commands.eviction.memory_use import MemoryUse
from protocol.cutter import IS_COMPILED
from server import allocator, clock, user_files
from server.bounded_log import BoundedLog
from server.config_file import rewrite_configuration
from server.log_file import LEVELS, set_log_format
from server.loop.closings import Closings
from server.loop.connection import Connection, write_output
from server.loop.cron import (
    close_idle_clients,
    count_memory,
    expire_fields,
    expire_keys,
    forget_idempotent_ids,
)
from server.loop.cycle import EventLoopCycle
from server.loop.listeners import Listeners
from server.loop.long_replies import LongReplies
from server.loop.scheduler import BackgroundScheduler
from server.migration import Migrations
from server.open_access import exposure_warning
from server.persistence.append_only.sync_thread import Syncer, ThreadSyncer
from server.persistence.children import Children, ForkedChildren
from server.persistence.files import Files, OsFiles
from server.persistence.loading.loader import LoadFailed
from server.persistence.persistence import Persistence
from server.process import notify_systemd
from server.replication.network import Outside
from server.replication.replication import Replication
from server.replication.sockets import Sockets
from server.requests.dispatch import Dispatcher
from server.requests.session import request_limits
from server.shutdown import Ending
from server.tls.contexts import TlsError
from server.tls.credentials import Credentials
from server.tls.handshakes import Handshakes
from storage.append_only.manifest import ManifestError

if TYPE_CHECKING:
    from server.cluster.host.runner import ClusterRunner
    from server.metrics.endpoint import MetricsEndpoint

# The thresholds of Python's garbage collector. It looks at the 10,000 newest objects in half a
# millisecond, at the 60,000 newest in 3 ms, and never at all of them, which would take a second for
# ten million. Long-lived objects break their reference cycles themselves: streams and groups
# (Stream.release, Group.disband), connections (Connection.connection_lost).
GC_THRESHOLDS = (10_000, 5, 1_000_000_000)
# Keys per database that one pass of active expiry removes: well under 10 ms.
EXPIRE_LIMIT = 1000
# Producers whose old idempotent IDs one pass drops: about a millisecond.
FORGET_LIMIT = 1000
# With less room for data than this under `maxmemory`, the log warns.
ROOM_BYTES = 16 * 1024**2
NO_LISTENER = "Unable to listen on this port. Check server logs."
# Directives that say where the endpoint for Prometheus listens.
METRICS_LISTENERS = {"metrics-port", "metrics-bind", "metrics-tls"}
# Between two turns of eviction that no request causes.
EVICTION_PAUSE_S = 0.001


class Service:
    """One server process."""

    def __init__(
        self, config: Configuration, config_file: str | None, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.config_file = config_file or ""
        self.supervisor = "no"  # under whose supervision the process runs
        self.loop = loop
        self.logger = logging.getLogger("rillway")
        self._bounded_log = BoundedLog(self.log)
        self.instance: Instance = Instance(config, self, clock.now_ms())
        self.dispatcher: Dispatcher = Dispatcher(self.instance)
        self.cycle: EventLoopCycle = EventLoopCycle(self.dispatcher, loop.call_soon, write_output)
        self._closings = Closings(loop.call_soon)
        self.long_replies = LongReplies(self.dispatcher, self.cycle, loop.call_soon, clock.now_ms)
        self.dispatcher.send_in_pieces = self.long_replies.begin
        self.cycle.after.append(self.dispatcher.client_limit.check_after)
        self.cycle.after.append(self._arm_timer)
        self._free_memory = self._find_free_memory()
        self.background_scheduler = BackgroundScheduler(
            self.instance, loop.call_soon, loop.call_later, self._free_memory
        )
        self.cycle.after.append(self.background_scheduler.schedule_if_needed)
        self.credentials = Credentials(config, self.log)
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
        self._is_interrupted = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms: int | None = None
        self._files = files = self._open_files()
        self.persistence = Persistence(
            self.dispatcher, files, self._make_children(), self._make_syncer(), self.fatal
        )
        self.cycle.before_output.append(self.persistence.flush)
        self.dispatcher.script_runs.schedule = loop.call_soon
        self.replication = Replication(
            self.dispatcher,
            self._look_outside(),
            self._make_children(),
            files,
            self._send,
        )
        self.cycle.before_output.append(self.replication.flush)
        self.cycle.after.append(self._go_on_sending)
        self.migrations = Migrations(self.dispatcher, loop, self._begin_event, self.cycle.wake)
        self.ending = Ending(
            self.instance,
            self.replication,
            self._end,
        )
        self._startup_resident_bytes = 0

    # -- what the process gives: server/inprocess/embedded.py has other ones -------------------

    def _open_files(self) -> Files:
        return OsFiles()

    def _make_children(self) -> Children:
        # A child reads each node once.
        return ForkedChildren(self._files, self.instance.entry_cache.disable)

    def _make_syncer(self) -> Syncer:
        return ThreadSyncer(self._wake)

    def _look_outside(self) -> Outside:
        encryption = lambda: self.credentials.for_primary  # noqa: E731
        return Sockets(self.loop, self._begin_event, self.cycle.wake, encryption)

    def _find_free_memory(self) -> allocator.FreeMemory:
        return allocator.FreeMemory(resident_bytes)

    # -- life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen. Raises OSError if an address cannot be bound, TlsError for unusable files.

        Clients are answered -LOADING until `load` has returned True.
        """
        config = self.instance.config
        self.instance.set_loading(True)
        self.credentials.load()
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
            self._begin_event,
            self.cycle.wake,
            self.fatal,
        )
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

    @property
    def is_ending(self) -> bool:
        """True if the server has stopped serving."""
        return self._stopped.is_set()

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
        self._files.release()
        for client in list(self.instance.feature(Clients).by_id.values()):
            connection = client.transport
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
        self._is_interrupted = False
        if number == signal.SIGINT and self.ending.signal:
            self._insist()
        if self.instance.persistence.loading:
            self.log("warning", "Received shutdown signal during loading, exiting now.")
        else:
            self.log("warning", f"Received {signal.Signals(number).name} scheduling shutdown...")
        self.ending.signal = number
        if not self.instance.is_cron_paused:
            self._end_for_signal(number)

    def _end_for_signal(self, number: int) -> None:
        config = self.instance.config
        is_interrupt = number == signal.SIGINT
        options = config.shutdown_on_sigint if is_interrupt else config.shutdown_on_sigterm
        save = True if "save" in options else False if "nosave" in options else None
        self.dispatcher.start_batch(clock.now_ms())
        if self.dispatcher.end_script():
            # The requests of this cycle run first: they are answered, and their changes are saved.
            self.cycle.finish()
        now, force = "now" in options, "force" in options
        if not self.begin_shutdown(save=save, now=now, force=force):
            self.shut_down(save=save, force=force)

    def begin_shutdown(self, *, save: bool | None, now: bool, force: bool) -> bool:
        """Wait for replicas to catch up, then end. False if there is nothing to wait for."""
        return self.ending.begin(save=save, now=now, force=force)

    def abort_shutdown(self) -> bool:
        """Cancel a shutdown that waits (SHUTDOWN ABORT); False if none does."""
        return self.ending.abort()

    def shut_down(self, *, save: bool | None, force: bool) -> bool:
        """Write everything to disk and end (SHUTDOWN); False if the write fails."""
        return self.ending.finish(save=save, force=force)

    def _end(self, save: bool | None, force: bool) -> bool:
        """Save and sync everything, and end `run`. False if that fails."""
        signal.signal(signal.SIGINT, self._on_insistence)
        try:
            is_signal = bool(self.ending.signal)
            if not self.persistence.shut_down(save=save, force=force, is_signal=is_signal):
                return False
        finally:
            self._watch_signals()
        self._stop()
        return True

    def _stop(self) -> None:
        """End `run`: everything is saved."""
        self.migrations.stop()
        self.replication.stop()
        self.cycle.stop()
        self.background_scheduler.stop()
        self.long_replies.stop()
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
        self._files.release()
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

    def _work_periodically(self) -> None:
        self.dispatcher.start_batch(clock.now_ms())
        instance = self.instance
        traffic = instance.replication.input_bytes, instance.replication.output_bytes
        instance.stats.sample(instance.now_ms, traffic)
        self._bounded_log.tick(clock.elapsed_us())
        if instance.gates & GATE_BUSY or instance.is_cron_paused:
            return  # a script runs: no data changes, and none is saved
        if not instance.persistence.loading:
            expire_fields(instance, EXPIRE_LIMIT)
            expire_keys(instance, EXPIRE_LIMIT)
            forget_idempotent_ids(instance, FORGET_LIMIT)
            count_memory(instance)
            self._keep_limit()
            self.background_scheduler.tick()
        self.persistence.tick()
        self.replication.tick()
        self.credentials.reload_if_due(instance.now_ms)
        if due := self.ending.due_signal:
            self._end_for_signal(due)
        self.ending.tick()
        if self.is_ending:
            return
        close_idle_clients(instance)
        self.dispatcher.admission.end_pause_when_over()
        self.cycle.wake()

    def _keep_limit(self) -> None:
        """Evict keys while there are more than the memory limit allows, a few at a time."""
        limit = self.dispatcher.memory_limit
        limit.check()
        if limit.is_behind and not self.is_ending:
            self.loop.call_later(EVICTION_PAUSE_S, self._evict_more)

    def _evict_more(self) -> None:
        if not self.is_ending:
            self.dispatcher.start_batch(clock.now_ms())
            self._keep_limit()
            self.cycle.wake()

    def _on_room(self) -> None:
        """A client has read most of what was sent: long replies and snapshots may go on."""
        self.long_replies.schedule_if_needed()
        self.replication.send_more()
        self.cycle.wake()

    def _go_on_sending(self) -> None:
        """A replica whose bytes have left at once gets more of its snapshot in the next cycle."""
        if self.replication.can_send():
            self.cycle.wake()

    def _arm_timer(self) -> None:
        """Set the timer to the earliest deadline or retry time of a blocked client."""
        alarm_ms = self.instance.feature(BlockedClients).next_alarm_ms()
        if alarm_ms == self._timer_ms:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_ms = alarm_ms
        if alarm_ms is not None:
            # At the end of that millisecond: as in Redis, no client is answered before its timeout
            # has passed in full.
            delay_s = max(0, alarm_ms + 1 - clock.now_ms()) / 1000
            self._timer = self.loop.call_later(delay_s, self._on_alarm)

    def _on_alarm(self) -> None:
        self._timer = self._timer_ms = None
        if self.is_ending or self.instance.gates & GATE_BUSY:
            return
        self.dispatcher.start_batch(clock.now_ms())
        self.dispatcher.waiters.retry_due(self.instance.now_ms)
        self.dispatcher.waiters.expire(self.instance.now_ms - 1)
        self.cycle.wake()

    # -- Host ----------------------------------------------------------------------------------

    def clock_us(self) -> int:
        """Unix time in microseconds."""
        return clock.now_us()

    def is_interrupted(self) -> bool:
        """Return True if a signal to end came. Python runs its signal handlers before the call."""
        return self._is_interrupted

    def random_below(self, limit: int) -> int:
        """A random integer in [0, limit)."""
        import secrets  # it loads OpenSSL: not at the start

        return secrets.randbelow(limit)

    def random_hex(self, digits: int) -> str:
        """Random lower-case hexadecimal digits."""
        return os.urandom((digits + 1) // 2).hex()[:digits]

    def _wake(self) -> None:
        """Wake the loop from another thread: a background job is done."""
        self.loop.call_soon_threadsafe(self.cycle.wake)

    def _begin_event(self) -> None:
        """Begin a batch for an event that is not a client's request."""
        self.dispatcher.start_batch(clock.now_ms())

    def _send(self, client: Client, data: bytes) -> None:
        """Send to a replica; also while the cycle is ending."""
        client.output.append(data)
        self.cycle.add_output(client)

    def resume_postponed(self) -> None:
        """CLIENT PAUSE ended."""
        self.dispatcher.admission.resume_postponed()
        self.cycle.wake()

    def pause(self, seconds: float) -> None:
        """DEBUG SLEEP."""
        time.sleep(seconds)

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
        self._free_memory.give_back()

    def apply_config(self, names: list[str]) -> None:
        """Apply changed directives. Raises ValueError; see Host."""
        self._apply_to_process(names)
        config = self.instance.config
        if "proto-max-bulk-len" in names or "client-query-buffer-limit" in names:
            for session in self.cycle.sessions.values():
                session.limit(request_limits(config))
        for name in names:
            self.persistence.apply_config(name)
            self.replication.apply_config(name)

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
            self.logger.setLevel(LEVELS[config.loglevel])
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

    def read_acl_file(self) -> bytes:
        """The content of the ACL file. Raises OSError."""
        return user_files.read_file(self._files, self.instance.config)

    def write_acl_file(self, text: bytes) -> None:
        """Replace the ACL file. Raises OSError."""
        user_files.write_file(self._files, self.instance.config, text)

    def tell_supervisor(self, state: str) -> None:
        """Tell systemd what the process does, if that started it."""
        if self.supervisor == "systemd":
            notify_systemd(state + "\n", os.environ)

    def announce_readiness(self) -> None:
        """Tell systemd that the server is ready; a replica that must synchronise says so."""
        waits = self.instance.replication.is_replica
        suffix = " in read-only mode. Waiting for MASTER <-> REPLICA sync" if waits else ""
        self.tell_supervisor(f"STATUS=Ready to accept connections{suffix}\nREADY=1")

    def resume(self) -> None:
        """A script is done: end the cycle, with the work that waited for it, and arm the timer."""
        self.cycle.wake()

    def log(self, level: str, message: str) -> None:
        """Write to the log."""
        if self.instance.config.hide_user_data_from_log:
            message = without_bytes(message)
        self.logger.log(LEVELS[level], message)

    def log_bounded(self, level: str, kind: str, message: str) -> None:
        """Write a line that clients can cause at will, or count it."""
        self._bounded_log.add(level, kind, message, clock.elapsed_us())


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
