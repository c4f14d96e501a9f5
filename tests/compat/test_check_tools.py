"""`rillway check` beside redis-check-aof and redis-check-rdb, on the same files."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from server.check.inspection import Inspector, Report
from server.inprocess.server import InProcessServer
from server.persistence.files import OsFiles
from storage.append_only.requests import encode_requests, timestamp_annotation
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.writer import write_snapshot

pytestmark = pytest.mark.compat

SOUND_BYTES = re.compile(r"ok_up_to=(\d+)")
NOW_MS = 1_700_000_000_000

WHOLE = encode_requests(
    [[b"SET", b"a", b"1"], [b"MULTI"], [b"SET", b"b", b"2"], [b"EXEC"], [b"DEL", b"a"]]
)
MORE = encode_requests([[b"MULTI"], [b"SET", b"c", b"12345"], [b"DEL", b"b"], [b"EXEC"]])


def inspect(path: Path) -> Report:
    return Inspector(OsFiles(), NOW_MS, lambda *_: None).inspect(str(path))


def redis_check(program: str, path: Path) -> tuple[bool, str]:
    """Whether the tool calls the file sound, and what it printed."""
    done = subprocess.run([program, str(path)], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "cut",
    [pytest.param(n, marks=() if n % 5 == 0 else pytest.mark.thorough) for n in range(len(MORE))],
)
def test_a_cut_file_is_sound_up_to_the_same_byte(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "appendonly.aof"
    path.write_bytes(WHOLE + MORE[:cut])
    sound, printed = redis_check("redis-check-aof", path)
    (file,) = inspect(path).files
    assert (file.problem is None) == sound, printed
    if file.problem is not None:
        found = SOUND_BYTES.search(printed)
        assert found is not None, printed
        assert file.problem.sound_bytes == int(found[1]), printed


@pytest.mark.parametrize(
    "damage",
    [b"hello\r\n", b"*x\r\n", b"*1\r\n+PING\r\n", b"\0" * 40, b"*1\r\n$4\r\nPINGxx"],
)
def test_damage_in_the_middle_is_found_by_both(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "appendonly.aof"
    path.write_bytes(timestamp_annotation(1) + WHOLE + damage + MORE)
    sound, printed = redis_check("redis-check-aof", path)
    (file,) = inspect(path).files
    assert not sound, printed
    assert file.problem is not None


def write_snapshot_file(path: Path) -> bytes:
    server = InProcessServer(NOW_MS)
    client = server.connect()
    client.execute("SET", "a", "text " * 20, "PXAT", NOW_MS + 1000)
    for n in range(300):
        client.execute("XADD", "s", f"{n}-1", "field", n)
    client.execute("XGROUP", "CREATE", "s", "g", "0")
    client.execute("XREADGROUP", "GROUP", "g", "c", "COUNT", 5, "STREAMS", "s", ">")
    chunks: list[bytes] = []
    # The redis-check-rdb that is compared with knows no later form of a stream.
    options = SnapshotOptions(compress=True, checksum=True, stream_type=19)
    write_snapshot(server.instance.databases, chunks.append, options, now_ms=NOW_MS, aux={})
    data = b"".join(chunks)
    path.write_bytes(data)
    return data


def test_a_snapshot_is_sound_for_both(tmp_path: Path) -> None:
    path = tmp_path / "dump.rdb"
    write_snapshot_file(path)
    sound, printed = redis_check("redis-check-rdb", path)
    report = inspect(path)
    assert sound, printed
    assert report.is_sound
    assert "2 keys read" in printed
    assert report.contents.databases[0].keys == 2


def test_a_snapshot_with_a_changed_byte_is_broken_for_both(tmp_path: Path) -> None:
    path = tmp_path / "dump.rdb"
    data = write_snapshot_file(path)
    chance = random.Random(1)
    for position in chance.sample(range(9, len(data)), 30):
        changed = bytearray(data)
        changed[position] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        sound, printed = redis_check("redis-check-rdb", path)
        assert not sound, printed
        assert not inspect(path).is_sound, position
