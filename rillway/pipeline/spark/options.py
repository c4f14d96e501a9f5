"""The options of the format `redis-streams`: names, values, and which ones exclude each other.

Spark passes every value as text and ignores unknown options. Here, an option that is unknown or
makes no sense is refused, with the nearest known name. Names are case-insensitive, as in Spark.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote

from rillway.client.partitions import Partitions
from rillway.pipeline.arrow.encoder import Partitioning
from rillway.pipeline.arrow.schema import (
    COLUMNS,
    JSON_MODE,
    MAP_MODE,
    MODES,
    OWN_SCHEMA_MODES,
)
from rillway.pipeline.arrow.time_format import TimeFormat
from rillway.pipeline.ranges.offsets import Position, from_json
from rillway.pipeline.wire.ids import parse_id
from rillway.pipeline.wire.quantities import parse_bytes, parse_duration, parse_time
from rillway.pipeline.wire.urls import DEFAULT_URL, check_url

EARLIEST, LATEST, GROUP = "earliest", "latest", "group"
PERMISSIVE, FAILFAST = "permissive", "failfast"
AT_LEAST_ONCE, EXACTLY_ONCE = "at-least-once", "exactly-once"
AUTO, KEEP = "auto", "keep"
ERROR, SKIP = "error", "skip"

# Spark adds these to the options of a stream's writer.
SPARK_OWN = ("checkpointlocation", "queryname")
# load("orders"), save("orders") and start("orders") set `path`; load(["a", "b"]) sets `paths`.
PATH, PATHS = "path", "paths"
# CREATE TABLE gives its OPTIONS with a prefix, among the table's properties and Spark's own.
PROVIDER, TABLE_OPTION_PREFIX = "provider", "option."
CATALOG_HINT = (
    "(Spark keeps the OPTIONS of a table in its catalog to itself: use CREATE TEMPORARY VIEW, or "
    "give them again, as in SELECT ... FROM t WITH (...))"
)

CONNECTION_OPTIONS = ("url", "host", "port", "db", "username", "password", "ssl")
SOURCE_OPTIONS = (
    *CONNECTION_OPTIONS,
    "stream",
    "streamPattern",
    "partitions",
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "maxEntriesPerTrigger",
    "maxBytesPerTrigger",
    "minEntriesPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "entriesPerPartition",
    "pageSize",
    "failOnDataLoss",
    "failIfMissing",
    "groupName",
    "schemaMode",
    "columnParse",
    "epochUnit",
    "timestampFormat",
    "payloadField",
    "columns",
    "logBatches",
)
SINK_OPTIONS = (
    *CONNECTION_OPTIONS,
    "stream",
    "partitions",
    "keyColumn",
    "ids",
    "maxlen",
    "minid",
    "batchSize",
    "delivery",
    "writeId",
    "onIdConflict",
    "originColumns",
    "ledgerTtl",
)

# A task, its connection and its file cost as much as about 20,000 entries.
DEFAULT_ENTRIES_PER_PARTITION = 250_000
DEFAULT_MAX_TRIGGER_DELAY_S = 15 * 60.0
DEFAULT_PAGE_SIZE = 1000
DEFAULT_BATCH_SIZE = 1000
DEFAULT_LEDGER_TTL_S = 30 * 86_400
# The replies to two chunks must fit into the buffers of the sockets: they are read after the
# requests.
MAX_BATCH_SIZE = 10_000

T = TypeVar("T")

# One of the words above, or a position.
Place: TypeAlias = str | Position
# In a map by stream, this key stands for all other streams.
OTHERS = "*"


class OptionError(ValueError):
    """An option is unknown, has a wrong value, or excludes another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The options for reading; see docs/reference/spark.md for each."""

    url: str
    streams: tuple[str, ...]  # empty if there is a pattern; else all partitions
    pattern: str | None
    # earliest, latest, group, group:NAME, a position, or these by stream; None: the default
    start: Place | dict[str, Place] | None
    end: Place | dict[str, Place] | None
    start_ms: int | dict[str, int] | None
    end_ms: int | dict[str, int] | None
    max_entries: int | None
    max_bytes: int | None
    min_entries: int | None
    max_trigger_delay_s: float
    min_partitions: int
    entries_per_partition: int
    page_size: int
    fail_on_data_loss: bool
    is_partitioned: bool  # `streams` are partitions
    fail_if_missing: bool
    group_name: str | None
    mode: str
    strict_columns: bool
    epoch_unit: str | None
    time_format: TimeFormat | None
    payload_field: str | None
    columns: tuple[str, ...] | None  # None: all
    logs_batches: bool

    @property
    def has_range(self) -> bool:
        """True if an option sets the beginning or the end of a read."""
        return any(each is not None for each in (self.start, self.end, self.start_ms, self.end_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """The options for writing; see docs/reference/spark.md for each."""

    url: str = DEFAULT_URL
    stream: str | None = None  # None: the column `stream` or `partitioning` decides
    partitioning: Partitioning | None = None
    keeps_ids: bool = False
    trim: tuple[str, ...] = ()  # words of XADD: MAXLEN ~ 1000
    batch_size: int = DEFAULT_BATCH_SIZE
    exactly_once: bool = False
    write_id: str | None = None
    skips_known_ids: bool = False
    # The columns with the stream and the ID of a row's origin.
    origin_columns: tuple[str, str] | None = None
    ledger_ttl_s: int = DEFAULT_LEDGER_TTL_S  # 0: for ever


def source_options(raw: Mapping[str, str]) -> SourceOptions:
    """Parse the options for reading. Raises OptionError."""
    take = Taker(raw, SOURCE_OPTIONS)
    streams = take("stream", parse_names)
    pattern = take("streamPattern", str)
    check_streams(streams, pattern)
    partitions = take("partitions", parse_from_one)
    if partitions is not None:
        take.refuse_both("streamPattern", "partitions")
        streams = tuple(name for each in streams or () for name in _all_of(each, partitions))
    start, end = take("startingOffsets", _start), take("endingOffsets", _end)
    start_ms, end_ms = take("startingTimestamp", _times), take("endingTimestamp", _times)
    take.refuse_both("startingOffsets", "startingTimestamp")
    take.refuse_both("endingOffsets", "endingTimestamp")
    group_name = take("groupName", _name)
    if start == GROUP and group_name is None:
        raise OptionError("startingOffsets=group needs groupName; group:NAME names another group")
    options = SourceOptions(
        url=take_url(take),
        streams=streams or (),
        pattern=pattern,
        start=start,
        end=end,
        start_ms=start_ms,
        end_ms=end_ms,
        max_entries=take("maxEntriesPerTrigger", parse_from_one),
        max_bytes=take("maxBytesPerTrigger", parse_bytes),
        min_entries=take("minEntriesPerTrigger", parse_from_one),
        max_trigger_delay_s=take.otherwise(
            "maxTriggerDelay", parse_duration, DEFAULT_MAX_TRIGGER_DELAY_S
        ),
        min_partitions=take.otherwise("minPartitions", parse_from_one, 1),
        entries_per_partition=take.otherwise(
            "entriesPerPartition", parse_from_one, DEFAULT_ENTRIES_PER_PARTITION
        ),
        page_size=take.otherwise("pageSize", parse_from_one, DEFAULT_PAGE_SIZE),
        fail_on_data_loss=take("failOnDataLoss", parse_flag) is not False,
        is_partitioned=partitions is not None,
        fail_if_missing=take("failIfMissing", parse_flag) is not False,
        group_name=group_name,
        mode=take.otherwise("schemaMode", _one_of(*MODES), MAP_MODE),
        strict_columns=take("columnParse", _one_of(PERMISSIVE, FAILFAST)) == FAILFAST,
        epoch_unit=take("epochUnit", _one_of("s", "ms", "us")),
        time_format=take("timestampFormat", TimeFormat),
        payload_field=take("payloadField", _name),
        columns=take("columns", parse_names),
        logs_batches=take("logBatches", parse_flag) is True,
    )
    unknown = sorted(set(options.columns or ()) - set(COLUMNS))
    if unknown and options.mode not in OWN_SCHEMA_MODES:
        raise OptionError(
            f"columns: there is no column {', '.join(unknown)}; schemaMode=columns "
            "makes columns of an entry's fields"
        )
    if options.payload_field is not None and options.mode != JSON_MODE:
        raise OptionError("payloadField goes with schemaMode=json")
    take.refuse_both("epochUnit", "timestampFormat")
    for name in ("epochUnit", "timestampFormat"):
        if take.has(name) and options.mode not in OWN_SCHEMA_MODES:
            raise OptionError(f"{name} goes with schemaMode=columns and schemaMode=json")
    if options.max_entries and options.min_entries and options.min_entries > options.max_entries:
        raise OptionError("minEntriesPerTrigger must not be above maxEntriesPerTrigger")
    return options


def check_streams(streams: tuple[str, ...] | None, pattern: str | None) -> None:
    """Check that either streams or a pattern are given. Raises OptionError."""
    if streams is None and pattern is None:
        raise OptionError(f"one of the options stream and streamPattern is needed {CATALOG_HINT}")
    if streams is not None and pattern is not None:
        raise OptionError("the options stream and streamPattern do not go together")


def sink_options(raw: Mapping[str, str], *, streaming: bool) -> SinkOptions:
    """Parse the options for writing. Raises OptionError."""
    if not raw:
        # Without this, INSERT INTO a table would write to any server on this machine.
        raise OptionError(f"one of the options url and stream is needed {CATALOG_HINT}")
    take = Taker(raw, SINK_OPTIONS, SPARK_OWN if streaming else ())
    take.refuse_both("maxlen", "minid")
    ids = take.otherwise("ids", _one_of(AUTO, KEEP), AUTO)
    delivery = take.otherwise("delivery", _one_of(AT_LEAST_ONCE, EXACTLY_ONCE), AT_LEAST_ONCE)
    write_id = take("writeId", _name)
    conflict = take("onIdConflict", _one_of(ERROR, SKIP))
    if delivery == EXACTLY_ONCE and write_id is None and not streaming:
        raise OptionError("delivery=exactly-once needs writeId: a name that this write alone has")
    if delivery == EXACTLY_ONCE and ids == KEEP:
        raise OptionError("ids=keep writes each entry once as it is: leave out exactly-once")
    if conflict is not None and ids != KEEP:
        raise OptionError("onIdConflict goes with ids=keep")
    stream, partitioning = take("stream", _name), _partitioning(take)
    return SinkOptions(
        url=take_url(take),
        stream=stream if partitioning is None else None,
        partitioning=partitioning,
        keeps_ids=ids == KEEP,
        trim=take("maxlen", _maxlen) or take("minid", _minid) or (),
        batch_size=take.otherwise("batchSize", _batch_size, DEFAULT_BATCH_SIZE),
        exactly_once=delivery == EXACTLY_ONCE,
        write_id=write_id,
        skips_known_ids=conflict == SKIP,
        origin_columns=take("originColumns", _two_names),
        ledger_ttl_s=take.otherwise("ledgerTtl", _whole_seconds, DEFAULT_LEDGER_TTL_S),
    )


def _all_of(stream: str, number: int) -> list[str]:
    """Return the streams of all partitions. Raises OptionError."""
    return _partitions(stream, number).streams


def _partitions(stream: str, number: int) -> Partitions:
    try:
        return Partitions(stream, number)
    except ValueError as error:
        raise OptionError(f"option partitions: {error}") from None


def _partitioning(take: Taker) -> Partitioning | None:
    """Return the partitioning. Raises OptionError unless both options and the stream are given."""
    number, key = take("partitions", parse_from_one), take("keyColumn", _name)
    if number is None and key is None:
        return None
    stream = take("stream", _name)
    if number is None or key is None or stream is None:
        raise OptionError("the options stream, partitions and keyColumn go together")
    return Partitioning(_partitions(stream, number), key)


class Taker:
    """Parses options by name, each with a function that may refuse the text."""

    def __init__(
        self, raw: Mapping[str, str], known: Iterable[str], ignored: Collection[str] = ()
    ) -> None:
        by_lower = {name.lower(): name for name in known}
        self._values: dict[str, str] = {}
        for name, value in _given(raw).items():
            if name.lower() in by_lower:
                self._values[by_lower[name.lower()]] = value
            elif name.lower() not in ignored:
                raise OptionError(_unknown(name, by_lower))

    def __call__(self, name: str, read: Callable[[str], T]) -> T | None:
        """Return the value of an option; None if it is not given. Raises OptionError."""
        text = self._values.get(name)
        if text is None:
            return None
        try:
            return read(text)
        except ValueError as error:
            raise OptionError(f"option {name}: {error}") from None

    def otherwise(self, name: str, read: Callable[[str], T], default: T) -> T:
        """Return the option's value, or `default` if it is not given. Raises OptionError."""
        value = self(name, read)
        return default if value is None else value

    def has(self, name: str) -> bool:
        return name in self._values

    def refuse_both(self, one: str, other: str) -> None:
        if self.has(one) and self.has(other):
            raise OptionError(f"the options {one} and {other} do not go together")


def _given(raw: Mapping[str, str]) -> dict[str, str]:
    """Return the options that the user has given; a path becomes the stream's name."""
    given = dict(raw)
    if PROVIDER in given:
        given = {
            name[len(TABLE_OPTION_PREFIX) :]: value
            for name, value in given.items()
            if name.lower().startswith(TABLE_OPTION_PREFIX)
        }
    path, paths = given.pop(PATH, None), given.pop(PATHS, None)
    stream = ",".join(json.loads(paths)) if paths is not None else path
    if stream is not None and given.setdefault("stream", stream) != stream:
        raise OptionError(f"the option stream and the path {stream!r} do not go together")
    return given


def _unknown(name: str, by_lower: Mapping[str, str]) -> str:
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    hint = f": did you mean {by_lower[near[0]]}?" if near else ""
    return f"there is no option {name}{hint}"


# -- the server -----------------------------------------------------------------------------------


def take_url(take: Taker) -> str:
    """Return the option `url`, or a URL made of host, port and other options."""
    parts = [name for name in CONNECTION_OPTIONS[1:] if take.has(name)]
    if take.has("url"):
        if parts:
            raise OptionError(f"the options url and {parts[0]} do not go together")
        return take.otherwise("url", _checked_url, DEFAULT_URL)
    if not parts:
        return DEFAULT_URL
    scheme = "rediss" if take("ssl", parse_flag) else "redis"
    user, password = take.otherwise("username", quote, ""), take("password", _quoted)
    login = f"{user}:{password}@" if password is not None else ""
    host, port = (
        take.otherwise("host", str, "127.0.0.1"),
        take.otherwise("port", parse_from_one, 6379),
    )
    return f"{scheme}://{login}{host}:{port}/{take('db', parse_from_zero) or 0}"


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _checked_url(text: str) -> str:
    check_url(text)
    return text


# -- values ---------------------------------------------------------------------------------------


def _name(text: str) -> str:
    if not text:
        raise ValueError("expected a name")
    return text


def parse_names(text: str) -> tuple[str, ...]:
    """Parse names separated by commas; repeated names count once."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if not all(names):
        raise ValueError("expected names with commas between them")
    return names


def _two_names(text: str) -> tuple[str, str]:
    names = parse_names(text)
    if len(names) != 2:
        raise ValueError("expected two columns with a comma between them: the stream and the ID")
    return names[0], names[1]


def _start(text: str) -> Place | dict[str, Place]:
    lowered = text.strip().lower()
    if lowered in (EARLIEST, LATEST, GROUP):
        return lowered
    if lowered.startswith(f"{GROUP}:") and len(lowered) > len(GROUP) + 1:
        return text.strip()
    return _by_stream(text, "earliest, latest, group, group:NAME", (EARLIEST, LATEST))


def _end(text: str) -> Place | dict[str, Place]:
    lowered = text.strip().lower()
    return lowered if lowered == LATEST else _by_stream(text, "latest", (LATEST,))


def _by_stream(text: str, expected: str, words: Collection[str]) -> dict[str, Place]:
    if not text.strip().startswith("{"):
        raise ValueError(f'expected {expected} or {{"stream": "ID", ...}}, not {text!r}')
    places: dict[str, Place] = {}
    for stream, value in json.loads(text).items():
        if isinstance(value, str) and value.strip().lower() in words:
            places[stream] = value.strip().lower()
        else:
            places |= from_json({stream: value})
    return places


def _times(text: str) -> int | dict[str, int]:
    """Parse a time, or one for each stream: {"orders": "2026-01-31T12:00Z", "*": 1700000000000}."""
    if not text.strip().startswith("{"):
        return parse_time(text)
    return {stream: parse_time(str(value)) for stream, value in json.loads(text).items()}


def _whole_seconds(text: str) -> int:
    """Parse seconds: 0, or at least one, because less would expire at once."""
    seconds = parse_duration(text)
    return max(round(seconds), 1) if seconds else 0


def parse_from_zero(text: str) -> int:
    if not text.strip().isdecimal():
        raise ValueError(f"expected a number from 0 up, not {text!r}")
    return int(text)


def parse_from_one(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise ValueError(f"expected a number from 1 up, not {text!r}")
    return int(text)


def _batch_size(text: str) -> int:
    if parse_from_one(text) > MAX_BATCH_SIZE:
        raise ValueError(f"expected at most {MAX_BATCH_SIZE:,}")
    return int(text)


def parse_flag(text: str) -> bool:
    values = {"true": True, "false": False}
    if text.strip().lower() not in values:
        raise ValueError(f"expected true or false, not {text!r}")
    return values[text.strip().lower()]


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.strip().lower() not in words:
            raise ValueError(f"expected {' or '.join(words)}, not {text!r}")
        return text.strip().lower()

    return read


def _maxlen(text: str) -> tuple[str, ...]:
    return _trim("MAXLEN", text, parse_from_zero)


def _minid(text: str) -> tuple[str, ...]:
    return _trim("MINID", text, parse_id)


def _trim(word: str, text: str, check: Callable[[str], Any]) -> tuple[str, ...]:
    """Parse `~1000`, `~ 1000`, `=1000` or `1000`."""
    text = text.strip()
    mark = text[0] if text[:1] in ("~", "=") else "="
    value = text.removeprefix(mark).strip()
    check(value)
    return word, mark, value
