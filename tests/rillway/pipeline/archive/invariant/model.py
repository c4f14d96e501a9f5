"""Random stories of streams, failovers and archivers, and what must hold after each step.

Two streams are written, trimmed, deleted, renamed, copied, restored from older copies (which is
what a failover, a snapshot and a cut append-only file come to), while two archivers go on step by
step, in any order, or stop for ever; a round has one of the streams, or both. Each value is a
number that is used once. After each step:

- what was ever added is live, archived, or was removed by a client or with an older copy;
- what an archiver trimmed is a row of the line of a marker that stood there (I1);
- where it has placed its marker, all that is live up to it is in the line (I2);
- in an epoch IDs ascend (I3); the marker is not beyond the end (I4); a trim leaves the last
  archived entry (I5); an epoch with a successor gets no rows (I7);
- where the marker of the present epoch stands, all that archivers ever trimmed from what is there
  now, or from what it was copied from, is in the line (I8). Who removes a marker, sets it back, or
  sets the last ID down takes the proof of that away.

One exception, of which the stories have a few: an entry that a client had removed before it was
archived, and that a restore brought back between commit and place, or where what is older has
expired from the archive.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rillway.pipeline.archive.archiver import ArchiverSettings
from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.identity.epochs import StreamState, line_of
from rillway.pipeline.archive.identity.recognition import Refused
from rillway.pipeline.archive.limits import TARGET_BYTES
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.archive.upkeep import compaction
from rillway.pipeline.archive.upkeep.compaction import Upkeep
from rillway.pipeline.archive.upkeep.expiry import expire
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.facts import group_infos, group_name, read_facts
from rillway.pipeline.wire.ids import format_id, make_id, ms_of, parse_id
from tests.rillway.pipeline.archive.invariant.steps import EXPECTED_ENDS, Steps, without_leases

KEYS = ("orders", "other")
STORY_STEPS = 120
KEPT_COPIES = 12
DAY_MS = 86_400_000


class Broken(AssertionError):
    """An invariant does not hold."""


@dataclass
class Copy:
    """A stream at an earlier moment."""

    dumped: bytes
    values: frozenset[str]
    trimmed: frozenset[tuple[str, str]]


Rows = dict[int, list[tuple[int, str]]]  # by epoch: IDs and values, in order
FileRows = dict[tuple[str, int], list[tuple[int, str]]]  # the same by stream and epoch


@dataclass
class Story:
    """One random story of a server that is empty at first."""

    link: Connection
    root: Path
    chance: random.Random
    born: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    expired: set[str] = field(default_factory=set)
    # Brought back while an archiver was between reading and place.
    excepted: set[str] = field(default_factory=set)
    # By key, what archivers have trimmed of its content: under which name, and the value.
    trimmed: dict[str, set[tuple[str, str]]] = field(
        default_factory=lambda: {k: set() for k in KEYS}
    )
    copies: list[Copy] = field(default_factory=list)
    archivers: dict[str, Steps] = field(default_factory=dict)
    closed: dict[tuple[str, int], int] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    log: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    contents: dict[str, FileRows] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.link.call("FLUSHALL")
        self.table = ArchiveTable.open_or_create(self.root)
        if self.chance.random() < 0.5:
            set_columns(self.table, from_options(["*=n INT"]))
        self.rows: dict[str, Rows] = {key: {} for key in KEYS}

    def run(self, steps: int = STORY_STEPS) -> None:
        """Raises Broken."""
        rules = [(getattr(self, name), weight) for name, weight in WEIGHTS.items()]
        actions, weights = zip(*rules, strict=True)
        for _ in range(steps):
            [action] = self.chance.choices(actions, weights)
            action()
        self.finish()

    # -- what clients do --------------------------------------------------------------------------

    @contextmanager
    def by_a_client(self, what: str) -> Iterator[None]:
        """What is not there after it was removed by a client, or with a copy that was replaced."""
        self.log.append(what)
        before = self.all_live()
        yield
        after = self.all_live()
        self.removed |= before - after
        self.check_nothing_lost(after)

    def add(self) -> None:
        self.add_to(self.chance.choice(KEYS))

    def add_to(self, key: str) -> None:
        with self.by_a_client(f"add to {key}"):
            for _ in range(self.chance.randint(1, 4)):
                last = read_facts(self.link, key).last_id
                step = self.chance.choice([1, 1, make_id(1), make_id(3), make_id(10)])
                if self.chance.random() < 0.02:
                    step = make_id(DAY_MS)
                entry_id = format_id(max(last, make_id(1)) + step)
                value = str(len(self.born) + 1)
                self.link.call("XADD", key, entry_id, "n", value)
                self.born.add(value)
                self.log.append(f"  {value} at {entry_id}")

    def delete_entry(self) -> None:
        key = self.chance.choice(KEYS)
        entries = self.entries(key)
        if entries:
            # The last one is often the anchor.
            entry_id, value = entries[-1] if self.chance.random() < 0.4 else self.pick(entries)
            with self.by_a_client(f"XDEL {key} {format_id(entry_id)} ({value})"):
                self.link.call("XDEL", key, format_id(entry_id))

    def trim(self) -> None:
        key = self.chance.choice(KEYS)
        left = self.chance.choice([0, 1, 3, 10])
        with self.by_a_client(f"XTRIM {key} {left}"):
            self.link.call("XTRIM", key, "MAXLEN", left)

    def set_id_down(self) -> None:
        key = self.chance.choice(KEYS)
        last = read_facts(self.link, key).last_id
        if last > make_id(3):
            with self.by_a_client(f"XTRIM 0 and XSETID of {key} down"):
                self.link.call("XTRIM", key, "MAXLEN", 0)
                lower = make_id(self.chance.randint(1, ms_of(last) - 1))
                self.link.call_all([("XSETID", key, format_id(lower))])
            self.trimmed[key].clear()

    def set_id_up(self) -> None:
        key = self.chance.choice(KEYS)
        facts = read_facts(self.link, key)
        if not facts.is_missing:
            with self.by_a_client(f"XSETID of {key} up"):
                upper = format_id(facts.last_id + make_id(self.chance.randint(0, 5)))
                added = facts.entries_added + self.chance.choice([0, 1, 100])
                words = ("ENTRIESADDED", added, "MAXDELETEDID", format_id(facts.max_deleted_id))
                # Refused where the ID was set down below one that was deleted.
                self.link.call_all([("XSETID", key, upper, *words)])

    def remove_stream(self) -> None:
        key = self.chance.choice(KEYS)
        with self.by_a_client(f"DEL {key}"):
            self.link.call("DEL", key)
        self.trimmed[key].clear()

    def flush(self) -> None:
        with self.by_a_client("FLUSHALL"):
            self.link.call("FLUSHALL")
        for values in self.trimmed.values():
            values.clear()

    def rename(self) -> None:
        key, onto = self.chance.sample(KEYS, 2)
        with self.by_a_client(f"RENAME {key} {onto}"):
            [reply] = self.link.call_all([("RENAME", key, onto)])
        if reply == b"OK":
            self.trimmed |= {onto: self.trimmed[key], key: set()}

    def copy_stream(self) -> None:
        key, onto = self.chance.sample(KEYS, 2)
        with self.by_a_client(f"COPY {key} {onto}"):
            [is_copied] = self.link.call_all([("COPY", key, onto, "REPLACE")])
        if is_copied:
            self.trimmed[onto] = set(self.trimmed[key])

    def destroy_group(self) -> None:
        key, names = self.key_and_markers()
        if names:
            with self.by_a_client(f"XGROUP DESTROY {key}"):
                self.link.call("XGROUP", "DESTROY", key, self.pick(sorted(names)))
            self.trimmed[key].clear()

    def set_group(self) -> None:
        """Back, by hand."""
        key, markers = self.key_and_markers()
        if markers:
            name = self.pick(sorted(markers))
            lower = [entry_id for entry_id, _ in self.entries(key) if entry_id < markers[name]]
            with self.by_a_client(f"XGROUP SETID {key}"):
                self.link.call("XGROUP", "SETID", key, name, format_id(self.pick([0, *lower])))
            self.trimmed[key].clear()

    def keep_copy(self) -> None:
        key = self.chance.choice(KEYS)
        dumped = self.link.call("DUMP", key)
        if dumped is not None:
            self.log.append(f"copy of {key}")
            values = frozenset(value for _, value in self.entries(key))
            self.copies.append(Copy(dumped, values, frozenset(self.trimmed[key])))
            if len(self.copies) > KEPT_COPIES:
                del self.copies[self.chance.randrange(KEPT_COPIES // 2)]

    def restore(self) -> None:
        if not self.copies:
            return
        key = self.chance.choice(KEYS)
        # As a replica that lags, often one of the latest.
        copy = self.copies[-1] if self.chance.random() < 0.5 else self.pick(self.copies)
        before = self.all_live()
        with self.by_a_client(f"RESTORE {key}"):
            self.link.call("RESTORE", key, 0, copy.dumped, "REPLACE")
        self.trimmed[key] = set(copy.trimmed)
        if any(steps.at in IN_FLIGHT for steps in self.archivers.values()):
            self.excepted |= copy.values - before - self.archived_values()
        elif self.expired:
            # Before a row that did not expire, what is not archived may have expired.
            self.excepted |= copy.values & self.removed - before - self.archived_values()

    def migrate(self) -> None:
        """As with its slot to another node of a cluster: all of it goes, at one moment."""
        key = self.chance.choice(KEYS)
        dumped = self.link.call("DUMP", key)
        if dumped is not None:
            with self.by_a_client(f"migration of {key}"):
                self.link.call("DEL", key)
                self.link.call("RESTORE", key, 0, dumped)

    # -- what archivers do ------------------------------------------------------------------------

    def archive_step(self) -> None:
        self.advance(self.chance.choice("AB"), to_the_end=False)

    def archive_round(self) -> None:
        self.advance(self.chance.choice("AB"), to_the_end=True)

    def stop_archiver(self) -> None:
        steps = self.archivers.pop(self.chance.choice("AB"), None)
        if steps is not None:
            self.log.append(f"stopped at {steps.at}")
            steps.stop()

    def advance(self, name: str, *, to_the_end: bool, opens_new: bool | None = None) -> None:
        if name not in self.archivers:
            self.archivers[name] = self.begin(opens_new)
        steps = self.archivers[name]
        while True:
            self.observed_step(name, steps)
            if steps.is_done:
                del self.archivers[name]
                self.ended(steps)
                return
            if not to_the_end:
                return

    def begin(self, opens_new: bool | None) -> Steps:
        chance = self.chance
        settings = ArchiverSettings(
            self.link.url,
            batch_entries=chance.choice([1, 3, 1000, 1000, 1000]),
            rules=TrimRules(keep_ms=chance.choice([0, 0, 0, 0, 4])),
            accepts_loss=chance.random() < 0.7,
            allows_missing=True,
            opens_new_epoch=chance.random() < 0.5 if opens_new is None else opens_new,
        )
        return Steps(self.root, settings, chance.choice([KEYS[:1], KEYS[1:], KEYS]))

    def observed_step(self, name: str, steps: Steps) -> None:
        live = {key: self.entries(key) for key in steps.streams}
        markers = {key: self.markers(key) for key in steps.streams}
        at = steps.step()
        told = at or type(steps.error).__name__ + "".join(map(repr, steps.failures.values()))
        self.log.append(f"{name} {' '.join(steps.streams)} {told}")
        self.done[at] += 1
        self.read_rows()
        for key in steps.streams:
            left = self.entries(key)
            after = self.markers(key)
            self.check_trim(key, live[key], left, markers[key].keys() | after.keys())
            if at == "placed" and after != markers[key]:
                self.check_marker(key, left)
            self.check_epochs(key)
            self.check_line(key, after.keys())
        self.check_nothing_lost(self.all_live())

    def ended(self, steps: Steps) -> None:
        steps.stop()
        for key, failure in steps.failures.items():
            if isinstance(failure, Refused):
                self.done["refused"] += 1
                self.check_refusal(key, failure)
        errors = [steps.error, *steps.failures.values()]
        for error in errors:
            if error is not None and not isinstance(error, EXPECTED_ENDS):
                raise Broken(f"{type(error).__name__}: {error}") from error

    def compact(self) -> None:
        """Any files: which ones it takes in earnest depends on their sizes, alike here."""
        self.log.append("compact")
        self.table.refresh()
        files = self.table.files()
        if len(files) < 2:
            return
        chosen = self.chance.sample(files, self.chance.randint(2, min(len(files), 5)))
        compaction._merge(self.table, chosen, TARGET_BYTES, Upkeep())
        self.read_rows()
        for key in KEYS:
            read = [row["id"] for _, b in self.table.rows(key).batches() for row in b.to_pylist()]
            kept = [format_id(i) for _, rows in sorted(self.rows[key].items()) for i, _ in rows]
            self.require(read == kept, f"{key} is read as {read}, and is {kept}")
        self.check_nothing_lost(self.all_live())

    def vacuum(self) -> None:
        """At once what no version names any more; readers of earlier ones end with an error."""
        self.log.append("vacuum")
        self.table.refresh()
        self.table.vacuum(0)
        assert all((self.root / file.path).exists() for file in self.table.files())

    def expire(self) -> None:
        self.log.append("expire")
        self.table.refresh()
        before = self.values_by_key()
        streams = self.chance.choice([None, [KEYS[0]]])
        expire(self.table, streams, date(1970, 1, 2))
        self.read_rows()
        after = self.values_by_key()
        self.expired |= set().union(*(before[key] - after[key] for key in KEYS))
        self.closed.clear()

    # -- what must hold ---------------------------------------------------------------------------

    def check_nothing_lost(self, live: set[str]) -> None:
        lost = self.born - live - self.archived_values() - self.removed - self.expired
        self.require(not lost, f"{lost} are nowhere")

    def check_trim(
        self,
        key: str,
        before: list[tuple[int, str]],
        after: list[tuple[int, str]],
        markers: set[str],
    ) -> None:
        trimmed = {value for _, value in before} - {value for _, value in after}
        if not trimmed:
            return
        self.done["trims"] += 1
        state = self.state(key)
        lines = [
            self.line_values(key, epoch.number)
            for epoch in state.epochs
            if self.table.marker(epoch) in markers
        ]
        known = set().union(*lines) | self.expired
        self.done["excepted"] += len(trimmed - known & self.excepted)
        lost = trimmed - known - self.excepted
        self.require(not lost, f"I1: {lost} were trimmed from {key}, and are no rows of the line")
        self.require(bool(after), f"I5: nothing is left of {key}")
        self.trimmed[key] |= {(key, value) for value in trimmed}

    def check_marker(self, key: str, live: list[tuple[int, str]]) -> None:
        state = self.table.state(key)
        if state is None:
            return
        position = self.markers(key).get(self.table.marker(state.present))
        if position is None:
            return
        line = self.line_values(key, state.present.number) | self.expired | self.excepted
        lacking = {value for entry_id, value in live if entry_id <= position} - line
        self.require(not lacking, f"I2: {lacking} are before the marker of {key}, and no rows")
        end = self.table.end(key)
        self.require(end is not None and position <= end.id, f"I4: the marker of {key}")

    def check_line(self, key: str, markers: Set[str]) -> None:
        # An archiver removes the markers that the stream had under another name.
        owners = {name for name in KEYS if name == key or not markers.isdisjoint(self.own(name))}
        self.trimmed[key] = {pair for pair in self.trimmed[key] if pair[0] in owners}
        state = self.table.state(key)
        if state is None or self.table.marker(state.present) not in markers:
            return
        # What is live and has expired from the archive contradicts the marker.
        line = self.line_values(key, state.present.number) | self.expired | self.excepted
        trimmed = {value for name, value in self.trimmed[key] if name == key}
        lacking = set() if self.expired else trimmed - line
        self.require(not lacking, f"I8: {lacking} were trimmed from {key}, and are in no line")

    def check_epochs(self, key: str) -> None:
        state = self.table.state(key)
        for epoch, rows in self.rows[key].items():
            ids = [entry_id for entry_id, _ in rows]
            self.require(
                all(one < other for one, other in pairwise(ids)),
                f"I3: the IDs of epoch {epoch} of {key}",
            )
        for closed in () if state is None else state.epochs[:-1]:
            place = key, closed.number
            rows_now = len(self.rows[key].get(closed.number, ()))
            self.require(self.closed.setdefault(place, rows_now) == rows_now, f"I7: epoch {place}")

    def check_refusal(self, key: str, error: Refused) -> None:
        """Nothing is refused: it is one server, and the archive knows it."""
        self.require(False, f"{key} is refused: {error}")

    def finish(self) -> None:
        """In the end all that is live can be archived and trimmed, whatever was before.

        Where clients have deleted the last archived entry an older one may be the anchor, so there
        are new ones.
        """
        for steps in self.archivers.values():
            steps.stop()
        self.archivers.clear()
        for key in KEYS:
            self.add_to(key)
            settings = ArchiverSettings(
                self.link.url, allows_missing=True, accepts_loss=True, opens_new_epoch=True
            )
            for _ in range(2):
                self.archivers["A"] = Steps(self.root, settings, [key])
                self.advance("A", to_the_end=True)
            live = {value for _, value in self.entries(key)}
            self.require(len(live) <= 1, f"{len(live)} are left of {key}")
            known = self.archived_values() | self.expired | self.excepted
            self.require(live <= known, f"{live - known} of {key} are not archived")

    def require(self, condition: bool, text: str) -> None:
        if not condition:
            raise Broken("\n".join([*self.log[-60:], text]))

    # -- what there is ----------------------------------------------------------------------------

    def entries(self, key: str) -> list[tuple[int, str]]:
        return [
            (parse_id(entry_id), words[1].decode())
            for entry_id, words in self.link.call("XRANGE", key, "-", "+")
        ]

    def all_live(self, but: str = "") -> set[str]:
        return {value for key in KEYS if key != but for _, value in self.entries(key)}

    def markers(self, key: str) -> dict[str, int]:
        return {
            group_name(info): parse_id(info[b"last-delivered-id"])
            for info in group_infos(self.link, key)
        }

    def own(self, key: str) -> set[str]:
        """The markers that mean something in a stream of that name."""
        state = self.table.state(key)
        return set() if state is None else set(map(self.table.marker, state.epochs))

    def key_and_markers(self) -> tuple[str, dict[str, int]]:
        key = self.chance.choice(KEYS)
        return key, self.markers(key)

    def state(self, key: str) -> StreamState:
        state = self.table.state(key)
        self.require(state is not None, f"{key} was never archived")
        assert state is not None
        return state

    def read_rows(self) -> None:
        versions = sorted(path.name for path in (self.root / "_delta_log").iterdir())
        if versions == self.versions:
            return
        self.versions = versions
        self.table.refresh()
        self.rows = {key: {} for key in KEYS}
        # A compaction may put rows of one file between those of another.
        for file in self.table.files():
            for (key, epoch), rows in self.file_rows(file).items():
                self.rows[key].setdefault(epoch, []).extend(rows)
        for epochs in self.rows.values():
            for rows in epochs.values():
                rows.sort()

    def file_rows(self, file: ArchivedFile) -> FileRows:
        if file.path not in self.contents:
            found = self.contents[file.path] = {}
            for row in pq.ParquetFile(self.root / file.path).read().to_pylist():
                left = row["fields"]
                entry = parse_id(row["id"]), left[0]["value"].decode() if left else str(row["n"])
                found.setdefault((row["stream"], row["epoch"]), []).append(entry)
        return self.contents[file.path]

    def values_by_key(self) -> dict[str, set[str]]:
        return {
            key: {value for rows in epochs.values() for _, value in rows}
            for key, epochs in self.rows.items()
        }

    def archived_values(self) -> set[str]:
        return set().union(*self.values_by_key().values())

    def line_values(self, key: str, epoch: int) -> set[str]:
        return {
            value
            for number, until in line_of(self.state(key).epochs, epoch)
            for entry_id, value in self.rows[key].get(number, ())
            if entry_id <= until
        }

    def pick(self, items: Any) -> Any:
        return self.chance.choice(items)


IN_FLIGHT = ("planned", "written", "stated", "committed")
# Trims have to be about as frequent as commits, or a check that is missing stays unseen.
WEIGHTS = {
    "add": 22.0,
    "delete_entry": 4.0,
    "trim": 1.5,
    "set_id_down": 1.0,
    "set_id_up": 1.0,
    "remove_stream": 0.7,
    "flush": 0.2,
    "rename": 1.5,
    "copy_stream": 1.0,
    "destroy_group": 1.5,
    "set_group": 1.5,
    "keep_copy": 6.0,
    "restore": 7.0,
    "migrate": 1.5,
    "archive_step": 30.0,
    "archive_round": 18.0,
    "stop_archiver": 2.0,
    "compact": 0.6,
    "expire": 0.2,
    "vacuum": 0.3,
}


def tell(url: str, seed: int, steps: int = STORY_STEPS) -> Counter[str]:
    """One story; what was done in it. Raises Broken."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rillway-model-"))
        link = stack.enter_context(Connection(url))
        stack.enter_context(without_leases())
        story = Story(link, Path(folder) / "archive", random.Random(seed))
        try:
            story.run(steps)
        except Broken as broken:
            raise Broken(f"seed {seed}\n{broken}") from broken.__cause__
        finally:
            for archiver in story.archivers.values():
                archiver.stop()
        return story.done
