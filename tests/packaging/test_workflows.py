"""The workflows of GitHub run what .ci/run and pyproject.toml say, and nothing of their own."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]


def job(workflow: str) -> dict[str, Any]:
    """The only job."""
    parsed = yaml.safe_load((ROOT / ".github/workflows" / workflow).read_text())
    (found,) = parsed["jobs"].values()
    return dict(found)


def steps(workflow: str) -> list[dict[str, Any]]:
    """The steps of the only job."""
    return list(job(workflow)["steps"])


def test_ci_runs_what_anyone_can_run() -> None:
    assert [step["run"] for step in steps("ci.yml") if "run" in step] == [".ci/run"]
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_what_runs_at_night_are_targets_of_the_makefile() -> None:
    commands = job("nightly.yml")["strategy"]["matrix"]["run"]
    assert "make asan FUZZ_SECONDS=1800" in commands
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for command in commands:
        make, target, *_ = shlex.split(command)
        assert make == "make"
        assert target in targets


@pytest.mark.parametrize("workflow", ["ci.yml", "nightly.yml", "wheels.yml"])
def test_the_python_is_the_oldest_that_is_supported(workflow: str) -> None:
    (python,) = [step["with"] for step in steps(workflow) if "setup-python" in step.get("uses", "")]
    assert PROJECT["requires-python"] == f">={python['python-version']}"


def test_wheels_are_built_by_the_cibuildwheel_that_is_tested() -> None:
    group = map(str, PYPROJECT["dependency-groups"]["dev"])
    (wanted,) = [one for one in group if one.startswith("cibuildwheel")]
    commands = [step["run"] for step in steps("wheels.yml") if "run" in step]
    assert commands == [f"pip install '{wanted}'", "cibuildwheel --archs native"]
