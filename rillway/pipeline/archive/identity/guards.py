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
from dataclasses import dataclass

from rillway.pipeline.archive.groups import floor_of, read_groups
from rillway.pipeline.archive.identity.scripts import PLACE, TRIM
from rillway.pipeline.archive.identity.sources import is_there
from rillway.pipeline.client.capabilities import Capabilities
from rillway.pipeline.client.connection import Connection, Reply, ServerError, Word
from rillway.pipeline.client.facts import group_infos, group_name, read_facts
from rillway.pipeline.client.ids import MIN_ID, format_id, parse_id
from rillway.pipeline.ranges.anchors import Anchor

MAX_ATTEMPTS = 100
SCRIPTS_AT_ONCE = 500
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
    `n`: the number of entries that were ever added up to it. `old_anchor`, `old_end`: what the
    stream was recognised by.
    """

    marker: str
    expected: int | None
    last: Anchor | None
    position: int
    n: int | None = None
    old_anchor: Anchor | None = None
    old_end: int = MIN_ID


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
        self._capabilities = capabilities or Capabilities(connection)
        self._may_run_scripts = True

    @property
    def runs_scripts(self) -> bool:
        return self._may_run_scripts and self._capabilities.has_command("EVAL")

    # -- place ------------------------------------------------------------------------------------

    def place_all(self, placings: Mapping[str, Placing]) -> dict[str, str]:
        """The outcome by stream, as of `place`; scripts run in pipelines. Raises ServerError."""
        words = {stream: _place_words(placing) for stream, placing in placings.items()}
        replies = self._eval_all(PLACE, words)
        return {
            stream: replies[stream].decode() if stream in replies else self.place(stream, placing)
            for stream, placing in placings.items()
        }

    def place(self, stream: str, placing: Placing) -> str:
        """`OK`, or why not: a key of REASONS. Raises ServerError."""
        if self.runs_scripts:
            reply = self._eval(PLACE, stream, _place_words(placing))
            if reply is not None:
                return str(reply.decode())
        for _ in range(MAX_ATTEMPTS):
            done = self._place_watched(stream, placing)
            if done is not None:
                return done
        return ENTRY

    def _place_watched(self, stream: str, placing: Placing) -> str | None:
        self._connection.call("WATCH", stream)
        reason = self._place_reason(stream, placing)
        if reason != DONE:
            self._connection.call("UNWATCH")
            return reason
        verb = "CREATE" if placing.expected is None else "SETID"
        read = () if placing.n is None else ("ENTRIESREAD", placing.n)
        words = ("XGROUP", verb, stream, placing.marker, format_id(placing.position), *read)
        return None if self._exec(words) is None else DONE

    def _place_reason(self, stream: str, placing: Placing) -> str:
        if self._connection.call("TYPE", stream) != b"stream":
            return MISSING
        last = MIN_ID if placing.last is None else placing.last.id
        if self._position(stream, placing.marker) != placing.expected:
            return MARKER
        if placing.last is not None and not self._has(stream, placing.last):
            return ANCHOR
        if last < placing.position and self._any(stream, last + 1, placing.position):
            return ENTRY
        if read_facts(self._connection, stream).last_id < placing.position:
            return END
        old = placing.old_anchor
        if (old is None or not self._has(stream, old)) and self._any(
            stream, MIN_ID, placing.old_end
        ):
            return OLD_ANCHOR
        return DONE

    # -- trim -------------------------------------------------------------------------------------

    def trim_all(self, trimmings: Mapping[str, Trimming]) -> dict[str, int | str]:
        """The outcome by stream, as of `trim`; scripts run in pipelines. Raises ServerError.

        With ACKED a script looks at so many entries at most: what is left is trimmed one by one.
        """
        words = {
            stream: _trim_words(trimming, ACKED_ENTRIES_AT_ONCE if trimming.acked else 0)
            for stream, trimming in trimmings.items()
        }
        replies = self._eval_all(TRIM, words)
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
        if self.runs_scripts:
            reply = self._eval(TRIM, stream, _trim_words(trimming, limit))
            if reply is not None:
                return reply if isinstance(reply, int) else str(reply.decode())
        for _ in range(MAX_ATTEMPTS):
            done = self._trim_watched(stream, trimming, limit)
            if done is not None:
                return done
        return GROUP

    def _trim_watched(self, stream: str, trimming: Trimming, limit: int) -> int | str | None:
        self._connection.call("WATCH", stream)
        reason = self._trim_reason(stream, trimming, limit)
        if reason != DONE:
            self._connection.call("UNWATCH")
            return reason
        reply = self._exec(_xtrim(stream, trimming, limit))
        return None if reply is None else int(reply)

    def _trim_reason(self, stream: str, trimming: Trimming, limit: int) -> str:
        anchor, floor = trimming.anchor, trimming.floor
        if self._connection.call("TYPE", stream) != b"stream":
            return MISSING
        if self._position(stream, trimming.marker) != trimming.end:
            return MARKER
        if not floor <= anchor.id <= trimming.end or not self._has(stream, anchor):
            return ANCHOR
        if not limit:
            groups = read_groups(self._connection, stream)
            if floor_of(groups, floor, trimming.ignored) < floor:
                return GROUP
        return DONE

    # -- both -------------------------------------------------------------------------------------

    def _eval_all(self, script: str, words: Mapping[str, Sequence[Word]]) -> dict[str, Reply]:
        """The script's replies by stream; none if there are no scripts. Raises ServerError."""
        if not self.runs_scripts:
            return {}
        replies: list[Reply] = []
        streams = list(words)
        for begin in range(0, len(streams), SCRIPTS_AT_ONCE):
            part = streams[begin : begin + SCRIPTS_AT_ONCE]
            replies += self._connection.call_all(
                [("EVAL", script, 1, stream, *words[stream]) for stream in part]
            )
        for reply in replies:
            if isinstance(reply, ServerError):
                if reply.code != "NOPERM":
                    raise reply
                self._may_run_scripts = False
                return {}
        return dict(zip(streams, replies, strict=True))

    def _eval(self, script: str, stream: str, words: Sequence[Word]) -> Reply | None:
        """The script's reply; None if the user may not run scripts."""
        try:
            return self._connection.call("EVAL", script, 1, stream, *words)
        except ServerError as error:
            if error.code != "NOPERM":
                raise
            self._may_run_scripts = False
            return None

    def _exec(self, words: Sequence[Word]) -> Reply | None:
        """The reply to one write under WATCH; None if the key has changed. Raises ServerError."""
        *_, reply = self._connection.call_all([("MULTI",), words, ("EXEC",)])
        if isinstance(reply, ServerError):
            raise reply
        if reply is not None and isinstance(reply[0], ServerError):
            raise reply[0]
        return None if reply is None else reply[0]

    def _position(self, stream: str, group: str) -> int | None:
        for info in group_infos(self._connection, stream):
            if group_name(info) == group:
                return parse_id(info[b"last-delivered-id"])
        return None

    def _has(self, stream: str, anchor: Anchor) -> bool:
        bounds = format_id(anchor.id), format_id(anchor.id)
        return is_there(anchor, self._connection.call("XRANGE", stream, *bounds))

    def _any(self, stream: str, first: int, last: int) -> bool:
        bounds = format_id(first), format_id(last)
        return bool(self._connection.call("XRANGE", stream, *bounds, "COUNT", 1))


def _place_words(placing: Placing) -> list[Word]:
    last, old = placing.last, placing.old_anchor
    last_id = MIN_ID if last is None else last.id
    return [
        placing.marker,
        "" if placing.expected is None else format_id(placing.expected),
        format_id(last_id),
        "" if last is None else last.hash,
        format_id(last_id + 1),
        format_id(placing.position),
        "" if placing.n is None else placing.n,
        "" if old is None else format_id(old.id),
        "" if old is None else old.hash,
        format_id(placing.old_end),
    ]


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
