"""Files of a back-up in a new folder, compared with their digests while they are written.

The manifest of an append-only file comes last: a server does not start from a part of its files.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from rillway.backup.manifest import Backup, BackupError, Node, StoredFile
from rillway.backup.store import Store

NODES = "nodes.conf"


class Damaged(BackupError):
    """A file of a back-up is not what it was."""


def folders(backup: Backup, target: Path) -> list[tuple[Node, Path]]:
    """The folder of each node."""
    if not backup.is_cluster:
        return [(backup.nodes[0], target)]
    return [(node, target / node.name) for node in backup.nodes]


def prepare(target: Path) -> None:
    """Make an empty folder. Raises BackupError if it is not empty, OSError."""
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise BackupError(f"{target} is not empty: a copy is restored to a new folder")


def wanted_files(node: Node) -> list[StoredFile]:
    """What a server starts from: all but what was kept of earlier moments."""
    kept = {path for each in node.kept for path in each.files}
    return [file for file in node.files if file.path not in kept]


def write_files(store: Store, prefix: str, files: Iterable[StoredFile], folder: Path) -> None:
    """Write files, the manifest last. Raises Damaged, OSError."""
    for file in sorted(files, key=lambda one: one.path.endswith(".manifest")):
        write(folder / file.path, contents(store, prefix, file))
    for place, _, _ in os.walk(folder):
        _sync(Path(place))


def nodes_file(node: Node, epoch: int) -> bytes:
    """The nodes.conf of a node that knows its slots, and no other node; its ID is a new one.

    Without it a server takes the slots of its keys only. The epochs of nodes must differ.
    """
    slots = " ".join(f"{first}-{last}" for first, last in node.slots)
    line = f"{secrets.token_hex(20)} :0@0 myself,master - 0 0 {epoch} connected {slots}"
    return f"{line}\nvars currentEpoch {epoch} lastVoteEpoch 0\n".encode()


def contents(store: Store, prefix: str, file: StoredFile) -> Iterator[bytes]:
    """The content of a file. Raises Damaged at the end of a piece that is not what it was."""
    for piece in file.pieces:
        path = f"{prefix}{piece.path}"
        digest, count = hashlib.sha256(), 0
        try:
            for chunk in store.read(path):
                digest.update(chunk)
                count += len(chunk)
                yield chunk
        except FileNotFoundError:
            raise Damaged(f"{path} is missing") from None
        if count != piece.bytes:
            raise Damaged(f"{path} has {count:,} bytes instead of {piece.bytes:,}")
        if digest.hexdigest() != piece.sha256:
            raise Damaged(f"{path} is damaged: its SHA-256 is another one")


def write(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a new file, durably."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
