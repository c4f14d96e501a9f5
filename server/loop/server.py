"""The assembly of a server: all of its parts, connected, and the work that its timers do.

`Server(config, environment)` assembles a server. There is one assembly. What differs between a
process with sockets (server/loop/service.py), a server inside a user's process
(server/inprocess/embedded.py) and one that tests run by hand (server/inprocess/server.py, which
`rillway check` uses, too) is its environment: the clock, files, children, network, log, scheduler.

`Server` implements `commands.core.host.Host` as far as an environment allows; what only a process
has, its subclasses add.
"""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, Protocol

from commands.config.configuration import Configuration
from commands.config.redaction import without_bytes
from commands.connection.client_memory import ClientMemory
from commands.core.blocked_clients import BlockedClients
from commands.core.client import Client
from commands.core.gates import GATE_BUSY
from commands.core.host import ProcessFacts
from commands.core.instance import Instance
from commands.streams.policies.timer import PolicyTimer
from server import user_files
from server.allocator import FreeMemory
from server.log_file import BoundedLog
from server.loop.cron import (
    close_idle_clients,
    count_memory,
    expire_fields,
    expire_keys,
    forget_idempotent_ids,
)
from server.loop.cycle import EventLoopCycle
from server.loop.long_replies import LongReplies
from server.loop.scheduler import BackgroundScheduler
from server.persistence.append_only.directory import Syncer
from server.persistence.children import Children
from server.persistence.files import Files
from server.persistence.persistence import Persistence
from server.replication.replication import Replication
from server.replication.sockets import Outside
from server.requests.dispatch import Dispatcher
from server.requests.session import request_limits
from server.shutdown import Ending

if TYPE_CHECKING:
    from server.audit_log import AuditLog

# Keys per database that one pass of active expiry removes: well under 10 ms.
EXPIRE_LIMIT = 1000
# Producers whose old idempotent IDs one pass drops: about a millisecond.
FORGET_LIMIT = 1000
# Between two slices of eviction that no request causes.
EVICTION_PAUSE_S = 0.001

Run = Callable[[], None]


class Timer(Protocol):
    """A callback that waits for its time."""

    def cancel(self) -> None:
        """Do not call it."""


class Environment(ABC):
    """What a server does not make itself: clock, chance, files, children, network, log, loop."""

    # How much later it may be than `monotonic_ms` says: a client is answered when its timeout has
    # passed in full, as in Redis.
    grain_ms = 1
    call_soon: Callable[[Run], object]  # after the loop has polled
    call_later: Callable[[float, Run], Timer]  # after seconds
    end_cycle_soon: Callable[[Run], object]  # when all input of this poll was read

    @abstractmethod
    def now_us(self) -> int:
        """Unix time in microseconds."""

    def now_ms(self) -> int:
        """Unix time in milliseconds."""
        return self.now_us() // 1000

    @abstractmethod
    def monotonic_us(self) -> int:
        """Monotonic time in microseconds."""

    def monotonic_ms(self) -> int:
        """Monotonic time in milliseconds."""
        return self.monotonic_us() // 1000

    @abstractmethod
    def sleep(self, seconds: float) -> None:
        """Stop everything for a while."""

    @abstractmethod
    def random_below(self, limit: int) -> int:
        """A random integer in [0, limit)."""

    @abstractmethod
    def random_hex(self, digits: int) -> str:
        """Random lower-case hexadecimal digits."""

    @abstractmethod
    def log(self, level: str, message: str) -> None:
        """Write a line; levels as the `loglevel` directive names them."""

    @abstractmethod
    def write(self, client: Client) -> None:
        """Send the client's output."""

    @abstractmethod
    def files(self) -> Files:
        """The files."""

    @abstractmethod
    def children(self, server: Server) -> Children:
        """What saves in the background."""

    @abstractmethod
    def syncer(self, server: Server) -> Syncer:
        """What syncs files in the background."""

    @abstractmethod
    def outside(self, server: Server) -> Outside:
        """The network, as replication sees it."""

    def free_memory(self) -> FreeMemory:
        """The allocator's free memory; by default none is known, and none is given back."""
        return FreeMemory(lambda: 0, lambda: None, lambda: None)


class Server:
    """One server."""

    def __init__(self, config: Configuration, environment: Environment) -> None:
        self.environment = environment
        self._bounded_log = BoundedLog(self.log)
        self.instance: Instance = Instance(
            config, self, environment.now_ms(), environment.monotonic_ms()
        )
        self.dispatcher: Dispatcher = Dispatcher(self.instance, environment)
        self.cycle: EventLoopCycle = EventLoopCycle(
            self.dispatcher, environment.end_cycle_soon, environment.write
        )
        self.client_memory = self.instance.feature(ClientMemory)
        self.long_replies = LongReplies(
            self.dispatcher,
            self.cycle,
            environment.call_soon,
            environment.monotonic_us,
        )
        self.policies = self.instance.feature(PolicyTimer)
        self.policies.elapsed_us = environment.monotonic_us
        self.policies.wake = self._arm_policies
        self.dispatcher.script_runs.schedule = environment.call_soon
        self.free_memory = environment.free_memory()
        self.background_scheduler = BackgroundScheduler(
            self.instance,
            environment.call_soon,
            environment.call_later,
            self.free_memory,
            environment.monotonic_us,
        )
        self.files = environment.files()
        self.children = environment.children(self)
        self.syncer = environment.syncer(self)
        self.persistence = Persistence(
            self.dispatcher, self.files, self.children, self.syncer, self.fatal
        )
        self.snapshot_children = environment.children(self)
        self.replication = Replication(
            self.dispatcher,
            environment.outside(self),
            self.snapshot_children,
            self.files,
            self._send,
        )
        self.ending = Ending(self.instance, self.replication, self._end)
        self.is_ending = False  # it has stopped serving
        self._is_interrupted = False
        self._timer: Timer | None = None
        self._policy_timer: Timer | None = None
        self._timer_ms: int | None = None
        self.cycle.before_output += [self.persistence.flush, self.replication.flush]
        self.audit_log: AuditLog | None = None
        self.cycle.after += [
            self.dispatcher.client_limit.check_after,
            self._arm_timer,
            self.background_scheduler.schedule_if_needed,
            self._go_on_sending,
        ]

    def open_audit_log(self, path: str) -> None:
        """Record in a file what `audit-events` selects; no path: nothing. Raises OSError."""
        if path:
            from server.audit_log import AuditLog  # few need it: not at the start

            self.audit_log = AuditLog(self.instance, self.files, path, self.cycle.wake)
            self.audit_log.open()
            self.cycle.before_output.append(self.audit_log.flush)

    # -- the end -------------------------------------------------------------------------------

    def begin_shutdown(self, *, save: bool | None, now: bool, force: bool, failover: bool) -> bool:
        """Wait for replicas to catch up, then end. False if there is nothing to wait for."""
        return self.ending.begin(save=save, now=now, force=force, failover=failover)

    def abort_shutdown(self) -> bool:
        """Cancel a shutdown that waits (SHUTDOWN ABORT); False if none does."""
        return self.ending.abort()

    def shut_down(self, *, save: bool | None, force: bool) -> bool:
        """Write everything to disk and end (SHUTDOWN); False if the write fails."""
        return self.ending.finish(save=save, force=force)

    def _end(self, save: bool | None, force: bool) -> bool:
        """Save and sync everything, and stop. False if that fails."""
        is_signal = bool(self.ending.signal)
        if not self.persistence.shut_down(save=save, force=force, is_signal=is_signal):
            return False
        self._stop()
        return True

    def _stop(self) -> None:
        """Serve no request any more."""
        self.replication.stop()
        self.cycle.stop()
        self.background_scheduler.stop()
        self.long_replies.stop()
        if self.audit_log is not None:
            self.audit_log.stop()
        self.is_ending = True

    def handle_signal(self, number: int = signal.SIGTERM) -> None:
        """End the server for a signal, now or when DEBUG PAUSE-CRON is over."""
        self._is_interrupted = False
        self.ending.signal = number
        if not self.instance.is_cron_paused:
            self._end_for_signal(number)

    def _end_for_signal(self, number: int) -> None:
        config = self.instance.config
        is_interrupt = number == signal.SIGINT
        options = config.shutdown_on_sigint if is_interrupt else config.shutdown_on_sigterm
        save = True if "save" in options else False if "nosave" in options else None
        self.begin_event()
        if self.dispatcher.end_script():
            # The requests of this cycle run first: they are answered, and their changes are saved.
            self.cycle.finish()
        now, force, failover = (word in options for word in ("now", "force", "failover"))
        if not self.begin_shutdown(save=save, now=now, force=force, failover=failover):
            self.shut_down(save=save, force=force)

    def fatal(self, message: str) -> NoReturn:
        """Log the message and end at once: going on does harm."""
        raise NotImplementedError

    # -- timers --------------------------------------------------------------------------------

    def _work_periodically(self) -> None:
        """`hz` times a second."""
        self.begin_event()
        instance = self.instance
        traffic = instance.replication.input_bytes, instance.replication.output_bytes
        instance.stats.sample(instance.monotonic_ms, traffic)
        self._bounded_log.tick(self.environment.monotonic_us())
        if instance.gates & GATE_BUSY or instance.is_cron_paused:
            return  # a script runs: no data changes, and none is saved
        if not instance.persistence.loading:
            expire_fields(instance, EXPIRE_LIMIT)
            expire_keys(instance, EXPIRE_LIMIT)
            forget_idempotent_ids(instance, FORGET_LIMIT)
            if self.policies.is_used:  # its timer knows of no jump of the clock, nor of gates
                self.policies.run()
                self._arm_policies()
            count_memory(instance)
            self._keep_limit()
            self.background_scheduler.tick()
        self.persistence.tick()
        self.replication.tick()
        self._renew_credentials()
        if self.audit_log is not None:
            self.audit_log.tick()
        if due := self.ending.due_signal:
            self._end_for_signal(due)
        self.ending.tick()
        if self.is_ending:
            return
        close_idle_clients(instance)
        self.dispatcher.admission.end_pause_when_over()
        self.cycle.wake()

    def _renew_credentials(self) -> None:
        """Read certificates again when they have changed."""

    def _keep_limit(self) -> None:
        """Evict keys while there are more than the memory limit allows, a few at a time."""
        limit = self.dispatcher.memory_limit
        limit.check()
        if limit.is_behind and not self.is_ending:
            self.environment.call_later(EVICTION_PAUSE_S, self._evict_more)

    def _evict_more(self) -> None:
        if not self.is_ending:
            self.begin_event()
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
            delay_ms = alarm_ms + self.environment.grain_ms - self.environment.monotonic_ms()
            self._timer = self.environment.call_later(max(0, delay_ms) / 1000, self._on_alarm)

    def _on_alarm(self) -> None:
        self._timer = self._timer_ms = None
        if self.is_ending or self.instance.gates & GATE_BUSY:
            return
        self.begin_event()
        self.dispatcher.waiters.retry_due(self.instance.monotonic_ms)
        self.dispatcher.waiters.expire(self.instance.monotonic_ms - self.environment.grain_ms)
        self.cycle.wake()

    def _arm_policies(self) -> None:
        """Set the timer of policies, which asks for it: cycles know nothing of it."""
        if self._policy_timer is not None:
            self._policy_timer.cancel()
            self._policy_timer = None
        due_ms = self.policies.next_ms()
        if due_ms is not None:
            delay_ms = due_ms + self.environment.grain_ms - self.environment.now_ms()
            delay_s = max(0, delay_ms) / 1000
            self._policy_timer = self.environment.call_later(delay_s, self._run_policies)

    def _run_policies(self) -> None:
        self._policy_timer = None
        if self.is_ending or self.instance.gates & GATE_BUSY:
            return
        self.begin_event()
        self.policies.run()
        self._arm_policies()
        self.cycle.wake()

    def begin_event(self) -> None:
        """Begin a batch for an event that is not a client's request."""
        self.dispatcher.start_batch()

    def _send(self, client: Client, data: bytes) -> None:
        """Send to a replica; also while the cycle is ending."""
        client.output.append(data)
        self.cycle.add_output(client)

    # -- Host ----------------------------------------------------------------------------------

    def clock_us(self) -> int:
        """Unix time in microseconds."""
        return self.environment.now_us()

    def monotonic_us(self) -> int:
        """Ask the environment."""
        return self.environment.monotonic_us()

    def is_interrupted(self) -> bool:
        """Return True if a signal to end the server waits to be handled."""
        return self._is_interrupted

    def random_below(self, limit: int) -> int:
        """A random integer in [0, limit)."""
        return self.environment.random_below(limit)

    def random_hex(self, digits: int) -> str:
        """Random lower-case hexadecimal digits."""
        return self.environment.random_hex(digits)

    def resume_postponed(self) -> None:
        """CLIENT PAUSE ended."""
        self.dispatcher.admission.resume_postponed()
        self.cycle.wake()

    def resume(self) -> None:
        """A script is done: end the cycle, with the work that waited for it, and arm the timer."""
        self.cycle.wake()

    def pause(self, seconds: float) -> None:
        """DEBUG SLEEP."""
        self.environment.sleep(seconds)

    def facts(self) -> ProcessFacts:
        """The process's numbers."""
        raise NotImplementedError

    def purge_memory(self) -> None:
        """MEMORY PURGE."""

    def apply_config(self, names: list[str]) -> None:
        """Apply changed directives. Raises ValueError; see Host."""
        config = self.instance.config
        if self.audit_log is not None:
            self.audit_log.apply_config()
        elif config.audit_events and "audit-events" in names:
            raise ValueError("there is no audit-log, which is set at the start")
        self._apply_to_process(names)
        if "proto-max-bulk-len" in names or "client-query-buffer-limit" in names:
            for session in self.cycle.sessions.values():
                session.reader.set_limits(request_limits(config))
        for name in names:
            self.persistence.apply_config(name)
            self.replication.apply_config(name)

    def _apply_to_process(self, names: list[str]) -> None:
        """Apply the directives on listeners, files and the log."""

    def rewrite_config(self) -> None:
        """CONFIG REWRITE."""
        raise ValueError("The server is running without a config file")

    def read_acl_file(self) -> bytes:
        """The content of the ACL file. Raises OSError."""
        return user_files.read_file(self.files, self.instance.config)

    def write_acl_file(self, text: bytes) -> None:
        """Replace the ACL file. Raises OSError."""
        user_files.write_file(self.files, self.instance.config, text)

    def tell_supervisor(self, state: str) -> None:
        """Tell systemd what the process does, if that started it."""

    def log(self, level: str, message: str) -> None:
        """Write to the log."""
        if self.instance.config.hide_user_data_from_log:
            message = without_bytes(message)
        self.environment.log(level, message)

    def log_bounded(self, level: str, kind: str, message: str) -> None:
        """Write a line that clients can cause at will, or count it."""
        self._bounded_log.add(level, kind, message, self.environment.monotonic_us())
