"""Imports every module that declares commands, so that `registry.COMMANDS` is complete.

What derives from the whole table is here, too.
"""

# ruff: noqa: F401
from __future__ import annotations

import commands.acl.acl_file
import commands.acl.administration
import commands.acl.log
import commands.bitmaps.bitfield
import commands.bitmaps.bits
import commands.cluster.changing
import commands.cluster.reading
import commands.cluster.routing
import commands.connection.basics
import commands.connection.client_attributes
import commands.connection.client_kill
import commands.connection.client_list
import commands.connection.client_tracking
import commands.geo.places
import commands.hashes.field_expiry
import commands.hashes.fields
import commands.hashes.himport
import commands.hashes.hscan
import commands.hyperloglogs.pfcount
import commands.keys.databases
import commands.keys.existence
import commands.keys.migrate
import commands.keys.objects
import commands.keys.scan
import commands.keys.serialization
import commands.keys.sort
import commands.lists.blpop
import commands.lists.elements
import commands.pubsub.messages
import commands.replication.roles
import commands.replication.synchronisation
import commands.scripting.evaluation
import commands.scripting.functions
import commands.server.command
import commands.server.config
import commands.server.debug
import commands.server.info
import commands.server.memory
import commands.server.monitor
import commands.server.save
import commands.sets.algebra
import commands.sets.members
import commands.sorted_sets.members
import commands.sorted_sets.ranges
import commands.sorted_sets.scores
import commands.streams.add
import commands.streams.delete
import commands.streams.groups.claim
import commands.streams.groups.group
import commands.streams.groups.pending
import commands.streams.groups.read_group
import commands.streams.idempotence
import commands.streams.info
import commands.streams.ranges
import commands.streams.read
import commands.streams.settings
import commands.streams.trim
import commands.strings.conditions
import commands.strings.increx
import commands.strings.substrings
import commands.strings.values
import commands.transactions.transaction
