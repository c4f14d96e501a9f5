"""What the tests of the pipeline share: each runs against Rillway and against a real redis-server.

Most call the classes that Spark would call; `spark` is one session for those that need it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rillway.pipeline.connection import Connection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.servers import RunningServer


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever needs the session goes to one process of xdist: a JVM takes seconds to start."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(params=["rillway", "redis"])
def link(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A connection to a server that is empty; `link.url` is the server's."""
    server: RunningServer = request.getfixturevalue(f"{request.param}_server")
    with Connection(f"redis://127.0.0.1:{server.port}") as connection:
        connection.call("FLUSHALL")
        yield connection


@pytest.fixture
def rillway_link(rillway_server: RunningServer) -> Iterator[Connection]:
    """The same for what only Rillway has."""
    with Connection(f"redis://127.0.0.1:{rillway_server.port}") as connection:
        connection.call("FLUSHALL")
        yield connection


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One for all tests, on two threads, with four attempts for each task."""
    from rillway.pipeline.session import add_to_python_path, spark_session

    folder = tmp_path_factory.mktemp("spark")
    add_to_python_path(Path(__file__).parents[3] / "spark_formats")
    session = spark_session(
        "tests",
        master="local[2,4]",
        quick=True,
        conf={
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.local.dir": str(folder / "local"),
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
        },
    )
    yield session
    session.stop()
