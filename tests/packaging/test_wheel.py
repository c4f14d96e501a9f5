"""The wheel: what it holds, where it lands, and that what was installed works."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

from rillway import __version__
from rillway.demo.service import PORT_LINE
from tests.support.programs.own_modules import run_beside_own_modules

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
LAYERS = ("server", "commands", "storage", "protocol")
# Spark looks for modules of such names to find a format.
FORMATS = "rillway/pipeline/spark/formats"
SPARK_FORMATS = {path.name for path in (ROOT / FORMATS).glob("pyspark_*.py")}


@dataclass(frozen=True)
class Environment:
    """A fresh virtual environment with the wheel in it; `gained` is what site-packages gained."""

    bin: Path
    gained: frozenset[str]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: a build leaves folders in the tree from which it is made."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("rillway", *LAYERS):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    output = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    # Compiled, it is tested by test_compiled_wheel.py.
    environment = {**os.environ, "COMPILE_RILLWAY": "0"}
    subprocess.run(
        [*build, "--wheel-dir", str(output), str(source)],
        check=True,
        stdin=subprocess.DEVNULL,
        env=environment,
    )
    (path,) = output.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return installed(wheel, tmp_path_factory.mktemp("environment"))


def installed(wheel: Path, root: Path) -> Environment:
    """A new virtual environment in the folder `root`, with the wheel in it."""
    venv.create(root, with_pip=False, symlinks=True)
    (site_packages,) = root.glob("lib/python*/site-packages")
    before = {path.name for path in site_packages.iterdir()}
    install = [sys.executable, "-m", "pip", "--python", str(root / "bin/python"), "install"]
    # Bytecode is made of what the tests import, not of everything.
    subprocess.run([*install, "--no-compile", "--no-deps", "--no-index", str(wheel)], check=True)
    gained = {path.name for path in site_packages.iterdir()} - before
    # What Rillway depends on comes from the environment that runs the tests. A path in a .pth file
    # only appends to sys.path: an editable Rillway over there is not taken for the installed one.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Environment(root / "bin", frozenset(gained))


def test_the_wheel_holds_rillway_and_the_formats_for_spark(wheel: Path) -> None:
    top_level = {name.partition("/")[0] for name in ZipFile(wheel).namelist()}
    assert top_level == {"rillway", f"rillway-{__version__}.dist-info", *SPARK_FORMATS}


def test_every_module_of_the_repository_is_in_the_wheel(wheel: Path) -> None:
    expected = {
        f"rillway/app/{path.relative_to(ROOT)}"
        for layer in LAYERS
        for path in (ROOT / layer).rglob("*.py")
    }
    expected |= {
        path.name if path.parent == ROOT / FORMATS else str(path.relative_to(ROOT))
        for path in (ROOT / "rillway").rglob("*.py")
    }
    assert expected <= set(ZipFile(wheel).namelist())


def test_the_pages_of_the_console_are_in_the_wheel(wheel: Path) -> None:
    folder = ROOT / "rillway/console"
    expected = {
        str(path.relative_to(ROOT))
        for kind in ("templates", "static")
        for path in (folder / kind).rglob("*")
        if path.is_file()
    }
    assert len(expected) > 15 and expected <= set(ZipFile(wheel).namelist())


def test_an_installation_adds_only_rillway_and_the_formats(environment: Environment) -> None:
    expected = {"rillway", f"rillway-{__version__}.dist-info", *SPARK_FORMATS}
    assert environment.gained - {"__pycache__"} == expected


def test_the_formats_are_found_by_their_names_in_an_installation(
    environment: Environment, tmp_path: Path
) -> None:
    """By the names of modules, as Spark does it."""
    script = (
        "from pkgutil import iter_modules\n"
        "from importlib import import_module\n"
        "found = [m.name for m in iter_modules() if m.name.startswith('pyspark_')]\n"
        "print(*sorted(import_module(name).DefaultSource.name() for name in found))"
    )
    command = [str(environment.bin / "python"), "-c", script]
    output = subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, text=True)
    assert output.stdout.split() == [
        "redis-streams",
        "redis-streams-groups",
        "redis-streams-pending",
    ]


def test_the_installed_command_knows_its_version(environment: Environment, tmp_path: Path) -> None:
    command = [str(environment.bin / "rillway"), "--version"]
    output = subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, text=True)
    assert output.stdout == f"rillway {__version__}\n"


def test_the_installed_server_answers_even_beside_a_users_own_server_package(
    environment: Environment, tmp_path: Path
) -> None:
    for name in LAYERS:
        (tmp_path / f"{name}.py").write_text(
            "raise AssertionError('the user's module was imported')\n"
        )
    process = subprocess.Popen(
        [environment.bin / "python", "-m", "rillway", "serve", "--port", "0", "--save", ""],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        printed = ""
        while (match := PORT_LINE.search(printed)) is None:
            line = process.stdout.readline()
            assert line, f"the server ended without naming a port:\n{printed}"
            printed += line
        with socket.create_connection(("127.0.0.1", int(match[1])), timeout=60) as connection:
            connection.sendall(b"PING\r\n")
            assert connection.recv(64) == b"+PONG\r\n"
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_server_in_the_process_shadows_no_module_of_the_user(
    environment: Environment, tmp_path: Path, order: str
) -> None:
    assert run_beside_own_modules(environment.bin / "python", tmp_path, order, []) == "done\n"


def test_nothing_is_compiled_to_say_what_a_build_needs(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / FORMATS).mkdir(parents=True)
    shutil.copy(ROOT / "rillway/__init__.py", tmp_path / "rillway")
    # What would be compiled is not there.
    asked = subprocess.run(
        [sys.executable, "setup.py", "--quiet", "egg_info"],
        cwd=tmp_path, env={**os.environ, "COMPILE_RILLWAY": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    assert list(tmp_path.rglob("PKG-INFO"))
