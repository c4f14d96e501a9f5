"""The hot core runs without Cython."""

from __future__ import annotations

import subprocess
import sys

import pytest

from protocol import uncompiled

# Imports everything that the server is made of, with an import of Cython's module failing.
_PROGRAM = """
import sys
sys.modules["cython"] = None
from server.inprocess.server import InProcessServer
from storage.entries.entry_id import parse_plain_id
client = InProcessServer().connect()
print(client.execute("XADD", "s", "7-1", "f", "v"), parse_plain_id(b"7-1") == (7 << 64 | 1))
"""


@pytest.mark.interpreted
def test_the_server_needs_no_cython_to_run() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout == r"b'$3\r\n7-1\r\n' True" + "\n"


def test_annotations_change_nothing() -> None:
    def function() -> int:
        return 5

    for decorator in (
        uncompiled.cclass,
        uncompiled.cfunc,
        uncompiled.ccall,
        uncompiled.boundscheck(False),
        uncompiled.wraparound(False),
    ):
        assert decorator(function) is function
    assert uncompiled.cast(object, 7) == 7
    assert not uncompiled.compiled
