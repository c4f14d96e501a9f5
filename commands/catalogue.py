"""Imports every module that declares commands, so that `registry.COMMANDS` is complete."""

from __future__ import annotations

from commands.connection import (
    authentication,
    client_attributes,
    client_kill,
    client_list,
    client_pause,
    client_tracking,
    session,
)
from commands.keys import (
    databases,
    existence,
    expiry,
    objects,
    serialization,
    transfer,
    walking,
)
from commands.lists import blocking, changing, elements, moving, popping, pushing
from commands.pubsub import publish, subscribe
from commands.replication import role, synchronisation, waiting
from commands.server import (
    command_docs,
    command_keys,
    command_table,
    config,
    debug,
    function,
    information,
    latency,
    lolwut,
    memory,
    module,
    monitor,
    persistence,
    shutdown,
    slowlog,
    state,
)
from commands.streams import (
    acknowledge,
    add,
    claim,
    delete,
    group,
    idempotence,
    info,
    pending,
    ranges,
    read,
    read_group,
    set_id,
    settings,
    split,
    trim,
)
from commands.strings import counting, parts, reading, setting
from commands.transactions import transaction, watch

MODULES = (
    authentication, client_attributes, client_kill, client_list, client_pause, client_tracking,
    session,
    publish, subscribe,
    transaction, watch,
    acknowledge, add, claim, delete, group, idempotence, info, pending, ranges, read, read_group,
    set_id, settings, split, trim,
    databases, existence, expiry, objects, serialization, transfer, walking,
    counting, parts, reading, setting,
    blocking, changing, elements, moving, popping, pushing,
    command_table, command_docs, command_keys, config, debug, function, information, latency,
    lolwut, memory, module, monitor, persistence, shutdown, slowlog, state,
    role, synchronisation, waiting,
)  # fmt: skip
