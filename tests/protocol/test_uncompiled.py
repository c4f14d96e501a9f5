"""The hot core runs without Cython."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from protocol import uncompiled

ROOT = Path(__file__).parents[2]

_PROGRAM = """
from rillway.app.protocol.request import cython as annotations
from rillway.app.server.inprocess.server import InProcessServer
from rillway.app.storage.entries.entry_id import parse_plain_id
print(annotations.__name__)
client = InProcessServer().connect()
print(client.execute("XADD", "s", "7-1", "f", "v"), parse_plain_id(b"7-1") == (7 << 64 | 1))
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that is installed, Cython excepted."""
    folder = tmp_path_factory.mktemp("packages")
    for installed in Path(sysconfig.get_path("platlib")).iterdir():
        if not installed.name.lower().startswith("cython"):
            (folder / installed.name).symlink_to(installed)
    return folder


@pytest.mark.interpreted
def test_the_server_needs_no_cython_to_run(packages: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", _PROGRAM],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{packages}"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    printed = "rillway.app.protocol.uncompiled\n" + r"b'$3\r\n7-1\r\n' True" + "\n"
    assert done.stdout == printed


def test_annotations_change_nothing() -> None:
    def function() -> int:
        return 5

    for decorator in (
        uncompiled.cclass,
        uncompiled.cfunc,
        uncompiled.ccall,
        uncompiled.inline,
        uncompiled.no_gc,
        uncompiled.boundscheck(False),
        uncompiled.wraparound(False),
    ):
        assert decorator(function) is function
    assert uncompiled.cast(object, 7) == 7
    assert uncompiled.cast(uncompiled.long, -7) == -7
    assert uncompiled.cast(uncompiled.ulonglong, 7) == 7
    assert not uncompiled.compiled
