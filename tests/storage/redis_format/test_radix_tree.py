"""The size of the radix tree that Redis would keep the nodes in."""

from __future__ import annotations

import pytest

from storage.entries.entry_id import make_id
from storage.redis_format.radix_tree import radix_node_count


def ids(*pairs: tuple[int, int]) -> list[int]:
    return [make_id(ms, seq) for ms, seq in pairs]


# The numbers are radix-tree-nodes of redis-server 7.0.15 with stream-node-max-entries 1.
@pytest.mark.parametrize(
    ("keys", "nodes"),
    [
        ([], 1),
        (ids((1, 1)), 2),
        (ids((1, 1), (1, 2)), 4),
        (ids((1, 1), (2, 1)), 6),
        (ids((1, 1), (1, 256)), 6),
        (ids((0, 1), (2**63, 0)), 5),
        (ids((1, 1), (1, 2), (1, 3)), 5),
        (ids((1, 1), (1, 2), (2, 1)), 8),
        (ids((1, 1), (1, 256), (1, 65536)), 9),
        (ids((1, 1), (256, 1), (65536, 1), (2**24, 1)), 12),
        ([make_id(1700000000000 + n, 0) for n in range(1000)], 2006),
        ([make_id(1700000000000, n) for n in range(1000)], 1006),
        ([make_id(n * n, n) for n in range(1, 200)], 432),
        ([make_id(n << 40, 0) for n in range(1, 100)], 200),
    ],
)
def test_the_number_of_nodes_is_that_of_redis(keys: list[int], nodes: int) -> None:
    assert radix_node_count(keys) == nodes
