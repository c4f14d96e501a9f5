"""What happens to streams, and what the archive does then: the decision table, a test a line."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from rillway.pipeline.archive import tasks
from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings, Hooks
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.identity import sources
from rillway.pipeline.archive.identity.epochs import Source, StreamState, line_of
from rillway.pipeline.archive.identity.recognition import (
    ArchiveBehind,
    OtherDatabase,
    OtherSource,
    Refused,
    SplitHistory,
)
from rillway.pipeline.archive.identity.sources import read_run_ids
from rillway.pipeline.archive.report.rounds import StreamReport
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.wire.capabilities import Capabilities
from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.facts import group_infos, group_name
from rillway.pipeline.wire.ids import format_id, parse_id
from tests.rillway.pipeline.archive.scene import STEPS, STREAM, archived_ids, live_ids

KEPT_MS = 20


@pytest.fixture(params=["EVAL", pytest.param("WATCH", marks=pytest.mark.thorough)], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the guards check: by scripts, or where a server has none by WATCH (test_guards.py)."""
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

    def add(self, first: int, last: int, stream: str = STREAM) -> None:
        """Entries `first-0` to `last-0`."""
        self.add_ids(*(f"{ms}-0" for ms in range(first, last + 1)), stream=stream)

    def add_ids(self, *ids: str, stream: str = STREAM) -> None:
        for entry_id in ids:
            self.number += 1
            self.link.call("XADD", stream, entry_id, "n", self.number)

    def archive(
        self,
        stream: str = STREAM,
        keep_ms: int = KEPT_MS,
        hooks: Hooks | None = None,
        url: str = "",
        *,
        accepts_loss: bool = False,
        opens_new_epoch: bool = False,
    ) -> StreamReport:
        rules = TrimRules(keep_ms=keep_ms)
        settings = ArchiverSettings(
            url or self.link.url,
            rules=rules,
            allows_missing=True,
            accepts_loss=accepts_loss,
            opens_new_epoch=opens_new_epoch,
            id_unit="ms",  # of made-up IDs as well
        )
        return Archiver(self.table, LocalEngine(), settings, hooks).archive(stream)

    def refuses(self, kind: type[Refused], stream: str = STREAM, url: str = "") -> str:
        """That it is refused, and that nothing changes by it; the text."""
        self.table.refresh()
        before = self.values_live(stream), self.table.version
        with pytest.raises(kind, match="--new-epoch") as refusal:
            self.archive(stream, keep_ms=0, url=url)
        self.table.refresh()
        assert (self.values_live(stream), self.table.version) == before
        return str(refusal.value)

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
            for _, batch in self.table.rows(stream).batches()
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


def groups(link: Connection, stream: str = STREAM) -> dict[str, str]:
    return {
        group_name(info): info[b"last-delivered-id"].decode() for info in group_infos(link, stream)
    }


def marker(scene: Scene) -> str:
    return scene.table.marker(scene.state.present)


# -- what a failover, a crash or a restore leaves -------------------------------------------------


def test_a_copy_that_has_everything_is_the_same(scene: Scene) -> None:
    """A failover to a replica that had everything, a restart with all data, a migrated slot."""
    dumped = dump(scene.link)
    scene.link.call("FLUSHALL")
    restore(scene.link, dumped)
    scene.add(101, 110)
    report = scene.archive(keep_ms=0)
    assert (report.archived, report.remaining, report.notes, scene.epoch) == (10, 1, [], 1)
    scene.check_nothing_lost()


@pytest.mark.parametrize(
    ("lost", "below", "above"), [(10, 5, 25), (10, 10, 25), (5, 10, 25), (10, 0, 25), (10, 5, 0)]
)
def test_a_tail_that_a_failover_lost_is_archived_beside_what_came_instead(
    scene: Scene, lost: int, below: int, above: int
) -> None:
    """A copy without the last entries takes over; its clock is slow, then fast."""
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


def test_a_tail_that_was_lost_is_known_before_anything_new_comes(scene: Scene) -> None:
    older = dump(scene.link)
    scene.add(101, 110)
    scene.archive()
    restore(scene.link, older)
    assert scene.archive().archived == 0
    assert (scene.epoch, scene.branch, groups(scene.link)) == (
        2,
        "100-0",
        {marker(scene): "100-0"},
    )
    scene.add(101, 130)
    assert scene.archive().archived == 30
    scene.check_nothing_lost()
    assert archived_ids(scene.table).count("105-0") == 2


def test_a_tail_that_was_lost_twice_follows_the_epoch_that_fits(scene: Scene) -> None:
    """The second copy is older than the first one: it has more in common with the first epoch."""
    oldest = dump(scene.link)
    scene.add(101, 110)
    scene.archive()
    older = dump(scene.link)
    scene.add(111, 120)
    scene.archive()
    restore(scene.link, older)
    scene.add_ids("110-1", "110-2")
    scene.archive()
    assert (scene.epoch, scene.branch) == (2, "110-0")
    restore(scene.link, oldest)
    scene.add_ids("100-1", "100-2")
    scene.archive()
    present = scene.state.present
    assert (present.number, format_id(present.branch)) == (3, "100-0")
    assert line_of(scene.state.epochs, 3)[0] == (1, parse_id("100-0"))
    scene.check_nothing_lost()


@pytest.mark.parametrize("live", [(), ("95-0",)], ids=["none", "an older one"])
def test_the_marker_proves_what_clients_have_deleted(scene: Scene, live: tuple[str, ...]) -> None:
    """A failover loses the last entries, and of the others none is left that could be compared."""
    scene.link.call("XDEL", STREAM, *(i for i in live_ids(scene.link) if i not in live))
    older = dump(scene.link)
    scene.add(101, 110)
    scene.archive()
    restore(scene.link, older)
    assert scene.archive().archived == 0
    present = scene.state.present
    assert (present.number, present.parent, scene.branch) == (2, 1, "100-0")
    assert groups(scene.link) == {marker(scene): "100-0"}
    scene.add(101, 105)
    assert scene.archive().archived == 5
    scene.check_nothing_lost()


@pytest.mark.parametrize("is_back", [True, False], ids=["back", "not back"])
def test_a_marker_proves_nothing_where_the_stream_was_set_back(scene: Scene, is_back: bool) -> None:
    """The last ID below it, or an entry below it that is not archived."""
    scene.link.call("XTRIM", STREAM, "MAXLEN", 0)
    scene.link.call("XSETID", STREAM, "40-0")
    scene.add_ids("41-0", "42-0")
    if is_back:
        scene.add_ids("101-0")
    assert scene.archive().archived == 2 + is_back
    present = scene.state.present
    assert (present.number, present.parent, scene.branch) == (2, 0, "0-0")
    scene.check_nothing_lost()


def test_an_epoch_that_lacks_what_the_marker_proves_is_not_followed(scene: Scene) -> None:
    """Whoever created the stream again has put its last entry there as well."""
    scene.link.call("XTRIM", STREAM, "MAXLEN", 0)
    scene.add_ids("101-0")
    whole, last = dump(scene.link), scene.number
    scene.link.call("DEL", STREAM)
    scene.add_ids("10-5")
    scene.link.call("XADD", STREAM, "101-0", "n", last)
    scene.archive()
    assert (scene.epoch, scene.state.present.parent) == (2, 0)
    restore(scene.link, whole)
    scene.archive()
    assert (scene.epoch, scene.state.present.parent, scene.branch) == (3, 1, "100-0")
    scene.check_nothing_lost()


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_in_a_new_epoch_loses_and_doubles_nothing(scene: Scene, step: str) -> None:
    class Crash(Exception):
        pass

    def reached(name: str) -> None:
        if name == step:
            raise Crash

    older = dump(scene.link)
    scene.add(101, 110)
    scene.archive()
    restore(scene.link, older)
    scene.add_ids("100-1", "100-2")
    with pytest.raises(Crash):
        scene.archive(keep_ms=0, hooks=Hooks(reached=reached))
    scene.table.refresh()
    scene.add(120, 125)
    assert scene.archive(keep_ms=0).remaining == 1
    assert (scene.epoch, scene.branch) == (2, "100-0")
    scene.check_nothing_lost()
    assert len(scene.rows()) == scene.number
    assert list(groups(scene.link)) == [marker(scene)]


# -- what people do to keys -----------------------------------------------------------------------


@pytest.mark.parametrize("removal", [("DEL", STREAM), ("FLUSHALL",), ("FLUSHDB",)])
@pytest.mark.parametrize(("first", "last"), [(1, 30), (1, 120), (101, 120)])
def test_a_stream_that_was_created_again_is_an_epoch_of_its_own(
    scene: Scene, removal: tuple[str, ...], first: int, last: int
) -> None:
    scene.link.call(*removal)
    report = scene.archive()
    assert report.is_missing and report.end == parse_id("100-0") and scene.epoch == 1
    scene.add(first, last)
    assert scene.archive(keep_ms=0).remaining == 1
    assert (scene.epoch, scene.branch, scene.state.present.parent) == (2, "0-0", 0)
    scene.check_nothing_lost()


def test_a_loss_that_is_accepted_is_no_reason_to_pass_over_a_new_stream(scene: Scene) -> None:
    scene.link.call("DEL", STREAM)
    scene.add(1, 10)
    assert scene.archive(keep_ms=0, accepts_loss=True).archived == 10
    scene.add(11, 20)
    scene.archive(keep_ms=0, accepts_loss=True)
    scene.check_nothing_lost()


def test_a_renamed_stream_is_archived_under_its_new_name(scene: Scene) -> None:
    scene.link.call("RENAME", STREAM, "renamed")
    assert scene.archive().is_missing
    assert scene.archive("renamed").archived == 21
    state = scene.table.state("renamed")
    assert state is not None
    assert list(groups(scene.link, "renamed")) == [scene.table.marker(state.present)]
    scene.check_nothing_lost(STREAM, "renamed")


def test_a_stream_that_is_renamed_onto_the_key_is_an_epoch_of_its_own(scene: Scene) -> None:
    scene.add(50, 150, "other")
    scene.archive("other")
    scene.link.call("RENAME", "other", STREAM)
    scene.archive(keep_ms=0)
    assert (scene.epoch, scene.branch) == (2, "0-0")
    assert groups(scene.link) == {marker(scene): "150-0"}
    scene.check_nothing_lost(STREAM, "other")


@pytest.mark.parametrize("archived_meanwhile", [False, True])
def test_a_stream_that_is_renamed_and_back_goes_on(scene: Scene, archived_meanwhile: bool) -> None:
    scene.link.call("RENAME", STREAM, "renamed")
    if archived_meanwhile:
        scene.archive("renamed")
    scene.link.call("RENAME", "renamed", STREAM)
    scene.add(101, 110)
    assert scene.archive(keep_ms=0).archived == 10
    assert scene.epoch == 1
    assert groups(scene.link) == {marker(scene): "110-0"}
    scene.check_nothing_lost()


def test_a_copy_of_a_stream_is_a_stream_of_its_own(scene: Scene) -> None:
    scene.link.call("COPY", STREAM, "copy")
    scene.add(101, 110)
    scene.add(101, 105, "copy")
    assert scene.archive().archived == 10
    assert scene.archive("copy").archived == 26
    scene.add(111, 120)
    assert scene.archive(keep_ms=0).archived == 10
    assert scene.epoch == 1
    scene.check_nothing_lost(STREAM, "copy")


def test_a_count_that_was_set_is_not_believed(scene: Scene) -> None:
    scene.link.call("XSETID", STREAM, "150-0", "ENTRIESADDED", 1000, "MAXDELETEDID", "70-0")
    scene.add(151, 160)
    report = scene.archive(keep_ms=0)
    assert (report.archived, report.remaining, report.notes, scene.epoch) == (10, 1, [], 1)
    end = scene.table.end(STREAM)
    assert end is not None and end.n == 1010
    scene.check_nothing_lost()


def test_a_lower_last_id_is_refused_while_the_anchor_exists(scene: Scene) -> None:
    with pytest.raises(ServerError, match="smaller"):
        scene.link.call("XSETID", STREAM, "50-0")
    scene.link.call("XTRIM", STREAM, "MAXLEN", 0)
    scene.link.call("XSETID", STREAM, "50-0")
    scene.add(51, 120)
    scene.archive(keep_ms=0)
    assert scene.epoch == 2
    scene.check_nothing_lost()


@pytest.mark.parametrize("words", [("DESTROY",), ("SETID", "85-0"), ("SETID", "0-0")])
def test_a_marker_that_was_removed_or_set_back_is_made_again(
    scene: Scene, words: tuple[str, ...]
) -> None:
    verb, *position = words
    scene.link.call("XGROUP", verb, STREAM, marker(scene), *position)
    scene.add(101, 110)
    report = scene.archive(keep_ms=0)
    assert (report.archived, report.remaining, report.notes, scene.epoch) == (10, 1, [], 1)
    assert groups(scene.link) == {marker(scene): "110-0"}
    scene.check_nothing_lost()


def test_an_anchor_that_was_deleted_is_replaced_by_an_older_one(scene: Scene) -> None:
    scene.link.call("XDEL", STREAM, "100-0")
    assert scene.archive().notes == []
    scene.link.call("XDEL", STREAM, "91-0")
    report = scene.archive(keep_ms=0)
    assert "not in memory: 1 archived entry after 99-0" in report.notes[0]
    assert live_ids(scene.link) == ["99-0"]
    scene.add(101, 110)
    assert scene.archive(keep_ms=0).archived == 10
    assert scene.epoch == 1
    scene.link.call("XDEL", STREAM, "110-0")
    scene.add(111, 120)
    assert scene.archive(keep_ms=0).remaining == 1
    scene.check_nothing_lost()


def test_a_stream_that_was_emptied_goes_on(scene: Scene) -> None:
    scene.link.call("XTRIM", STREAM, "MAXLEN", 0)
    assert scene.archive().notes == []
    scene.add(101, 110)
    assert scene.archive(keep_ms=0).archived == 10
    assert scene.epoch == 1


# -- other servers, other archives ----------------------------------------------------------------


def test_another_database_is_refused(scene: Scene) -> None:
    url = f"{scene.link.url}/1"
    with Connection(url) as other:
        other.call("XADD", STREAM, "50-0", "n", "of the other")
        assert "from database 0, and this is 1" in scene.refuses(OtherDatabase, url=url)
        scene.archive(keep_ms=0, url=url, opens_new_epoch=True)
        assert (scene.epoch, scene.rows()[-1]) == (2, "of the other")
    scene.refuses(OtherDatabase)


def test_another_server_is_refused(scene: Scene, request: pytest.FixtureRequest) -> None:
    servers = [request.getfixturevalue(f"{name}_server") for name in ("rillway", "redis")]
    [url] = {f"redis://127.0.0.1:{server.port}" for server in servers} - {scene.link.url}
    with Connection(url) as other:
        other.call("FLUSHALL")
        mine = Scene(other, scene.table, number=1000)
        mine.add(90, 120)
        assert "the server is another one" in mine.refuses(OtherSource)
        assert mine.archive(opens_new_epoch=True).archived == 31
        assert (mine.epoch, mine.branch) == (2, "0-0")
    scene.refuses(SplitHistory)


def test_of_two_copies_that_are_both_archived_the_first_one_is_refused(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restored backup of a server is archived as well: it parts, then the server is refused."""
    backup = dump(scene.link)
    scene.add(101, 110)
    scene.archive()
    server = dump(scene.link)
    restore(scene.link, backup)
    scene.add(101, 105)
    with monkeypatch.context() as patch:
        patch.setattr(sources, "read_source", lambda _: Source(0, "another", ("f" * 40,)))
        assert scene.archive().archived == 5
    assert (scene.epoch, scene.branch) == (2, "100-0")
    restore(scene.link, server)
    scene.add(111, 115)
    assert "has gone on with another copy" in scene.refuses(SplitHistory)
    scene.archive(keep_ms=0, opens_new_epoch=True)
    assert (scene.epoch, scene.branch, scene.state.present.parent) == (3, "110-0", 1)
    scene.check_nothing_lost()


def test_an_archive_that_is_older_than_the_marker_is_refused(scene: Scene, tmp_path: Path) -> None:
    shutil.copytree(scene.table.root, tmp_path / "backup")
    scene.add(101, 130)
    scene.archive(keep_ms=5)
    behind = Scene(scene.link, ArchiveTable.open(tmp_path / "backup"), scene.number)
    assert "up to 130-0, and this archive has it up to 100-0" in behind.refuses(ArchiveBehind)
    behind.archive(keep_ms=0, opens_new_epoch=True)
    assert behind.epoch == 2


def test_a_batch_that_two_servers_were_read_for_is_dropped(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replica was promoted while it was read: the round begins again."""
    asked: list[frozenset[str]] = []

    def another_once(connection: Connection) -> frozenset[str]:
        asked.append(read_run_ids(connection))
        return frozenset({"another"}) if len(asked) == 2 else asked[-1]

    monkeypatch.setattr(tasks, "read_run_ids", another_once)
    scene.add(101, 110)
    version = scene.table.version
    assert scene.archive(keep_ms=0).archived == 10
    assert scene.table.version == version + 1 and len(asked) == 4
    scene.check_nothing_lost()


def test_a_stream_that_changes_between_recognition_and_write_is_recognised_again(
    scene: Scene,
) -> None:
    """The stream is created again while it is read: nothing of the new one is trimmed unread."""
    done: list[bool] = []

    def reached(name: str) -> None:
        if name == "committed" and not done:
            done.append(True)
            scene.link.call("DEL", STREAM)
            scene.add(90, 95)

    scene.add(101, 110)
    scene.archive(keep_ms=0, hooks=Hooks(reached=reached))
    assert scene.epoch == 2
    scene.check_nothing_lost()


def test_an_entry_that_is_deleted_between_commit_and_trim_holds_nothing_up(scene: Scene) -> None:
    def reached(name: str) -> None:
        if name == "committed":
            scene.link.call("XDEL", STREAM, "110-0")

    scene.add(101, 110)
    report = scene.archive(keep_ms=0, hooks=Hooks(reached=reached))
    assert (report.archived, report.remaining, scene.epoch) == (10, 1, 1)
    scene.check_nothing_lost()


def test_an_entry_that_comes_back_after_the_last_archived_one_is_archived(scene: Scene) -> None:
    """It was deleted before it was read, and a failover to an older copy brings it back."""
    scene.add(101, 110)
    older = dump(scene.link)
    scene.link.call("XDEL", STREAM, "110-0")
    done: list[bool] = []

    def reached(name: str) -> None:
        if name == "written" and not done:
            done.append(True)
            restore(scene.link, older)

    scene.archive(keep_ms=0, hooks=Hooks(reached=reached))
    scene.add(111, 120)
    assert scene.archive(keep_ms=0).remaining == 1
    assert (scene.epoch, scene.branch) == (2, "109-0")
    scene.check_nothing_lost()
