"""storage/types/list_node.py: what a node takes, and when Redis would fill it further."""

from __future__ import annotations

import pytest

from storage.types.list_node import (
    ListNode,
    exceeds,
    is_large,
    listpack_bytes,
    max_bytes,
    max_count,
)


def test_a_fill_below_zero_limits_bytes_and_another_one_elements() -> None:
    below_zero = [-1, -2, -5, -6, -100]
    assert list(map(max_bytes, below_zero)) == [4096, 8192, 65536, 65536, 65536]
    assert min(map(max_count, below_zero)) > 65536
    assert list(map(max_bytes, [0, 1, 128])) == [8192, 8192, 8192]
    assert list(map(max_count, [0, 1, 128])) == [1, 1, 128]


@pytest.mark.parametrize(
    ("fill", "size_bytes", "count", "expected"),
    [
        (-2, 8192, 10_000, False),
        (-2, 8193, 1, True),
        (3, 8192, 3, False),
        (3, 100, 4, True),
        (3, 8193, 1, True),
    ],
)
def test_a_node_exceeds_its_limit(fill: int, size_bytes: int, count: int, expected: bool) -> None:
    assert exceeds(fill, size_bytes, count) is expected


def test_what_does_not_fit_into_a_node_is_large() -> None:
    assert not is_large(b"x" * 8192, -2) and is_large(b"x" * 8193, -2)
    assert not is_large(b"x" * 4096, -1) and is_large(b"x" * 4097, -1)
    assert not is_large(b"x" * 8192, 5) and is_large(b"x" * 8193, 5)
    assert ListNode.of(b"x" * 8193, -2).is_plain and not ListNode.of(b"x", -2).is_plain


def test_a_node_keeps_count_of_its_size() -> None:
    node = ListNode([b"a", b"12", b"x" * 100])
    assert node.size_bytes == listpack_bytes(node.items) == 7 + 3 + 2 + 103
    node.append(b"-5000")
    node.insert(1, b"b" * 63)
    node.extend([b"c", b"d"])
    node.extend_left([b"1", b"2"])
    node.replace(0, b"text")
    node.drop(b"c", {node.items.index(b"c")})
    assert node.items == [b"text", b"1", b"a", b"b" * 63, b"12", b"x" * 100, b"-5000", b"d"]
    assert node.size_bytes == listpack_bytes(node.items)
    assert node.take(1, 3) == [b"1", b"a"]
    rest = node.split(2)
    assert node.items == [b"text", b"b" * 63] and rest.items[0] == b"12"
    for one in (node, rest, node.copy()):
        assert one.size_bytes == listpack_bytes(one.items)


def test_the_size_of_a_plain_node_is_that_of_its_element() -> None:
    node = ListNode([b"x" * 9000], is_plain=True)
    assert node.size_bytes == 9000
    node.replace(0, b"y" * 10_000)
    assert node.size_bytes == node.copy().size_bytes == 10_000


def test_a_node_admits_what_fits_with_some_margin() -> None:
    node = ListNode([b"x" * 80])
    assert node.admits(b"y" * (8192 - node.size_bytes - 8), -2)
    assert not node.admits(b"y" * (8192 - node.size_bytes - 7), -2)
    assert node.admits(b"y", 2) and not node.admits(b"y", 1)
    assert not ListNode([b"x"], is_plain=True).admits(b"y", -2)


def test_two_nodes_are_one_if_that_is_not_too_large() -> None:
    half = ListNode([b"x" * 4088])  # 4096 of a listpack that ends at 8192
    whole = half.size_bytes * 2 - 7
    assert whole < 8192 and half.admits_all_of(half, -2)
    assert not half.admits_all_of(ListNode([b"x" * 4090]), -1)
    assert half.admits_all_of(half, 2) and not half.admits_all_of(half, 1)
    assert not half.admits_all_of(ListNode([b"x"], is_plain=True), -2)


def test_an_element_is_found_wherever_it_is() -> None:
    node = ListNode([b"a", b"b", b"a", b"c", b"a"])
    assert [node.offsets(item) for item in (b"a", b"c", b"d")] == [[0, 2, 4], [3], []]
