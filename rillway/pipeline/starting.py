"""Where a query begins and where a batch read ends: options to positions."""

from __future__ import annotations

from collections.abc import Iterable

from rillway.pipeline.connection import Connection
from rillway.pipeline.facts import StreamFacts, all_facts
from rillway.pipeline.ids import MIN_ID, make_id
from rillway.pipeline.offsets import Offset, Position
from rillway.pipeline.options import EARLIEST, GROUP, LATEST, OptionError, SourceOptions
from rillway.pipeline.shadow_group import group_position, pin, shadow_group


def starting_offset(
    connection: Connection, options: SourceOptions, streams: Iterable[str], *, default: str
) -> Offset:
    """Where to begin in each stream. `default`: earliest or latest.

    Raises OptionError if startingOffsets names other streams than there are, or a group is missing.
    """
    facts = all_facts(connection, streams)
    if isinstance(options.start, dict):
        _check_names(options.start, facts, "startingOffsets", is_pattern=bool(options.pattern))
    return {name: _start(connection, options, name, facts[name], default) for name in facts}


def _start(
    connection: Connection, options: SourceOptions, stream: str, facts: StreamFacts, default: str
) -> Position:
    if options.start_ms is not None:
        return _before(make_id(options.start_ms), facts)
    start = options.start or default
    if isinstance(start, dict):
        return start.get(stream, beginning(facts))
    if facts.is_missing:
        return beginning(facts)
    if start == LATEST:
        if options.group_name is not None:
            return pin(connection, stream, shadow_group(options.group_name), facts)
        return Position(facts.last_id, facts.entries_added)
    if start == EARLIEST:
        return beginning(facts)
    return _group_start(connection, options, stream, start)


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


def beginning(facts: StreamFacts) -> Position:
    """Whatever there is. It is counted from the first entry if that is still there."""
    return Position(MIN_ID, 0 if not facts.trimmed else None)


def _before(first: int, facts: StreamFacts) -> Position:
    """The position in front of an ID. What is older than the stream is no loss."""
    if first <= facts.first_id or not facts.length:
        return beginning(facts)
    return Position(first - 1, None)


def ending_offset(connection: Connection, options: SourceOptions, streams: Iterable[str]) -> Offset:
    """Where a batch read ends in each stream. Raises OptionError as starting_offset does."""
    facts = all_facts(connection, streams)
    last = {name: Position(each.last_id, each.entries_added) for name, each in facts.items()}
    if options.end_ms is not None:
        bound = max(make_id(options.end_ms) - 1, MIN_ID)
        return {
            name: end if end.id <= bound else Position(bound, None) for name, end in last.items()
        }
    if isinstance(options.end, dict):
        _check_names(options.end, facts, "endingOffsets", is_pattern=bool(options.pattern))
        return {name: options.end.get(name, end) for name, end in last.items()}
    return last


def _check_names(offset: Offset, streams: Iterable[str], option: str, *, is_pattern: bool) -> None:
    """A name that is misspelt would else be a stream that is read as a whole, or not at all."""
    unknown = sorted(set(offset) - set(streams))
    if unknown:
        raise OptionError(f"{option} names {', '.join(unknown)}, which is not read")
    missing = sorted(set(streams) - set(offset))
    if missing and not is_pattern:
        raise OptionError(f"{option} does not say where {', '.join(missing)} is")
