"""Options of the format and one-line errors, which the jobs share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rillway.command_line.arguments import KeyValues
from rillway.pipeline.spark.spark_session import PipelineUnavailable, root_cause


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--option",
        action=KeyValues,
        default={},
        metavar="NAME=VALUE",
        help="an option of the format redis-streams, such as url or stream; may be repeated",
    )


@dataclass(slots=True)
class JobStatus:
    """The exit status."""

    status: int = 0


@contextmanager
def one_line_errors(job: str) -> Iterator[JobStatus]:
    """Print an error of Spark, the server or the options as one line, and set the status to 1."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    outcome = JobStatus()
    try:
        yield outcome
    except (Py4JError, PySparkException, PipelineUnavailable, ValueError) as error:
        print(f"{job}: {root_cause(error)}", file=sys.stderr)
        outcome.status = 1
