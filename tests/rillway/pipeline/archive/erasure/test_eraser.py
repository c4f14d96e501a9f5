"""An erasure that ends at any step is finished by the next run, and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from rillway.pipeline.archive.arguments import DEFAULT_ICEBERG_TABLE
from rillway.pipeline.archive.erasure.eraser import Eraser, Hooks
from rillway.pipeline.archive.erasure.journal import count
from rillway.pipeline.archive.erasure.selection import Selection
from rillway.pipeline.archive.iceberg.mirror import Mirror
from rillway.pipeline.archive.lease import Leases, lease_key
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.erasure.scene import (
    ALL,
    CONDITION,
    EACH,
    HERS,
    ROUNDS,
    STREAMS,
    archive_all,
    damage,
    entry_id,
    make_scene,
    others,
    traces,
)
from tests.rillway.pipeline.archive.foreign.scene import (
    Change,
    add_without_statistics,
    delta,
    set_property,
)
from tests.rillway.pipeline.archive.iceberg.conftest import Mirrored
from tests.rillway.pipeline.archive.scene import add, archived_ids, live_ids

STEPS = [
    *("selected", "written", "noted", "journaled", "stated", "committed", "deleted", "vacuumed"),
    *("checkpointed", "cleaned", "forgotten", "certified", "ended"),
]
MIRRORED_STEPS = [*STEPS[:-2], "mirrored", *STEPS[-2:]]


class Killed(Exception):
    """The end of a run."""


@dataclass(slots=True)
class World:
    """An archive with a mirror and the streams, which can be had again as they were."""

    connection: Connection
    root: Path
    saved: Path
    uri: str
    streams: dict[str, bytes]
    is_mirrored: bool = False

    @classmethod
    def make(cls, connection: Connection, folder: Path) -> World:
        root, saved = folder / "archive", folder / "saved"
        make_scene(connection, root)
        shutil.copytree(root, saved)
        streams = {name: connection.call("DUMP", name) for name in STREAMS}
        uri = f"sqlite:///{folder}/catalogue.db?timeout=60"
        return cls(connection, root, saved, uri, streams)

    def mirror(self) -> None:
        self.follow()
        self.is_mirrored = True
        shutil.rmtree(self.saved)
        shutil.copytree(self.root, self.saved)
        shutil.copy(self.root.with_name("catalogue.db"), self.root.with_name("saved.db"))

    def follow(self) -> None:
        store = ArchiveTable.open(self.root).store
        Mirror(store, self.uri, DEFAULT_ICEBERG_TABLE).follow()

    def reset(self) -> None:
        shutil.rmtree(self.root)
        shutil.copytree(self.saved, self.root)
        if self.is_mirrored:
            shutil.copy(self.root.with_name("saved.db"), self.root.with_name("catalogue.db"))
        self.connection.call("FLUSHALL")
        self.restore_streams()

    def restore_streams(self) -> None:
        for name, payload in self.streams.items():
            self.connection.call("RESTORE", name, 0, payload, "REPLACE")

    def eraser(self, ends_at: str = "") -> Eraser:
        def reached(step: str) -> None:
            if step == ends_at:
                raise Killed(step)

        table = ArchiveTable.open(self.root)
        hooks = Hooks(reached=reached)
        if self.is_mirrored:
            hooks.mirrored = Mirror(table.store, self.uri, DEFAULT_ICEBERG_TABLE).renew
        chosen = Selection(where=CONDITION)
        return Eraser(self.connection.url, table, STREAMS, chosen, hooks=hooks)

    def check(self) -> None:
        """Nothing of hers is left, and all else is as it was."""
        assert traces(self.root) == []
        table = ArchiveTable.open(self.root)
        assert damage(self.connection, table) == []
        for name in STREAMS:
            archived, live = archived_ids(table, name), live_ids(self.connection, name)
            assert sorted({*archived, *live}) == sorted(others())
        assert archive_all(self.connection, table).failures == {}
        for name in STREAMS:
            assert sorted(archived_ids(table, name)) == sorted(others())
            if self.is_mirrored:
                self.follow()
                assert sorted(Mirrored(table, self.uri).ids(name)) == sorted(others())
        assert damage(self.connection, table) == []


@pytest.fixture
def world(rillway_link: Connection, tmp_path: Path) -> World:
    return World.make(rillway_link, tmp_path)


def test_nothing_is_left_whatever_step_it_ends_at(world: World) -> None:
    assert kinds_of_traces(world.root) == {"_delta_log", "_rillway", "date"}
    assert count(world.eraser().planned()) == ALL
    for step in STEPS:
        check_step(world, step)


@pytest.mark.parametrize(
    "steps", [["cleaned", "mirrored"], pytest.param(MIRRORED_STEPS, marks=pytest.mark.thorough)]
)
def test_nothing_is_left_in_a_mirror(world: World, steps: list[str]) -> None:
    world.mirror()
    assert "_iceberg" in kinds_of_traces(world.root)
    for step in steps:
        check_step(world, step)


def kinds_of_traces(root: Path) -> set[str]:
    return {line.partition("/")[0].partition("=")[0] for line in traces(root)}


def check_step(world: World, step: str) -> None:
    world.reset()
    with pytest.raises(Killed, match=step):
        world.eraser(step).run()
    done = world.eraser().run().certificate
    assert done["entries"] == (0 if step == "ended" else ALL), step
    world.check()


def test_an_interrupted_compaction_leaves_nothing_either(world: World) -> None:
    table = ArchiveTable.open(world.root)
    compact(table, vacuum_after_hours=None)
    assert world.eraser().run().certificate["entries"] == ALL
    world.check()


def update(root: Path) -> None:
    """Write rows again, and keep what was changed."""
    set_property("delta.enableChangeDataFeed", "true")(root)
    delta(root).update(updates={"epoch": "1"}, predicate="ms < 9")


def append_all_again(root: Path) -> None:
    pl.read_delta(str(root)).write_delta(str(root), mode="append")


@pytest.mark.parametrize("change", [update, add_without_statistics, append_all_again])
def test_files_of_other_programs_have_nothing_either(world: World, change: Change) -> None:
    change(world.root)
    unfinished = world.root / "_delta_log" / "_commit_0.json.tmp"
    unfinished.write_text(CONDITION)
    os.utime(unfinished, (0, 0))
    assert world.eraser().run().certificate["entries"] == ALL
    assert traces(world.root) == []
    archive_all(world.connection, ArchiveTable.open(world.root))
    assert archived_ids(ArchiveTable.open(world.root)) == others()


def test_files_that_are_no_longer_in_use_are_named(world: World) -> None:
    """Rows that another program has deleted are not found, and still on disk."""
    world.connection.call("FLUSHALL")
    delta(world.root).delete(CONDITION)
    done = world.eraser().run().certificate
    assert done["entries"] == 0
    assert "no longer in use" in done["not_reached"][-1]
    assert traces(world.root)


def test_entries_that_come_back_are_deleted_and_not_archived(world: World) -> None:
    world.eraser().run()
    world.restore_streams()
    table = ArchiveTable.open(world.root)
    archive_all(world.connection, table)
    world.check()
    assert archived_ids(table)[-1] == entry_id(EACH - 2, ROUNDS)


def test_a_certificate_has_files_and_hashes_and_no_content(world: World, tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    done = world.eraser().run(path).certificate
    assert done["entries"] == ALL
    assert done["streams"] == dict.fromkeys(STREAMS, ALL // 2)
    assert all(len(change["before"]) == 64 for change in done["files"])
    # Those that the compaction had replaced are among them.
    assert any(not change["after"] for change in done["files"])
    assert any(change["after"] for change in done["files"])
    assert traces(tmp_path / "saved")
    assert [line for line in traces(tmp_path) if line.startswith("certificate")] == []


def test_it_waits_for_the_lease_of_an_archiver(world: World) -> None:
    eraser = world.eraser()
    keys = {"orders": lease_key(eraser.table.group, "orders")}
    said: list[str] = []
    with Leases(world.connection.url, keys, "archiving {}") as leases:

        def waits(text: str) -> None:
            said.append(text)
            leases.__exit__(None)

        eraser.hooks.waits = waits
        assert eraser.run().certificate["entries"] == ALL
    assert "orders" in said[0]
    world.check()


def test_the_same_id_in_a_history_without_it_stays(world: World) -> None:
    world.eraser().run()
    world.connection.call("DEL", "orders")
    first = entry_id(HERS[0], 0)
    add(world.connection, first, "99999999999-0")
    table = ArchiveTable.open(world.root)
    archive_all(world.connection, table)
    assert first in archived_ids(table)
    assert live_ids(world.connection)[-1] == "99999999999-0"
