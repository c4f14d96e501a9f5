"""What happens to streams, and what the archive does then: the decision table, a test a line."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from rillway.pipeline.archive.archiver import Archiver, Hooks, Report, Settings
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.identity.epochs import StreamState
from rillway.pipeline.archive.parquet_files import read_file
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.client.capabilities import Capabilities
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.client.ids import format_id
from tests.rillway.pipeline.archive.scene import STREAM, live_ids

KEPT_MS = 20


@pytest.fixture(params=["EVAL", "WATCH"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the guards check: by scripts, or where a server has none by WATCH."""
    if request.param == "WATCH":
        real = Capabilities.has_command
        monkeypatch.setattr(
            Capabilities,
            "has_command",
            lambda self, name: name != "EVAL" and real(self, name),
        )
    return str(request.param)


@dataclass
class Scene:
    """A stream whose values are numbers that are used once, and its archive."""

    link: Connection
    table: ArchiveTable
    number: int = 0
    values: dict[str, list[str]] = field(default_factory=dict)

    def add(self, first: int, last: int, stream: str = STREAM) -> None:
        """Entries `first-0` to `last-0`."""
        self.add_ids(*(f"{ms}-0" for ms in range(first, last + 1)), stream=stream)

    def add_ids(self, *ids: str, stream: str = STREAM) -> None:
        for entry_id in ids:
            self.number += 1
            self.link.call("XADD", stream, entry_id, "n", self.number)

    def archive(self, stream: str = STREAM, keep_ms: int = KEPT_MS, **options: bool) -> Report:
        rules = TrimRules(keep_ms=keep_ms)
        settings = Settings(self.link.url, rules=rules, allows_missing=True, **options)
        return Archiver(self.table, LocalEngine(), settings, Hooks()).archive(stream)

    @property
    def state(self) -> StreamState:
        state = self.table.state(STREAM)
        assert state is not None
        return state

    @property
    def epoch(self) -> int:
        return self.state.present.number

    @property
    def branch(self) -> str:
        return format_id(self.state.present.branch)

    def rows(self, stream: str = STREAM) -> list[str]:
        """The values of all rows, in order."""
        return [
            fields[0]["value"].decode()
            for file in self.table.files(stream)
            for batch in read_file(self.table.root, file, 0, (1 << 128) - 1)
            for fields in batch.column("fields").to_pylist()
        ]

    def values_live(self, stream: str = STREAM) -> list[str]:
        return [entry[1][1].decode() for entry in self.link.call("XRANGE", stream, "-", "+")]

    def check_nothing_lost(self, *streams: str) -> None:
        """Each value that was ever added is archived, or still in the stream."""
        found = {value for stream in streams or (STREAM,) for value in self.rows(stream)}
        found |= {value for stream in streams or (STREAM,) for value in self.values_live(stream)}
        assert found == {str(number) for number in range(1, self.number + 1)}


@pytest.fixture
def scene(link: Connection, table: ArchiveTable) -> Scene:
    """100 entries, archived; the last 20 ms of them, and the anchor, are in memory."""
    scene = Scene(link, table)
    scene.add(1, 100)
    scene.archive()
    assert live_ids(link) == [f"{n}-0" for n in range(80, 101)]
    return scene


def dump(link: Connection) -> bytes:
    dumped: bytes = link.call("DUMP", STREAM)
    return dumped


def restore(link: Connection, dumped: bytes) -> None:
    link.call("RESTORE", STREAM, 0, dumped, "REPLACE")


@pytest.mark.parametrize(
    ("lost", "below", "above"), [(10, 5, 25), (10, 10, 25), (5, 10, 25), (10, 0, 25), (10, 5, 0)]
)
def test_a_tail_that_a_failover_lost_is_archived_beside_what_came_instead(
    scene: Scene, lost: int, below: int, above: int
) -> None:
    """The copy of before the last entries takes over; its clock is behind, then ahead."""
    scene.add(101, 130 - lost)
    older = dump(scene.link)
    scene.add(131 - lost, 130)
    assert scene.archive().archived == 30
    restore(scene.link, older)
    scene.add_ids(*(f"{130 - lost}-{n}" for n in range(1, below + 1)))
    scene.add(131, 130 + above)
    report = scene.archive(keep_ms=0)
    scene.check_nothing_lost()
    assert report.remaining == 1
    if below:
        assert (scene.epoch, scene.branch) == (2, f"{130 - lost}-0")
        assert report.archived == below + above
    else:
        assert scene.epoch == 1
        assert f"{lost} archived entries after {130 - lost}-0" in report.notes[0]
    assert scene.archive().archived == 0
