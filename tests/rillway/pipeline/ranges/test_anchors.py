"""Anchors: hashes of entries, and which entries are remembered."""

from __future__ import annotations

import pytest

from rillway.pipeline.ranges.anchors import Anchor, entry_hash, extended, pick
from rillway.pipeline.wire.connection import Connection


def entries(first: int, last: int) -> list[list[object]]:
    return [[b"%d-0" % n, [b"n", b"%d" % n]] for n in range(first, last + 1)]


def ms_and_back(anchors: tuple[Anchor, ...]) -> list[tuple[int, int]]:
    return [(anchor.id >> 64, anchor.back) for anchor in anchors]


def test_a_hash_depends_on_names_values_and_their_borders() -> None:
    words = [b"a", b"bc", b"d", b""]
    assert entry_hash(words) == entry_hash(tuple(words))
    others = ([b"ab", b"c", b"d", b""], [b"d", b"", b"a", b"bc"], [b"a", b"bc"], [b"a", b"bc1:d0:"])
    assert entry_hash(words) not in {entry_hash(other) for other in others}


def test_a_script_of_the_server_makes_the_same_hash(link: Connection) -> None:
    words = [b"a", b"\x00\xff\r\n" * 5, b"", b"\xe2\x82\xac"]
    script = """
        local parts = {}
        for place, word in ipairs(ARGV) do parts[place] = #word .. ':' .. word end
        return redis.sha1hex(table.concat(parts))"""
    assert link.call("EVAL", script, 0, *words).decode() == entry_hash(words)


def test_anchors_are_1_10_100_and_1000_back() -> None:
    assert ms_and_back(pick(entries(1, 2000))) == [(2000, 1), (1991, 10), (1901, 100), (1001, 1000)]
    assert ms_and_back(pick(entries(1, 12))) == [(12, 1), (3, 10)]
    assert pick([]) == ()
    [last] = pick(entries(7, 7))
    assert last == Anchor(7 << 64, entry_hash([b"n", b"7"]))


@pytest.mark.parametrize("step", [1, 2, 7, 30, 450])
def test_anchors_stay_apart_however_small_the_steps(step: int) -> None:
    anchors: tuple[Anchor, ...] = ()
    for first in range(1, 3000, step):
        last = first + step - 1
        anchors = extended(anchors, step, pick(entries(first, last)))
        assert anchors[0].back == 1
        assert all(anchor.id >> 64 == last + 1 - anchor.back for anchor in anchors)
        if last > 1000:
            assert anchors[-1].back > 10
        assert len(anchors) <= 4


def test_nothing_added_keeps_the_anchors() -> None:
    before = pick(entries(1, 150))
    assert extended(before, 0, ()) == before
