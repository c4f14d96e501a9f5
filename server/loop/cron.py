"""Periodic work: active expiry, idle clients, deadlines, sampled rates, old idempotent IDs.

Pure functions over an instance; server/loop/server.py calls them from a timer.
"""

from __future__ import annotations

from itertools import islice
from time import perf_counter_ns

from commands.connection.client_memory import ClientMemory, MemoryUse
from commands.core.client import Clients
from commands.core.gates import GATE_MONITOR, GATE_PRIMARY, GATE_REPLICA, KEEPING_GATES
from commands.core.instance import Instance
from commands.eviction.eviction import update_memory_use
from commands.hashes.fields import remove_expired
from commands.pubsub.registry import is_subscribed
from commands.streams.idempotence import IdempotenceWatch
from storage.keyspace.database import Database
from storage.types.hashes import HashValue

# How many values of each database are counted again in each round.
RECOUNTED_VALUES = 16


def expire_keys(instance: Instance, limit: int) -> int:
    """Remove up to `limit` expired keys per database; the number removed."""
    if not instance.active_expiry or instance.gates & KEEPING_GATES:
        return 0
    if instance.replication.is_replica:
        return _expire_local_keys(instance, limit)
    start_ns, stats = perf_counter_ns(), instance.stats
    removed = 0
    for db in instance.databases:
        if db.expires:
            keys = db.due(instance.now_ms, limit)
            for key in keys:
                instance.expire(db, key)
            removed += len(keys)
            stats.expired_keys_active += len(keys)
            stats.expire_cycles_cut_short += len(keys) == limit
    stats.expire_cycle_us += (perf_counter_ns() - start_ns) // 1000
    return removed


def _expire_local_keys(instance: Instance, limit: int) -> int:
    """On a replica: remove expired keys that its own clients have given a time to live.

    Looks at up to `limit` of them, those first that it has not looked at for the longest time.
    """
    deadlines, removed = instance.replication.local_deadlines, 0
    for place in list(islice(deadlines, limit)):
        db_index, key = place
        db = instance.databases[db_index]
        del deadlines[place]
        if db.is_expired(key, instance.now_ms):
            instance.expire(db, key)
            removed += 1
        elif db.deadline(key) is not None:
            deadlines[place] = None  # to the end
    return removed


def expire_fields(instance: Instance, limit: int) -> int:
    """Remove up to `limit` expired fields of hashes per database; the number removed."""
    if not instance.active_expiry or instance.replication.is_replica:
        return 0
    if instance.gates & KEEPING_GATES:
        return 0
    return sum(_expire_fields(instance, db, limit) for db in instance.databases if db.field_expires)


def _expire_fields(instance: Instance, db: Database, limit: int) -> int:
    removed = 0
    while removed < limit and (key := db.due_fields(instance.now_ms)) is not None:
        value = db.values[key]
        assert isinstance(value, HashValue)
        db.memory.note(value)
        due = value.due(instance.now_ms, limit - removed)
        removed += len(due)
        remove_expired(instance, db, key, value, due)
        instance.stats.expired_subkeys_active += len(due)
    return removed


def forget_idempotent_ids(instance: Instance, limit: int) -> None:
    """Let streams forget producers' IDs that are too old, looking at up to `limit` producers."""
    instance.feature(IdempotenceWatch).expire(instance.now_ms, limit)


def count_memory(instance: Instance) -> None:
    """Update the memory in use where no command does, several times a second.

    Some clients are looked at again each time, all of them within a second.
    """
    clients = instance.feature(Clients).by_id.values()
    instance.feature(ClientMemory).look_again(clients, instance.config.hz)
    instance.feature(MemoryUse).recount(RECOUNTED_VALUES)
    update_memory_use(instance)


def close_idle_clients(instance: Instance) -> None:
    """The `timeout` directive: close clients that sent nothing for that many seconds.

    As in Redis, clients that are blocked, subscribe, monitor or replicate are spared, and no client
    is closed during CLIENT PAUSE.
    """
    timeout_ms = instance.config.timeout * 1000
    if not timeout_ms or instance.paused_until_ms:
        return
    for client in list(instance.feature(Clients).by_id.values()):
        spared = (
            client.is_blocked
            or client.postponed
            or is_subscribed(client)
            or client.gates & (GATE_MONITOR | GATE_REPLICA | GATE_PRIMARY)
        )
        if not spared and instance.monotonic_ms - client.last_interaction_ms > timeout_ms:
            client.connection.abort()
