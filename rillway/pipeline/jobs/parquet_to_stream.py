"""Adds the rows of Parquet files to a stream, for spark-submit: the format as a sink.

    parquet_to_stream.py --from PATH --option stream=orders [--option NAME=VALUE ...]

The options are those of the format `redis-streams`. Exits with 0, 1 if it cannot go on, 2 for a bad
argument.
"""

from __future__ import annotations

import argparse
import sys

from rillway.pipeline.jobs.options import add_options, one_line_errors
from rillway.pipeline.spark.options import sink_options
from rillway.pipeline.spark.spark_session import spark_session
from rillway.plurals import count_of


def main(arguments: list[str]) -> int:
    """Read, write, and print the number of rows. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="parquet_to_stream", description="Add the rows of Parquet files to a stream."
    )
    parser.add_argument("--from", dest="source", required=True, metavar="PATH", help="input folder")
    add_options(parser)
    options = parser.parse_args(arguments)
    with one_line_errors("parquet_to_stream") as outcome:
        sink_options(options.option, streaming=False)
        spark = spark_session("parquet_to_stream")
        frame = spark.read.parquet(options.source)
        writer = frame.write.format("redis-streams").options(**options.option)
        writer.mode("append").save()
        print(f"{count_of(frame.count(), 'row')} of {options.source} written")
    return outcome.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
