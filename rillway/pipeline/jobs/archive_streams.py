"""`rillway archive` for spark-submit: the same arguments; Spark's tasks write the files."""

from __future__ import annotations

import sys

from rillway.pipeline.archive import command
from rillway.pipeline.archive.arguments import JOBS


def main(arguments: list[str]) -> int:
    """Returns the exit status."""
    archives = not arguments or arguments[0] not in JOBS
    return command.main(["--engine", "spark", *arguments] if archives else arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
