"""The compiled wheel: what `make wheel` builds runs where there is no compiler."""

from __future__ import annotations

import itertools
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from rillway import __version__
from tests.packaging.test_wheel import LAYERS, SPARK_FORMATS, Environment, installed
from tests.support.programs.own_modules import run_beside_own_modules

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    built = subprocess.run(
        ["make", "wheel", f"DIST={folder}"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return installed(wheel, tmp_path_factory.mktemp("environment"))


def test_the_wheel_is_for_this_python_and_for_linux_with_an_old_glibc(wheel: Path) -> None:
    name, _version, python, abi, platforms = wheel.stem.split("-")
    assert (name, python, abi) == ("rillway", TAG, TAG)
    assert f"manylinux2014_{platform.machine()}" in platforms.split(".")


def test_every_module_that_is_to_be_compiled_is_there_once(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    compiled = {name.partition(".")[0] for name in names if name.endswith(".so")}
    types = {path.with_suffix("") for layer in LAYERS for path in (ROOT / layer).rglob("*.pxd")}
    modules = {path for path in types if path.with_suffix(".py").exists() and _has_types(path)}
    assert {f"rillway/app/{path.relative_to(ROOT)}" for path in modules} <= compiled
    assert not {f"{module}.py" for module in compiled} & set(names)
    everything = {path.with_suffix("") for layer in LAYERS for path in (ROOT / layer).rglob("*.py")}
    installed = {name.partition(".")[0] for name in names}
    assert {f"rillway/app/{path.relative_to(ROOT)}" for path in everything} <= installed


def _has_types(module: Path) -> bool:
    """Whether its C types are more than inline functions, which other modules compile."""
    text = module.with_suffix(".pxd").read_text()
    return re.search(r"^cp?def (?!inline|extern|enum)", text, re.MULTILINE) is not None


def test_it_takes_little_room(wheel: Path) -> None:
    unpacked_bytes = sum(member.file_size for member in ZipFile(wheel).infolist())
    assert unpacked_bytes < 20_000_000


UPLOT_LICENCE = "rillway/console/static/uplot/LICENSE"


def test_nothing_else_is_in_the_wheel(wheel: Path) -> None:
    names = {name for name in ZipFile(wheel).namelist() if not name.endswith("/")}
    information = f"rillway-{__version__}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"rillway", information, *SPARK_FORMATS}
    endings = {Path(name).suffix for name in names if not name.startswith(information)}
    assert endings == {".py", ".so", ".lua", ".json", ".typed", ".html", ".css", ".js", ".svg", ""}
    unsuffixed = [name for name in names if not (Path(name).suffix or name.startswith(information))]
    assert unsuffixed == [UPLOT_LICENCE]


def test_its_server_runs_compiled_where_there_is_no_compiler(
    environment: Environment, tmp_path: Path
) -> None:
    variables = {name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")}
    variables["PATH"] = str(environment.bin)
    tried = subprocess.run(
        [environment.bin / "python", ROOT / "tests/packaging/installed.py"],
        cwd=tmp_path,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert tried.returncode == 0, tried.stdout + tried.stderr


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_server_in_the_process_shadows_no_module_of_the_user(
    environment: Environment, tmp_path: Path, order: str
) -> None:
    assert run_beside_own_modules(environment.bin / "python", tmp_path, order, []) == "done\n"


def test_wheels_are_configured_for_four_pythons_two_machines_and_two_c_libraries() -> None:
    variables = {name: os.environ[name] for name in os.environ if not name.startswith("CIBW_")}
    shown = subprocess.run(
        [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", "--platform", "linux"],
        cwd=ROOT,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert shown.returncode == 0, shown.stderr
    pythons = ("cp311", "cp312", "cp313", "cp314")
    machines, libraries = ("x86_64", "aarch64"), ("manylinux", "musllinux")
    assert set(shown.stdout.split()) == {
        f"{python}-{library}_{machine}"
        for python, library, machine in itertools.product(pythons, libraries, machines)
    }
