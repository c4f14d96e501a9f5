"""Moments before a back-up: the files that have one, and cutting off what is later.

It cuts as `rillway check --truncate-to-timestamp` does. The files of the back-up's own
moment have all since their base; kept generations have what was before.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from rillway.backup import catalogue
from rillway.backup.manifest import APPEND_ONLY, BackupError, Node
from rillway.backup.store import Store
from rillway.restore.restoring import contents, wanted_files, write, write_files


def restore_moment(store: Store, prefix: str, node: Node, folder: Path, to_ms: int) -> None:
    """Write the files of a node as they were at the end of a second.

    Raises BackupError, OSError.
    """
    second = to_ms // 1000
    if node.kind != APPEND_ONLY:
        raise BackupError(
            f"{node.address}: the back-up is a snapshot of {catalogue.as_text(node.time_ms)}, "
            "which has no other moment"
        )
    if second > node.time_ms // 1000:
        raise BackupError(
            f"{node.address}: the back-up ends at {catalogue.as_text(node.time_ms)}, before that"
        )
    # Of the second in which a base was begun, the base itself has a part: the later files count.
    passed = (each for each in node.kept if each.until_ms >= (second + 1) * 1000)
    generation = next(passed, None)
    if generation is None:
        write_files(store, prefix, wanted_files(node), folder)
    else:
        base = wanted_files(node)
        others = [file for file in base if not file.path.startswith(f"{node.folder}/")]
        write_files(store, prefix, others, folder)
        _write_generation(store, prefix, node, generation.files, folder)
        write(folder / node.manifest, [generation.manifest.encode("utf-8", "surrogateescape")])
    _cut(folder, node, second)


def _write_generation(
    store: Store, prefix: str, node: Node, paths: tuple[str, ...], folder: Path
) -> None:
    """Write kept files to where a server looks for them."""
    for path in paths:
        place = folder / node.folder / path.rpartition("/")[2]
        write(place, contents(store, prefix, node.file(path)))


def _cut(folder: Path, node: Node, second: int) -> None:
    checks: Any = import_module("rillway.app.server.check.inspection")
    cuts: Any = import_module("rillway.app.server.check.truncation")
    files: Any = import_module("rillway.app.server.persistence.files").OsFiles()
    listed = folder / node.manifest
    try:
        report = checks.Inspector(files, node.time_ms, lambda *_: None).inspect(str(listed))
        cuts.truncate(files, report, second)
    except cuts.CannotTruncate as error:
        raise BackupError(f"{node.address}: {str(error).replace(f'{folder}/', '')}") from None
    for cut in listed.parent.glob("*.cut-*"):
        cut.unlink()  # the back-up has it
