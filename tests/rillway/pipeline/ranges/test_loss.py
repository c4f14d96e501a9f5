"""What is known to be lost, and what may have been deleted on purpose."""

from __future__ import annotations

import logging

import pytest

from rillway.pipeline.ranges.loss import DataLost, LossPolicy, check_count, check_start
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.facts import StreamFacts
from rillway.pipeline.wire.ids import make_id

FAILS = LossPolicy(fails=True)
# Entries 1-0 to 100-0, of which those up to 40-0 were trimmed.
TRIMMED = StreamFacts(length=60, first_id=make_id(41), last_id=make_id(100), entries_added=100)


def at(ms: int, n: int | None) -> Position:
    return Position(make_id(ms), n)


def test_nothing_is_lost_where_only_what_was_read_is_gone() -> None:
    check_start(FAILS, "s", at(40, 40), TRIMMED)
    check_start(FAILS, "s", at(70, 70), TRIMMED)
    check_start(FAILS, "s", at(41, None), TRIMMED)


def test_a_trim_ahead_of_the_reader_is_told_with_its_number() -> None:
    with pytest.raises(
        DataLost,
        match="s: had been read up to 30-0, 30 entries, but begins at 41-0 now: 10 entries between "
        "the two had been trimmed before they were read",
    ):
        check_start(FAILS, "s", at(30, 30), TRIMMED)


def test_the_loss_of_a_single_entry_is_one() -> None:
    with pytest.raises(DataLost, match="1 entry between the two had been trimmed"):
        check_start(FAILS, "s", at(39, 39), TRIMMED)


def test_without_a_count_a_trim_may_be_a_loss() -> None:
    with pytest.raises(DataLost, match="lost 40 entries in all: some of them may"):
        check_start(FAILS, "s", at(30, None), TRIMMED)


def test_whatever_there_is_cannot_be_lost() -> None:
    check_start(FAILS, "s", Position(0, None), TRIMMED)
    check_start(FAILS, "s", Position(0, 0), StreamFacts())


def test_a_stream_that_is_gone_is_a_loss() -> None:
    with pytest.raises(DataLost, match="up to 5-0, 5 entries, but the stream is gone"):
        check_start(FAILS, "s", at(5, 5), StreamFacts())


def test_a_stream_that_ends_earlier_was_created_again() -> None:
    with pytest.raises(DataLost, match="ends at 100-0 after 100 entries: it was created again"):
        check_start(FAILS, "s", at(200, None), TRIMMED)


def test_a_stream_that_had_fewer_entries_was_created_again() -> None:
    with pytest.raises(DataLost, match="up to 50-0, 120 entries, but the stream ends at 100-0"):
        check_start(FAILS, "s", at(50, 120), TRIMMED)


def test_what_xdel_may_have_taken_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    deleted = StreamFacts(60, make_id(41), make_id(100), make_id(35), 100)
    policy = LossPolicy(fails=True)
    with caplog.at_level(logging.WARNING):
        check_start(policy, "s", at(30, 30), deleted)
        check_start(policy, "s", at(30, 30), deleted)
    (record,) = caplog.records
    assert "10 entries after it had been deleted or trimmed" in record.getMessage()


def test_a_range_with_fewer_entries_than_were_added_lost_the_others() -> None:
    check_count(FAILS, "s", at(30, 30), at(60, 60), 30, TRIMMED)
    check_count(FAILS, "s", at(30, None), at(60, 60), 5, TRIMMED)
    with pytest.raises(DataLost, match="10 of 30 entries after 30-0 up to 60-0 had been trimmed"):
        check_count(FAILS, "s", at(30, 30), at(60, 60), 20, TRIMMED)


def test_failondataloss_false_warns(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        check_start(LossPolicy(fails=False), "s", at(30, 30), TRIMMED)
    (record,) = caplog.records
    assert record.getMessage().startswith("rillway: s: had been read up to 30-0")
