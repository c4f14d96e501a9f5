"""Parsing and formatting of entry IDs in requests and replies (Redis 7.4).

Strict IDs are `<ms>-<seq>` and `<ms>`. Ranges also take `-` and `+` for the two ends of a stream,
and `(` before an ID excludes it. XADD's `*` and `<ms>-*`, XREAD's `$` and `+` and XREADGROUP's `>`
belong to those commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from operator import lt

from protocol import errors, replies
from protocol.errors import ReplyError
from storage.entries.entry_id import (
    MAX_ID,
    MAX_SEQ,
    MIN_ID,
    EntryID,
    format_id,
    parse_id,
)


def parse_strict(text: bytes) -> EntryID:
    """An ID; `<ms>` alone is `<ms>-0`. Raises the invalid ID error, for `-` and `+` too."""
    entry_id = parse_id(text)
    if entry_id is None:
        raise ReplyError(errors.INVALID_STREAM_ID)
    return entry_id


def parse_all(texts: list[bytes]) -> list[EntryID]:
    """Strict IDs, all or none: one that is invalid raises the invalid ID error."""
    ids = parse_leading(texts)
    if len(ids) < len(texts):
        raise ReplyError(errors.INVALID_STREAM_ID)
    return ids


def parse_leading(texts: Iterable[bytes]) -> list[EntryID]:
    """Strict IDs, up to the first word that is not one."""
    ids: list[EntryID] = []
    for text in texts:
        entry_id = parse_id(text)
        if entry_id is None:
            break
        ids.append(entry_id)
    return ids


def ascending(ids: list[EntryID]) -> list[EntryID]:
    """The IDs in ascending order, each once."""
    if all(map(lt, ids, islice(ids, 1, None))):  # as they are sent, nearly always
        return ids
    return sorted(set(ids))


def without_repeats(ids: list[EntryID]) -> Iterator[list[EntryID]]:
    """The IDs in the same order, split into lists without repeats: nearly always one."""
    if len(ids) == 1 or len(set(ids)) == len(ids):
        yield ids
        return
    run: dict[EntryID, None] = {}
    for entry_id in ids:
        if entry_id in run:
            yield list(run)
            run = {}
        run[entry_id] = None
    yield list(run)


def parse_open(text: bytes, missing_seq: int = 0) -> EntryID:
    """An ID, `-` or `+`. `missing_seq` completes an ID that is only `<ms>`."""
    if text == b"-":
        return MIN_ID
    if text == b"+":
        return MAX_ID
    entry_id = parse_id(text, missing_seq)
    if entry_id is None:
        raise ReplyError(errors.INVALID_STREAM_ID)
    return entry_id


def parse_range_start(text: bytes) -> EntryID:
    """The first ID of a range: `-`, `+`, an ID (`<ms>` is `<ms>-0`), or `(` and an ID."""
    if text[:1] != b"(" or len(text) == 1:
        return parse_open(text)
    excluded = parse_strict(text[1:])
    if excluded == MAX_ID:
        raise ReplyError(errors.RANGE_INVALID_START)
    return excluded + 1


def parse_range_end(text: bytes) -> EntryID:
    """The last ID of a range; as the start, but `<ms>` alone is the last ID of that time."""
    if text[:1] != b"(" or len(text) == 1:
        return parse_open(text, MAX_SEQ)
    excluded = parse_id(text[1:], MAX_SEQ)
    if excluded is None:
        raise ReplyError(errors.INVALID_STREAM_ID)
    if excluded == MIN_ID:
        raise ReplyError(errors.RANGE_INVALID_END)
    return excluded - 1


def id_bulk(entry_id: EntryID) -> bytes:
    """An ID as a reply."""
    return replies.bulk(format_id(entry_id))
