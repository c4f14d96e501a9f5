"""Truncates a damaged file, and keeps a copy of what was cut off."""

from __future__ import annotations

import os

from server.persistence.files import Files, write_all


def cut(files: Files, path: str, size: int) -> str:
    """Truncate a file to `size` bytes; the rest goes to `<path>.cut-<size>`.

    The copy is synced to disk before the file is truncated. Returns its path; raises OSError.
    """
    rest = files.buffer(path)[size:]
    copy_path = _free_name(files, f"{path}.cut-{size}")
    copy = files.create(copy_path)
    try:
        write_all(copy, rest)
        copy.sync()
    finally:
        copy.close()
    files.sync_directory(os.path.dirname(path) or ".")
    file = files.append(path)
    try:
        file.truncate(size)
        file.sync()
    finally:
        file.close()
    return copy_path


def _free_name(files: Files, wanted: str) -> str:
    """An unused name: an earlier copy is never overwritten."""
    name, number = wanted, 1
    while files.exists(name):
        number += 1
        name = f"{wanted}-{number}"
    return name
