"""What a back-up says of itself: `backup.json`, which is written last.

A back-up without it was not finished. A file consists of pieces, which are never changed: an
incremental back-up adds a piece to those that an earlier one has of a file that has grown. The
manifest has a digest of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

MANIFEST, BEGUN, CHECKED = "backup.json", "begun.json", "checked.json"
FORMAT = 1
MAX_MS = 253_402_300_799_999  # the end of the year 9999
APPEND_ONLY, SNAPSHOT = "append-only file", "snapshot"


class BackupError(Exception):
    """A back-up is missing, unfinished or damaged, or cannot be made; the text says why."""


@dataclass(frozen=True)
class Piece:
    """A part of a file, at a path in the back-up."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class StoredFile:
    """A file of a server, by its path in the server's folder.

    `source` identifies the file on the server's machine, if it is one that never changes again, or
    only grows.
    """

    path: str
    pieces: tuple[Piece, ...]
    source: str = ""

    @property
    def bytes(self) -> int:
        return sum(piece.bytes for piece in self.pieces)


@dataclass(frozen=True)
class Generation:
    """A base and increments that a rewrite has replaced: all moments up to its end."""

    until_ms: int
    manifest: str
    files: tuple[str, ...]  # paths


@dataclass
class Node:
    """What a back-up has of one server. `databases`: keys, and keys with a time to live."""

    name: str
    address: str
    server: str
    role: str
    kind: str
    time_ms: int
    replication_id: str
    replication_offset: int
    databases: dict[str, list[int]]
    file_name: str = ""  # of the append-only file, or of the snapshot
    folder: str = ""  # of the append-only file
    manifest: str = ""  # of the append-only file
    acl_file: str = ""
    slots: list[list[int]] = field(default_factory=list)
    files: list[StoredFile] = field(default_factory=list)
    kept: list[Generation] = field(default_factory=list)

    @property
    def files_options(self) -> list[str]:
        """The options that name the files that a server starts from, without `--dir`."""
        if self.kind == SNAPSHOT:
            return ["--dbfilename", self.file_name]
        words = ["--appendonly", "yes"]
        for option, name, default in (
            ("--appendfilename", self.file_name, "appendonly.aof"),
            ("--appenddirname", self.folder, "appendonlydir"),
        ):
            words += [option, name] if name != default else []
        return words

    def file(self, path: str) -> StoredFile:
        return next(each for each in self.files if each.path == path)


@dataclass
class Backup:
    """A finished back-up."""

    name: str
    began_ms: int
    ended_ms: int
    rillway: str
    nodes: list[Node]
    is_cluster: bool = False

    @property
    def pieces(self) -> Iterator[tuple[Node, StoredFile, Piece]]:
        for node in self.nodes:
            for file in node.files:
                for piece in file.pieces:
                    yield node, file, piece

    def dump(self) -> bytes:
        """The manifest as it is stored."""
        content = asdict(self) | {"format": FORMAT}
        return json.dumps(content | {"digest": _digest(content)}, indent=1).encode()


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def load(data: bytes, place: str) -> Backup:
    """Read a manifest. Raises BackupError if it is damaged or of a newer version."""
    try:
        content = json.loads(data)
        digest = content.pop("digest")
        if content["format"] != FORMAT:
            raise BackupError(f"{place} has format {content['format']}, of a newer Rillway")
        if digest != _digest(content):
            raise BackupError(f"{place} is damaged: its digest is another one")
        del content["format"]
        backup = Backup(**content | {"nodes": [_node(each) for each in content["nodes"]]})
        _verify(backup)
        outside = [path for path in _paths(backup) if not _is_inside(path)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BackupError(f"{place} is damaged: it cannot be read") from None
    if outside:
        raise BackupError(f"{place} names {outside[0]!r}, which is outside of its folder")
    return backup


def _verify(backup: Backup) -> None:
    """Raise ValueError or TypeError for values that no back-up has.

    Its digest shows damage, not who has made it.
    """
    if not backup.nodes or (len(backup.nodes) > 1 and not backup.is_cluster):
        raise ValueError("nodes")
    for node in backup.nodes:
        ends = [end for each in node.slots for end in each]
        figures = [figure for each in node.databases.values() for figure in each]
        figures += [node.time_ms, node.replication_offset, *map(int, node.databases), *ends]
        figures += [piece.bytes for file in node.files for piece in file.pieces]
        if any(figure < 0 for figure in figures) or node.time_ms > MAX_MS:
            raise ValueError("figures")
        if any(first > last for first, last in node.slots):
            raise ValueError("slots")
        if any(len(each) != 2 for each in node.databases.values()):
            raise ValueError("databases")
        if not node.address.isprintable():  # it is shown
            raise ValueError("address")


def _paths(backup: Backup) -> Iterator[str]:
    """All paths and names of files."""
    for node in backup.nodes:
        yield node.name
        yield from filter(None, (node.file_name, node.folder, node.acl_file, node.manifest))
        for file in node.files:
            yield file.path
            yield from (piece.path for piece in file.pieces)
        for generation in node.kept:
            yield from generation.files


def _is_inside(path: str) -> bool:
    parts = path.split("/")
    return "\0" not in path and not any(part in ("", ".", "..") for part in parts)


def _node(content: dict[str, Any]) -> Node:
    files = [
        StoredFile(each["path"], tuple(Piece(**piece) for piece in each["pieces"]), each["source"])
        for each in content["files"]
    ]
    kept = [
        Generation(each["until_ms"], each["manifest"], tuple(each["files"]))
        for each in content["kept"]
    ]
    return Node(**content | {"files": files, "kept": kept})
