"""The number of nodes of Redis's radix tree for given keys (XINFO STREAM, radix-tree-nodes).

Redis keeps the nodes of a stream in a radix tree; its keys are the nodes' master IDs as 16 bytes,
big-endian. Rillway has no such tree, but clients see the number. The tree has one node for each
place where keys part, one for each stretch of bytes without a parting, and an empty one at the end
of each key.
"""

from __future__ import annotations

from itertools import pairwise

KEY_BITS = 128
KEY_BYTES = 16

# Depths are counted in bytes from the root; this is the depth above the root.
ABOVE_ROOT = -1


def radix_node_count(keys: list[int]) -> int:
    """The number of nodes for ascending 128-bit `keys`. The time is linear in their number."""
    if not keys:
        return 1
    # Each two neighbours part at the byte that has the highest bit in which they differ.
    depths = [(KEY_BITS - (low ^ high).bit_length()) // 8 for low, high in pairwise(keys)]
    count = len(keys)
    for left, right in pairwise([ABOVE_ROOT, *depths, ABOVE_ROOT]):
        # A key branches off from both neighbours at the deeper of its two partings; bytes may
        # follow there.
        count += max(left, right) < KEY_BYTES - 1
    partings: list[int] = []  # the depths of those on the way from the root to the present key
    for depth in [*depths, ABOVE_ROOT]:
        while partings and partings[-1] > depth:
            below = partings.pop()
            above = max(depth, partings[-1] if partings else ABOVE_ROOT)
            count += 1 + (below - above > 1)
        if depth > (partings[-1] if partings else ABOVE_ROOT):
            partings.append(depth)
    return count
