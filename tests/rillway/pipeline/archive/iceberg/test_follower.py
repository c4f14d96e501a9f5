"""A mirror beside an archiver."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from rillway.pipeline.archive.archiver import Hooks
from rillway.pipeline.archive.iceberg import follower as module
from rillway.pipeline.archive.iceberg.catalogue import MirrorFailed
from rillway.pipeline.archive.iceberg.follower import Follower, open_mirror
from rillway.pipeline.archive.iceberg.mirror import VERSION, Followed, Mirror
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.iceberg.conftest import Mirrored
from tests.rillway.pipeline.archive.scene import add, archive, archived_ids


class Killed(Exception):
    """The process ends."""


def kill_at(step: str) -> Hooks:
    def reached(name: str) -> None:
        if name == step:
            raise Killed

    return Hooks(reached=reached)


def test_it_follows_each_commit_of_a_round(
    rillway_link: Connection, table: ArchiveTable, mirror: Mirror, mirrored: Mirrored
) -> None:
    add(rillway_link, *(f"{n}-0" for n in range(1, 10)))
    follower = Follower(lambda: mirror, print)
    hooks = Hooks(committed=follower.committed)
    archive(rillway_link, table, hooks=hooks, batch_entries=3)
    assert [summary[VERSION] for summary in mirrored.summaries] == ["1", "2", "3"]
    assert mirrored.ids() == archived_ids(table)


@pytest.mark.parametrize("step", ["committed", "placed"])
def test_killed_before_the_mirror_it_catches_up(
    rillway_link: Connection, table: ArchiveTable, mirror: Mirror, mirrored: Mirrored, step: str
) -> None:
    add(rillway_link, "1-0")
    archive(rillway_link, table, hooks=Hooks(committed=Follower(lambda: mirror, print).committed))
    add(rillway_link, "2-0")
    with pytest.raises(Killed):
        archive(rillway_link, table, hooks=kill_at(step))
    assert mirrored.ids() == ["1-0"]
    archive(rillway_link, table)
    follower = Follower(lambda: mirror, print)
    follower.round_ended()
    assert mirrored.ids() == archived_ids(table) == ["1-0", "2-0"]
    assert not follower.failed


@pytest.mark.parametrize("step", ["written", "stated"])
def test_it_never_leads(
    rillway_link: Connection, table: ArchiveTable, mirror: Mirror, mirrored: Mirrored, step: str
) -> None:
    add(rillway_link, "1-0")
    with pytest.raises(Killed):
        archive(rillway_link, table, hooks=kill_at(step))
    mirror.follow()
    assert mirrored.ids() == archived_ids(table) == []


class Failing(Mirror):
    """Fails some times. `calls`: how often it was asked."""

    def __init__(self, failures: int) -> None:
        self.calls, self._failures = 0, failures

    def follow(self) -> Followed:
        self.calls += 1
        if self.calls <= self._failures:
            raise MirrorFailed("a.b: no answer")
        return Followed(1)


def test_what_fails_is_not_asked_again_in_the_round() -> None:
    reported: list[str] = []
    failing = Failing(2)
    follower = Follower(lambda: failing, reported.append)
    for _ in range(5):
        follower.committed()
    assert failing.calls == 1 and not reported
    follower.round_ended()
    assert follower.failed and reported == ["not mirrored: a.b: no answer"]
    follower.committed()
    follower.round_ended()
    assert failing.calls == 4 and not follower.failed and len(reported) == 1


class Hanging(Mirror):
    """A catalogue that answers on demand."""

    def __init__(self) -> None:
        self.calls, self.may_answer = 0, threading.Event()

    def follow(self) -> Followed:
        self.calls += 1
        self.may_answer.wait()
        return Followed(1)


def test_a_catalogue_that_does_not_answer_is_not_waited_for() -> None:
    reported: list[str] = []
    hanging = Hanging()
    follower = Follower(lambda: hanging, reported.append, patience_seconds=0.001)
    for _ in range(3):
        follower.committed()
        follower.round_ended()
    assert follower.failed and hanging.calls == 1
    assert reported == ["not mirrored: the catalogue does not answer"] * 3
    hanging.may_answer.set()
    while follower.failed:
        follower.round_ended()


def test_without_pyiceberg_it_says_what_to_install(
    table: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ArchiveError, match=r"pyiceberg is missing: pip install 'rillway\[iceberg"):
        open_mirror(table.store, "sqlite:///c.db", "a.b")


def test_pyiceberg_is_loaded_with_the_first_mirror() -> None:
    program = (
        "import sys; from rillway.pipeline.archive import command; "
        "assert 'pyiceberg' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
