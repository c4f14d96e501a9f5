"""The data files in a server's folder: what `rillway check DIR` checks."""

from __future__ import annotations

import contextlib
import os

from server.persistence.files import Files


def data_files(files: Files, path: str) -> list[str]:
    """The manifest (or the append-only file without one) and the snapshots in a folder.

    The names that a configuration gives them are not known, so endings decide. A path that is no
    folder is returned as it is. Raises OSError.
    """
    try:
        names = files.names(path)
    except (FileNotFoundError, NotADirectoryError):
        return [path]
    manifests = _ending(names, ".manifest")
    for folder in names:
        with contextlib.suppress(OSError):  # a file, or the folder of something else
            inner = files.names(os.path.join(path, folder))
            manifests += [f"{folder}/{name}" for name in _ending(inner, ".manifest")]
    found = (manifests or _ending(names, ".aof")) + _ending(names, ".rdb")
    return [os.path.join(path, name) for name in found]


def _ending(names: list[str], suffix: str) -> list[str]:
    """The names with an ending, but for those of files that were not finished."""
    return [name for name in names if name.endswith(suffix) and not name.startswith("temp-")]
