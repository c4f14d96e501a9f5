"""The columns of entries, for Arrow and for Spark.

Spark compares the two exactly, down to whether the inside of a list may be null, so they stand
side by side here and a test compares them with Spark's own translation.

`seq` has 64 bits without a sign, which Spark has no integer for; `id` is the exact text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

TIMESTAMP = pa.timestamp("us", tz="UTC")
SEQ = pa.decimal128(20, 0)
PAIR = pa.struct([("name", pa.binary()), ("value", pa.binary())])
PAIRS = pa.list_(pa.field("element", PAIR))
TEXT_MAP = pa.map_(pa.string(), pa.string())

ORIGIN = {
    "stream": pa.string(),
    "id": pa.string(),
    "ms": pa.int64(),
    "seq": SEQ,
    "ts": TIMESTAMP,
}

FIELDS_MODE, MAP_MODE, COLUMNS_MODE, JSON_MODE = "fields", "map", "columns", "json"
MODES = (FIELDS_MODE, MAP_MODE, COLUMNS_MODE, JSON_MODE)
# Those whose schema is the user's own.
OWN_SCHEMA_MODES = (COLUMNS_MODE, JSON_MODE)

# In a schema of the user's own, where a field of an entry may be called `id` as well.
ORIGIN_PREFIX = "_"
CORRUPT, RECORD = "_corrupt", "_corrupt_record"


def arrow_schema(mode: str = FIELDS_MODE) -> pa.Schema:
    """Return the Arrow schema of entries in the mode `fields` or `map`."""
    fields = {FIELDS_MODE: PAIRS, MAP_MODE: TEXT_MAP}[mode]
    return pa.schema([*ORIGIN.items(), ("fields", fields)])


def spark_schema(mode: str = FIELDS_MODE) -> StructType:
    """Return the Spark schema of entries in the mode `fields` or `map`."""
    from pyspark.sql import types

    text, binary = types.StringType(), types.BinaryType()
    pair = types.StructType().add("name", binary).add("value", binary)
    fields = {FIELDS_MODE: types.ArrayType(pair), MAP_MODE: types.MapType(text, text)}
    return (
        types.StructType()
        .add("stream", text)
        .add("id", text)
        .add("ms", types.LongType())
        .add("seq", types.DecimalType(20, 0))
        .add("ts", types.TimestampType())
        .add("fields", fields[mode])
    )


def to_arrow(schema: StructType) -> pa.Schema:
    """Return the exact Arrow schema that Spark expects for batches of a Spark schema."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # before Spark 4.2, which has no other zone
        return to_arrow_schema(schema)
