"""Converts options to the positions where a query begins and a batch ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from rillway.pipeline.ranges.offsets import Offset, Position, beginning
from rillway.pipeline.spark.options import (
    EARLIEST,
    GROUP,
    LATEST,
    OTHERS,
    OptionError,
    SourceOptions,
)
from rillway.pipeline.spark.shadow_group import group_position, pin, shadow_group
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.facts import StreamFacts, all_facts
from rillway.pipeline.wire.ids import MIN_ID, make_id

T = TypeVar("T")


def starting_offset(
    connection: Connection, options: SourceOptions, streams: Iterable[str], *, default: str
) -> Offset:
    """Return where to begin in each stream. `default`: earliest or latest.

    Raises OptionError if startingOffsets names a stream that is not read, or if a group is missing.
    """
    facts = all_facts(connection, streams)
    _check_names(options.start, facts, "startingOffsets", is_pattern=bool(options.pattern))
    _check_names(options.start_ms, facts, "startingTimestamp", is_pattern=bool(options.pattern))
    return {name: _start(connection, options, name, facts[name], default) for name in facts}


def _start(
    connection: Connection, options: SourceOptions, stream: str, facts: StreamFacts, default: str
) -> Position:
    start_ms = _of_stream(options.start_ms, stream)
    if start_ms is not None:
        return _before(make_id(start_ms), facts)
    # Streams of a pattern that the map does not name are read as a whole.
    unnamed = EARLIEST if isinstance(options.start, dict) else default
    start = _of_stream(options.start, stream) or unnamed
    if isinstance(start, Position):
        return start
    if facts.is_missing:
        return beginning(facts)
    if start == LATEST:
        if options.group_name is not None:
            return pin(connection, stream, shadow_group(options.group_name), facts)
        return Position(facts.last_id, facts.entries_added)
    if start == EARLIEST:
        return beginning(facts)
    return _group_start(connection, options, stream, str(start))


def _of_stream(option: T | dict[str, T] | None, stream: str) -> T | None:
    """Return a stream's value of an option that has one value for all streams or one for each."""
    if isinstance(option, dict):
        return option.get(stream, option.get(OTHERS))
    return option


def _group_start(
    connection: Connection, options: SourceOptions, stream: str, start: str
) -> Position:
    group = start.removeprefix(f"{GROUP}:")
    if start == GROUP:
        assert options.group_name is not None
        group = shadow_group(options.group_name)
    position = group_position(connection, stream, group)
    if position is None:
        raise OptionError(f"startingOffsets: the stream {stream} has no group {group}")
    return position


def _before(first: int, facts: StreamFacts) -> Position:
    """Return the position before an ID, or before all entries if the stream begins later."""
    if first <= facts.first_id or not facts.length:
        return beginning(facts)
    return Position(first - 1, None)


def ending_offset(connection: Connection, options: SourceOptions, streams: Iterable[str]) -> Offset:
    """Return where a batch ends in each stream. Raises OptionError like starting_offset."""
    facts = all_facts(connection, streams)
    _check_names(options.end, facts, "endingOffsets", is_pattern=bool(options.pattern))
    _check_names(options.end_ms, facts, "endingTimestamp", is_pattern=bool(options.pattern))
    return {name: _end(options, name, each) for name, each in facts.items()}


def _end(options: SourceOptions, stream: str, facts: StreamFacts) -> Position:
    last = Position(facts.last_id, facts.entries_added)
    end_ms = _of_stream(options.end_ms, stream)
    if end_ms is not None:
        bound = max(make_id(end_ms) - 1, MIN_ID)
        return last if last.id <= bound else Position(bound, None)
    end = _of_stream(options.end, stream)
    return end if isinstance(end, Position) else last


def _check_names(option: object, streams: Iterable[str], name: str, *, is_pattern: bool) -> None:
    """Check names in an option: a misspelt one would change what is read. Raises OptionError."""
    if not isinstance(option, dict):
        return
    unknown = sorted(set(option) - set(streams) - {OTHERS})
    if unknown:
        raise OptionError(f"{name} names {', '.join(unknown)}, which is not read")
    missing = sorted(set(streams) - set(option))
    if missing and OTHERS not in option and not is_pattern:
        raise OptionError(
            f'{name} does not say where {", ".join(missing)} is: "{OTHERS}" is for all others'
        )
