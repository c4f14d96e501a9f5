"""A real start on damaged files: what the operator reads, and the exit status."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.crash.servers import DidNotStart, Link, begin_rillway, wait_until_loaded
from tests.damage.disks import (
    DIRECTORY,
    LAST_INCREMENT,
    SNAPSHOT,
    append_only_files,
    snapshot_file,
)

pytestmark = pytest.mark.integration

APPEND_ONLY = ("--appendonly", "yes")

Start: TypeAlias = Callable[..., tuple[str, int]]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """start(files, directives...): what the server printed, and how many keys it has.

    If it does not start it must say why in lines of its log and exit with status 1: then -1.
    """

    def one(files: dict[str, bytes], *directives: str) -> tuple[str, int]:
        for path, content in files.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(content)
        server = begin_rillway(tmp_path, tmp_path / "log", directives)
        try:
            wait_until_loaded(server)
        except DidNotStart:
            keys = -1
            assert server.process.returncode == 1
        else:
            with Link(server.port) as link:
                keys = link.ask("DBSIZE")
            server.stop()
        printed = server.log.read_text()
        assert "Traceback" not in printed
        return printed, keys

    return one


def torn() -> dict[str, bytes]:
    files = append_only_files()
    return files | {LAST_INCREMENT: files[LAST_INCREMENT][:-5]}


def test_a_torn_end_is_cut_with_a_warning(start: Start, tmp_path: Path) -> None:
    files = torn()
    printed, keys = start(files, *APPEND_ONLY)
    assert keys > 0
    name = LAST_INCREMENT.rpartition("/")[2]
    (line,) = [line for line in printed.splitlines() if f"AOF {name} loaded anyway" in line]
    found = re.search(rf"Truncating the AOF {re.escape(name)} at offset (\d+) !!!", printed)
    assert found is not None
    offset, torn_file = int(found[1]), files[LAST_INCREMENT]
    assert f" {len(torn_file) - offset} bytes" in line and offset < len(torn_file)
    # Keys that expire after the start are appended where it was cut.
    left = (tmp_path / LAST_INCREMENT).read_bytes()
    assert left[:offset] == torn_file[:offset]
    assert not left.startswith(torn_file)


def test_a_torn_end_that_may_not_be_cut_stops_the_start(start: Start, tmp_path: Path) -> None:
    files = torn()
    printed, keys = start(files, *APPEND_ONLY, "--aof-load-truncated", "no")
    assert keys == -1 and LAST_INCREMENT in printed and "offset" in printed
    assert "rillway check" in printed
    assert (tmp_path / LAST_INCREMENT).read_bytes() == files[LAST_INCREMENT]


def test_a_damaged_request_stops_the_start(start: Start) -> None:
    files = append_only_files()
    damaged = files[LAST_INCREMENT].replace(b"*", b"+", 3)
    printed, keys = start(files | {LAST_INCREMENT: damaged}, *APPEND_ONLY)
    assert keys == -1 and "Bad file format" in printed and "rillway check" in printed


def test_a_damaged_snapshot_stops_the_start(start: Start) -> None:
    data = bytearray(snapshot_file())
    data[len(data) // 2] ^= 4
    printed, keys = start({SNAPSHOT: bytes(data)})
    assert keys == -1 and SNAPSHOT in printed and "damaged" in printed


def test_a_missing_file_of_the_manifest_stops_the_start(start: Start) -> None:
    files = append_only_files()
    del files[f"{DIRECTORY}/appendonly.aof.2.base.rdb"]
    printed, keys = start(files, *APPEND_ONLY)
    assert keys == -1 and "appendonly.aof.2.base.rdb" in printed
