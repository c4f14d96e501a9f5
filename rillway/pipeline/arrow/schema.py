"""The columns of entries, for Arrow and for Spark.

Spark compares the two exactly, down to whether the items of a list may be null. So both are defined
here side by side, and a test compares them with Spark's own translation.

`seq` has 64 unsigned bits, for which Spark has no integer type; `id` is the exact text.
"""

from __future__ import annotations

from collections.abc import Sequence
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
FIELDS = "fields"
COLUMNS = (*ORIGIN, FIELDS)

FIELDS_MODE, MAP_MODE, COLUMNS_MODE, JSON_MODE = "fields", "map", "columns", "json"
MODES = (FIELDS_MODE, MAP_MODE, COLUMNS_MODE, JSON_MODE)
# The modes with a schema of the user's own.
OWN_SCHEMA_MODES = (COLUMNS_MODE, JSON_MODE)

# The names in a user's schema, in which a field may be called `id` as well.
ORIGIN_PREFIX = "_"
CORRUPT, RECORD = "_corrupt", "_corrupt_record"


def arrow_schema(mode: str = FIELDS_MODE, columns: Sequence[str] | None = None) -> pa.Schema:
    """Return the Arrow schema of entries in the mode `fields` or `map`.

    `columns`: the wanted ones, in order; None means all. Raises KeyError for an unknown one.
    """
    kinds = ORIGIN | {FIELDS: {FIELDS_MODE: PAIRS, MAP_MODE: TEXT_MAP}[mode]}
    return pa.schema([(name, kinds[name]) for name in (COLUMNS if columns is None else columns)])


def spark_schema(mode: str = FIELDS_MODE, columns: Sequence[str] | None = None) -> StructType:
    """Return the Spark schema of entries, like `arrow_schema`.

    In other modes, each column is a field as text, except for the columns of the origin.
    """
    from pyspark.sql import types

    text, binary = types.StringType(), types.BinaryType()
    pair = types.StructType().add("name", binary).add("value", binary)
    kinds: dict[str, types.DataType] = {
        "stream": text,
        "id": text,
        "ms": types.LongType(),
        "seq": types.DecimalType(20, 0),
        "ts": types.TimestampType(),
    }
    if mode in OWN_SCHEMA_MODES:
        kinds = {ORIGIN_PREFIX + name: kind for name, kind in kinds.items()}
        kinds |= {name: text for name in columns or () if name not in kinds}
    else:
        kinds[FIELDS] = types.MapType(text, text) if mode == MAP_MODE else types.ArrayType(pair)
    names = COLUMNS if columns is None else columns
    return types.StructType([types.StructField(name, kinds[name]) for name in names])


def to_arrow(schema: StructType) -> pa.Schema:
    """Return the exact Arrow schema that Spark expects for batches of a Spark schema."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # before Spark 4.2: UTC is the only zone
        return to_arrow_schema(schema)
