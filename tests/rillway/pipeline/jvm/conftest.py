"""A Spark session, for the tests in this folder only.

They all run in one process (tests/support/distribution.py): to start a JVM takes seconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One for all tests in this folder, on two threads, with four attempts for each task."""
    from rillway.pipeline.spark.spark_session import add_to_python_path, spark_session

    folder = tmp_path_factory.mktemp("spark")
    # The JVM and its workers keep what they start with; the tests that follow are to know nothing.
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        add_to_python_path(Path(__file__).parents[4] / "rillway/pipeline/spark/formats")
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
