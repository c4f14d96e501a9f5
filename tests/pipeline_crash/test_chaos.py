"""A short run of `make pipeline-chaos`, and proof that it would notice what must not happen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline_crash.chaos import Chaos
from tests.pipeline_crash.population import ADDED, HELD, Gaps, Numbers, Verdict

SHORT = (
    *("lose_tail", "delete_elsewhere", "kill_archiver", "sort_elsewhere", "compact"),
    *("compact_elsewhere", "delete_elsewhere", "switch"),
)


@pytest.mark.integration
@pytest.mark.thorough
def test_two_archivers_outlive_what_is_done_to_them(tmp_path: Path) -> None:
    with Chaos(tmp_path, "rillway", 30, ("local", "local"), seed=1) as chaos:
        chaos.hurt(SHORT)
        verdict = chaos.finish()
        assert verdict.problems == [], chaos.line()
        assert chaos.address.changes > 1
    assert verdict.held
    assert verdict.removed
    assert len(list(verdict.lines())) == 3


# -- what is noticed -----------------------------------------------------------------------------


def verdict_of(
    everything: list[int], present: list[int], told: int = HELD, gaps: Gaps | None = None
) -> Verdict:
    """Of a stream of three entries, of which the last was added at 1.0 and `told`."""
    numbers = Numbers()
    for number in numbers.take(3):
        numbers.known[number] = HELD
    numbers.known[2], numbers.times[2] = told, 1.0
    verdict = Verdict()
    verdict.look_at("s", numbers, everything, present, gaps or Gaps())
    return verdict


def test_what_is_there_once_and_in_order_is_well() -> None:
    verdict = verdict_of([0, 1, 2], [0, 1, 2])
    assert (verdict.problems, verdict.held, verdict.lost) == ([], 3, 0)


@pytest.mark.parametrize(
    ("everything", "present", "what"),
    [
        ([0, 1], [0, 1], "1 entries are missing, the first is 2"),
        ([0, 1, 2, 1], [0, 1, 2], "1 entries are there twice"),
        ([0, 2, 1], [0, 2, 1], "not in order"),
        ([0, 1, 2, 3], [0, 1, 2, 3], "entry 3 was never produced"),
        ([0, 1, 2], [0, 1], "1 entries are in another epoch alone"),
    ],
)
def test_what_is_wrong_is_told(everything: list[int], present: list[int], what: str) -> None:
    [problem] = verdict_of(everything, present).problems
    assert what in problem


def test_what_a_primary_had_alone_may_be_lost_when_it_dies_and_at_no_other_time() -> None:
    dead = Gaps([(0.5, 1.5)])
    verdict = verdict_of([0, 1], [0, 1], ADDED, dead)
    assert (verdict.problems, verdict.lost) == ([], 1)
    assert verdict_of([0, 1], [0, 1], ADDED, Gaps([(1.5, 2.5)])).problems
    assert verdict_of([0, 1], [0, 1], HELD, dead).problems


def test_what_another_program_has_deleted_may_be_missing() -> None:
    numbers = Numbers(bytearray([HELD] * 3), removed={1})
    numbers.times.extend([0.0] * 3)
    verdict = Verdict()
    verdict.look_at("s", numbers, [0], [0], Gaps())
    assert (verdict.removed, verdict.lost) == (1, 1)
    [problem] = verdict.problems
    assert "1 entries are missing, the first is 2" in problem


def test_what_the_archive_has_of_it_is_counted() -> None:
    cut = Gaps(cuts=[(0.5, 1.5)])
    verdict = verdict_of([0, 1, 2], [0, 1], ADDED, cut)
    assert (verdict.problems, verdict.cut, verdict.saved, verdict.apart) == ([], 1, 1, 1)
