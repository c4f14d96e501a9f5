"""Entry points for spark-submit: the same source, sink and archive on any cluster.

    spark-submit --master spark://host:7077 .../rillway/pipeline/jobs/archive_streams.py \\
        --url redis://host:6379 --stream orders --to /shared/archive

Each machine needs this package (rillway[pipeline]), and the folders that are named must be the same
everywhere. What spark-submit sets is left as it is; see docs/reference/spark.md.
"""
