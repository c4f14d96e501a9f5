"""Both programs start with the same append-only files, or refuse them for the same reason."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.compat.restarts.append_only_cases import CASES, DIRECTORY, MANIFEST, Case, cut_cases
from tests.compat.restarts.log_patterns import events
from tests.compat.restarts.nodes import OURS, THEIRS, Node
from tests.support.examples import compared, compat_seed

pytestmark = pytest.mark.compat

CUTS = min(100, max(2, compared(100) // 20))
# What both say of the whole start. What Redis says beside it depends on the release.
INFO = ("aof_enabled", "aof_base_size", "rdb_last_load_keys_loaded", "rdb_last_load_keys_expired")


def lay(folder: Path, case: Case) -> None:
    """Put the files of a case into a folder."""
    if case.single is not None:
        folder.mkdir(parents=True)
        (folder / "appendonly.aof").write_bytes(case.single)
        return
    (folder / DIRECTORY).mkdir(parents=True)
    if case.manifest is not None:
        (folder / MANIFEST).write_text(case.manifest, newline="")
    for name, data in case.parts.items():
        (folder / DIRECTORY / name).write_bytes(data)


def seen(program: str, folder: Path, case: Case) -> dict[str, Any]:
    """What one program makes of a case. After it has cut a file it starts again with the rest."""
    place = folder / program
    lay(place, case)
    node = Node(program, place, "--appendonly", "yes", "--save", "", *case.directives)
    try:
        first = _start(node)
        has_cut = any("Truncating" in event for event in first["log"])
        second = _start(node) if has_cut else None
    finally:
        node.stop()
    sizes = {
        path.name: path.stat().st_size
        for path in sorted((place / DIRECTORY).glob("*"))
        # A new base says which program made it; history leaves the manifest in the background.
        if not path.name.endswith((".base.rdb", ".manifest"))
    }
    return {"first": first, "second": second, "sizes": sizes}


def _start(node: Node) -> dict[str, Any]:
    if not node.starts():
        return {"exit status": node.exit_status, "log": events(node.fresh_log())}
    info = node.info("persistence")
    keys = sorted(node.ask("KEYS", "*"))
    found = {
        "data": {key: node.ask("DUMP", key)[:-10] for key in keys},
        "info": {name: info[name] for name in INFO},
    }
    log = node.fresh_log()
    if not keys or "!!! Truncating" in log:
        found["info"].pop("aof_base_size")  # of a new base; Redis counts what it has cut off, too
    node.end("SHUTDOWN NOSAVE")
    log += node.fresh_log()
    return {**found, "exit status": node.exit_status, "log": events(log)}


@pytest.mark.parametrize(
    "case", [*CASES, *cut_cases(compat_seed(), CUTS)], ids=lambda case: case.name
)
def test_both_start_alike_with_an_append_only_file(case: Case, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        ours, theirs = pool.map(lambda program: seen(program, tmp_path, case), (OURS, THEIRS))
    assert ours == theirs
