"""server/check/truncation.py: an append-only file goes back to a moment."""

from __future__ import annotations

import json
from errno import ENOSPC
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.check.command import BROKEN, SOUND, USAGE_ERROR
from server.inprocess.memory_files import MemoryFiles
from server.inprocess.server import InProcessServer, to_argv
from server.persistence.files import FolderInUse
from storage.append_only.requests import encode_requests, timestamp_annotation
from tests.server.check.test_command import disk, run

FOLDER = "appendonlydir"
LISTED = f"{FOLDER}/appendonly.aof.manifest"

EARLIER, WITHOUT_HOLES, ALL = (
    encode_requests([to_argv(tuple(range(1, last + 1)))]) for last in (2, 3, 5)
)


def at(time_s: int, *values: int) -> bytes:
    """What a server has written in a second."""
    wire = encode_requests([to_argv(("RPUSH", "l", value)) for value in values])
    return timestamp_annotation(time_s) + wire


def several(*contents: bytes) -> MemoryFiles:
    """A folder with increments, and no base."""
    files = MemoryFiles()
    files.make_directory(FOLDER)
    lines = []
    for number, data in enumerate(contents, 1):
        name = f"appendonly.aof.{number}.incr.aof"
        files.put(f"{FOLDER}/{name}", data)
        lines.append(f"file {name} seq {number} type i\n")
    files.put(LISTED, "".join(lines).encode())
    return files


def values(files: MemoryFiles) -> bytes:
    """What a server has that starts with the files."""
    server = InProcessServer.on_files(files, appendonly="yes")
    return server.connect().execute("LRANGE", "l", 0, -1)


def test_requests_of_later_seconds_are_cut_and_kept() -> None:
    now, later = at(100, 1) + at(101, 2, 3), at(102, 4)
    files = disk(a=now + later)
    assert run(files, "a", back_to=101) == SOUND
    assert files.snapshot() == {"a": now, f"a.cut-{len(now)}": later}


def test_nothing_is_cut_if_nothing_is_later(capsys: pytest.CaptureFixture[str]) -> None:
    files = disk(a=at(100, 1))
    assert run(files, "a", back_to=100) == SOUND
    assert list(files.snapshot()) == ["a"]
    assert capsys.readouterr().out == "a: nothing is later than 100\n"


def test_the_manifest_forgets_later_increments(capsys: pytest.CaptureFixture[str]) -> None:
    files = several(at(100, 1), at(101, 2) + at(103, 3), at(104, 4), at(105, 5))
    assert run(files, ".", back_to=102, json=True) == SOUND
    size = len(at(101, 2))
    copies = [
        f"./{FOLDER}/appendonly.aof.{number}.incr.aof.cut-{offset}"
        for number, offset in ((2, size), (3, 0), (4, 0))
    ]
    assert json.loads(capsys.readouterr().out) == {
        "path": f"./{FOLDER}/appendonly.aof.2.incr.aof", "offset": size, "copies": copies,
    }  # fmt: skip
    assert values(files) == EARLIER


def test_an_interruption_loses_nothing_and_the_same_command_finishes() -> None:
    parts = at(100, 1), at(101, 2) + at(103, 3), at(104, 4), at(105, 5)
    for moment in count(1):
        files = several(*parts)
        files.fail("any", ENOSPC, at=moment)
        status = run(files, LISTED, back_to=101)
        if files.faults_left:
            assert status == SOUND
            return
        files.heal()
        assert values(files.kill()) in (ALL, WITHOUT_HOLES, EARLIER)
        assert run(files, LISTED, back_to=101) == SOUND
        assert values(files.kill()) == EARLIER
        kept = b"".join(data for name, data in files.snapshot().items() if ".cut-" in name)
        assert all(later in kept for later in (at(103, 3), at(104, 4), at(105, 5)))
        assert sum(name.endswith(".incr.aof") for name in files.snapshot()) == 2


@given(st.lists(st.lists(st.integers(100, 110), max_size=4), min_size=1, max_size=4), st.data())
def test_what_is_left_is_what_was_written_until_then(
    seconds: list[list[int]], data: st.DataObject
) -> None:
    times = iter(sorted(time for part in seconds for time in part))
    written = [[next(times) for _ in part] for part in seconds]
    back_to = data.draw(st.integers(99, 111))
    files = several(*(b"".join(at(time, time) for time in part) for part in written))
    status = run(files, LISTED, back_to=back_to)
    expected = [time for part in written for time in part if time <= back_to]
    if any(written):
        assert status == SOUND
        assert values(files).count(b"$3") == len(expected)


def test_a_base_that_is_later_has_no_earlier_moment(capsys: pytest.CaptureFixture[str]) -> None:
    server = InProcessServer(200_000, appendonly="yes", aof_timestamp_enabled="yes")
    server.connect().execute("SET", "k", "v")
    server.connect().execute("BGREWRITEAOF")
    server.tick()
    server.tick()
    before = server.files.snapshot()
    assert run(server.files, LISTED, back_to=150) == BROKEN
    assert "was written at 200, later than 150" in capsys.readouterr().err
    assert server.files.snapshot() == before


def test_a_base_of_requests_has_its_time() -> None:
    """As in Redis; without it, a moment before would have what was written after it."""
    server = InProcessServer(
        200_000, appendonly="yes", aof_timestamp_enabled="yes", aof_use_rdb_preamble="no"
    )
    server.connect().execute("SET", "k", "v")
    server.connect().execute("BGREWRITEAOF")
    server.tick()
    server.tick()
    assert run(server.files, LISTED, back_to=199) == BROKEN
    assert run(server.files, LISTED, back_to=200) == SOUND


def test_a_base_after_which_nothing_was_written_is_as_it_was(
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = InProcessServer(200_000, appendonly="yes")
    assert run(server.files, LISTED, back_to=250) == SOUND
    assert "nothing is later than 250" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (encode_requests([[b"SET", b"k", b"v"]]), "a has no times: they come with aof-timestamp"),
        (at(100, 1) + b"hello" + at(103, 2), "a is damaged at offset"),
        (at(102, 1), "a has nothing before 101. An earlier back-up may"),
    ],
)
def test_what_cannot_be_cut_by_time(
    content: bytes, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = disk(a=content)
    assert run(files, "a", back_to=101) == BROKEN
    assert reason in capsys.readouterr().err
    assert files.snapshot() == {"a": content}


def test_a_base_of_requests_is_not_emptied(capsys: pytest.CaptureFixture[str]) -> None:
    files = several(at(104, 4))
    files.put(f"{FOLDER}/appendonly.aof.1.base.aof", at(103, 3))
    files.put(LISTED, b"file appendonly.aof.1.base.aof seq 1 type b\n" + files.snapshot()[LISTED])
    before = files.snapshot()
    assert run(files, LISTED, back_to=102) == BROKEN
    assert "1.base.aof has nothing before 102" in capsys.readouterr().err
    assert files.snapshot() == before


def test_a_part_of_a_manifest_is_not_cut_alone(capsys: pytest.CaptureFixture[str]) -> None:
    files = several(at(100, 1) + at(102, 2), at(103, 3))
    before = files.snapshot()
    assert run(files, f"{FOLDER}/appendonly.aof.1.incr.aof", back_to=101) == BROKEN
    assert f"is a part of {LISTED}: give that" in capsys.readouterr().err
    assert files.snapshot() == before


def test_one_append_only_file_that_nothing_uses(capsys: pytest.CaptureFixture[str]) -> None:
    files = disk(a=at(100, 1), b=at(100, 1))
    assert run(files, "a", "b", back_to=1) == USAGE_ERROR
    files.claim_error = FolderInUse("/data", "process 7")
    assert run(files, "a", back_to=1) == USAGE_ERROR
    assert "stop it before you cut anything" in capsys.readouterr().err
