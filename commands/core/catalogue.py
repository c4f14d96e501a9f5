"""Imports every module that declares commands, so that `registry.COMMANDS` is complete."""

from __future__ import annotations

from commands.bitmaps import fields, operations, single_bits
from commands.bitmaps import searching as bit_searching
from commands.connection import (
    authentication,
    client_attributes,
    client_kill,
    client_list,
    client_pause,
    client_tracking,
    session,
)
from commands.geo import places, searching
from commands.hashes import combined, importing, times
from commands.hashes import counting as hash_counting
from commands.hashes import reading as hash_reading
from commands.hashes import setting as hash_setting
from commands.hashes import walking as hash_walking
from commands.hyperloglogs import estimating
from commands.hyperloglogs import inspection as hyperloglog_inspection
from commands.keys import (
    databases,
    existence,
    expiry,
    objects,
    serialization,
    sorting,
    transfer,
    walking,
)
from commands.lists import blocking, changing, elements, moving, popping, pushing
from commands.pubsub import publish, subscribe
from commands.replication import failover, role, role_change, synchronisation, waiting
from commands.scripting import evaluation, function, function_call, function_dump, script
from commands.server import (
    command_docs,
    command_keys,
    command_table,
    config,
    debug,
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
from commands.sets import algebra as set_algebra
from commands.sets import members as set_members
from commands.sets import picking as set_picking
from commands.sets import walking as set_walking
from commands.sorted_sets import adding as sorted_set_adding
from commands.sorted_sets import algebra as sorted_set_algebra
from commands.sorted_sets import picking as sorted_set_picking
from commands.sorted_sets import popping as sorted_set_popping
from commands.sorted_sets import ranges as sorted_set_ranges
from commands.sorted_sets import reading as sorted_set_reading
from commands.sorted_sets import removing as sorted_set_removing
from commands.sorted_sets import walking as sorted_set_walking
from commands.streams import add, delete, idempotence, info, set_id, settings, trim
from commands.streams.groups import acknowledge, claim, group, pending, read_group
from commands.streams.reading import ranges, read, split
from commands.strings import bounded, common, comparing, counting, parts, reading, setting
from commands.transactions import transaction, watch

MODULES = (
    authentication, client_attributes, client_kill, client_list, client_pause, client_tracking,
    session,
    publish, subscribe,
    transaction, watch,
    acknowledge, add, claim, delete, group, idempotence, info, pending, ranges, read, read_group,
    set_id, settings, split, trim,
    evaluation, function, function_call, function_dump, script,
    databases, existence, expiry, objects, serialization, sorting, transfer, walking,
    bounded, common, comparing, counting, parts, reading, setting,
    estimating,
    hyperloglog_inspection,
    bit_searching, fields, operations, single_bits,
    blocking, changing, elements, moving, popping, pushing,
    places, searching,
    set_algebra, set_members, set_picking, set_walking,
    sorted_set_adding, sorted_set_algebra, sorted_set_picking, sorted_set_popping,
    sorted_set_ranges, sorted_set_reading, sorted_set_removing, sorted_set_walking,
    combined, hash_counting, hash_reading, hash_setting, hash_walking, importing, times,
    command_table, command_docs, command_keys, config, debug, information, latency,
    lolwut, memory, module, monitor, persistence, shutdown, slowlog, state,
    failover, role, role_change, synchronisation, waiting,
)  # fmt: skip
