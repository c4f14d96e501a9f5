"""Entry points for spark-submit: source, sink and archive on any cluster.

`archive_streams`     `rillway archive --engine spark`
`streams_to_parquet`  the format as a source
`parquet_to_stream`   the format as a sink
`options`             arguments of the last two

    spark-submit --master spark://host:7077 .../rillway/pipeline/jobs/archive_streams.py \\
        --url redis://host:6379 --stream orders --to /shared/archive

Each machine needs rillway[pipeline], and the folders that are named must be the same everywhere.
What spark-submit sets is left as it is; see docs/reference/spark.md.
"""
