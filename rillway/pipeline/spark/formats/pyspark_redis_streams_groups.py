"""The format `redis-streams-groups` for Spark, which looks for modules named pyspark_* by itself.

Imported by every query that uses any Python data source; so it must neither fail nor take long.
"""

from contextlib import suppress

with suppress(ImportError):  # an environment that has Spark, but not all of rillway[pipeline]
    from rillway.pipeline.spark.group_formats import RedisStreamsGroups as DefaultSource

__all__ = ["DefaultSource"]
