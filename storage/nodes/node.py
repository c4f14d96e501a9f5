"""The nodes of a stream: about a hundred entries each, in the form in which they are sent.

Clients see where a node ends (Redis 7.4): `~` trims remove whole nodes, and XINFO STREAM counts
them. So a node knows, besides its live entries, the number of deleted ones, and the size of its
listpack in Redis.

* An OpenNode (storage/nodes/open_node.py) holds a buffer of IDs and encoded entries. The last node
  of a stream is one, and so are nodes too large to freeze.
* A FrozenNode (storage/nodes/frozen_node.py) holds one blob, packed in the form that suits it.
* A ListpackNode (storage/nodes/listpack_node.py) came from a snapshot and has not been
  read since. It knows its key and its counts; reading it turns it into one of the others.

The first two have the same methods. Ranges are inclusive at both ends, `limit` is the maximal
number of entries, and a result in wire form is (number of entries, chunks), where the chunks are
the concatenated entries in order.

A frozen node that has lost half of its entries is packed again, without them.
"""

from __future__ import annotations

from typing import TypeAlias

from storage.nodes.frozen_node import FrozenNode
from storage.nodes.open_node import OpenNode

Node: TypeAlias = OpenNode | FrozenNode

# A client waits while a node is frozen or unpacked: a quarter of a megabyte takes well below a
# millisecond. Larger nodes stay open.
FREEZE_MAX_BYTES = 256 * 1024


def freeze(node: OpenNode) -> Node:
    """The stored form of a node that nothing is appended to any more."""
    return FrozenNode(node) if node.live and node.size_bytes <= FREEZE_MAX_BYTES else node
