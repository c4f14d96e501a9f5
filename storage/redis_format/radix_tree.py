"""The number of nodes of Redis's radix tree for given keys (XINFO STREAM, radix-tree-nodes).

Redis keeps the nodes of a stream in a radix tree; its keys are the nodes' master IDs as 16 bytes,
big-endian. Rillway has no such tree, but clients see the number. The tree has one node for each
place where keys part, one for each stretch of bytes without a parting, and an empty one at the end
of each key.
"""

from __future__ import annotations

import cython

KEY_BITS = 128
KEY_BYTES = 16

# Depths are counted in bytes from the root; this is the depth above the root.
ABOVE_ROOT = -1


def radix_node_count(keys: list[int]) -> int:
    """The number of nodes for ascending 128-bit `keys`. The time is linear in their number."""
    if not keys:
        return 1
    count: cython.Py_ssize_t = len(keys)
    partings = [ABOVE_ROOT]  # the depths of those on the way from the root to the present key
    left: cython.int = ABOVE_ROOT
    place: cython.Py_ssize_t
    for place in range(1, len(keys) + 1):
        right: cython.int = ABOVE_ROOT
        if place < len(keys):
            # Two neighbours part at the byte that has the highest bit in which they differ.
            right = (KEY_BITS - (keys[place - 1] ^ keys[place]).bit_length()) // 8
        # A key branches off from both neighbours at the deeper of its two partings; bytes may
        # follow there.
        if max(left, right) < KEY_BYTES - 1:
            count += 1
        while partings[-1] > right:
            below: cython.int = partings.pop()
            above: cython.int = max(right, partings[-1])
            count += 2 if below - above > 1 else 1
        if right > partings[-1]:
            partings.append(right)
        left = right
    return count
