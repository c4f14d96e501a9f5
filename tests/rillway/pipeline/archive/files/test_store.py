"""Archives in a folder and in an object store: the same, but for what they are made of."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings, Hooks
from rillway.pipeline.archive.columns.backfill import backfill
from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.command import EXPECTED_ERRORS, PASSING_ERRORS, main
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.files.periods import day_of
from rillway.pipeline.archive.files.store import (
    Store,
    StoreFailed,
    UnknownStore,
    os_sentence,
    store_of,
)
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable, CommitConflict
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.archive.upkeep.expiry import expire
from rillway.pipeline.query import command as query
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.replay.command import main as replay
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.conftest import (
    GOOGLES_THOROUGH,
    NOT_GOOGLES,
    ObjectStore,
)
from tests.rillway.pipeline.archive.repair.damages import append
from tests.rillway.pipeline.archive.scene import (
    DAY_MS,
    STEPS,
    add,
    add_many,
    archive,
    archived_ids,
    commit,
    live_ids,
)
from tests.support.stores.object_store import BUCKET, Faults, faulty_s3, s3_server

ODD = "a/b=c d"


def test_a_folder_is_a_store_and_so_is_a_uri() -> None:
    assert store_of("x") == Store(str(Path("x").absolute()))
    assert store_of("x").folder == Path("x").absolute()
    bucket = store_of("s3://b/x/", {"b": "2", "a": "1"})
    assert bucket == Store("s3://b/x", (("a", "1"), ("b", "2")))
    assert bucket.folder is None
    assert pickle.loads(pickle.dumps(bucket)) == bucket
    assert bucket.delta_options == {"a": "1", "b": "2"}


def test_a_task_has_the_options_that_are_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_REGION", "there")
    monkeypatch.setenv("aws_access_key_id", "somebody")
    monkeypatch.setenv("HOME", "/")
    options = dict(store_of("s3://b/x", {"AWS_REGION": "here"}).with_environment().options)
    assert options == options | {"aws_region": "here", "aws_access_key_id": "somebody"}
    assert "home" not in options
    assert store_of("x").with_environment() == store_of("x")


@GOOGLES_THOROUGH
def test_what_is_no_option_of_the_store_does_no_harm(
    object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EXECUTION_ENV", "tests")
    monkeypatch.setenv("AZURE_SOMETHING", "else")
    store = store_of(object_store.uri, object_store.options).with_environment()
    pq.write_table(pa.table({"n": [1]}), "file", filesystem=store.filesystem)
    assert store.size("file") > 0


@pytest.mark.parametrize("name", ["a%20b", "x%2Fy/archive", "a\nb", "a\udcff"])
def test_a_folder_whose_name_would_be_taken_for_another_is_refused(name: str) -> None:
    with pytest.raises(UnknownStore, match="the folder of an archive has no "):
        store_of(name)


@pytest.mark.parametrize("name", ["a b", "ü", "a#b?c", "st*r[1]{2}", "quo'te", "per%", "a+b"])
def test_other_names_of_folders_are_taken_as_they_are(name: str, tmp_path: Path) -> None:
    table = ArchiveTable.open_or_create(tmp_path / name)
    append(table, "orders", "1-0", "2-0")
    assert archived_ids(ArchiveTable.open(tmp_path / name)) == ["1-0", "2-0"]
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("uri", ["ftp://b/x", "s5://b/x", "file:///x"])
def test_a_uri_of_another_kind_is_refused(uri: str) -> None:
    with pytest.raises(UnknownStore, match="is a local folder, or one of s3, "):
        store_of(uri)
    with pytest.raises(UnknownStore, match="has no storage options"):
        store_of("folder", {"aws_region": "x"})


def test_errors_of_the_system_are_sentences() -> None:
    full = "[Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device"
    assert os_sentence(OSError(full)) == "No space left on device"
    missing = "[Errno 2] Failed to open local file '/a/b'. Detail: [errno 2] No such file"
    assert os_sentence(OSError(missing)) == "/a/b: No such file"
    tree = "Generic S3 error\n   \x1b[31m↳\x1b[0m Error performing PUT\n   \x1b[31m↳\x1b[0m <Error>"
    slow = OSError(f"{tree}<Code>SlowDown</Code><Message>Later</Message></Error>")
    assert os_sentence(slow) == "Generic S3 error: SlowDown: Later"
    assert os_sentence(PermissionError(13, "Permission denied", "/a")) == "/a: Permission denied"


@pytest.fixture
def table(object_store: ObjectStore) -> ArchiveTable:
    return ArchiveTable.open_or_create(object_store.uri, object_store.options)


def ids_in(table: ArchiveTable, stream: str) -> list[str]:
    return [
        entry_id
        for _, batch in table.rows(stream).batches()
        for entry_id in batch.column("id").to_pylist()
    ]


def archive_odd(link: Connection, table: ArchiveTable, hooks: Hooks | None = None) -> int:
    settings = ArchiverSettings(link.url, batch_entries=20, rules=TrimRules())
    return Archiver(table, LocalEngine(), settings, hooks).archive(ODD).archived


def test_an_object_store_holds_an_archive(link: Connection, table: ArchiveTable) -> None:
    add_many(link, 50, stream=ODD)
    assert archive_odd(link, table) == 50
    assert live_ids(link, ODD) == ["50-0"]
    found = ArchiveTable.open(table.store)
    assert ids_in(found, ODD) == [f"{n}-0" for n in range(1, 51)]
    assert found.end(ODD) == Position(parse_id("50-0"), 50)
    assert found.streams() == [ODD]


@NOT_GOOGLES
def test_typed_columns_in_an_object_store(redis_link: Connection, table: ArchiveTable) -> None:
    add_many(redis_link, 5, stream=ODD)
    archive_odd(redis_link, table)
    set_columns(table, from_options(["*=n INT"]))
    add_many(redis_link, 5, 6, stream=ODD)
    archive_odd(redis_link, table)
    assert backfill(table).rows == 5
    compact(table)
    found = ArchiveTable.open(table.store)
    assert ids_in(found, ODD) == [f"{n}-0" for n in range(1, 11)]
    [file] = found.files()
    rows = pq.read_table(file.path, filesystem=table.store.filesystem)
    assert rows.column("n").to_pylist() == [0, 1, 2, 3, 4] * 2
    assert not any(rows.column("fields").to_pylist())


def test_what_is_no_archive_is_refused(object_store: ObjectStore, table: ArchiveTable) -> None:
    place, options = object_store.uri, object_store.options
    with pytest.raises(ArchiveError, match="there is no archive"):
        ArchiveTable.open(f"{place}/none", options)
    pq.write_table(pa.table({"a": [1]}), "below/other", filesystem=table.store.filesystem)
    with pytest.raises(ArchiveError, match="not empty, and no archive"):
        ArchiveTable.open_or_create(f"{place}/below", options)
    with pytest.raises(ArchiveError, match=f"{place}: .*Connection refused"):
        ArchiveTable.open(place, object_store.away)
    with pytest.raises(ArchiveError, match=r"NoSuchBucket: |ContainerNotFound: "):
        ArchiveTable.open(place.replace(BUCKET, "nobodys"), options)


def test_a_commit_that_comes_second_is_a_conflict(link: Connection, table: ArchiveTable) -> None:
    """Both begin at one version: the log's next file is put only where there is none."""
    other = ArchiveTable.open(table.store)
    commit(table, Position(parse_id("5-0"), 5), stream="s")
    with pytest.raises(CommitConflict):
        commit(other, Position(parse_id("9-0"), 9), stream="s")
    other.refresh()
    assert other.end("s") == Position(parse_id("5-0"), 5)


def test_of_commits_at_once_one_succeeds(table: ArchiveTable) -> None:
    """As many as there are versions: a put that is not conditional overwrites another's commit."""
    writers, rounds = 4, 3
    done: list[int] = []
    ready = threading.Barrier(writers)

    def commit_often(number: int) -> None:
        mine = ArchiveTable.open(table.store)
        for _ in range(rounds):
            mine.refresh()
            ready.wait(60)
            try:
                commit(mine, Position(parse_id(f"{number}-0"), number), stream="s")
            except CommitConflict:
                continue
            done.append(number)

    with ThreadPoolExecutor(writers) as pool:
        for result in [pool.submit(commit_often, number) for number in range(1, writers + 1)]:
            result.result()
    table.refresh()
    assert len(done) == table.version >= rounds


class Crash(Exception):
    """What a failpoint raises."""


# test_archiver.py has all steps in each run, in a folder.
CRASHES = ("written", "committed", "trimmed")


@NOT_GOOGLES
@pytest.mark.parametrize(
    "point",
    [pytest.param(step, marks=() if step in CRASHES else pytest.mark.thorough) for step in STEPS],
)
def test_a_crash_loses_and_repeats_nothing(
    redis_link: Connection, table: ArchiveTable, point: str
) -> None:
    seen: list[str] = []

    def reached(name: str) -> None:
        seen.append(name)
        if name == point and (point in (*STEPS[:2], STEPS[-1]) or seen.count(point) == 2):
            raise Crash

    add_many(redis_link, 50, stream=ODD)
    with pytest.raises(Crash):
        archive_odd(redis_link, table, Hooks(reached=reached))
    again = ArchiveTable.open(table.store)
    add_many(redis_link, 10, 51, stream=ODD)
    archive_odd(redis_link, again)
    assert ids_in(again, ODD) == [f"{n}-0" for n in range(1, 61)]
    assert live_ids(redis_link, ODD) == ["60-0"]


Rule: TypeAlias = dict[str, object]
FILE: Rule = {"method": "PUT|POST", "path": "/part-"}
STATE: Rule = {"method": "PUT", "path": "/_rillway/"}
LOG: Rule = {"method": "PUT", "path": r"/_delta_log/\d+\.json"}
READ: Rule = {"method": "GET", "path": "/part-"}
LIST: Rule = {"method": "GET", "path": "list-type"}
BUSY: Rule = {"status": 503, "code": "SlowDown"}
EXPIRED: Rule = {"status": 403, "code": "ExpiredToken"}
FAULTS: dict[str, Rule] = {
    "files are refused": FILE | BUSY | {"fault": "error"},
    "files are there, and the answers are lost": FILE | {"fault": "lost"},
    "states are cut off": STATE | {"fault": "reset"},
    "a commit is there, and its answer is lost": LOG | {"fault": "lost error", "times": 1},
    "commits are there, and all answers are lost": LOG | {"fault": "lost error"},
    "commits are refused": LOG | EXPIRED | {"fault": "error"},
    "files cannot be read": READ | {"fault": "cut"},
    "what is listed is old": LIST | {"fault": "stale"},
    "nothing is allowed any more": EXPIRED | {"fault": "error"},
}


SLOW = ("files are refused", "states are cut off", "commits are refused", "files cannot be read")
THOROUGH = pytest.mark.thorough


@pytest.fixture(scope="module")
def faults() -> Iterator[Faults]:
    with s3_server() as options, faulty_s3(options) as found:
        yield found


@pytest.mark.parametrize(
    "fault", [pytest.param(name, marks=THOROUGH if name in SLOW else ()) for name in FAULTS]
)
def test_after_a_fault_of_the_store_every_entry_is_archived_once(
    redis_link: Connection, faults: Faults, fault: str, tmp_path: Path
) -> None:
    """Meanwhile a round succeeds, or ends with an error that the command takes for a sentence."""
    table = ArchiveTable.open_or_create(f"s3://{BUCKET}/{tmp_path.name}", faults.options)
    add_many(redis_link, 10, stream=ODD)
    archive_odd(redis_link, table)
    add_many(redis_link, 30, 11, stream=ODD)
    faults.set(FAULTS[fault])
    for _ in range(2):
        with suppress(*EXPECTED_ERRORS, OSError):
            archive_odd(redis_link, ArchiveTable.open(table.store))
    assert faults.set()
    again = ArchiveTable.open(table.store)
    archive_odd(redis_link, again)
    assert ids_in(again, ODD) == [f"{n}-0" for n in range(1, 41)]
    assert live_ids(redis_link, ODD) == ["40-0"]


@pytest.mark.parametrize("path", ["/_rillway/", r"/_delta_log/\d+\.json$", "/part-", "list-type"])
def test_a_store_that_does_not_answer_is_no_damage(
    redis_link: Connection,
    faults: Faults,
    path: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nor is it repaired; and an archiver that goes on has a next try."""
    place = f"s3://{BUCKET}/{tmp_path.name}"
    table = ArchiveTable.open_or_create(place, faults.options)
    add_many(redis_link, 10, stream=ODD)
    archive_odd(redis_link, table)
    options = [f"--storage-option={name}={value}" for name, value in faults.options.items()]
    request: Rule = {"method": "GET", "path": path}
    for rule in request | EXPIRED | {"fault": "error"}, request | {"fault": "cut"}:
        faults.set(rule)
        for job in ["verify", "--deep"], ["repair", "--deep", "--drop-files"]:
            assert main([*job, "--to", place, *options]) == 1
            said = capsys.readouterr()
            assert not said.out and said.err.startswith(f"rillway archive: {place}: "), said
            assert "damaged" not in said.err and "repair" not in said.err
    faults.set()
    assert ArchiveTable.open(table.store).version == table.version
    assert StoreFailed in PASSING_ERRORS


@GOOGLES_THOROUGH
def test_files_are_merged_expired_and_deleted(redis_link: Connection, table: ArchiveTable) -> None:
    stream = "orders"
    for day in range(3):
        for number in range(3):
            add(redis_link, f"{day * DAY_MS + number}-1")
            archive(redis_link, table)
    done = compact(table, vacuum_after_hours=0)
    assert (done.files_before, done.files_after, done.vacuumed) == (9, 3, 9)
    expire(table, [stream], day_of(DAY_MS), vacuum_after_hours=0)
    assert ids_in(table, stream) == [
        f"{day * DAY_MS + number}-1" for day in (1, 2) for number in range(3)
    ]
    listed = table.store.filesystem.get_file_info(pafs.FileSelector("", recursive=True))
    assert sum("/part-" in info.path for info in listed) == 2


@GOOGLES_THOROUGH
def test_commands_take_a_uri_and_options(
    redis_link: Connection,
    object_store: ObjectStore,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = object_store.uri
    options = [f"--storage-option={name}={value}" for name, value in object_store.options.items()]
    url = ["--url", redis_link.url]
    add_many(redis_link, 30)
    assert main(["--stream", "orders", "--to", place, *url, "--keep", "0", *options]) == 0
    add_many(redis_link, 5, 31)
    for job in ("status", "compact"):
        words = url if job == "status" else []
        assert main([job, "--to", place, *words, *options]) == 0
    capsys.readouterr()
    words = ["--stream", "orders", "--archive", place, *url, "--format", "json"]
    assert query.main([*words, *options, "--from", "28"]) == 0
    found = [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()]
    assert found == [f"{n}-0" for n in range(28, 36)]
    into = ["--stream", "orders", "--into", "again", "--keep-ids", *url]
    assert replay(["--from-archive", place, *into, *options]) == 0
    assert live_ids(redis_link, "again") == [f"{n}-0" for n in range(1, 31)]
    with pytest.raises(SystemExit):
        main(["status", "--to", place, "--storage-option", "aws_region"])


@NOT_GOOGLES
def test_options_may_be_environment_variables(
    redis_link: Connection, object_store: ObjectStore
) -> None:
    """In a process of its own, whose end must be a clean one."""
    add_many(redis_link, 5)
    place = object_store.uri
    program = "from rillway.pipeline.archive.command import main"
    program += "; import sys; sys.exit(main(sys.argv[1:]))"
    words = ["--stream", "orders", "--to", place, "--url", redis_link.url, "--keep", "0"]
    variables = {name.upper(): value for name, value in object_store.options.items()}
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.partition(" archived")[0]) == (0, "orders: 5"), done.stderr
    assert ids_in(ArchiveTable.open(place, object_store.options), "orders") == [
        f"{n}-0" for n in range(1, 6)
    ]
