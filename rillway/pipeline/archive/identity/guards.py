"""Writes to a stream that take effect only if marker and anchor are as expected.

Moving (or creating) the marker requires that the last archived entry exists unchanged, and that no
live entry follows it up to the new position. A trim requires that the marker is exactly at the
archived end; it removes entries before the anchor. So the stream that is written to is the archived
one at the moment of the write, despite failovers, restores and other archivers.

A script makes check and write one atomic step. Without scripts, WATCH and MULTI are used. Servers
do not treat a changed group as a change of the key, so a change between check and EXEC goes
unnoticed. The marker was verified just before, so the entries are archived. A group created or set
back in that window starts at the first remaining entry, as it would if created afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from rillway.pipeline.archive.groups import floor_of, read_groups
from rillway.pipeline.archive.identity.scripts import MOVE_MARKER, TRIM
from rillway.pipeline.archive.identity.sources import is_there
from rillway.pipeline.ranges.anchors import Anchor
from rillway.pipeline.wire.capabilities import Capabilities, Scripts
from rillway.pipeline.wire.cluster import following
from rillway.pipeline.wire.connection import Connection, Reply, ServerError, Word, exec_reply
from rillway.pipeline.wire.facts import group_infos, group_positions, read_facts
from rillway.pipeline.wire.ids import MIN_ID, format_id

MAX_ATTEMPTS = 100
# ACKED examines each entry; the limit bounds how long other clients wait.
ACKED_ENTRIES_AT_ONCE = 10_000

DONE = "OK"
MISSING, MARKER, ANCHOR, ENTRY, END = "missing", "marker", "anchor", "entry", "end"
OLD_ANCHOR, GROUP = "old anchor", "group"
REASONS = {
    MISSING: "the stream does not exist",
    MARKER: "the archive's group has moved",
    ANCHOR: "the last archived entry is missing or different",
    ENTRY: "there are entries between the last archived one and the archived end",
    END: "the stream ends before the archived end",
    OLD_ANCHOR: "the entries archived before are missing",
    GROUP: "a consumer group has changed",
}


@dataclass(frozen=True, slots=True)
class MarkerMove:
    """A move of the marker to the archived end.

    `expected`: its present position, None if it is to be created; `anchor`: the last archived
    entry, None if nothing was archived; `end`: the new position; `n`: the number of entries ever
    added up to it. `old_anchor`, `old_end` and `others`, the expected markers of other epochs, are
    what the stream was recognised by.
    """

    marker: str
    expected: int | None
    anchor: Anchor | None
    end: int
    n: int | None = None
    old_anchor: Anchor | None = None
    old_end: int = MIN_ID
    others: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trimming:
    """A trim of the entries before `floor` that no group except the `ignored` ones needs.

    `end`: the expected position of the marker; `anchor`: an archived entry, not before `floor`;
    `acked`: True if the server itself determines what groups need; `entries`: an upper bound of the
    length of the stream.
    """

    marker: str
    end: int
    anchor: Anchor
    floor: int
    ignored: Collection[str] = ()
    acked: bool = False
    entries: int = 1 << 63


class Guards:
    """Checked writes to the streams of one server."""

    def __init__(self, connection: Connection, capabilities: Capabilities | None = None) -> None:
        self._connection = connection
        self._scripts = Scripts(connection, capabilities)

    @property
    def runs_scripts(self) -> bool:
        return self._scripts.are_there

    # -- marker -----------------------------------------------------------------------------------

    def move_all(self, moves: Mapping[str, MarkerMove]) -> dict[str, str]:
        """Move markers, using pipelines. Returns outcomes as move_marker. Raises ServerError."""
        words = {stream: _move_words(move) for stream, move in moves.items()}
        replies = self._scripts.run_all(MOVE_MARKER, words)
        return {
            stream: replies[stream].decode()
            if stream in replies
            else self.move_marker(stream, move)
            for stream, move in moves.items()
        }

    def move_marker(self, stream: str, move: MarkerMove) -> str:
        """Move a marker. Returns DONE or a key of REASONS. Raises ServerError."""
        reply = self._scripts.run(MOVE_MARKER, stream, _move_words(move))
        if reply is not None:
            return str(reply.decode())
        for _ in range(MAX_ATTEMPTS):
            done = following(
                self._connection, stream, lambda node: _Watched(node, stream).move_marker(move)
            )
            if done is not None:
                return done
        return ENTRY

    # -- trim -------------------------------------------------------------------------------------

    def trim_all(self, trimmings: Mapping[str, Trimming]) -> dict[str, int | str]:
        """Trim streams, using pipelines. Returns outcomes as trim does. Raises ServerError.

        With ACKED a script examines a limited number of entries; the rest is trimmed by stream.
        """
        words = {
            stream: _trim_words(trimming, ACKED_ENTRIES_AT_ONCE if trimming.acked else 0)
            for stream, trimming in trimmings.items()
        }
        replies = self._scripts.run_all(TRIM, words)
        outcomes: dict[str, int | str] = {}
        for stream, trimming in trimmings.items():
            reply = replies.get(stream)
            if reply is None:
                outcomes[stream] = self.trim(stream, trimming)
            elif not isinstance(reply, int):
                outcomes[stream] = str(reply.decode())
            else:
                has_more = trimming.acked and trimming.entries > ACKED_ENTRIES_AT_ONCE
                rest = self.trim(stream, trimming) if has_more else 0
                outcomes[stream] = reply + (rest if isinstance(rest, int) else 0)
        return outcomes

    def trim(self, stream: str, trimming: Trimming) -> int | str:
        """Trim a stream. Returns the number of removed entries or a key of REASONS.

        Raises ServerError.
        """
        if not trimming.acked:
            return self._trim_once(stream, trimming, limit=0)
        total = 0
        while removed := self._trim_once(stream, trimming, ACKED_ENTRIES_AT_ONCE):
            if isinstance(removed, str):
                return total or removed
            total += removed
        return total

    def _trim_once(self, stream: str, trimming: Trimming, limit: int) -> int | str:
        reply = self._scripts.run(TRIM, stream, _trim_words(trimming, limit))
        if reply is not None:
            return reply if isinstance(reply, int) else str(reply.decode())
        for _ in range(MAX_ATTEMPTS):
            done = following(
                self._connection, stream, lambda node: _Watched(node, stream).trim(trimming, limit)
            )
            if done is not None:
                return done
        return GROUP


class _Watched:
    """The guarded writes without scripts, to one stream on its server."""

    def __init__(self, node: Connection, stream: str) -> None:
        self._node, self._stream = node, stream

    def move_marker(self, move: MarkerMove) -> str | None:
        """Move the marker; None if the key has changed."""
        self._node.call("WATCH", self._stream)
        reason = self._move_reason(move)
        if reason != DONE:
            self._node.call("UNWATCH")
            return reason
        verb = "CREATE" if move.expected is None else "SETID"
        read = () if move.n is None else ("ENTRIESREAD", move.n)
        words = ("XGROUP", verb, self._stream, move.marker, format_id(move.end), *read)
        return None if self._exec(words) is None else DONE

    def _move_reason(self, move: MarkerMove) -> str:
        if self._node.call("TYPE", self._stream) != b"stream":
            return MISSING
        last = MIN_ID if move.anchor is None else move.anchor.id
        positions = self._positions()
        expected = {move.marker: move.expected, **move.others}
        if any(positions.get(name) != position for name, position in expected.items()):
            return MARKER
        if move.anchor is not None and not self._has(move.anchor):
            return ANCHOR
        if last < move.end and self._any(last + 1, move.end):
            return ENTRY
        if read_facts(self._node, self._stream).last_id < move.end:
            return END
        old = move.old_anchor
        if (old is None or not self._has(old)) and self._any(MIN_ID, move.old_end):
            return OLD_ANCHOR
        return DONE

    def trim(self, trimming: Trimming, limit: int) -> int | str | None:
        """Trim; None if the key has changed."""
        self._node.call("WATCH", self._stream)
        reason = self._trim_reason(trimming, limit)
        if reason != DONE:
            self._node.call("UNWATCH")
            return reason
        reply = self._exec(_xtrim(self._stream, trimming, limit))
        return None if reply is None else int(reply)

    def _trim_reason(self, trimming: Trimming, limit: int) -> str:
        anchor, floor = trimming.anchor, trimming.floor
        if self._node.call("TYPE", self._stream) != b"stream":
            return MISSING
        if self._positions().get(trimming.marker) != trimming.end:
            return MARKER
        if not floor <= anchor.id <= trimming.end or not self._has(anchor):
            return ANCHOR
        if not limit:
            groups = read_groups(self._node, self._stream)
            if floor_of(groups, floor, trimming.ignored) < floor:
                return GROUP
        return DONE

    def _exec(self, words: Sequence[Word]) -> Reply | None:
        """Run a write under WATCH; None if the key has changed. Raises ServerError."""
        replies = exec_reply(self._node.call_all([("MULTI",), words, ("EXEC",)]))
        if replies is not None and isinstance(replies[0], ServerError):
            raise replies[0]
        return None if replies is None else replies[0]

    def _positions(self) -> dict[str, int]:
        """Return the positions of all groups."""
        return group_positions(group_infos(self._node, self._stream))

    def _has(self, anchor: Anchor) -> bool:
        bounds = format_id(anchor.id), format_id(anchor.id)
        return is_there(anchor, self._node.call("XRANGE", self._stream, *bounds))

    def _any(self, first: int, last: int) -> bool:
        bounds = format_id(first), format_id(last)
        return bool(self._node.call("XRANGE", self._stream, *bounds, "COUNT", 1))


def _move_words(move: MarkerMove) -> list[Word]:
    last, old = move.anchor, move.old_anchor
    last_id = MIN_ID if last is None else last.id
    return [
        move.marker,
        _position_word(move.expected),
        format_id(last_id),
        "" if last is None else last.hash,
        format_id(last_id + 1),
        format_id(move.end),
        "" if move.n is None else move.n,
        "" if old is None else format_id(old.id),
        "" if old is None else old.hash,
        format_id(move.old_end),
        *(word for name, at in move.others.items() for word in (name, _position_word(at))),
    ]


def _position_word(position: int | None) -> str:
    return "" if position is None else format_id(position)


def _trim_words(trimming: Trimming, limit: int) -> list[Word]:
    return [
        trimming.marker,
        format_id(trimming.end),
        format_id(trimming.anchor.id),
        trimming.anchor.hash,
        format_id(trimming.floor),
        format_id(max(trimming.floor - 1, MIN_ID)),
        limit,
        *trimming.ignored,
    ]


def _xtrim(stream: str, trimming: Trimming, limit: int) -> tuple[Word, ...]:
    floor = format_id(trimming.floor)
    if limit:
        return ("XTRIM", stream, "MINID", "~", floor, "LIMIT", limit, "ACKED")
    return ("XTRIM", stream, "MINID", "=", floor)
