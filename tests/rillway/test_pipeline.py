"""The package itself: what it offers, and that importing it costs nothing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rillway.pipeline
from rillway.pipeline.wire.connection import Connection
from tests.support.programs.servers import RunningServer

ROOT = Path(__file__).parents[2]
# What the extra rillway[archive] leaves out, by the names under which it is imported.
ONLY_WITH_SPARK = ("pyspark", "py4j", "matplotlib")


def test_importing_the_package_imports_neither_spark_nor_arrow() -> None:
    script = (
        "import sys, rillway.pipeline, rillway.pipeline.spark.datasource\n"
        "print(*sorted({'pyarrow', 'deltalake', 'hiredis', 'redis'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = rillway.pipeline.nonsense


@pytest.mark.parametrize("name", rillway.pipeline.__all__)
def test_public_names_are_imported_when_they_are_used(name: str) -> None:
    assert callable(getattr(rillway.pipeline, name))


def test_the_extra_for_archives_leaves_out_spark() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    words = " ".join(project["optional-dependencies"]["archive"])
    assert not any(name in words for name in ONLY_WITH_SPARK)


def test_archive_query_and_replay_work_without_spark(
    redis_server: RunningServer, tmp_path: Path
) -> None:
    url, folder = f"redis://127.0.0.1:{redis_server.port}", str(tmp_path / "archive")

    def rillway(*words: str) -> str:
        program = (
            "import sys\n"
            f"sys.modules.update(dict.fromkeys({ONLY_WITH_SPARK!r}))\n"
            "from rillway.__main__ import main\n"
            "sys.exit(main(sys.argv[1:]))"
        )
        command = [sys.executable, "-c", program, *words, "--url", url]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with Connection(url) as connection:
        connection.call("FLUSHALL")
        for number in range(1, 6):
            connection.call("XADD", "s", f"{number}-0", "name", f"value {number}")
        archived = rillway("archive", "--stream", "s", "--to", folder, "--keep", "0s")
        assert archived.startswith("s: 5 archived in 1 batch")
        shown = rillway("query", "--stream", "s", "--archive", folder, "--format", "json")
        assert shown.count("value") == 5
        rillway("replay", "--from-archive", folder, "--stream", "s", "--into", "again")
        assert connection.call("XLEN", "again") == 5
