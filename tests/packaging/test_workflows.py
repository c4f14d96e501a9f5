"""The workflows of GitHub run what .ci/run and pyproject.toml say, and nothing of their own."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text()) for path in ROOT.glob(".github/workflows/*")
}
JOBS = [(name, job) for name, workflow in WORKFLOWS.items() for job in workflow["jobs"]]
# In which a token of GitHub's is worth something to others.
PUBLISHING = {
    ("release.yml", "publish"): {"id-token": "write"},
    ("docs.yml", "publish"): {"pages": "write", "id-token": "write"},
}


def steps(workflow: str, job: str) -> list[dict[str, Any]]:
    """None for a job that is another workflow."""
    return list(WORKFLOWS[workflow]["jobs"][job].get("steps", []))


def commands(workflow: str, job: str) -> list[str]:
    return [step["run"] for step in steps(workflow, job) if "run" in step]


def actions(workflow: str, job: str) -> list[str]:
    """Without their versions."""
    return [step["uses"].partition("@")[0] for step in steps(workflow, job) if "uses" in step]


def pythons(workflow: str, job: str) -> list[dict[str, str]]:
    """The settings of each step that installs a Python."""
    return [step["with"] for step in steps(workflow, job) if "setup-python" in step.get("uses", "")]


def test_ci_checks_first_and_then_runs_what_anyone_can_run() -> None:
    assert commands("ci.yml", "check") == ["make check LOCKED=yes"]
    assert commands("ci.yml", "ci") == [".ci/run"]
    assert WORKFLOWS["ci.yml"]["jobs"]["ci"]["needs"] == "check"
    assert os.access(ROOT / ".ci/run", os.X_OK)


@pytest.mark.parametrize(("workflow", "job"), JOBS)
def test_the_python_is_the_oldest_that_is_supported(workflow: str, job: str) -> None:
    for python in pythons(workflow, job):
        if python["python-version"] != "${{ matrix.python }}":
            assert PROJECT["requires-python"] == f">={python['python-version']}"


@pytest.mark.parametrize(("workflow", "job"), JOBS)
def test_what_is_installed_is_locked_and_cached(workflow: str, job: str) -> None:
    if any("LOCKED=yes" in each or each == ".ci/run" for each in commands(workflow, job)):
        (python,) = pythons(workflow, job)
        assert python["cache"] == "pip"
        assert (ROOT / python["cache-dependency-path"]).exists()


def test_all_tests_run_on_every_python_that_is_supported() -> None:
    classifiers = " ".join(PROJECT["classifiers"])
    job = WORKFLOWS["pythons.yml"]["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == re.findall(r"Python :: (3\.\d+)", classifiers)
    assert commands("pythons.yml", "test") == ["make test LOCKED=yes"]


def test_wheels_are_built_by_the_cibuildwheel_that_is_tested() -> None:
    group = map(str, PYPROJECT["dependency-groups"]["dev"])
    (wanted,) = [one for one in group if one.startswith("cibuildwheel")]
    built = commands("wheels.yml", "wheels")
    assert built == [f"pip install '{wanted}'", "cibuildwheel --archs native"]


def test_the_source_is_built_by_the_setuptools_that_builds_wheels() -> None:
    (wanted,) = [
        one for one in PYPROJECT["build-system"]["requires"] if one.startswith("setuptools")
    ]
    built = commands("wheels.yml", "source")
    assert built == [f"pip install '{wanted}'", "python setup.py sdist"]


def test_a_release_is_what_the_wheels_workflow_built() -> None:
    jobs = WORKFLOWS["release.yml"]["jobs"]
    assert jobs["dist"]["uses"] == "./.github/workflows/wheels.yml"
    assert (jobs["dist"]["needs"], jobs["publish"]["needs"]) == ("version", "dist")
    assert "workflow_call" in WORKFLOWS["wheels.yml"][True]  # YAML reads `on` as a truth value
    (fetched, _) = steps("release.yml", "publish")
    for job in WORKFLOWS["wheels.yml"]["jobs"]:
        (kept,) = [step for step in steps("wheels.yml", job) if "upload" in step.get("uses", "")]
        assert Path(kept["with"]["name"]).match(fetched["with"]["pattern"])


def test_what_is_published_needs_no_password() -> None:
    assert actions("release.yml", "publish")[-1] == "pypa/gh-action-pypi-publish"
    assert actions("docs.yml", "publish") == ["actions/deploy-pages"]
    for path in ROOT.glob(".github/workflows/*"):
        assert "secrets." not in path.read_text(), path


@pytest.mark.parametrize(("workflow", "job"), JOBS)
def test_only_what_publishes_may_write(workflow: str, job: str) -> None:
    assert WORKFLOWS[workflow]["permissions"] == {"contents": "read"}
    own = WORKFLOWS[workflow]["jobs"][job].get("permissions")
    assert own == PUBLISHING.get((workflow, job))
