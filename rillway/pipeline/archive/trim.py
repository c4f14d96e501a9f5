"""Removing from a stream what is archived, and nothing that a consumer group still needs.

Where XTRIM has ACKED (Rillway, Redis 8.2), the server does it: it removes every entry that all
groups were given and have acknowledged, and passes over the others. Else the trim ends at the first
entry that a group needs, and check and trim are one step: a script, or, where there are none, WATCH
and MULTI. What a group needs only moves on while it reads and acknowledges, so a check stays true.
Only a group that is made or set back right after it could need more. The script knows no such
moment; WATCH does, because servers do not count groups as a change of the key: such a group then
begins with what is left, as one that is made a moment later would.

ACKED knows no exceptions, so where groups are to be ignored the trim is always of the second kind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TypeAlias

from rillway.pipeline.archive.groups import Group, Holdup, find_holdups, is_ignored, read_groups
from rillway.pipeline.archive.pins import drop_expired_pins
from rillway.pipeline.client.capabilities import Capabilities
from rillway.pipeline.client.connection import Connection, ServerError
from rillway.pipeline.client.facts import read_facts
from rillway.pipeline.client.ids import MIN_ID, format_id, make_id, ms_of

# With ACKED, the server looks at each entry; others wait no longer than that takes.
ACKED_ENTRIES_AT_ONCE = 10_000
MAX_ATTEMPTS = 100

# Trims to ARGV[1] if no group but those from ARGV[3] on needs an entry below; ARGV[2] is the ID
# just before. Else the name of such a group. IDs are compared as text: a number of Lua has 53 bits.
SCRIPT = """
local function before(one, other)
  local function parts(id)
    local ms, seq = string.match(id, '^(%d+)-(%d+)$')
    return ms, seq
  end
  local function less(a, b)
    if #a ~= #b then return #a < #b end
    return a < b
  end
  local ms, seq = parts(one)
  local other_ms, other_seq = parts(other)
  if ms ~= other_ms then return less(ms, other_ms) end
  return less(seq, other_seq)
end

local ignored = {}
for position = 3, #ARGV do ignored[ARGV[position]] = true end
for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local name, delivered
  for position = 1, #group, 2 do
    if group[position] == 'name' then name = group[position + 1] end
    if group[position] == 'last-delivered-id' then delivered = group[position + 1] end
  end
  if not ignored[name] then
    if before(delivered, ARGV[2]) then return name end
    local oldest = redis.call('XPENDING', KEYS[1], name)[2]
    if oldest and before(oldest, ARGV[1]) then return name end
  end
end
return redis.call('XTRIM', KEYS[1], 'MINID', '=', ARGV[1])
"""


# Stream, goal, ignored groups; how many were removed, or None if it is to be tried again.
Step: TypeAlias = Callable[[str, int, Collection[str]], int | None]


@dataclass(frozen=True, slots=True)
class TrimRules:
    """What the user wants to be kept, or ignored."""

    keep_ms: int = 0
    ignored_groups: frozenset[str] = frozenset()
    group_max_idle_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What a trim did. `by`: how it was done, for the curious."""

    removed: int
    by: str
    holdups: list[Holdup] = field(default_factory=list)


class Trimmer:
    """Trims streams of one server."""

    def __init__(self, connection: Connection, rules: TrimRules) -> None:
        self._connection = connection
        self._capabilities = Capabilities(connection)
        self._rules = rules

    def trim(self, stream: str, archived: int) -> Trimmed:
        """Remove what is not after `archived`, is older than what is kept, and no group needs."""
        now_ms = server_time_ms(self._connection)
        drop_expired_pins(self._connection, stream, now_ms)
        goal = self._goal(stream, archived)
        groups = read_groups(self._connection, stream)
        ignored = {
            group.name
            for group in groups
            if is_ignored(group, self._rules.ignored_groups, self._rules.group_max_idle_ms)
        }
        needed = [group for group in groups if group.name not in ignored]
        if goal == MIN_ID:
            removed, by = 0, "nothing to trim"
        elif not ignored and self._capabilities.has_option("XTRIM", "ACKED"):
            removed, by = self._trim_acknowledged(stream, goal), "XTRIM ACKED"
        elif self._capabilities.has_command("EVAL"):
            removed, by = self._trim_checked(stream, goal, ignored, self._by_script), "script"
        else:
            removed, by = self._trim_checked(stream, goal, ignored, self._by_watch), "WATCH"
        holdups = find_holdups(self._connection, stream, needed, goal, now_ms)
        return Trimmed(removed, by, holdups)

    def _goal(self, stream: str, archived: int) -> int:
        """The first ID that is to stay in any case.

        What is kept is counted back from the newest entry, not from a clock: the IDs may be of
        another time than now.
        """
        if not self._rules.keep_ms:
            return archived + 1
        newest_ms = ms_of(read_facts(self._connection, stream).last_id)
        return min(archived + 1, make_id(max(newest_ms - self._rules.keep_ms, 0)))

    # -- the ways to do it ------------------------------------------------------------------------

    def _trim_acknowledged(self, stream: str, goal: int) -> int:
        total = 0
        words = ("XTRIM", stream, "MINID", "~", format_id(goal))
        while removed := self._connection.call(*words, "LIMIT", ACKED_ENTRIES_AT_ONCE, "ACKED"):
            total += removed
        return total

    def _trim_checked(self, stream: str, goal: int, ignored: Collection[str], step: Step) -> int:
        """Trim to what is needed, again if a group has changed in the meantime."""
        for _ in range(MAX_ATTEMPTS):
            removed = step(stream, goal, ignored)
            if removed is not None:
                return removed
        return 0

    def _by_script(self, stream: str, goal: int, ignored: Collection[str]) -> int | None:
        floor = floor_of(read_groups(self._connection, stream), goal, ignored)
        if floor == MIN_ID:
            return 0
        bounds = format_id(floor), format_id(floor - 1)
        try:
            reply = self._connection.call("EVAL", SCRIPT, 1, stream, *bounds, *ignored)
        except ServerError as error:
            if "no such key" in str(error):
                return 0
            if error.code != "NOPERM":
                raise
            return self._by_watch(stream, goal, ignored)
        return reply if isinstance(reply, int) else None

    def _by_watch(self, stream: str, goal: int, ignored: Collection[str]) -> int | None:
        self._connection.call("WATCH", stream)
        floor = floor_of(read_groups(self._connection, stream), goal, ignored)
        if floor == MIN_ID:
            self._connection.call("UNWATCH")
            return 0
        *_, reply = self._connection.call_all(
            [("MULTI",), ("XTRIM", stream, "MINID", "=", format_id(floor)), ("EXEC",)]
        )
        if isinstance(reply, ServerError):
            raise reply
        if reply is not None and isinstance(reply[0], ServerError):
            raise reply[0]
        return None if reply is None else int(reply[0])


def floor_of(groups: Collection[Group], goal: int, ignored: Collection[str]) -> int:
    """The first ID that is to stay: `goal`, or what comes before it and a group needs."""
    needed = [group.first_needed for group in groups if group.name not in ignored]
    return min([goal, *needed])


def server_time_ms(connection: Connection) -> int:
    """The server's clock: the one that pins and leases are reckoned by."""
    seconds, microseconds = connection.call("TIME")
    return int(seconds) * 1000 + int(microseconds) // 1000
