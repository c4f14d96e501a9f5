"""The requests about one stream, and the figures in their replies.

They are XINFO STREAM and GROUPS; XPENDING and XINFO CONSUMERS for each group with pending entries,
or for all groups of an opened stream. Known groups are in the same batch, so that the figures are
consistent; new ones follow in a second batch. Where the server has policies, XINFO POLICY is asked
about the stream, and about its groups if one of them has a policy.

XINFO STREAM returns the first and the last entry. If they are large, XLEN replaces it from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from rillway.sampler.figures import GroupFigures, PolicyValue, StreamFigures
from rillway.sampler.groups import Interval, group_figures, known_policy
from rillway.sampler.replies import (
    Reply,
    Words,
    as_map,
    as_text,
    entry_bytes,
    has_no_policies,
    is_error,
    is_missing,
    optional_text,
)
from rillway.sampler.waits import scheduled_figures

MOST_ENTRY_BYTES = 1 << 16
# XPENDING's summary and XINFO CONSUMERS take the server time for each consumer.
MOST_CONSUMERS = 1000
# New groups and the stream's policy; then policies of groups.
MOST_FOLLOW_UPS = 2


@dataclass(frozen=True, slots=True)
class Wishes:
    """The wanted figures besides those of the stream and its groups.

    `policy`: asked for at once; otherwise in the second batch, if the server has policies then.
    """

    is_opened: bool = False
    memory: bool = False
    policy: bool = False
    is_large: bool = False


Asked = tuple[Words, Callable[[Reply], None]]


class Visit:
    """A visit: send `requests()`, and pass each reply to the function beside the request.

    `is_waiting` is true while replies are missing.
    """

    def __init__(self, name: bytes, before: StreamFigures | None, wishes: Wishes) -> None:
        self.name = name
        self.time_ms = 0
        self.wishes = wishes
        self.error: Exception | None = None
        self._before = before
        self._open = 0
        self._follow_ups = 0
        self._replies: dict[str, Reply] = {}
        self._of_groups: dict[bytes, dict[str, Reply]] = {}

    # -- requests ---------------------------------------------------------------------------------

    def requests(self) -> list[Asked]:
        """Return the first batch."""
        stream: Words = ("XINFO", "STREAM", self.name)
        if self.wishes.is_large:
            stream = ("XLEN", self.name)
        asked = [self._ask("stream", stream), self._ask("groups", ("XINFO", "GROUPS", self.name))]
        if self.wishes.memory:
            asked.append(self._ask("memory", ("MEMORY", "USAGE", self.name)))
        if self.wishes.policy:
            asked.append(self._ask("policy", ("XINFO", "POLICY", self.name)))
        for group in (self._before and self._before.groups) or ():
            asked += self._ask_about(group.name, group.pending, group.consumer_count)
            if self.wishes.policy and group.policy is not None:
                asked.append(self._ask_policy(group.name))
        return asked

    def follow_up(self, *, has_policies: bool | None = None) -> list[Asked]:
        """Return requests about new groups and policies; none after those.

        `has_policies`: whether the server has some, None if that is unknown.
        """
        if self._follow_ups == MOST_FOLLOW_UPS:
            return []
        self._follow_ups += 1
        asked = []
        if has_policies and "policy" not in self._replies:
            asked.append(self._ask("policy", ("XINFO", "POLICY", self.name)))
        has_group_policies = bool((self._policy() or {}).get("groups-with-policy"))
        for info in self._groups or ():
            name = info[b"name"]
            found = self._of_groups.setdefault(name, {})
            if "pending" not in found:
                asked += self._ask_about(name, info[b"pending"], info[b"consumers"])
            if has_group_policies and "policy" not in found:
                asked.append(self._ask_policy(name))
        return asked

    @property
    def is_waiting(self) -> bool:
        """Return True while replies are missing."""
        return self._open > 0

    def note_time(self, time_ms: int) -> None:
        """Note the server's time after a batch; the batch with the reply to XINFO STREAM counts."""
        if not self.time_ms and "stream" in self._replies:
            self.time_ms = time_ms

    def _ask_about(self, group: bytes, pending: int, consumers: int) -> list[Asked]:
        if consumers > MOST_CONSUMERS or not (pending or self.wishes.is_opened):
            return []
        found = self._of_groups.setdefault(group, {})
        return [
            self._ask("pending", ("XPENDING", self.name, group), found),
            self._ask("consumers", ("XINFO", "CONSUMERS", self.name, group), found),
        ]

    def _ask_policy(self, group: bytes) -> Asked:
        found = self._of_groups.setdefault(group, {})
        return self._ask("policy", ("XINFO", "POLICY", self.name, group), found)

    def _ask(self, what: str, words: Words, where: dict[str, Reply] | None = None) -> Asked:
        self._open += 1
        return words, partial(self._take, self._replies if where is None else where, what)

    def _take(self, where: dict[str, Reply], what: str, reply: Reply) -> None:
        self._open -= 1
        where[what] = reply
        if what == "stream" and is_error(reply):
            self.error = reply

    # -- the results ------------------------------------------------------------------------------

    @property
    def is_missing(self) -> bool:
        """Return True if the stream does not exist."""
        groups = self._replies["groups"]
        return is_missing(self.error) or (is_error(groups) and is_missing(groups))

    @property
    def finds_policies(self) -> bool | None:
        """Return whether the server has policies, by its reply; None if it was not asked."""
        reply = self._replies.get("policy")
        if reply is None or has_no_policies(reply):
            return None if reply is None else False
        return True if not is_error(reply) or is_missing(reply) else None

    @property
    def is_large(self) -> bool:
        info = self._info
        entries = info.get(b"first-entry"), info.get(b"last-entry")
        return self.wishes.is_large or sum(map(entry_bytes, entries)) > MOST_ENTRY_BYTES

    @property
    def _info(self) -> dict[bytes, Reply]:
        reply = self._replies["stream"]
        return {b"length": reply} if isinstance(reply, int) else as_map(reply)

    @property
    def _groups(self) -> list[dict[bytes, Reply]] | None:
        reply = self._replies["groups"]
        return None if is_error(reply) else [as_map(group) for group in reply]

    def figures(self, db: int, dead_after_ms: int) -> StreamFigures:
        """Return the figures of the stream and its groups. Only valid without an error."""
        before, info = self._before, self._info
        interval = Interval(self.time_ms, before.time_ms if before else None)
        known = {group.name: group for group in (before and before.groups) or ()}
        listed = self._groups
        groups = None
        if listed is not None:
            groups = tuple(
                self._group_figures(group, known.get(group[b"name"]), interval, dead_after_ms)
                for group in listed
            )
        first, last = info.get(b"first-entry"), info.get(b"last-generated-id")
        added = info.get(b"entries-added")
        return StreamFigures(
            db=db,
            name=self.name,
            time_ms=self.time_ms,
            length=info[b"length"],
            entries_added=added,
            first_id=as_text(first[0]) if first else None,
            last_id=optional_text(last),
            memory_bytes=self._memory_bytes(),
            in_per_s=self._in_per_s(added, info[b"length"], interval),
            in_is_estimate=added is None,
            policy=self._policy(),
            **scheduled_figures(self._policy()),
            **of_the_worst(groups),
            groups=groups,
        )

    def _group_figures(
        self,
        group: dict[bytes, Reply],
        before: GroupFigures | None,
        interval: Interval,
        dead_after_ms: int,
    ) -> GroupFigures:
        found = self._of_groups.get(group[b"name"], {})
        pending, consumers, policy = map(found.get, ("pending", "consumers", "policy"))
        return group_figures(group, pending, consumers, policy, before, interval, dead_after_ms)

    def _in_per_s(self, added: int | None, length: int, interval: Interval) -> float | None:
        before = self._before
        if before is None:
            return None
        if added is None:
            return interval.rate(min(before.length, length), length)
        return interval.rate(before.entries_added, added)

    def _memory_bytes(self) -> int | None:
        reply = self._replies.get("memory")
        if reply is None or is_error(reply):
            return self._before.memory_bytes if self._before else None
        return int(reply)

    def _policy(self) -> dict[str, PolicyValue] | None:
        return known_policy(self._replies.get("policy"))


def of_the_worst(groups: tuple[GroupFigures, ...] | None) -> dict[str, Any]:
    """Return lag, pending and oldest of the worst group, and the sum of the groups' rates."""
    if not groups:
        return {"lag": None, "pending": None, "oldest_ms": None, "out_per_s": None}

    def most(name: str) -> Any:
        return max(
            (n for n in (getattr(one, name) for one in groups) if n is not None), default=None
        )

    rates = [group.out_per_s for group in groups if group.out_per_s is not None]
    return {
        "lag": most("lag"),
        "pending": most("pending"),
        "oldest_ms": most("oldest_ms"),
        "out_per_s": sum(rates) if rates else None,
    }
