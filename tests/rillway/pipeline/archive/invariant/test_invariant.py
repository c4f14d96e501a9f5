"""Whatever happens: archived and live together are what was produced, each once; nothing that a
group still needs is trimmed; and nothing is trimmed that this history has not in the archive.

`make archive-model` runs the stories of the last part for hours, and with checks that are missing.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from rillway.pipeline.archive.archiver import Hooks
from rillway.pipeline.archive.repair.repairs import repair
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.query.history import open_history
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import MIN_ID, format_id, parse_id
from tests.rillway.pipeline.archive.invariant.model import tell
from tests.rillway.pipeline.archive.scene import (
    DAY_MS,
    STEPS,
    STREAM,
    archive,
    archived_ids,
    live_ids,
    texts,
)
from tests.support.examples import examples

GROUPS = ["billing", "shipping"]


class Crash(Exception):
    """The archiver ends where it is."""


class Pipeline(RuleBasedStateMachine):
    """Producers, consumers and an archiver that crashes, and what must hold between their steps."""

    url = ""

    @initialize()
    def begin(self) -> None:
        self.connection = Connection(self.url)
        self.connection.call("FLUSHALL")
        self.folder = tempfile.TemporaryDirectory(prefix="rillway-archive-")
        self.table = ArchiveTable.open_or_create(Path(self.folder.name) / "archive")
        self.produced: list[str] = []
        self.deleted: set[str] = set()  # before they were archived
        self.last_ms = 1

    @rule(count=st.integers(1, 8), gap_ms=st.sampled_from([0, 1, 1000, DAY_MS]))
    def produce(self, count: int, gap_ms: int) -> None:
        for _ in range(count):
            entry_id = self.connection.call("XADD", STREAM, f"{self.last_ms}-*", "n", 1)
            self.produced.append(entry_id.decode())
        self.last_ms += gap_ms

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        present = live_ids(self.connection)
        if not present:
            return
        entry_id = data.draw(st.sampled_from(present))
        self.connection.call("XDEL", STREAM, entry_id)
        if parse_id(entry_id) > self.end:
            self.deleted.add(entry_id)

    @rule(group=st.sampled_from(GROUPS), count=st.integers(1, 10))
    def read(self, group: str, count: int) -> None:
        self.connection.call_all([("XGROUP", "CREATE", STREAM, group, "0", "MKSTREAM")])
        words = ("XREADGROUP", "GROUP", group, "c", "COUNT", count, "STREAMS", STREAM, ">")
        self.connection.call(*words)

    @rule(group=st.sampled_from(GROUPS), share=st.sampled_from([1, 2, 3]))
    def acknowledge(self, group: str, share: int) -> None:
        ids = self.pending(group)[::share]
        if ids:
            self.connection.call("XACK", STREAM, group, *ids)

    @rule(
        batch=st.integers(1, 20),
        keep_ms=st.sampled_from([0, 0, 1000]),
        crash=st.none() | st.tuples(st.sampled_from(STEPS), st.integers(1, 3)),
    )
    def archive(self, batch: int, keep_ms: int, crash: tuple[str, int] | None) -> None:
        seen: list[str] = []

        def reached(step: str) -> None:
            seen.append(step)
            if crash is not None and (step, seen.count(step)) == crash:
                raise Crash

        needed = self.needed()
        hooks, rules = Hooks(reached=reached), TrimRules(keep_ms=keep_ms)
        try:
            settings: dict[str, Any] = {"batch_entries": batch, "allows_missing": True}
            archive(self.connection, self.table, rules, hooks, **settings)
        except Crash:
            self.table = ArchiveTable.open(self.table.root)
        self.table.refresh()
        assert needed <= set(live_ids(self.connection)), "what a group needs was trimmed"

    @rule()
    def compact(self) -> None:
        compact(self.table)

    @rule(column=st.sampled_from(["", "seq", "id"]))
    def compact_elsewhere(self, column: str) -> None:
        """Another program joins files, in their order or in one of a column."""
        if self.table.files():
            optimize = DeltaTable(str(self.table.root)).optimize
            optimize.z_order([column]) if column else optimize.compact()
            self.table.refresh()

    @rule(data=st.data())
    def delete_elsewhere(self, data: st.DataObject) -> None:
        """Another program deletes an entry from the table."""
        archived = archived_ids(self.table)
        if archived:
            entry_id = data.draw(st.sampled_from(archived))
            DeltaTable(str(self.table.root)).delete(f"id = '{entry_id}'")
            self.deleted.add(entry_id)
            self.table.refresh()

    @rule()
    def repair(self) -> None:
        assert repair(self.table.store).left == []
        self.table.refresh()
        assert all(file.is_own for file in self.table.files())

    @invariant()
    def each_entry_is_there_once(self) -> None:
        archived = archived_ids(self.table)
        later = [entry for entry in live_ids(self.connection) if parse_id(entry) > self.end]
        expected = [entry_id for entry_id in self.produced if entry_id not in self.deleted]
        assert archived + later == expected

    @rule()
    def query(self) -> None:
        with open_history(self.connection.url, STREAM, self.table.root) as history:
            found = [i for batch in history.batches() for i in batch.column("id").to_pylist()]
        assert found == [entry_id for entry_id in self.produced if entry_id not in self.deleted]

    @property
    def end(self) -> int:
        end = self.table.end(STREAM)
        return MIN_ID if end is None else end.id

    def pending(self, group: str) -> list[str]:
        reply = self.connection.call_all([("XPENDING", STREAM, group, "-", "+", 1000)])[0]
        return [] if isinstance(reply, Exception) else texts(entry[0] for entry in reply)

    def needed(self) -> set[str]:
        """What a group was not given or has not acknowledged, of what is there."""
        reply = self.connection.call_all([("XINFO", "GROUPS", STREAM)])[0]
        found: set[str] = set()
        for group in [] if isinstance(reply, Exception) else reply:
            if group[1].decode() in GROUPS:
                info = dict(zip(group[::2], group[1::2], strict=True))
                after = format_id(parse_id(info[b"last-delivered-id"]) + 1)
                unread = self.connection.call("XRANGE", STREAM, after, "+")
                found |= set(texts(entry[0] for entry in unread)) | set(
                    self.pending(info[b"name"].decode())
                )
        return found & set(live_ids(self.connection))

    def teardown(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()
            self.folder.cleanup()


@pytest.mark.integration
def test_archived_and_live_are_what_was_produced(link: Connection) -> None:
    class OnThisServer(Pipeline):
        url = link.url

    run_state_machine_as_test(
        OnThisServer, settings=settings(max_examples=examples(25), stateful_step_count=25)
    )


@pytest.mark.integration
def test_stories_of_failovers_lose_and_mix_nothing(link: Connection) -> None:
    for seed in range(examples(10)):
        assert tell(link.url, seed)["committed"]
