"""Private names: what they import, and that a user's modules of the same names are others."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rillway.app.checkout import LAYERS, CheckoutFinder, with_private_imports, without_cython

ROOT = Path(__file__).parents[3]

USER = """
import sys
sys.path.insert(0, {folder!r})
before, after = {order!r} == "before", {order!r} == "after"

def names():
    import commands, protocol, server, storage
    return [module.OWNER for module in (commands, protocol, server, storage)]

if before:
    assert names() == ["user"] * 4
from rillway.app.server.inprocess.server import InProcessServer
client = InProcessServer().connect()
assert client.execute("XADD", "s", "7-1", "f", "v") == b"$3\\r\\n7-1\\r\\n"
assert b"random.c" not in client.execute("EVAL", "return math.random(10)", "0")
assert client.execute("COMMAND", "DOCS", "XADD").startswith(b"*2")
assert names() == ["user"] * 4
assert "cython" not in sys.modules
print("done")
"""


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_users_modules_of_these_names_are_others(tmp_path: Path, order: str) -> None:
    for name in LAYERS:
        (tmp_path / f"{name}.py").write_text("OWNER = 'user'\n")
    program = USER.format(folder=str(tmp_path), order=order)
    environment = {**os.environ, "PYTHONPATH": os.environ.get("SERVED", str(ROOT))}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


def test_imports_are_renamed_line_by_line() -> None:
    source = b"""\
from storage.stream import Stream
from storage import zstd
    from commands.scripting import numbers
import commands.catalogue
import server_side
from storages import other
from storage.stream cimport Stream
word = "from storage.stream import"
"""
    assert with_private_imports(source) == (
        b"""\
from rillway.app.storage.stream import Stream
from rillway.app.storage import zstd
    from rillway.app.commands.scripting import numbers
import rillway.app.commands.catalogue
import server_side
from storages import other
from rillway.app.storage.stream cimport Stream
word = "from storage.stream import"
"""
    )
    assert with_private_imports(with_private_imports(source)) == with_private_imports(source)


def test_cython_is_not_imported() -> None:
    source = b"import cython\nimport cython_like\n"
    renamed = b"from rillway.app.protocol import uncompiled as cython\nimport cython_like\n"
    assert without_cython(source) == renamed


@pytest.mark.interpreted
def test_a_module_says_its_name_and_its_file() -> None:
    stream = importlib.import_module("rillway.app.storage.stream")
    assert stream.__file__ == str(ROOT / "storage/stream.py")
    assert stream.Stream.__module__ == "rillway.app.storage.stream"
    assert importlib.import_module("storage.stream").Stream is not stream.Stream


@pytest.mark.interpreted
def test_bytecode_is_kept_apart(tmp_path: Path) -> None:
    program = "import rillway.app.protocol.errors as errors; print(errors.__name__)"
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment, cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout == "rillway.app.protocol.errors\n"
    kept = sorted(path.name for path in tmp_path.rglob("errors*"))
    assert kept == [f"errors.{sys.implementation.cache_tag}.private.pyc"]


@pytest.mark.parametrize("name", ["rillway.app.nothing", "rillway.app.server.no", "storage.stream"])
def test_other_names_are_not_found(name: str) -> None:
    assert CheckoutFinder().find_spec(name, None) is None
