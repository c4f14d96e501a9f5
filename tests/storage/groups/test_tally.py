"""Sums of bytes, of parts and of the whole."""

from __future__ import annotations

from storage.groups.tally import Tally


def test_what_a_part_adds_counts_in_the_whole_while_it_belongs_to_it() -> None:
    whole, part, other = Tally(), Tally(), Tally()
    part.add(5)
    part.join(whole)
    part.add(10)
    other.join(whole)
    other.add(100)
    assert (part.total_bytes, whole.total_bytes) == (15, 115)
    part.leave()
    part.leave()
    part.add(1)
    assert (part.total_bytes, whole.total_bytes) == (16, 100)
