"""Where the archive of Spark's classes is kept, and when it is used."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rillway.pipeline.spark.class_archive import archive_path, find_java, java_options, make_archive


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java that is none."""
    program = tmp_path / "java/bin/java"
    program.parent.mkdir(parents=True)
    program.write_text("not java")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return program


def test_java_is_the_one_of_java_home(java: Path) -> None:
    assert find_java() == java


def test_an_archive_is_kept_for_each_spark_and_java(java: Path, tmp_path: Path) -> None:
    path = archive_path()
    assert path is not None
    assert path.parent == tmp_path / "cache/rillway"
    java.write_text("another java")
    assert archive_path() != path
    java.unlink()
    assert archive_path() is None


def test_an_archive_is_used_if_it_is_there(java: Path) -> None:
    assert java_options() == ""
    path = archive_path()
    assert path is not None
    path.parent.mkdir(parents=True)
    path.touch()
    assert java_options().startswith(f"-XX:SharedArchiveFile={path} ")


def test_an_archive_appears_only_when_it_is_whole(
    java: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive_path()
    assert path is not None

    def run(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert not path.exists()
        path.with_suffix(f".{os.getpid()}.tmp").write_text("classes")
        return subprocess.CompletedProcess(argv, status, stdout="", stderr="it broke")

    monkeypatch.setattr(subprocess, "run", run)
    status = 1
    with pytest.raises(RuntimeError, match="it broke"):
        make_archive()
    assert list(path.parent.iterdir()) == []
    status = 0
    assert make_archive() == path
    assert list(path.parent.iterdir()) == [path]
