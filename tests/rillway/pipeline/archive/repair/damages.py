"""What can happen to the folder of an archive, and an archive to which it happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.ranges.anchors import Anchor, entry_hash
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.scene import DAY_MS, STATE, STREAM, commit, written

Harm = Callable[[Path], object]
OTHER = "payments"
LAST = 6  # the last version


def make_archive(root: Path | Store) -> ArchiveTable:
    """Two streams with three entries on each of three days, and a checkpoint of version 4."""
    table = ArchiveTable.open_or_create(root)
    for day in range(3):
        for stream in (STREAM, OTHER):
            append(table, stream, *(f"{day * DAY_MS + n}-0" for n in (1, 2, 3)))
        if table.version == 4:
            table.checkpoint()
    return table


def append(table: ArchiveTable, stream: str, *ids: str, epoch: int = 1) -> None:
    words = [b"n", b"1"]
    files = written(table, [[entry_id.encode(), words] for entry_id in ids], stream, epoch)
    last = parse_id(ids[-1])
    state = type(STATE)(STATE.epochs, (Anchor(last, entry_hash(words)),))
    commit(table, Position(last, None), files, state, stream=stream)


def log(root: Path, version: int = LAST, kind: str = "json") -> Path:
    return root / "_delta_log" / f"{version:020d}.{kind}"


def checkpoint(root: Path) -> Path:
    return log(root, 4, "checkpoint.parquet")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def cut_after_a_line(path: Path) -> None:
    path.write_bytes(path.read_bytes().splitlines()[0])


def flip(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 0x10
    path.write_bytes(content)


def flip_in_a_page(path: Path) -> None:
    """Of the names and values, which no statistics are about."""
    flip(path, path.read_bytes().index(b"\x28\xb5\x2f\xfd") + 12)


def first_file(root: Path) -> Path:
    return root / ArchiveTable.open(root).files(STREAM)[0].path


def state_file(root: Path, behind: int = 0) -> Path:
    """The newest, or an older one."""
    paths = sorted(
        (root / "_rillway").glob("state-*.parquet"), key=lambda path: path.stat().st_mtime_ns
    )
    return paths[-1 - behind]


def beginning_lost(root: Path) -> None:
    clean_up(root)
    cut(checkpoint(root))
    cut(kept(root))


def kept(root: Path) -> Path:
    """The second copy of the checkpoint."""
    return root / "_rillway" / "checkpoints" / checkpoint(root).name


def clean_up(root: Path) -> None:
    """As a log is after a day."""
    for version in range(4):
        log(root, version).unlink()
