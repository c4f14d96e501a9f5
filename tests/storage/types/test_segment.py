"""A segment: its index, which wraps around, and what changes when records move."""

from __future__ import annotations

import pytest

from storage.types import packed_table as segment
from storage.types.blocks import number_at, put_number
from storage.types.key_part import MEMBERS

# Compiled, these are C functions.
pytestmark = pytest.mark.interpreted

SLOTS = 32


@pytest.fixture
def block(monkeypatch: pytest.MonkeyPatch) -> bytearray:
    """A segment for members, the first byte of which says their slot: 0 to 255 for 32 slots."""
    monkeypatch.setattr(segment, "hash_at", lambda text, start, _: code(text[start]))
    return segment.new_segment(1000, SLOTS, 0)


def code(number: int) -> int:
    return number << 32 | 77


def add(block: bytearray, member: bytes) -> None:
    end = number_at(block, segment.END)
    block[end : end + 1 + len(member)] = bytes((len(member),)) + member
    segment.enter(block, end, code(member[0]))
    put_number(block, segment.END, end + 1 + len(member))
    put_number(block, segment.COUNT, number_at(block, segment.COUNT) + 1)


def find(block: bytearray, member: bytes) -> int:
    return segment.find(MEMBERS, block, member, len(member), code(member[0]))


def members(block: bytearray) -> list[bytes]:
    place, found = segment.first_place(block), []
    while place < number_at(block, segment.END):
        found.append(segment.body_of(block, place))
        place += segment.taken_bytes(block, place)
    return found


@pytest.mark.parametrize("first", [0, 100, 248, 255])
def test_what_collides_is_found_after_any_removal(block: bytearray, first: int) -> None:
    """The clusters are at the end of the index, too, where they go on at its beginning."""
    wanted = [
        bytes((first + step & 255,)) + b"%d" % n for n, step in enumerate([0, 0, 8, 0, 8, 16])
    ]
    for removed in wanted:
        own = bytearray(block)
        for member in wanted:
            add(own, member)
        segment.remove(MEMBERS, own, find(own, removed), code(removed[0]))
        assert find(own, removed) == 0
        left = [member for member in wanted if member != removed]
        assert members(own) == left
        assert all(segment.body_of(own, find(own, member)) == member for member in left)


def test_records_that_move_are_found_where_they_are(block: bytearray) -> None:
    for member in (b"a", b"b", b"c"):
        add(block, member)
    place = find(block, b"b")
    segment.shift(block, place, 3)
    assert find(block, b"b") == place + 3
    assert find(block, b"a") == place - 2
    segment.shift(block, place + 3, -3)
    assert members(block) == [b"a", b"b", b"c"]


def test_a_segment_takes_the_records_of_another(block: bytearray) -> None:
    for member in (b"a", b"b", b"c"):
        add(block, member)
    other = segment.new_segment(1000, SLOTS + 3, 1)
    segment.take(other, block, find(block, b"b"), code(ord("b")))
    segment.take_all(MEMBERS, other, bytearray(block))
    assert members(other) == [b"b", b"a", b"b", b"c"]
    assert number_at(other, segment.COUNT) == 4
    assert find(other, b"c")


def test_the_index_has_room(block: bytearray) -> None:
    for count in range(2000):
        assert count < segment.most_records(segment.slots_for(count)) or count == segment.FEW - 1
