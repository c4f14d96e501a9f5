"""The archive's job for spark-submit."""

from __future__ import annotations

import pytest

from rillway.pipeline.archive import command
from rillway.pipeline.archive.arguments import parse_options
from rillway.pipeline.jobs import archive_streams


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    found: list[list[str]] = []

    def main(arguments: list[str]) -> int:
        found.append(arguments)
        return 0

    monkeypatch.setattr(command, "main", main)
    return found


def test_spark_writes_the_files_unless_another_engine_is_named(called: list[list[str]]) -> None:
    words = ["--stream", "s", "--to", "/a"]
    assert archive_streams.main(words) == 0
    archive_streams.main([*words, "--engine", "local"])
    engines = [parse_options(arguments)[1].engine for arguments in called]
    assert engines == ["spark", "local"]


def test_upkeep_has_no_engine(called: list[list[str]]) -> None:
    archive_streams.main(["compact", "--to", "/a"])
    assert called == [["compact", "--to", "/a"]]
