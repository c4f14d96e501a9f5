"""Streams in partitions, and Rillway's own commands, for redis-py's clients, sync or asyncio.

`PartitionedStream("orders", partitions=16)` names the partitions and maps keys to them;
`on(client)` adds, reads and acknowledges. `rillway.consumer.Consumer` accepts one in place of a
stream's name. They work with Rillway and with Redis from 7.0 on. `PolicyCommands` and
`AsyncPolicyCommands` add what only Rillway has. See docs/reference/client.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rillway.lazy import lazy

if TYPE_CHECKING:
    from rillway.client.asyncio import AsyncGroup, AsyncStream
    from rillway.client.operations import Entry
    from rillway.client.partitioned import PartitionedStream
    from rillway.client.policies import AsyncPolicyCommands, PolicyCommands
    from rillway.client.sync import Group, Stream

__all__ = [
    "AsyncGroup", "AsyncPolicyCommands", "AsyncStream", "Entry", "Group", "PartitionedStream",
    "PolicyCommands", "Stream",
]  # fmt: skip

HOMES = {
    "AsyncGroup": "rillway.client.asyncio",
    "AsyncPolicyCommands": "rillway.client.policies",
    "AsyncStream": "rillway.client.asyncio",
    "Entry": "rillway.client.operations",
    "Group": "rillway.client.sync",
    "PartitionedStream": "rillway.client.partitioned",
    "PolicyCommands": "rillway.client.policies",
    "Stream": "rillway.client.sync",
}

__getattr__ = lazy(__name__, HOMES)
