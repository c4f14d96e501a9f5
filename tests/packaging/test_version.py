"""The version is written in two places, because the server does not import what users import."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rillway
from commands.version import RILLWAY_VERSION

pytestmark = pytest.mark.packaging

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"


def test_the_server_reports_the_version_of_the_package() -> None:
    assert rillway.__version__ == RILLWAY_VERSION


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    assert re.search(r"^## \[Unreleased\]$", CHANGELOG.read_text(), re.MULTILINE)
