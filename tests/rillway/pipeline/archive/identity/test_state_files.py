"""Files beside the log: written before a commit, named by it, removed once nothing names them."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest

from rillway.pipeline.archive.identity.epochs import Epoch, StreamState
from rillway.pipeline.archive.identity.state_files import (
    StateUnreadable,
    path_of,
    read_state,
    remove_old,
    write_state,
)
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.ranges.offsets import Position
from tests.rillway.pipeline.archive.scene import STATE

ODD = "a/b=c d"


def test_a_state_is_read_by_the_number_that_writing_gave(table: ArchiveTable) -> None:
    other = StreamState((Epoch(1, "other"),))
    numbers = [write_state(table.store, ODD, state) for state in (STATE, other)]
    assert [read_state(table.store, ODD, number) for number in numbers] == [STATE, other]
    with pytest.raises(StateUnreadable, match="which the log names"):
        read_state(table.store, ODD, 5)
    (table.root / path_of(ODD, 6)).write_text("[]")
    with pytest.raises(StateUnreadable):
        read_state(table.store, ODD, 6)


def test_a_commit_names_the_state(table: ArchiveTable) -> None:
    assert table.state(ODD) is None
    table.append(ODD, Position(5, 1), [], STATE, {})
    number = table.state_number(ODD)
    assert number is not None and ArchiveTable.open(table.root).state(ODD) == STATE
    table.append(ODD, Position(6, 2), [], STATE, {})
    assert table.state_number(ODD) != number
    for path in (table.root / "_rillway").rglob("*.json"):
        path.unlink()
    with pytest.raises(ArchiveError, match="which the log names"):
        ArchiveTable.open(table.root).state(ODD)


def test_what_the_log_does_not_name_goes_once_it_is_old(table: ArchiveTable) -> None:
    for n in range(3):
        table.append(ODD, Position(n + 1, 1), [], STATE, {})
    old, young = write_state(table.store, ODD, STATE), write_state(table.store, "other", STATE)
    now = datetime.now(UTC).timestamp()
    for path in (table.root / "_rillway").rglob("*.json"):
        if path != table.root / path_of("other", young):
            os.utime(path, (now - 7200, now - 7200))
    assert remove_old(table.store, table.state_number, 1) == 3
    assert not (table.root / path_of(ODD, old)).exists()
    assert (table.root / path_of("other", young)).exists()
    table.vacuum(0)
    assert ArchiveTable.open(table.root).state(ODD) == STATE
