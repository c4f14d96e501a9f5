"""An archive that is made once, and a copy of it for each test that damages it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.rillway.pipeline.archive.repair.damages import make_archive


@pytest.fixture(scope="session")
def whole_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_archive(tmp_path_factory.mktemp("whole") / "archive").root


@pytest.fixture
def root(whole_archive: Path, tmp_path: Path) -> Path:
    copied: Path = shutil.copytree(whole_archive, tmp_path / "archive")
    return copied
