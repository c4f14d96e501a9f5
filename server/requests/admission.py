"""Admission control: decides whether a request may run now, if a gate is shut.

A request is refused (authentication, access control lists, a disk that cannot be written, a RESP2
client with subscriptions, MONITOR, loading), queued by a transaction, or held back while CLIENT
PAUSE lasts. The gates of the client and of the instance, two sets of bits, say which of these are
possible. While both are 0, the dispatcher skips this module.

`MemoryLimit` evicts keys while more memory is in use than `maxmemory` allows. It is checked before
each request. Evicting takes a limited time, which `maxmemory-eviction-tenacity` determines; if it
is over, the request runs, and eviction goes on with the next one and with a timer (`is_behind`). If
the policy finds no more keys, requests that may use more memory are refused until there is room
(GATE_OUT_OF_MEMORY). Nothing is evicted while data are loaded or a script runs, while CLIENT PAUSE
or a failover keeps the data as it is, or on a replica (`replica-ignore-maxmemory`): its primary
sends the removals.

Leaves out: unknown commands and arity (server/requests/dispatch.py); how a request that was held
back runs later (server/requests/session.py). Source: Redis 8.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter_ns

import cython

from commands.acl.checks import refusal
from commands.acl.user_limits import UserLimits
from commands.cluster.mode import ClusterMode
from commands.cluster.routing import refusal as routing_refusal
from commands.connection.client_memory import MemoryUse
from commands.core.client import Client
from commands.core.gates import (
    GATE_AUDIT,
    GATE_AUTH,
    GATE_BUSY,
    GATE_CLIENT_MEMORY,
    GATE_FEW_REPLICAS,
    GATE_LIMITED,
    GATE_LOADING,
    GATE_MIGRATING,
    GATE_MONITOR,
    GATE_MULTI,
    GATE_OUT_OF_MEMORY,
    GATE_PAUSED,
    GATE_PRIMARY,
    GATE_READ_ONLY,
    GATE_REPLICA,
    GATE_RESTRICTED,
    GATE_STALE,
    GATE_SUBSCRIBED,
    GATE_WRITES_REFUSED,
    HOLDING_GATES,
    WRITES_WAIT_GATES,
)
from commands.core.instance import Instance
from commands.core.registry import (
    ADMIN,
    ALLOW_BUSY,
    DENYOOM,
    LOADING,
    MAY_REPLICATE,
    MOVABLE_KEYS,
    NO_AUTH,
    NO_MULTI,
    READONLY,
    STALE,
    UNQUEUED,
    WRITE,
    Command,
)
from commands.eviction.eviction import Eviction
from commands.keys.migrate import MovingKeys
from commands.scripting.evaluation import Scripting, request_flags
from commands.server.latency import LatencyMonitor
from commands.streams.request_cache import RequestCache
from commands.transactions.transaction import Transaction
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request, key_slot
from server.requests.client_limit import ClientLimit
from server.requests.command_clock import Answering
from server.requests.waiters import ClientQueues

UNLIMITED_US = 1 << 60
# The clock is read once for this many keys.
KEYS_AT_ONCE = 8
_KEEPING = GATE_BUSY | GATE_LOADING | HOLDING_GATES
_OUT_OF_MEMORY: cython.long = GATE_OUT_OF_MEMORY

_STREAMING_GATES = GATE_MONITOR | GATE_REPLICA  # clients that only receive
_ROLE_GATES = GATE_FEW_REPLICAS | GATE_READ_ONLY
_WHILE_SUBSCRIBED = {
    b"ping", b"subscribe", b"psubscribe", b"ssubscribe",
    b"unsubscribe", b"punsubscribe", b"sunsubscribe", b"quit", b"reset",
}  # fmt: skip


_MULTI: cython.long = GATE_MULTI
_UNQUEUED: cython.long = UNQUEUED
_NO_MULTI: cython.long = NO_MULTI
_MOVABLE_KEYS: cython.long = MOVABLE_KEYS
_QUEUED = replies.QUEUED
_NO_SLOT = -1  # no key, or keys in several slots


def tenacity_us(tenacity: int) -> int:
    """How long to evict at a time, in microseconds, for `maxmemory-eviction-tenacity` 0 to 100."""
    if tenacity <= 10:
        return 50 * tenacity
    if tenacity < 100:
        return int(500 * 1.15 ** (tenacity - 10))
    return UNLIMITED_US


@cython.cclass
class MemoryLimit:
    """Keeps one instance within its memory limit."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._eviction: Eviction = instance.feature(Eviction)
        self._memory: MemoryUse = instance.feature(MemoryUse)
        self.is_behind = False  # the time was over before there was room

    def check(self) -> None:
        """Make room, if the limit is exceeded; to be called before a request."""
        instance = self._instance
        limit_bytes: cython.long = instance.config.maxmemory
        if not limit_bytes or self._memory.used_bytes() <= limit_bytes:
            if instance.gates & _OUT_OF_MEMORY or instance.stats.exceeded_since_ms:
                self._end_of_excess()
        elif self._keeps_data():
            self.is_behind = False
        else:
            self._make_room(limit_bytes)

    def _keeps_data(self) -> bool:
        instance = self._instance
        if instance.gates & _KEEPING:
            return True
        return instance.replication.is_replica and instance.config.replica_ignore_maxmemory

    def _make_room(self, limit_bytes: int) -> None:
        instance = self._instance
        if not instance.stats.exceeded_since_ms:
            instance.stats.exceeded_since_ms = instance.monotonic_ms
        allowed_us = tenacity_us(instance.config.maxmemory_eviction_tenacity)
        start_ns = perf_counter_ns()
        elapsed_us, keys, found = 0, 0, True
        while self._memory.used_bytes() > limit_bytes:
            found = self._eviction.evict_one()
            keys += 1
            if not found:
                break
            if keys % KEYS_AT_ONCE == 0:
                elapsed_us = (perf_counter_ns() - start_ns) // 1000
                if elapsed_us > allowed_us:
                    break
        self._note_duration((perf_counter_ns() - start_ns) // 1000)
        if self._memory.used_bytes() <= limit_bytes:
            self._end_of_excess()
            return
        self.is_behind = found
        instance.set_gate(GATE_OUT_OF_MEMORY, is_shut=not found)

    def _note_duration(self, elapsed_us: int) -> None:
        instance = self._instance
        spike_ms = instance.config.latency_monitor_threshold
        if spike_ms and elapsed_us >= spike_ms * 1000:
            instance.feature(LatencyMonitor).sample(
                b"eviction-cycle", elapsed_us // 1000, instance.now_ms
            )

    def _end_of_excess(self) -> None:
        stats = self._instance.stats
        self.is_behind = False
        self._instance.set_gate(GATE_OUT_OF_MEMORY, is_shut=False)
        if stats.exceeded_since_ms:
            stats.eviction_exceeded_ms += self._instance.monotonic_ms - stats.exceeded_since_ms
            stats.exceeded_since_ms = 0


@cython.cclass
class Admission:
    """Decides for one server whether a request may run now."""

    def __init__(
        self,
        instance: Instance,
        queues: ClientQueues,
        client_limit: ClientLimit,
        answering: Answering,
    ) -> None:
        self._instance = instance
        self._queues = queues
        self._client_limit = client_limit
        self._answering = answering
        self._served = instance.feature(ClusterMode).served
        self._moving = instance.feature(MovingKeys)
        self._user_limits = instance.feature(UserLimits)
        self._slots: RequestCache[int] = RequestCache()  # of movable keys

    def admits(self, client: Client, command: Command, request: Request) -> bool:
        """Return True if the request runs now; if not, it was answered, queued or held back."""
        # A transaction alone neither refuses nor holds back: not to look saves 0.17 us a request.
        is_checked = client.gates != _MULTI or self._instance.gates or self._instance.is_cluster
        if is_checked and not self._lets_pass(client, command, request):
            return False
        if client.gates & _MULTI:
            flags: cython.long = command.flags
            if not flags & _UNQUEUED:
                self._enqueue(client, command, request, flags)
                return False
        return True

    def serves(self, client: Client, command: Command, request: Request) -> bool:
        """Cluster mode, all gates are open: return True if the keys of the request are here.

        If not, it was answered.
        """
        if not client.is_asking and (not command.keys or self._has_keys_here(command, request)):
            return True
        writes = _is_write(client, command, request)
        elsewhere = routing_refusal(client, command, request, writes)
        if elsewhere is None:
            return True
        self._answering.reject(client, command, elsewhere, request)
        return False

    def _has_keys_here(self, command: Command, request: Request) -> bool:
        """Return True if all keys are in one slot that needs no closer look."""
        if command.has_one_key:
            return bool(self._served[request.slot(1)])
        slot: int | None
        if not command.flags & _MOVABLE_KEYS:
            slot = _slot_of(command, request)
        else:
            # XREADGROUP, again and again: finding its keys takes longer than the rest of the check.
            identity = request.identity()
            slot = self._slots.get(identity)
            if slot is None:
                slot = _slot_of(command, request)
                self._slots.put(identity, slot)
        return slot != _NO_SLOT and bool(self._served[slot])

    def _lets_pass(self, client: Client, command: Command, request: Request) -> bool:
        """Return True if the request is neither refused nor held back."""
        if self._instance.gates & GATE_CLIENT_MEMORY:
            self._client_limit.check_before(client)
            if client.closed:
                return False
        refusal = self._refusal(client, command, request)
        if refusal is not None:
            self._answering.reject(client, command, refusal, request)
            return False
        instance = self._instance
        if instance.gates & GATE_PAUSED and self._hold_back(client, command, request):
            return False  # also what a transaction would queue, as in Redis
        if instance.gates & WRITES_WAIT_GATES:
            return not self._hold_write_back(client, command, request)
        return True

    def _refusal(self, client: Client, command: Command, request: Request) -> ReplyError | None:
        """Why the request must not run; None if it may."""
        gates, instance = client.gates, self._instance
        if gates & GATE_AUTH and not command.flags & NO_AUTH:
            return ReplyError(errors.NOAUTH)
        if gates & GATE_PRIMARY:
            return None  # accepted where it comes from
        if gates & GATE_LIMITED and not (gates & GATE_REPLICA or command.flags & NO_AUTH):
            limited = self._user_limits.refusal(client)
            if limited is not None:
                return limited
        if instance.gates & GATE_AUDIT and _administers(client, command, request):
            return ReplyError(errors.AUDIT_LOG)
        if gates & GATE_RESTRICTED and not (gates & GATE_MULTI and command.flags & NO_MULTI):
            denied = refusal(client, command, request.words())
            if denied is not None:
                return denied
        if instance.is_cluster and not (
            command.keys and not client.is_asking and self._has_keys_here(command, request)
        ):
            writes = _is_write(client, command, request)
            elsewhere = routing_refusal(client, command, request, writes)
            if elsewhere is not None:
                return elsewhere
        if instance.gates & GATE_OUT_OF_MEMORY and _may_grow(client, command, request):
            return ReplyError(errors.OUT_OF_MEMORY)
        if instance.gates & GATE_WRITES_REFUSED and _needs_disk(client, command, request):
            return instance.write_refusal
        if instance.gates & _ROLE_GATES and _is_write(client, command, request):
            return self._role_refusal()
        if gates & GATE_SUBSCRIBED and command.fullname not in _WHILE_SUBSCRIBED:
            return errors.not_while_subscribed(command.fullname)
        if gates & _STREAMING_GATES and command.flags & (READONLY | WRITE | MAY_REPLICATE):
            return ReplyError(errors.MONITOR_KEYSPACE)
        if instance.gates & GATE_BUSY and not _runs_beside_script(command, request):
            return instance.feature(Scripting).busy_error
        if instance.gates & GATE_STALE and not _has_flag(client, command, request, STALE):
            return ReplyError(errors.MASTER_DOWN)
        if instance.gates & GATE_LOADING and not _has_flag(client, command, request, LOADING):
            return ReplyError(errors.LOADING)
        return None

    def _role_refusal(self) -> ReplyError:
        """Why a write must not run here: it would not be replicated."""
        if self._instance.gates & GATE_FEW_REPLICAS:
            return ReplyError(errors.NO_REPLICAS)
        return ReplyError(errors.READ_ONLY)

    @cython.cfunc
    def _enqueue(
        self, client: Client, command: Command, request: Request, flags: cython.long
    ) -> None:
        """Put a request into the queue of the client's transaction."""
        if flags & _NO_MULTI:
            error = ReplyError(errors.NOT_IN_TRANSACTION)
            self._answering.reject(client, command, error, request)
            return
        transaction: Transaction = client.feature(Transaction)
        transaction.add(command, request, flags)
        client.queued_bytes += request.words_bytes()
        if client.gates == _MULTI:  # saves 0.06 us
            client.output.append(_QUEUED)
        else:
            self._answering.answer(client, _QUEUED, len(client.output))

    # -- CLIENT PAUSE --------------------------------------------------------------------------

    def _hold_back(self, client: Client, command: Command, request: Request) -> bool:
        """Hold the request back if the pause covers it."""
        instance = self._instance
        if self.end_pause_when_over() or client.gates & (GATE_PRIMARY | GATE_REPLICA):
            return False
        if instance.pause_writes_only and not _may_write(client, command, request):
            return False
        if command.fullname == b"client|unpause":
            return False  # unlike Redis, where no client can end the pause: it holds this back too
        self._queues.postpone(client, request.words())
        return True

    def _hold_write_back(self, client: Client, command: Command, request: Request) -> bool:
        """Hold a write back while a failover or a shutdown is under way, or its keys move."""
        if client.gates & (GATE_PRIMARY | GATE_REPLICA) or not _may_write(client, command, request):
            return False
        if self._instance.gates & WRITES_WAIT_GATES == GATE_MIGRATING:
            requests = _requests(client, command, request)
            writes = [each for each in requests if _writes(client, *each)]
            if not self._moving.may_be_written(writes):
                return False
        self._queues.postpone(client, request.words())
        return True

    def end_pause_when_over(self) -> bool:
        """Resume all clients if the time of a CLIENT PAUSE is over; whether it was."""
        instance = self._instance
        if not instance.paused_until_ms or instance.monotonic_ms < instance.paused_until_ms:
            return False
        instance.pause_until(0)
        self.resume_postponed()
        return True

    def resume_postponed(self) -> None:
        """Resume the clients that were held back; the session runs their request again."""
        self._queues.resume_postponed()


def _requests(
    client: Client, command: Command, request: Request
) -> Iterable[tuple[Command, Request]]:
    """The request with its command, or each that EXEC would run."""
    if command.fullname == b"exec" and client.gates & GATE_MULTI:
        transaction = client.feature(Transaction)
        return zip(transaction.commands, transaction.requests, strict=True)
    return [(command, request)]


def _flags(client: Client, command: Command, request: Request) -> list[int]:
    """The flags of the request, or of each request that EXEC would run."""
    instance = client.instance
    return [request_flags(instance, *each) for each in _requests(client, command, request)]


def _writes(client: Client, command: Command, request: Request) -> bool:
    return bool(request_flags(client.instance, command, request) & (WRITE | MAY_REPLICATE))


def _runs_beside_script(command: Command, request: Request) -> bool:
    """Return True if a command runs while a script does: SHUTDOWN only if it saves nothing."""
    if command.fullname == b"shutdown":
        return b"NOSAVE" in [word.upper() for word in request]
    return bool(command.flags & ALLOW_BUSY)


def _administers(client: Client, command: Command, request: Request) -> bool:
    """Return True if the audit log must have the request; REPLCONF is a replica's sign of life."""
    return command.fullname != b"replconf" and _any_has_flag(client, command, request, ADMIN)


def _needs_disk(client: Client, command: Command, request: Request) -> bool:
    """Return True if a disk that cannot be written refuses the command; as in Redis also PING."""
    return _is_write(client, command, request) or command.fullname == b"ping"


def _may_grow(client: Client, command: Command, request: Request) -> bool:
    return _any_has_flag(client, command, request, DENYOOM)


def _slot_of(command: Command, request: Request) -> int:
    """The slot of all keys of a request, or _NO_SLOT."""
    words = request.words()
    slots = {key_slot(words[place]) for place in command.key_positions(words)}
    return slots.pop() if len(slots) == 1 else _NO_SLOT


def _is_write(client: Client, command: Command, request: Request) -> bool:
    return _any_has_flag(client, command, request, WRITE)


def _any_has_flag(client: Client, command: Command, request: Request, flag: int) -> bool:
    found: cython.long = 0
    for flags in _flags(client, command, request):
        found |= flags & flag
    return found != 0


def _has_flag(client: Client, command: Command, request: Request, flag: int) -> bool:
    common: cython.long = flag
    for flags in _flags(client, command, request):
        common &= flags
    return common != 0


def _may_write(client: Client, command: Command, request: Request) -> bool:
    return True in [_writes(client, *each) for each in _requests(client, command, request)]
