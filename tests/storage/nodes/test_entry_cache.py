"""The two-queue cache of frozen nodes' entries: bounded, and resistant to scans."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.nodes.entry_cache import EntryCache

PAYLOAD = b"x" * 100


class Node:
    def __init__(self) -> None:
        self.opened: bytes | None = None
        self.was_read = False


def read(cache: EntryCache, node: Node) -> bool:
    """As a frozen node is read; whether it was in the cache."""
    if node.opened is not None:
        node.was_read = True
        return True
    cache.add(node, PAYLOAD, is_wanted=cache.wants(node, is_whole=False))
    return False


def test_unpacked_entries_are_cached() -> None:
    cache, node = EntryCache(1000, 1000), Node()
    assert not read(cache, node)
    assert read(cache, node)
    assert node.opened == PAYLOAD


def test_reading_everything_once_does_not_drive_out_what_is_read_often() -> None:
    cache = EntryCache(300, 1000)
    popular = Node()
    read(cache, popular)
    read(cache, popular)
    for _ in range(100):
        read(cache, Node())
    assert read(cache, popular)


def test_what_is_opened_for_the_second_time_stays_for_longer() -> None:
    cache = EntryCache(300, 1000)
    node = Node()
    read(cache, node)
    for _ in range(3):
        read(cache, Node())
    assert not read(cache, node)
    for _ in range(100):
        read(cache, Node())
    assert read(cache, node)


def test_entries_that_are_no_longer_read_are_evicted() -> None:
    cache = EntryCache(300, 500)
    once_popular = Node()
    read(cache, once_popular)
    read(cache, once_popular)
    for _ in range(20):
        others = [Node() for _ in range(3)]
        for node in others * 2:
            read(cache, node)
    assert once_popular.opened is None


def test_most_of_the_cache_stays_where_more_is_read_in_turn_than_fits() -> None:
    cache = EntryCache(300, 2000)
    nodes = [Node() for _ in range(30)]
    for _ in range(10):
        for node in nodes:
            read(cache, node)
    assert sum(read(cache, node) for node in nodes) >= 15


def test_what_is_read_again_and_again_comes_into_a_cache_that_is_full() -> None:
    cache = EntryCache(100, 1000)
    for node in [Node() for _ in range(20)] * 5:
        read(cache, node)
    newcomer = Node()
    for _ in range(40):
        read(cache, newcomer)
        read(cache, Node())
    assert newcomer.opened is not None


def test_a_node_that_is_read_as_a_whole_for_the_second_time_is_wanted_in_any_case() -> None:
    cache = EntryCache(100, 1000)
    for node in [Node() for _ in range(10)] * 5:
        read(cache, node)
    newcomer = Node()
    assert not cache.wants(newcomer, is_whole=True)
    assert cache.wants(newcomer, is_whole=True)


def test_clearing_lets_go_of_everything() -> None:
    cache = EntryCache(300, 500)
    nodes = [Node() for _ in range(3)]
    for node in nodes * 2:
        read(cache, node)
    cache.clear()
    assert cache.used_bytes == 0
    assert not any(node.opened for node in nodes)


def test_entries_that_are_not_read_are_evicted_after_three_rounds() -> None:
    cache = EntryCache(10_000, 10_000)
    nodes = [Node() for _ in range(40)]
    for node in nodes[:20] * 2 + nodes[20:]:
        read(cache, node)
    for _ in range(24):
        cache.age(0.125)
    assert cache.used_bytes == 0
    assert not any(node.opened for node in nodes)


def test_what_is_read_once_in_a_round_stays() -> None:
    cache = EntryCache(10_000, 10_000)
    popular, others = Node(), [Node() for _ in range(40)]
    for node in [popular, *others]:
        read(cache, node)
    for _ in range(100):
        assert read(cache, popular)
        for _ in range(8):
            cache.age(0.125)
    assert cache.used_bytes == len(PAYLOAD)


def test_a_single_node_does_not_go_before_a_round_is_over() -> None:
    cache, node = EntryCache(10_000, 10_000), Node()
    read(cache, node)
    for _ in range(7):
        cache.age(0.125)
    assert read(cache, node)


def test_only_a_share_of_the_nodes_is_looked_at() -> None:
    cache = EntryCache(10_000, 10_000)
    for _ in range(80):
        read(cache, Node())
    cache.age(0.125)
    assert cache.used_bytes == 70 * len(PAYLOAD)


def test_a_process_that_reads_everything_once_keeps_nothing() -> None:
    cache, before, after = EntryCache(300, 500), Node(), Node()
    read(cache, before)
    cache.disable()
    assert not read(cache, after)
    assert not read(cache, after)
    assert read(cache, before)


@settings(deadline=None)
@given(reads=st.lists(st.integers(0, 30), max_size=300))
def test_the_cache_is_bounded_and_counts_what_it_holds(reads: list[int]) -> None:
    cache = EntryCache(500, 1000)
    nodes = [Node() for _ in range(31)]
    for number in reads:
        read(cache, nodes[number])
        held = sum(len(node.opened) for node in nodes if node.opened is not None)
        assert cache.used_bytes == held <= 1500
