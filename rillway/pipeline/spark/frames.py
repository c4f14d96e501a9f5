"""`stream_frame`: a stream as a DataFrame that reads only the rows and columns it needs.

Spark does not prune the columns of Python data sources, and its filter push-down has a bug up to
4.3: the filter of one query is applied to the next query on the same DataFrame. So the condition
and the columns are given when a DataFrame is made, and become options of the format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from rillway.pipeline.arrow.schema import COLUMNS, ORIGIN, ORIGIN_PREFIX, OWN_SCHEMA_MODES
from rillway.pipeline.ranges.conditions import (
    Bounds,
    Reading,
    UnreadableLiteral,
    bounds,
    names_in,
    quoted_name,
)
from rillway.pipeline.spark.datasource import RedisStreams
from rillway.pipeline.spark.options import OptionError, parse_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMAT = "redis-streams"
INSTANT = "SELECT unix_millis(try_cast(:text AS TIMESTAMP))"


def stream_frame(
    spark: SparkSession,
    stream: str | None = None,
    *,
    where: str | None = None,
    columns: Sequence[str] | None = None,
    schema: StructType | str | None = None,
    **options: Any,
) -> DataFrame:
    """Return the entries of a stream as a DataFrame; each call reads them again.

    `where`: a condition in SQL. Comparisons of `id` (=), `ms` and `ts` with literals, joined by
    AND, limit the range that is read, unless an option does. `columns`: the columns to read.
    `schema`: as for `schemaMode=columns` and `json`. Raises OptionError for options, a schema or
    columns that are refused, and for a comparison with a literal that is no time, number or ID.
    Times include Spark's own words, such as `yesterday`.
    """
    given = {name.lower(): _text(value) for name, value in options.items()}
    if stream is not None:
        given["stream"] = stream
    if isinstance(columns, str):
        columns = parse_names(columns)
    if where is not None:
        given |= _range_options(_bounds(spark, where, given), given)
    reader = spark.read.format(FORMAT)
    read = schema if columns is None else _pruned(spark, given, schema, columns, where)
    check_source(given, read)
    frame = (reader if read is None else reader.schema(read)).options(**given).load()
    frame = frame if where is None else frame.where(where)
    return frame if columns is None else frame.select(*(quoted_name(name) for name in columns))


def check_source(options: Mapping[str, str], schema: StructType | str | None = None) -> None:
    """Check options as far as the format can without a server. Raises ValueError.

    Raised by Spark, the same message would follow a hundred lines of Java.
    """
    from pyspark.sql.types import StructType

    source = RedisStreams(dict(options))
    whole = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    if whole is None:
        whole = source.schema()
    if isinstance(whole, StructType):
        source.reader(whole)


def _bounds(spark: SparkSession, where: str, given: dict[str, str]) -> Bounds:
    """Return the range that a condition allows. Raises OptionError."""

    def instant(text: str) -> int | None:
        row = spark.sql(INSTANT, args={"text": text}).first()
        return None if row is None else row[0]

    prefix = ORIGIN_PREFIX if _has_own_schema(given) else ""
    try:
        return bounds(where, Reading(_zone(spark), prefix, instant))
    except UnreadableLiteral as error:
        raise OptionError(f"where: {error}") from None


def _pruned(
    spark: SparkSession,
    given: dict[str, str],
    schema: StructType | str | None,
    columns: Sequence[str],
    where: str | None,
) -> StructType | None:
    """Return the needed part of a schema; without one, set the option `columns` in `given`."""
    from pyspark.sql.types import StructType

    whole = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    if isinstance(whole, StructType):
        known = whole.names
    elif _has_own_schema(given):  # each column is a field, as text
        known = list(dict.fromkeys([*columns, *(ORIGIN_PREFIX + name for name in ORIGIN)]))
    else:
        known = list(COLUMNS)
    missing = [name for name in columns if name not in known]
    if missing:
        raise OptionError(f"columns: there is no column {', '.join(missing)}")
    needed = {*columns, *(names_in(where, known) if where is not None else ())}
    if isinstance(whole, StructType):
        return StructType([field for field in whole.fields if field.name in needed])
    given["columns"] = ",".join(name for name in known if name in needed)
    return None


def _has_own_schema(given: dict[str, str]) -> bool:
    """Return True if the columns are fields of the entries, `ms` for example."""
    return given.get("schemamode", "").strip().lower() in OWN_SCHEMA_MODES


def _range_options(found: Bounds, given: dict[str, str]) -> dict[str, str]:
    """Return the options for a range, except for bounds that the user has set."""
    more: dict[str, str] = {}
    if found.first_ms is not None and not {"startingoffsets", "startingtimestamp"} & set(given):
        more["startingtimestamp"] = str(found.first_ms)
    if found.last_ms is not None and not {"endingoffsets", "endingtimestamp"} & set(given):
        more["endingtimestamp"] = str(found.last_ms + 1)
    return more


def _zone(spark: SparkSession) -> tzinfo | None:
    """Return the session's time zone; None if Python does not know it."""
    name = spark.conf.get("spark.sql.session.timeZone") or ""
    try:
        return UTC if name in ("UTC", "Z") else ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
