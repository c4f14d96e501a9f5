"""Copies the files of one node into a back-up, with their SHA-256.

With an earlier back-up of the same files, those that have not changed are not read, and one that
has grown adds a piece; that its beginning is still the same is checked by the digests.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from rillway.backup.manifest import Node, Piece, StoredFile
from rillway.backup.source import Moment, OpenFile
from rillway.backup.store import CHUNK_BYTES, Store


@dataclass
class Target:
    """The folder of a node in a back-up, and the same node in an earlier one."""

    store: Store
    backup: str
    node: str
    earlier_backup: str = ""
    earlier: Node | None = None
    new_bytes: int = 0  # that were written, neither linked nor copied from the earlier one


def copy_files(moment: Moment, target: Target) -> list[StoredFile]:
    """Copy what was opened. Raises OSError."""
    return [_copied(file, target) for file in moment.files]


def write_file(path: str, content: bytes, target: Target) -> StoredFile:
    """Write a file that is made for the back-up."""
    piece = Piece(f"{target.node}/{path}", len(content), hashlib.sha256(content).hexdigest())
    target.store.write(f"{target.backup}/{piece.path}", [content])
    target.new_bytes += len(content)
    return StoredFile(path, (piece,))


def _copied(file: OpenFile, target: Target) -> StoredFile:
    identity = f"{file.identity}:{os.fstat(file.descriptor).st_mtime_ns}"
    pieces = _earlier_pieces(file, identity, target)
    done = sum(piece.bytes for piece in pieces)
    # An empty piece would have the name of the first one with content.
    taken = [_taken_over(piece, target) for piece in pieces if done]
    if done < file.bytes or not taken:
        taken.append(_new_piece(file, done, target))
    return StoredFile(file.path, tuple(taken), identity)


def _earlier_pieces(file: OpenFile, identity: str, target: Target) -> tuple[Piece, ...]:
    """The pieces of the earlier back-up that are the beginning of the file, or all of it."""
    files = target.earlier.files if target.earlier else []
    for stored in files:
        if stored.path == file.path and stored.source.startswith(f"{file.identity}:"):
            is_same = stored.source == identity and stored.bytes == file.bytes
            if not all(_is_there(piece, target) for piece in stored.pieces):
                return ()
            if is_same or (stored.bytes <= file.bytes and _begins_with(file, stored.pieces)):
                return stored.pieces
    return ()


def _is_there(piece: Piece, target: Target) -> bool:
    return target.store.has(f"{target.earlier_backup}/{piece.path}")


def _begins_with(file: OpenFile, pieces: tuple[Piece, ...]) -> bool:
    offset = 0
    for piece in pieces:
        digest = hashlib.sha256()
        for chunk in _chunks(file.descriptor, offset, piece.bytes):
            digest.update(chunk)
        if digest.hexdigest() != piece.sha256:
            return False
        offset += piece.bytes
    return True


def _taken_over(piece: Piece, target: Target) -> Piece:
    old, new = f"{target.earlier_backup}/{piece.path}", f"{target.backup}/{piece.path}"
    target.store.copy(old, new)
    return piece


def _new_piece(file: OpenFile, offset: int, target: Target) -> Piece:
    path = f"{target.node}/{file.path}" + (f"@{offset}" if offset else "")
    to, size = f"{target.backup}/{path}", file.bytes - offset
    digest = hashlib.sha256()
    is_linked = file.is_base and not offset and target.store.link(file.descriptor, file.source, to)
    chunks = _digested(_chunks(file.descriptor, offset, size), digest)
    if is_linked:
        for _ in chunks:
            pass
    else:
        target.store.write(to, chunks)
        target.new_bytes += size
    return Piece(path, size, digest.hexdigest())


def _digested(chunks: Iterator[bytes], digest: hashlib._Hash) -> Iterator[bytes]:
    for chunk in chunks:
        digest.update(chunk)
        yield chunk


def _chunks(descriptor: int, offset: int, size: int) -> Iterator[bytes]:
    """A part of an open file. Raises OSError if it is shorter."""
    while size:
        chunk = os.pread(descriptor, min(size, CHUNK_BYTES), offset)
        if not chunk:
            raise OSError("a file of the server has become shorter while it was copied")
        yield chunk
        offset, size = offset + len(chunk), size - len(chunk)
