"""Imports every module that declares commands, so that `registry.COMMANDS` is complete."""

from __future__ import annotations

from commands.bitmaps import bitcount as bit_searching
from commands.bitmaps import bitfield, bitop, setbit
from commands.connection import (
    authentication,
    basics,
    client_attributes,
    client_kill,
    client_list,
    client_pause,
    client_tracking,
)
from commands.geo import places, search
from commands.hashes import hexpire, hgetex, himport
from commands.hashes import hget as hash_reading
from commands.hashes import hincrby as hash_counting
from commands.hashes import hscan as hash_walking
from commands.hashes import hset as hash_setting
from commands.hyperloglogs import pfcount
from commands.hyperloglogs import pfdebug as hyperloglog_inspection
from commands.keys import databases, existence, expiry, objects, scan, serialization, sort, transfer
from commands.lists import blpop, elements, lmove, lpop, lpush, lset
from commands.pubsub import publish, subscribe
from commands.replication import failover, role, role_change, synchronisation, wait
from commands.scripting import evaluation, function, function_call, function_dump, script
from commands.server import (
    clock,
    config,
    debug,
    information,
    latency,
    lolwut,
    memory,
    module,
    monitor,
    save,
    shutdown,
    slowlog,
)
from commands.server.command import docs, keys, table
from commands.sets import algebra as set_algebra
from commands.sets import members as set_members
from commands.sets import spop as set_picking
from commands.sets import sscan as set_walking
from commands.sorted_sets import algebra as sorted_set_algebra
from commands.sorted_sets import ranges as sorted_set_ranges
from commands.sorted_sets import zadd as sorted_set_adding
from commands.sorted_sets import zpop as sorted_set_popping
from commands.sorted_sets import zrandmember as sorted_set_picking
from commands.sorted_sets import zrem as sorted_set_removing
from commands.sorted_sets import zscan as sorted_set_walking
from commands.sorted_sets import zscore as sorted_set_reading
from commands.streams import add, delete, idempotence, info, set_id, settings, trim
from commands.streams.groups import acknowledge, claim, group, pending, read_group
from commands.streams.reading import ranges, read, split
from commands.strings import digest, get, incr, increx, lcs, set, substrings
from commands.transactions import transaction, watch

MODULES = (
    authentication, client_attributes, client_kill, client_list, client_pause, client_tracking,
    basics,
    publish, subscribe,
    transaction, watch,
    acknowledge, add, claim, delete, group, idempotence, info, pending, ranges, read, read_group,
    set_id, settings, split, trim,
    evaluation, function, function_call, function_dump, script,
    databases, existence, expiry, objects, serialization, sort, transfer, scan,
    increx, lcs, digest, incr, substrings, get, set,
    pfcount,
    hyperloglog_inspection,
    bit_searching, bitfield, bitop, setbit,
    blpop, lset, elements, lmove, lpop, lpush,
    places, search,
    set_algebra, set_members, set_picking, set_walking,
    sorted_set_adding, sorted_set_algebra, sorted_set_picking, sorted_set_popping,
    sorted_set_ranges, sorted_set_reading, sorted_set_removing, sorted_set_walking,
    hgetex, hash_counting, hash_reading, hash_setting, hash_walking, himport, hexpire,
    table, docs, keys, config, debug, information, latency,
    lolwut, memory, module, monitor, save, shutdown, slowlog, clock,
    failover, role, role_change, synchronisation, wait,
)  # fmt: skip
