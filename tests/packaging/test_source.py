"""The source distribution has all that a compiled wheel is built from."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.packaging.test_wheel import LAYERS

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
KINDS = ("*.py", "*.pxd", "*.lua", "*.html", "*.js", "*.css")


def test_every_module_and_its_c_types_are_there(tmp_path: Path) -> None:
    command = ["egg_info", f"--egg-base={tmp_path}", "sdist", f"--dist-dir={tmp_path}"]
    subprocess.run(
        [sys.executable, "setup.py", "--quiet", *command], cwd=ROOT, check=True, capture_output=True
    )
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    for layer in (*LAYERS, "rillway"):
        sources = {path.relative_to(ROOT) for kind in KINDS for path in (ROOT / layer).rglob(kind)}
        assert {str(path) for path in sources} <= names
    assert {"setup.py", "pyproject.toml", "README.md", "LICENSE"} <= names
