"""The format `redis-streams`, as Spark finds it: options in, readers and writers out.

Spark imports this module to learn the format's name, in every query on any Python data source. So
it imports Arrow, the readers and the writers only when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from rillway.pipeline.spark.options import SourceOptions
    from rillway.pipeline.spark.sink import BatchWriter, StreamWriter
    from rillway.pipeline.spark.source import BatchReader, StreamReader


class RedisStreams(DataSource):
    """Streams as tables: see docs/reference/spark.md for the options and columns."""

    @classmethod
    def name(cls) -> str:
        return "redis-streams"

    def schema(self) -> StructType:
        """Return the schema for a user who gave none. Raises OptionError."""
        from rillway.pipeline.arrow.schema import OWN_SCHEMA_MODES, spark_schema
        from rillway.pipeline.spark.options import OptionError, source_options

        options = source_options(self.options)
        if options.mode in OWN_SCHEMA_MODES and options.columns is None:
            raise OptionError(
                f"schemaMode={options.mode} needs a schema, spark.read.schema('item STRING'), or "
                "the option columns"
            )
        return spark_schema(options.mode, options.columns)

    def reader(self, schema: StructType) -> BatchReader:
        from rillway.pipeline.spark.source import BatchReader

        return BatchReader(self._source_options(schema), schema)

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802
        from rillway.pipeline.spark.source import StreamReader, UnlimitedStreamReader
        from rillway.pipeline.spark.versions import HAS_ADMISSION_CONTROL

        kind = StreamReader if HAS_ADMISSION_CONTROL else UnlimitedStreamReader
        return kind(self._source_options(schema), schema)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        from rillway.pipeline.spark.options import OptionError, sink_options
        from rillway.pipeline.spark.sink import BatchWriter

        if overwrite:
            raise OptionError("entries are appended: use mode('append')")
        return BatchWriter(sink_options(self.options, streaming=False), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802
        from rillway.pipeline.spark.options import OptionError, sink_options
        from rillway.pipeline.spark.versions import HAS_STREAM_SINK, VERSION

        if not HAS_STREAM_SINK:
            raise OptionError(
                f"writeStream needs Spark 4.1, and this is {VERSION}: use foreachBatch with "
                "df.write.format('redis-streams')"
            )
        from rillway.pipeline.spark.sink import StreamWriter

        return StreamWriter(sink_options(self.options, streaming=True), schema)

    def _source_options(self, schema: StructType) -> SourceOptions:
        """Return the options. Raises OptionError if the schema does not fit `schemaMode`."""
        from rillway.pipeline.arrow.schema import OWN_SCHEMA_MODES, arrow_schema, to_arrow
        from rillway.pipeline.spark.options import OptionError, source_options

        options = source_options(self.options)
        if options.mode not in OWN_SCHEMA_MODES:
            if to_arrow(schema) != arrow_schema(options.mode, options.columns):
                raise OptionError("a schema of your own needs schemaMode=columns or json")
        elif options.columns not in (None, tuple(schema.names)):
            raise OptionError("columns goes without a schema, which names the columns itself")
        return options
