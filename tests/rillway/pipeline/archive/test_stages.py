"""The stages of the streams of a round, as a table."""

from __future__ import annotations

from itertools import product

import pytest

from rillway.pipeline.archive.stages import TRANSITIONS, Event, Stage, Stages

U, R, A, N, F, C, X = (
    Stage.UNRECOGNISED,
    Stage.READING,
    Stage.ARCHIVED,
    Stage.ABSENT,
    Stage.FINISHED,
    Stage.CHANGED,
    Stage.FAILED,
)
# What each event does at U, R, A, N, F, C and X; None: it cannot happen there.
TABLE: dict[Event, tuple[Stage | None, ...]] = {
    Event.HAS_ENTRIES: (R, None, None, None, None, None, None),
    Event.HAS_NONE_LEFT: (A, A, None, None, None, None, None),
    Event.IS_MISSING: (N, None, None, None, None, None, None),
    Event.TRIMMED: (None, F, F, None, None, None, None),
    Event.CHANGED: (C, C, C, C, None, C, None),
    Event.RETRIED: (None, None, None, None, None, U, None),
    Event.FAILED: (X, X, X, X, None, X, None),
}


@pytest.mark.parametrize(("event", "place"), [*product(Event, range(len(Stage)))])
def test_each_event_has_one_outcome_at_each_stage(event: Event, place: int) -> None:
    stage = (U, R, A, N, F, C, X)[place]
    assert TRANSITIONS.get((stage, event)) is TABLE[event][place]


def test_a_finished_or_failed_stream_stays_what_it_is() -> None:
    assert {stage for stage, _ in TRANSITIONS}.isdisjoint({F, X})


def test_streams_move_together_and_are_listed_in_the_order_of_the_round() -> None:
    stages = Stages(["b", "a", "c"])
    stages.move(["a", "b"], Event.HAS_ENTRIES)
    stages.move(["c"], Event.HAS_NONE_LEFT)
    assert (stages.at(R), stages.at(A), stages.at(R, A)) == (["b", "a"], ["c"], ["b", "a", "c"])
    stages.move(["a"], Event.CHANGED, "it was renamed")
    stages.move(["a"], Event.CHANGED, "it was deleted")
    assert (stages["a"], stages.reasons) == (C, {"a": "it was deleted"})
    stages.move(["a"], Event.RETRIED)
    assert stages.at(U) == ["a"]


def test_an_event_that_the_table_lacks_is_a_bug() -> None:
    stages = Stages(["a"])
    with pytest.raises(AssertionError, match="a: TRIMMED at UNRECOGNISED"):
        stages.move(["a"], Event.TRIMMED)
