"""Imports every module that declares commands, so that `registry.COMMANDS` is complete.

What derives from the whole table is here, too.
"""

# ruff: noqa: F401
from __future__ import annotations

import commands.acl.cat
import commands.acl.load
import commands.acl.log
import commands.acl.setuser
import commands.bitmaps.bitcount
import commands.bitmaps.bitfield
import commands.bitmaps.bitop
import commands.bitmaps.setbit
import commands.connection.authentication
import commands.connection.basics
import commands.connection.client_attributes
import commands.connection.client_kill
import commands.connection.client_list
import commands.connection.client_pause
import commands.connection.client_tracking
import commands.geo.places
import commands.geo.search
import commands.hashes.hexpire
import commands.hashes.hget
import commands.hashes.hgetex
import commands.hashes.himport
import commands.hashes.hincrby
import commands.hashes.hscan
import commands.hashes.hset
import commands.hyperloglogs.pfcount
import commands.hyperloglogs.pfdebug
import commands.keys.databases
import commands.keys.existence
import commands.keys.expiry
import commands.keys.objects
import commands.keys.scan
import commands.keys.serialization
import commands.keys.sort
import commands.keys.transfer
import commands.lists.blpop
import commands.lists.elements
import commands.lists.lmove
import commands.lists.lpop
import commands.lists.lpush
import commands.lists.lset
import commands.pubsub.publish
import commands.pubsub.subscribe
import commands.replication.failover
import commands.replication.role
import commands.replication.role_change
import commands.replication.synchronisation
import commands.replication.wait
import commands.scripting.evaluation
import commands.scripting.functions.call
import commands.scripting.functions.dump
import commands.scripting.functions.function
import commands.scripting.script
import commands.server.clock
import commands.server.command.docs
import commands.server.command.keys
import commands.server.command.table
import commands.server.config
import commands.server.debug
import commands.server.info.info
import commands.server.latency
import commands.server.lolwut
import commands.server.memory
import commands.server.module
import commands.server.monitor
import commands.server.save
import commands.server.shutdown
import commands.server.slowlog
import commands.sets.algebra
import commands.sets.members
import commands.sets.spop
import commands.sets.sscan
import commands.sorted_sets.algebra
import commands.sorted_sets.ranges
import commands.sorted_sets.zadd
import commands.sorted_sets.zpop
import commands.sorted_sets.zrandmember
import commands.sorted_sets.zrem
import commands.sorted_sets.zscan
import commands.sorted_sets.zscore
import commands.streams.add
import commands.streams.delete
import commands.streams.groups.acknowledge
import commands.streams.groups.claim
import commands.streams.groups.group
import commands.streams.groups.pending
import commands.streams.groups.read_group
import commands.streams.idempotence
import commands.streams.info
import commands.streams.reading.ranges
import commands.streams.reading.read
import commands.streams.reading.split
import commands.streams.set_id
import commands.streams.settings
import commands.streams.trim
import commands.strings.digest
import commands.strings.get
import commands.strings.incr
import commands.strings.increx
import commands.strings.lcs
import commands.strings.set
import commands.strings.substrings
import commands.transactions.transaction
import commands.transactions.watch
from commands.core.registry import COMMANDS, WRITE, Command

# The writes without sub-commands, in the spelling of files and of primaries.
WRITES: dict[bytes, Command] = {
    name.upper(): command
    for name, command in COMMANDS.items()
    if command.flags & WRITE and not command.subcommands
}
