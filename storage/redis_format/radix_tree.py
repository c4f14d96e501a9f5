"""How many nodes Redis's radix tree has for given keys (XINFO STREAM, radix-tree-nodes).

Redis keeps the nodes of a stream in a radix tree; its keys are the nodes' master IDs as 16 bytes,
big-endian. Nothing here is stored like that, but the number is part of what clients see. The
tree has one node for each place where keys part, one for each stretch of bytes without a parting,
and an empty one at the end of each key.
"""

from __future__ import annotations

from itertools import pairwise

KEY_BITS = 128
KEY_BYTES = 16

# Depths are counted in bytes from the root; what is above the root has this one.
ABOVE_ROOT = -1


def radix_node_count(keys: list[int]) -> int:
    """The number of nodes for ascending 128-bit `keys`. The time is linear in their number."""
    if not keys:
        return 1
    # Each two neighbours part at the byte that has the highest bit in which they differ.
    depths = [(KEY_BITS - (low ^ high).bit_length()) // 8 for low, high in pairwise(keys)]
    count = len(keys)
    for left, right in pairwise([ABOVE_ROOT, *depths, ABOVE_ROOT]):
        # A key leaves the others for good at its deeper parting; bytes may follow there.
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
