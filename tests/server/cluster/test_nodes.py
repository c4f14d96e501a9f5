from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from server.cluster.nodes import (
    ALL_SLOTS,
    Node,
    each_slot,
    is_node_id,
    range_of_slots,
    slot_ranges,
    slots_text,
)


@given(st.sets(st.integers(0, 16_383), max_size=50))
def test_a_set_of_slots_is_its_ranges(slots: set[int]) -> None:
    bits = sum(1 << slot for slot in slots)
    assert list(each_slot(bits)) == sorted(slots)
    assert sum(range_of_slots(first, last) for first, last in slot_ranges(bits)) == bits


def test_ranges_do_not_touch() -> None:
    assert list(slot_ranges(ALL_SLOTS)) == [(0, 16_383)]
    assert list(slot_ranges(0)) == []
    assert slots_text(0b1011_0110) == "1-2 4-5 7"


def test_an_id_is_forty_lower_case_hexadecimal_digits() -> None:
    assert is_node_id("0123456789abcdef" * 2 + "01234567")
    assert not is_node_id("A" * 40)
    assert not is_node_id("a" * 39)


def test_reports_of_failures_expire() -> None:
    node = Node("a" * 40, 1, reports={"b" * 40: 1000, "c" * 40: 2000})
    assert node.reports_at(3000, valid_ms=2000) == 2
    assert node.reports_at(3001, valid_ms=2000) == 1
    assert list(node.reports) == ["c" * 40]


def test_flags_have_names() -> None:
    assert Node("a" * 40, 0).flag_names() == "noflags"
    assert Node("a" * 40, 2 | 8 | 16 | 256 | 512).flag_names() == "myself,slave,fail,nofailover"
