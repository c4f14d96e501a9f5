"""Epochs and their lines, and what the archive keeps of a stream."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rillway.pipeline.archive.identity.epochs import (
    Epoch,
    Source,
    StreamRecord,
    StreamState,
    from_row,
    line_of,
    new_token,
    to_row,
)
from rillway.pipeline.ranges.anchors import Anchor
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import MAX_ID

EPOCHS = (
    Epoch(1, "a", end=100),
    Epoch(2, "b", parent=1, branch=70, end=120),
    Epoch(3, "c", parent=2, branch=90, end=130),
    Epoch(4, "d", parent=3, branch=60, end=80),
    Epoch(5, "e"),
)


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (1, [(1, MAX_ID)]),
        (2, [(1, 70), (2, MAX_ID)]),
        (3, [(1, 70), (2, 90), (3, MAX_ID)]),
        # It begins before its parents do: what counts of them ends there.
        (4, [(1, 60), (2, 60), (3, 60), (4, MAX_ID)]),
        (5, [(5, MAX_ID)]),
    ],
)
def test_a_line_has_each_ancestor_up_to_the_branch_of_the_next(
    number: int, line: list[tuple[int, int]]
) -> None:
    assert line_of(EPOCHS, number) == line


def test_a_record_survives_as_a_row() -> None:
    source = Source(3, "run", ("one", "two"), 17)
    state = StreamState(EPOCHS, (Anchor(5 << 64 | 7, "hash", 1), Anchor(3, "h", 10)), source)
    full = StreamRecord(state, Position(MAX_ID, 7), 5, {1: 3})
    for record in (full, StreamRecord(StreamState(EPOCHS[:1]), Position(0, None))):
        assert from_row(json.loads(json.dumps(to_row(record)))) == record
    broken_ones: list[dict[str, object]] = [
        {},
        to_row(full) | {"epochs": 1},
        to_row(full) | {"epochs": [{}]},
    ]
    for broken in broken_ones:
        with pytest.raises((ValueError, KeyError, TypeError)):
            from_row(broken)


def test_what_has_expired_is_nothing_that_an_archiver_has_committed() -> None:
    one = StreamRecord(StreamState(EPOCHS), Position(5, 1))
    assert replace(one, expired={1: 3}).is_as_archived_in(one)
    assert not replace(one, end=Position(6, 2)).is_as_archived_in(one)
    assert not one.is_as_archived_in(None)


def test_a_server_is_known_by_its_run_or_by_the_replication_that_it_took_over() -> None:
    stored = Source(0, "run", ("mine", "before"))
    assert Source(0, "run", ()).is_known_by(stored)
    assert Source(0, "other", ("new", "mine")).is_known_by(stored)
    assert not Source(0, "other", ("new", "before")).is_known_by(stored)
    assert not Source(0, "", ()).is_known_by(Source(0, "", ()))


def test_tokens_differ() -> None:
    assert len({new_token() for _ in range(100)}) == 100
