"""The source distribution has all that a compiled wheel is built from."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.test_wheel import LAYERS

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
KINDS = ("*.py", "*.pxd", "*.lua", "*.json", "*.html", "*.js", "*.css")


# What the C compiler is given, and thus how long a build takes, with little to spare.
MOST_COMPILED = 69
MOST_C_BYTES = 66_500_000


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    # Not compressed: that takes longer than all else.
    command = ["egg_info", f"--egg-base={folder}", "sdist", "--formats=tar", f"--dist-dir={folder}"]
    subprocess.run(
        [sys.executable, "setup.py", "--quiet", *command], cwd=ROOT, check=True, capture_output=True
    )
    (archive,) = folder.glob("*.tar")
    return archive


def test_every_module_and_its_c_types_are_there(archive: Path) -> None:
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    for layer in (*LAYERS, "rillway"):
        sources = {path.relative_to(ROOT) for kind in KINDS for path in (ROOT / layer).rglob(kind)}
        assert {str(path) for path in sources} <= names
    assert {"setup.py", "pyproject.toml", "README.md", "LICENSE"} <= names


def test_the_c_code_of_what_is_compiled_is_there_and_no_larger_than_need_be(archive: Path) -> None:
    with tarfile.open(archive) as packed:
        sizes = {
            member.name.partition("/c/")[2]: member.size
            for member in packed.getmembers()
            if member.name.endswith(".c")
        }
    assert {"rillway/app/storage/stream.c", "rillway/app/protocol/shared_c.c"} <= set(sizes)
    assert len(sizes) <= MOST_COMPILED
    assert sum(sizes.values()) <= MOST_C_BYTES


def test_a_change_of_c_types_translates_again_what_imports_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {
        "storage/user.py": "\nimport cython\n",
        "storage/user.pxd": "from rillway.app.storage.used cimport Used\n\ncdef int own\n",
        "storage/used.pxd": "from rillway.app.storage.deep cimport Deep\n\ncdef Deep used\n",
        "storage/deep.pxd": "cdef class Deep:\n    pass\n",
        "storage/other.pxd": "cdef int other\n",
    }
    names = _names_of_setup()
    names["NAMES"] = str(ROOT / names["NAMES"])
    monkeypatch.chdir(tmp_path)
    for name, text in texts.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    found = names["rename_sources"]()
    assert b"cython.cimports" in found[Path("storage/user.py")]
    module = names["extension"]("storage/user.py")
    assert names["is_out_of_date"](module, found)
    made = names["c_file"](module)
    made.parent.mkdir(parents=True)
    made.touch()
    assert not names["is_out_of_date"](module, found)
    for name in texts:
        copy = tmp_path / names["RENAMED"] / names["APP"] / name
        os.utime(copy, ns=(0, made.stat().st_mtime_ns + 1))
        assert names["is_out_of_date"](module, found) == (name != "storage/other.pxd"), name
        os.utime(copy, ns=(0, 0))


def test_a_compiler_is_given_no_options_that_it_does_not_know(tmp_path: Path) -> None:
    takes_options, quicker = (_names_of_setup()[name] for name in ("takes_options", "QUICKER"))
    compiler = tmp_path / "compiler"
    compiler.write_text("#!/bin/sh\ncase $* in *-fno-ipa-modref*) exit 1; esac\n")
    compiler.chmod(0o755)
    assert takes_options([str(compiler)], quicker[:1])
    assert not takes_options([str(compiler)], quicker)


def _names_of_setup() -> dict[str, Any]:
    script = (ROOT / "setup.py").read_text().partition("\nsetup(")[0]
    names: dict[str, Any] = {"__name__": "names", "__file__": "setup.py"}
    exec(compile(script, "setup.py", "exec"), names)
    return names


def test_functions_of_modules_with_c_types_are_only_called() -> None:
    """Compiled, such a function is none of Python's: as a value its name is not defined."""
    found = []
    for types in (path for layer in LAYERS for path in (ROOT / layer).rglob("*.pxd")):
        modules = _c_functions(types)
        tree = ast.parse(types.with_suffix(".py").read_text()) if modules else ast.Module([], [])
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        found += [
            f"{types.with_suffix('.py').relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr in modules.get(node.value.id, ())
            and id(node) not in called
        ]
    assert not found


def _c_functions(types: Path) -> dict[str, set[str]]:
    """The C functions of each module that a file of C types imports whole."""
    imports = re.findall(r"^from ([\w.]+) cimport (\w+)$", types.read_text(), re.MULTILINE)
    files = {name: ROOT / package.replace(".", "/") / f"{name}.pxd" for package, name in imports}
    return {
        name: set(re.findall(r"^cp?def [^=\n]*?(\w+)\(", path.read_text(), re.MULTILINE))
        for name, path in files.items()
        if path.exists()
    }
