"""What each command says of a damaged archive: a sentence, and never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rillway.pipeline.archive.command import main
from rillway.pipeline.query.command import main as query
from rillway.pipeline.replay.command import main as replay
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.repair.damages import (
    LAST,
    Harm,
    beginning_lost,
    checkpoint,
    cut,
    cut_after_a_line,
    first_file,
    flip,
    flip_in_a_page,
    log,
    state_file,
)
from tests.rillway.pipeline.archive.scene import DAY_MS, STREAM, add

NOBODY = 65534


def add_archived(connection: Connection) -> None:
    """The last entry of the archive, as it is there."""
    connection.call("XADD", STREAM, f"{2 * DAY_MS + 3}-0", "n", "1")


def run_all(root: Path, url: str) -> dict[str, int]:
    """Every command that opens an archive; their exit statuses."""
    to, server = ["--to", str(root)], ["--url", url]
    where = ["--stream", STREAM, *server]
    return {
        "compact": main(["compact", *to]),
        "epochs": main(["epochs", *to]),
        "expire": main(["expire", *to, "--before", "1970-01-02"]),
        "query": query([*where, "--archive", str(root), "--format", "csv"]),
        "replay": replay([*where, "--from-archive", str(root), "--into", "copy"]),
        "status": main(["status", *to, *server]),
        "verify": main(["verify", *to, "--deep", *server]),
        "archive": main(["--stream", STREAM, *to, *server]),
    }


# A file is of no concern to who does not read it: a round, and a merge of other files.
READERS = {"epochs", "expire", "query", "replay", "status", "verify"}
ALL = READERS | {"archive", "compact"}


@pytest.mark.parametrize(
    ("harm", "failing"),
    [
        (lambda root: first_file(root).unlink(), READERS),
        (lambda root: cut(first_file(root)), READERS),
        (lambda root: flip(first_file(root), -30), READERS),
        (lambda root: flip_in_a_page(first_file(root)), {"query", "replay", "verify"}),
        (lambda root: state_file(root).unlink(), ALL - {"compact", "expire"}),
        (lambda root: cut(state_file(root)), ALL - {"compact", "expire"}),
        (lambda root: cut(log(root)), ALL),
        (lambda root: cut_after_a_line(log(root)), ALL),
        (lambda root: cut(checkpoint(root)), ALL),
        (lambda root: flip(checkpoint(root), -20), ALL),
        (beginning_lost, ALL),
        (shutil.rmtree, ALL - {"archive"}),
        (lambda root: shutil.rmtree(root / "_delta_log"), ALL),
    ],
)
def test_damage_is_a_line_in_every_command(
    redis_link: Connection,
    root: Path,
    harm: Harm,
    failing: set[str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """capfd: what Rust prints goes past sys.stderr."""
    add_archived(redis_link)
    harm(root)
    statuses = run_all(root, redis_link.url)
    printed = capfd.readouterr()
    found = {name for name, status in statuses.items() if status}
    assert failing <= found
    for text in (*printed.err.splitlines(), *printed.out.splitlines()):
        assert len(text) < 700
    assert "panicked" not in printed.err and "Traceback" not in printed.err


def test_verify_prints_a_line_for_each_finding(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["verify", "--to", str(root), "--deep"]
    assert main(words) == 0
    assert capsys.readouterr().out.startswith(f"version {LAST}, 6 files, 18 rows, ")
    first_file(root).unlink()
    cut(state_file(root))
    assert main(words) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[2].partition(":")[0] for line in lines[:2]] == [
        "cannot be read, but the log names it",
        "is missing",
    ]
    assert len(lines) == 3 and ": 2 findings; `rillway archive repair" in lines[2]
    assert main([*words, "--json"]) == 1
    *found, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert [one["kind"] for one in found] == ["state", "file"]
    assert (last["version"], last["files"], last["rows"], last["findings"]) == (LAST, 6, 18, 2)


def test_repair_reports_what_it_did_and_what_is_left(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["repair", "--to", str(root)]
    assert main(words) == 0
    assert capsys.readouterr().out == f"{root}: nothing to repair\n"
    first_file(root).unlink()
    cut(log(root))
    assert main(words) == 1
    printed = capsys.readouterr()
    assert "version 6 was damaged (it is cut off or overwritten) and was rebuilt" in printed.out
    assert "3 rows of orders" in printed.err and "--drop-files" in printed.err
    assert main([*words, "--drop-files"]) == 0
    assert main(["verify", "--to", str(root), "--deep"]) == 0


@pytest.fixture
def as_nobody(root: Path) -> Iterator[Path]:
    """An archive that only root may read; as root, permissions do not matter."""
    if os.geteuid() != 0:
        yield root
        return
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        copied = Path(shutil.copytree(root, Path(folder) / "archive"))
        try:
            yield copied
        finally:
            os.seteuid(0)


@pytest.mark.parametrize("part", ["", "_delta_log", "date=1970-01-01", "_rillway"])
def test_rights_that_are_missing_are_a_line(
    redis_link: Connection, as_nobody: Path, part: str, capfd: pytest.CaptureFixture[str]
) -> None:
    add_archived(redis_link)
    add(redis_link, "999999999999-0")
    path = as_nobody / part
    path.chmod(0)
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
    try:
        statuses = run_all(as_nobody, redis_link.url)
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        path.chmod(stat.S_IRWXU)
    printed = capfd.readouterr()
    assert statuses["archive"] and statuses["query"] and statuses["verify"]
    assert "Traceback" not in printed.err and "ermission denied" in printed.err + printed.out
    if part in ("", "_delta_log"):
        assert set(statuses.values()) == {1}


def test_a_folder_that_cannot_be_written_to_is_a_line(
    redis_link: Connection, as_nobody: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    add_archived(redis_link)
    add(redis_link, "999999999999-0")
    if os.geteuid() != 0:
        pytest.skip("the owner of a folder may write to it")
    os.seteuid(NOBODY)
    try:
        statuses = run_all(as_nobody, redis_link.url)
        new = main(["--stream", STREAM, "--to", f"{as_nobody}/new", "--url", redis_link.url])
    finally:
        os.seteuid(0)
    printed = capfd.readouterr()
    assert statuses["archive"] == statuses["expire"] == new == 1
    assert statuses["status"] == statuses["verify"] == statuses["replay"] == 0
    assert "Traceback" not in printed.err and printed.err.count("ermission denied") >= 3
