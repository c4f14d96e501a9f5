"""Checks for replicas of a Redis older than 7.4 or a Valkey older than 9: no times of hash fields.

Everything else that is newer than Redis 7.0 is propagated in words that 7.0 knows, or inside a
carrier (commands/core/registry.py). A replica that is neither Rillway nor
Valkey 9 counts as the Redis that `repl-snapshot-version` names: with 7.0 or 7.2, commands that give
fields a time are refused while such a replica is attached, and such a replica is refused while
there are fields with a time.
"""

from __future__ import annotations

from commands.core.client import Client
from commands.core.instance import Instance
from commands.replication.replica_table import Replica, ReplicaTable
from protocol import errors
from protocol.errors import ReplyError

_BEFORE_7_4 = ("7.0", "7.2")


def check_field_times(client: Client, name: bytes) -> None:
    """Raise ReplyError if an attached replica cannot follow `name`, a command on field times."""
    instance = client.instance
    replicas = instance.feature(ReplicaTable).replicas
    if not replicas or client.replays:
        return
    if any(_is_before_7_4(instance, replica) for replica in replicas.values()):
        state = instance.replication
        state.newer_commands_refused += 1
        state.last_newer_command = name
        raise errors.newer_than_replicas(name, instance.config.repl_snapshot_version)


def check_replica(instance: Instance, replica: Replica) -> None:
    """Raise ReplyError if a replica is to attach that cannot hold the data."""
    if not _is_before_7_4(instance, replica):
        return
    if any(db.field_expires for db in instance.databases):
        instance.replication.older_replicas_refused += 1
        raise ReplyError(errors.OLDER_REPLICA)


def _is_before_7_4(instance: Instance, replica: Replica) -> bool:
    if replica.is_rillway or replica.is_valkey:
        return False
    if replica.wants_snapshot_only or not replica.wants_keys:
        return False
    return instance.config.repl_snapshot_version in _BEFORE_7_4
