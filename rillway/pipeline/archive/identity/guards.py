"""Writes to a stream that happen only if marker and anchor are where they should be.

Place moves the marker, or makes it: the last archived entry is there with its bytes, and no entry
after it up to the new position. Trim removes entries before the anchor: the marker is exactly at
the archived end. So whatever came between, a failover, a restore, another archiver: the stream that
is written to is the one that was archived, at the moment of the write.

A script does check and write in one step. Where there are no scripts it is WATCH and MULTI. Servers
do not count groups as a change of the key, so a marker or group that changes between check and EXEC
is not noticed. Then the marker said a moment before that the entries are archived; that a group
which is made or set back in that moment begins with what is left, as one made a moment later would.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from rillway.pipeline.archive.groups import floor_of, read_groups
from rillway.pipeline.archive.identity.scripts import PLACE, TRIM
from rillway.pipeline.archive.identity.sources import is_there
from rillway.pipeline.client.capabilities import Capabilities, Scripts
from rillway.pipeline.client.cluster import following
from rillway.pipeline.client.connection import Connection, Reply, ServerError, Word, exec_reply
from rillway.pipeline.client.facts import group_infos, group_positions, read_facts
from rillway.pipeline.client.ids import MIN_ID, format_id
from rillway.pipeline.ranges.anchors import Anchor

MAX_ATTEMPTS = 100
# With ACKED, the server looks at each entry; others wait no longer than that takes.
ACKED_ENTRIES_AT_ONCE = 10_000

DONE = "OK"
MISSING, MARKER, ANCHOR, ENTRY, END = "missing", "marker", "anchor", "entry", "end"
OLD_ANCHOR, GROUP = "old anchor", "group"
REASONS = {
    MISSING: "the stream is not there",
    MARKER: "the archive's group is not where it was",
    ANCHOR: "the last archived entry is not there, or holds something else",
    ENTRY: "there are entries between the last archived one and the archived end",
    END: "the stream ends before the archived end",
    OLD_ANCHOR: "what was archived before is not there",
    GROUP: "a consumer group has changed",
}


@dataclass(frozen=True, slots=True)
class Placing:
    """Where the marker goes. `expected`: where it is, None if it is to be made.

    `last`: the last archived entry, None if nothing was archived; `position`: the archived end;
    `n`: the number of entries that were ever added up to it. `old_anchor`, `old_end`, `others`:
    what the stream was recognised by, the last being the markers of other epochs, as `expected`.
    """

    marker: str
    expected: int | None
    last: Anchor | None
    position: int
    n: int | None = None
    old_anchor: Anchor | None = None
    old_end: int = MIN_ID
    others: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trimming:
    """The extent of a trim: all before `floor` that no group except the `ignored` ones needs.

    `end`: where the marker has to be; `anchor`: an archived entry, not before `floor`;
    `acked`: True if the server itself determines what groups need. `entries`: at most so many are
    in the stream.
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

    # -- place ------------------------------------------------------------------------------------

    def place_all(self, placings: Mapping[str, Placing]) -> dict[str, str]:
        """The outcome by stream, as of `place`; scripts run in pipelines. Raises ServerError."""
        words = {stream: _place_words(placing) for stream, placing in placings.items()}
        replies = self._scripts.run_all(PLACE, words)
        return {
            stream: replies[stream].decode() if stream in replies else self.place(stream, placing)
            for stream, placing in placings.items()
        }

    def place(self, stream: str, placing: Placing) -> str:
        """`OK`, or why not: a key of REASONS. Raises ServerError."""
        reply = self._scripts.run(PLACE, stream, _place_words(placing))
        if reply is not None:
            return str(reply.decode())
        for _ in range(MAX_ATTEMPTS):
            done = following(
                self._connection, stream, lambda node: _Watched(node, stream).place(placing)
            )
            if done is not None:
                return done
        return ENTRY

    # -- trim -------------------------------------------------------------------------------------

    def trim_all(self, trimmings: Mapping[str, Trimming]) -> dict[str, int | str]:
        """The outcome by stream, as of `trim`; scripts run in pipelines. Raises ServerError.

        With ACKED a script looks at so many entries at most: what is left is trimmed one by one.
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
        """The number of removed entries, or why none: a key of REASONS. Raises ServerError."""
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
    """The same without scripts, of one stream on the server that has it."""

    def __init__(self, node: Connection, stream: str) -> None:
        self._node, self._stream = node, stream

    def place(self, placing: Placing) -> str | None:
        """None if the key has changed."""
        self._node.call("WATCH", self._stream)
        reason = self._place_reason(placing)
        if reason != DONE:
            self._node.call("UNWATCH")
            return reason
        verb = "CREATE" if placing.expected is None else "SETID"
        read = () if placing.n is None else ("ENTRIESREAD", placing.n)
        words = ("XGROUP", verb, self._stream, placing.marker, format_id(placing.position), *read)
        return None if self._exec(words) is None else DONE

    def _place_reason(self, placing: Placing) -> str:
        if self._node.call("TYPE", self._stream) != b"stream":
            return MISSING
        last = MIN_ID if placing.last is None else placing.last.id
        positions = self._positions()
        expected = {placing.marker: placing.expected, **placing.others}
        if any(positions.get(name) != position for name, position in expected.items()):
            return MARKER
        if placing.last is not None and not self._has(placing.last):
            return ANCHOR
        if last < placing.position and self._any(last + 1, placing.position):
            return ENTRY
        if read_facts(self._node, self._stream).last_id < placing.position:
            return END
        old = placing.old_anchor
        if (old is None or not self._has(old)) and self._any(MIN_ID, placing.old_end):
            return OLD_ANCHOR
        return DONE

    def trim(self, trimming: Trimming, limit: int) -> int | str | None:
        """None if the key has changed."""
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
        """The reply to one write under WATCH; None if the key has changed. Raises ServerError."""
        replies = exec_reply(self._node.call_all([("MULTI",), words, ("EXEC",)]))
        if replies is not None and isinstance(replies[0], ServerError):
            raise replies[0]
        return None if replies is None else replies[0]

    def _positions(self) -> dict[str, int]:
        """Of all groups."""
        return group_positions(group_infos(self._node, self._stream))

    def _has(self, anchor: Anchor) -> bool:
        bounds = format_id(anchor.id), format_id(anchor.id)
        return is_there(anchor, self._node.call("XRANGE", self._stream, *bounds))

    def _any(self, first: int, last: int) -> bool:
        bounds = format_id(first), format_id(last)
        return bool(self._node.call("XRANGE", self._stream, *bounds, "COUNT", 1))


def _place_words(placing: Placing) -> list[Word]:
    last, old = placing.last, placing.old_anchor
    last_id = MIN_ID if last is None else last.id
    return [
        placing.marker,
        _position_word(placing.expected),
        format_id(last_id),
        "" if last is None else last.hash,
        format_id(last_id + 1),
        format_id(placing.position),
        "" if placing.n is None else placing.n,
        "" if old is None else format_id(old.id),
        "" if old is None else old.hash,
        format_id(placing.old_end),
        *(word for name, at in placing.others.items() for word in (name, _position_word(at))),
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
