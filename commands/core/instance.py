"""The instance: the state of one running server, without any I/O.

Databases, configuration, subscriptions, statistics; `feature` has what few requests need, and what
refers to clients. The server makes one and gives it a `Host`; tests make as many as they like.
Handlers reach it through their client.

Rules kept here, once for all commands: a key that expires or is removed wakes the clients that wait
for its absence, fails transactions that watch it, and invalidates clients' caches.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import cython

from commands.config.configuration import Configuration
from commands.config.redaction import HIDDEN
from commands.core import notifications
from commands.core.background_work import BackgroundWork
from commands.core.gates import (
    GATE_LOADING,
    GATE_OUT_OF_MEMORY,
    GATE_PAUSED,
    GATE_WRITES_REFUSED,
    KEEPING_GATES,
)
from commands.core.host import Host
from commands.core.propagation import Propagation
from commands.core.server_state import PersistenceState, ReplicationState
from commands.core.stats import LatencyHistogram, Rate, SlowCommands
from protocol.errors import ReplyError
from storage.groups.group import DeliveryLatency
from storage.keyspace.database import Database
from storage.keyspace.ordered_index import Chance
from storage.nodes.entry_cache import EntryCache
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.value import NEW_FREQUENCY, Value

MAX_FREQUENCY = 255
_MINUTE_MS = 60_000
_SAMPLE_INTERVAL_MS = 100
# Error codes that are counted one by one: a client must not fill memory with codes of its own.
MAX_ERROR_CODES = 128


class FrequencySettings(Protocol):
    """The directives that count here."""

    lfu_log_factor: int
    lfu_decay_time: int  # minutes; 0: no decay


def frequency_now(value: Value, now_ms: cython.long, decay_minutes: cython.long) -> cython.long:
    """The count of a value, 0 to 255, after the decay since its last access."""
    if not decay_minutes:
        return value.frequency
    passed: cython.long = now_ms // _MINUTE_MS - value.access_ms // _MINUTE_MS
    if passed <= 0:
        return value.frequency
    return max(value.frequency - passed // decay_minutes, 0)


def count_access(
    value: Value, now_ms: cython.long, settings: FrequencySettings, chance: Chance
) -> None:
    """Count an access, before its time is noted."""
    frequency: cython.long = frequency_now(value, now_ms, settings.lfu_decay_time)
    if frequency < MAX_FREQUENCY:
        above: cython.long = max(frequency - NEW_FREQUENCY, 0)
        if not above or not chance.below(above * settings.lfu_log_factor + 1):
            frequency += 1
    value.frequency = frequency


class Counted(Protocol):
    """A command, by which its statistics are found (commands/core/registry.py)."""

    fullname: bytes


@cython.cclass
class CommandStats:
    """The statistics of one command that INFO commandstats and latencystats report."""

    __slots__ = ("calls", "failed_calls", "histogram", "rejected_calls", "usec")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Set all counters to zero."""
        self.calls = 0
        self.usec = 0
        self.rejected_calls = 0  # refused before it ran: arity, authentication, ...
        self.failed_calls = 0  # answered with an error
        self.histogram = LatencyHistogram()


@cython.cclass
class Stats:
    """The counters of INFO stats, errorstats and commandstats: numbers that other code adds to.

    CONFIG RESETSTAT sets them to zero with `reset`; rates per second come from samples that the
    server's timer takes with `sample`.
    """

    def __init__(self) -> None:
        self.commands: dict[Counted, CommandStats] = {}
        self._sampled_ms = 0
        self.exceeded_since_ms = 0  # since when more memory is in use than allowed; 0: it is not
        # Refused by access control lists. As in Redis, CONFIG RESETSTAT leaves them.
        self.acl_access_denied_auth = 0
        self.acl_access_denied_cmd = 0
        self.acl_access_denied_tls_cert = 0
        self.acl_access_denied_key = 0
        self.acl_access_denied_channel = 0
        self.reset()

    def reset(self) -> None:
        """CONFIG RESETSTAT."""
        for command in self.commands.values():
            command.reset()
        self.slow: dict[Counted, SlowCommands] = {}
        self.errors: dict[bytes, int] = {}  # by error code
        self.total_error_replies = 0
        self.unexpected_error_replies = 0  # to a primary
        self.connections_received = 0
        self.rejected_connections = 0
        self.net_input_bytes = 0
        self.net_output_bytes = 0
        self.reads_processed = 0
        self.writes_processed = 0
        self.commands_processed = 0
        self.keyspace_hits = 0
        self.keyspace_misses = 0
        self.delivery_latency = DeliveryLatency()  # of all groups
        self.expired_keys = self.expired_keys_active = 0  # in all, and by the timer
        self.evicted_keys = 0
        self.eviction_exceeded_ms = 0  # for how long more memory was in use than allowed
        self.expired_subkeys = self.expired_subkeys_active = 0  # fields of hashes
        self.expire_cycle_us = 0  # spent in active expiry
        self.expire_cycles_cut_short = 0  # rounds of it that left expired keys
        self.cycles = 0  # of the event loop, those that had something to do
        self.cycles_us = 0  # spent in them
        self.cycles_with_input = 0  # those that took input of clients
        self.inputs_processed = 0  # how often requests of a client were parsed
        self.batches = 0  # of those, the ones that found whole requests
        self.batched_requests = 0  # that they found
        self.client_query_buffer_limit_disconnections = 0
        self.client_output_buffer_limit_disconnections = 0
        self.evicted_clients = 0
        self.forks = 0
        self.latest_fork_us = 0  # how long it blocked the server
        # growth per second
        self.operations = Rate()
        self.input_bytes = Rate()
        self.output_bytes = Rate()
        self.replicated_input = Rate()
        self.replicated_output = Rate()
        self.cycle_rate = Rate()
        self.cycle_us_rate = Rate()

    @property
    def commands_us(self) -> int:
        """Time spent in commands."""
        return sum(stats.usec for stats in self.commands.values())

    def of(self, command: Counted) -> CommandStats:
        """The statistics of `command`, made at first use."""
        stats = self.commands.get(command)
        if stats is None:
            stats = self.commands[command] = CommandStats()
        return stats

    def count_slow(self, command: Counted, elapsed_us: int) -> None:
        """Count one command that the slow log records."""
        if command not in self.slow:
            self.slow[command] = SlowCommands()
        self.slow[command].add(elapsed_us)

    def count_error(self, code: bytes) -> None:
        """One error reply that starts with `code`."""
        self.total_error_replies += 1
        if code in self.errors or len(self.errors) < MAX_ERROR_CODES:
            self.errors[code] = self.errors.get(code, 0) + 1

    def sample(self, monotonic_ms: int, replicated: tuple[int, int] = (0, 0)) -> None:
        """Take a sample of the growing counters if the last one is old enough.

        `replicated`: the bytes of replication that came in and went out.
        """
        elapsed_ms = monotonic_ms - self._sampled_ms
        if elapsed_ms < _SAMPLE_INTERVAL_MS:
            return
        self._sampled_ms = monotonic_ms
        self.operations.sample(self.commands_processed, elapsed_ms)
        self.input_bytes.sample(self.net_input_bytes, elapsed_ms)
        self.output_bytes.sample(self.net_output_bytes, elapsed_ms)
        self.replicated_input.sample(replicated[0], elapsed_ms)
        self.replicated_output.sample(replicated[1], elapsed_ms)
        self.cycle_rate.sample(self.cycles, elapsed_ms)
        self.cycle_us_rate.sample(self.cycles_us, elapsed_ms)


WatchedKey: TypeAlias = "tuple[int, bytes]"  # (database index, key)


@cython.cclass
class ReadyKeys:
    """The keys of all databases that clients wait for, and the ready ones among them."""

    def __init__(self) -> None:
        self.awaited: Collection[WatchedKey] = {}
        # Those whose waiters wake as well if the key is missing.
        self.awaited_missing: Collection[WatchedKey] = {}
        self.signalled: dict[WatchedKey, None] = {}

    def signal(self, db_index: int, key: bytes) -> None:
        """`key` may serve its waiters now, was removed, or changed its type; dispatch decides which
        of them to wake.
        """
        watched = (db_index, key)
        if watched in self.awaited:
            self.signalled[watched] = None

    def signal_all(self, databases: Sequence[Database]) -> None:
        """All keys of databases may have changed (FLUSHDB, SWAPDB).

        Those that are missing now serve no waiter, unless it waits for that.
        """
        indexes = {db.index for db in databases}
        if sum(map(len, databases)) < len(self.awaited):
            for db in databases:
                for key in db.values:
                    self.signal(db.index, key)
            awaited = self.awaited_missing
        else:
            awaited = self.awaited
        for watched in awaited:
            if watched[0] in indexes:
                self.signalled[watched] = None

    def take(self) -> list[WatchedKey]:
        """Return the ready keys in the order in which they were signalled, and clear the list."""
        ready = list(self.signalled)
        self.signalled.clear()
        return ready


class Feature(Protocol):
    """The state of a feature that few requests need; the instance keeps one of each kind."""

    def __init__(self, instance: Instance) -> None: ...


State = TypeVar("State", bound=Feature)
# Called with a database, a key of it that has changed, and the client that did it.
KeyObserver: TypeAlias = Callable[[Database, bytes, Any], None]
# By the type of a value: what a family does with one that is stored at a key of a database.
STORED: dict[type[Value], list[Callable[[Any, Database, bytes, Any], None]]] = {}


class Receiver(Protocol):
    """A client that is sent what others do."""

    def send(self, data: bytes) -> None:
        """Send a message."""


class RequestObserver(Protocol):
    """What is told of each request of a client, of those in transactions and scripts, too."""

    def ran(
        self, client: Any, command: Any, request: Any, reply: Any, elapsed_ns: int, is_first: bool
    ) -> None:
        """A request has run, or has blocked; `is_first`: not one that has blocked before."""

    def refused(self, client: Any, command: Any, words: Sequence[bytes], code: bytes) -> None:
        """A request was answered with an error before it ran; `command` None: an unknown one."""

    def sent(
        self, client: Any, command: Any, words: Sequence[bytes], size: int, elapsed_us: int
    ) -> None:
        """A long reply has been made in full: its size, and what it took after the request."""


class _Observed:
    """Stands for the observers of requests among the monitors."""

    def send(self, data: bytes) -> None:
        """No line is for them."""


_OBSERVED = _Observed()


def _has_no_subscribers(channel: bytes, message: bytes) -> int:
    """Until the first client subscribes (commands/pubsub/registry.py)."""
    return 0


@cython.cclass
class Instance:
    """One server's state."""

    def __init__(self, config: Configuration, host: Host, now_ms: int, monotonic_ms: int) -> None:
        self.config = config
        self.encoding_limits: EncodingLimits = config
        self.host = host
        # Set by the server once per batch of input: the time of day, and the time for waiting.
        self.now_ms, self.monotonic_ms = now_ms, monotonic_ms
        self.started_ms, self.up_since_ms = now_ms, monotonic_ms
        self.run_id = host.random_hex(40)
        self.propagation = Propagation()  # of what goes to the append-only file and the replicas
        self.replication = ReplicationState(host.random_hex(40), self.propagation)
        self.background_work = BackgroundWork(self._report_failed_task)
        free = self.background_work.free
        self.entry_cache = EntryCache()
        self.databases = [
            Database(index, free, self.entry_cache) for index in range(config.databases)
        ]

        # clients
        # Clients in MONITOR mode, and one more if requests have observers: without any, no request
        # looks further.
        self.monitors: dict[Receiver, None] = {}
        self.request_observers: list[RequestObserver] = []  # see `observe_requests`
        self._observers: list[tuple[RequestObserver, bool]] = []
        self.times_requests = False  # an observer needs the time of each request by itself
        # Flags for states in which every client's request must be checked; 0 in normal operation.
        self.gates = 0
        self.is_cluster = False  # cluster mode: each request is checked for the slot of its keys
        self.paused_until_ms = 0  # CLIENT PAUSE, monotonic; 0: no pause
        self.pause_writes_only = False
        self.ready_keys = ReadyKeys()
        # features, and what they register
        self._features: dict[type[Feature], Feature] = {}
        self.key_observers: list[KeyObserver] = []  # see `observe_keys`
        # Called with a database, a key that no client has removed, and the event.
        self.note_removal: Callable[[int, bytes, bytes], None] | None = None
        self.at_cycle_end: list[Callable[[], None]] = []  # runs once, before output leaves
        self.publish: Callable[[bytes, bytes], int] = _has_no_subscribers
        self.chance = Chance(host.random_below(1 << 62))
        # statistics
        self.stats = Stats()
        self.dirty = 0  # changes since the last save
        self.persistence = PersistenceState(now_ms, monotonic_ms)
        self.write_refusal: ReplyError | None = None
        self.shutdown_at_ms = 0  # monotonic, at the latest, while it waits for replicas
        self.is_torn = False  # a script was ended in the middle of its writes: nothing may be saved
        self.active_expiry = True  # DEBUG SET-ACTIVE-EXPIRE
        self.is_cron_paused = False  # DEBUG PAUSE-CRON
        self.look_up_settings()

    def feature(self, kind: type[State]) -> State:
        """The state of a feature, which is made at first use."""
        state = self._features.get(kind)
        if state is None:
            state = self._features[kind] = kind(self)
        assert isinstance(state, kind)
        return state

    def feature_if_used(self, kind: type[State]) -> State | None:
        """The state of a feature, if it was used already."""
        state = self._features.get(kind)
        assert state is None or isinstance(state, kind)
        return state

    def look_up_settings(self) -> None:
        """Cache the settings that most requests need: `Dispatcher.look_up_settings` calls this."""
        config = self.config
        self.node_max_entries = config.stream_node_max_entries
        self.node_max_bytes = config.stream_node_max_bytes
        policy = config.maxmemory_policy
        self.counts_accesses = policy.endswith("lfu")
        self.reads_touch = not policy.endswith("lrm")
        self.limits_memory = config.maxmemory > 0
        if not self.limits_memory:
            self.set_gate(GATE_OUT_OF_MEMORY, is_shut=False)
        self._look_up_observers()
        limit = config.client_output_buffer_limit["normal"]
        self.limits_output = bool(limit.hard_bytes or limit.soft_bytes)  # of ordinary clients

    def _report_failed_task(self, error: Exception) -> None:
        text = "".join(traceback.format_exception(error))
        self.host.log("warning", f"Work in the background failed: {text}")

    def shown(self, data: str | bytes) -> str:
        """What a user has chosen (a name, arguments), as the server's log may show it."""
        if self.config.hide_user_data_from_log:
            return HIDDEN
        return data if isinstance(data, str) else data.decode("utf-8", "backslashreplace")

    # -- gates ---------------------------------------------------------------------------------

    def set_gate(self, gate: int, *, is_shut: bool) -> None:
        """Set or clear one flag of `gates`."""
        self.gates = self.gates | gate if is_shut else self.gates & ~gate

    def pause_until(self, until_ms: int) -> None:
        """CLIENT PAUSE; 0 ends it."""
        self.paused_until_ms = until_ms
        self.set_gate(GATE_PAUSED, is_shut=bool(until_ms))

    def set_loading(self, is_loading: bool) -> None:
        """While data is read from disk, most commands are answered with -LOADING."""
        self.persistence.loading = is_loading
        self.set_gate(GATE_LOADING, is_shut=is_loading)

    def refuse_writes(self, refusal: ReplyError | None) -> None:
        """Answer `refusal` to every command that would change data; None allows writes again."""
        self.write_refusal = refusal
        self.set_gate(GATE_WRITES_REFUSED, is_shut=refusal is not None)

    # -- keys ----------------------------------------------------------------------------------

    def touch(self, value: Value) -> None:
        """A value is used: note the time and, if the policy asks for it, the frequency."""
        if self.counts_accesses:
            count_access(value, self.now_ms, self.config, self.chance)
        value.access_ms = self.now_ms

    def store(self, db: Database, key: bytes, value: Value) -> None:
        """Set the value of `key` in `db`; see `Client.store` for the details."""
        notifies = self.is_observed and self.config.notify_keyspace_events
        old = db.get(key) if notifies else None
        value.access_ms = self.now_ms
        db.set(key, value)
        for keep in STORED.get(type(value), ()):
            keep(self, db, key, value)
        if self.ready_keys.awaited:
            self.ready_keys.signal(db.index, key)
        if notifies:
            if old is None:
                self.notify(notifications.NEW, b"new", key, db.index)
            else:
                self.notify_overwritten(db, key, old, value)

    def remove(self, db: Database, key: bytes) -> None:
        """Delete `key` from `db` and wake the clients that wait for its absence."""
        if db.remove(key) is not None and self.ready_keys.awaited:
            self.ready_keys.signal(db.index, key)

    def take(self, db: Database, key: bytes) -> None:
        """Remove a key whose value moves to another name or database."""
        if db.take(key) is not None and self.ready_keys.awaited:
            self.ready_keys.signal(db.index, key)

    def expire(self, db: Database, key: bytes) -> None:
        """Remove an expired key. Replicas and the append-only file get a DEL.

        On a replica the key stays, hidden from clients, until the primary's DEL arrives, and while
        writes are held back until they run again.
        """
        if self.gates & KEEPING_GATES:
            return
        self.stats.expired_keys += 1
        self.drop(db, key, b"DEL", notifications.EXPIRED, b"expired")

    def drop(
        self, db: Database, key: bytes, command: bytes, event_class: int, event: bytes
    ) -> None:
        """Remove a key that no client removes; a command for replicas and file, and an event."""
        self.remove(db, key)
        if self.note_removal is not None:
            self.note_removal(db.index, key, event)
        self.propagation.propagate(db.index, [command, key])
        self.key_modified(db, key, None)
        self.notify(event_class, event, key, db.index)

    def observe_keys(self, observer: KeyObserver, *, is_on: bool) -> None:
        """Call `observer` with each key that changes, from now on or no longer."""
        if is_on != (observer in self.key_observers):
            if is_on:
                self.key_observers.append(observer)
            else:
                self.key_observers.remove(observer)
            self._look_up_observers()

    def _look_up_observers(self) -> None:
        self.is_observed = bool(self.config.notify_keyspace_events or self.key_observers)

    def observe_requests(
        self, observer: RequestObserver, *, is_on: bool, times: bool = False
    ) -> None:
        """Call `observer` for each request, from now on or no longer.

        `times`: it needs the time of each; most are measured together. Callers outside of commands
        call `Dispatcher.look_up_settings`.
        """
        others = [(each, timed) for each, timed in self._observers if each is not observer]
        self._observers = [*others, (observer, times)] if is_on else others
        self.request_observers = [each for each, _ in self._observers]
        self.times_requests = any(timed for _, timed in self._observers)
        if self._observers:
            self.monitors[_OBSERVED] = None
        else:
            self.monitors.pop(_OBSERVED, None)

    @property
    def has_monitors(self) -> bool:
        """Return True if a client is in MONITOR mode."""
        return len(self.monitors) > (_OBSERVED in self.monitors)

    def key_modified(self, db: Database, key: bytes, by: Any) -> None:
        """Fail the transactions that watch `key`, and invalidate clients' caches of it.

        `by`: the client that changed it, None for the server itself.
        """
        for observer in self.key_observers:
            observer(db, key, by)

    # -- events ---------------------------------------------------------------------------------

    def notify(self, event_class: int, event: bytes, key: bytes, db_index: int) -> None:
        """Publish a keyspace event to its channels, if the configuration asks for it."""
        enabled = self.config.notify_keyspace_events
        if not enabled & event_class:
            return
        if enabled & notifications.KEYSPACE:
            self.publish(b"__keyspace@%d__:%b" % (db_index, key), event)
        if enabled & notifications.KEYEVENT:
            self.publish(b"__keyevent@%d__:%b" % (db_index, event), key)

    def notify_fields(
        self, event: bytes, key: bytes, fields: Sequence[bytes], db_index: int
    ) -> None:
        """Publish a keyspace event of a hash, and the subkey events with its fields."""
        self.notify(notifications.HASH, event, key, db_index)
        enabled = self.config.notify_keyspace_events
        if enabled & notifications.HASH and enabled & notifications.SUBKEYS and fields:
            messages = notifications.subkey_messages(enabled, event, key, fields, db_index)
            for channel, message in messages:
                self.publish(channel, message)

    def notify_miss(self, db: Database, key: bytes) -> None:
        """A read found no key: event `keymiss`."""
        self.notify(notifications.KEY_MISS, b"keymiss", key, db.index)

    def notify_overwritten(self, db: Database, key: bytes, old: Value, new: Value) -> None:
        """A command replaced a value: events `overwritten` and `type_changed`, since Redis 8.2."""
        self.notify(notifications.OVERWRITTEN, b"overwritten", key, db.index)
        if type(old) is not type(new):
            self.notify(notifications.TYPE_CHANGED, b"type_changed", key, db.index)
