"""Writes the entries of streams to Parquet files, for spark-submit: the format as a source.

    streams_to_parquet.py --out PATH --option stream=orders [--option NAME=VALUE ...]

The options are those of the format `redis-streams`; `schemaMode` is `fields` by default. Exits with
0, 1 if it cannot go on, 2 for a bad argument.
"""

from __future__ import annotations

import argparse
import sys

from rillway.pipeline.jobs.options import add_options, one_line_errors
from rillway.pipeline.spark.frames import check_source
from rillway.pipeline.spark.spark_session import spark_session
from rillway.plurals import count_of

# Keeps bytes, duplicates and order of the fields, unless an option sets schemaMode.
AS_THEY_ARE = {"schemaMode": "fields"}


def main(arguments: list[str]) -> int:
    """Read, write, and print the number of entries. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="streams_to_parquet", description="Write the entries of streams to Parquet files."
    )
    parser.add_argument(
        "--out", required=True, metavar="PATH", help="output folder; must not exist yet"
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    with one_line_errors("streams_to_parquet") as outcome:
        chosen = AS_THEY_ARE | options.option
        check_source(chosen)
        spark = spark_session("streams_to_parquet")
        frame = spark.read.format("redis-streams").options(**chosen).load()
        frame.write.parquet(options.out)
        rows = spark.read.parquet(options.out).count()
        print(f"{count_of(rows, 'entry')} in {options.out}")
    return outcome.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
