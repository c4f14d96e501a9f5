"""Rillway's own commands of streams as methods for redis-py: a mixin for each kind of client.

    class Client(PolicyCommands, redis.Redis): ...
    class AsyncClient(AsyncPolicyCommands, redis.asyncio.Redis): ...

Each method builds the words of one command and calls `execute_command`. A server that is no Rillway
answers with an error, which redis-py raises as ResponseError. Times are in milliseconds.
docs/beyond-redis.md describes the commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

Key: TypeAlias = str | bytes | memoryview  # as redis-py
Fields: TypeAlias = Mapping[Any, Any]
References: TypeAlias = Literal["KEEPREF", "DELREF", "ACKED"]
Words: TypeAlias = list[Any]


class Scheduled(NamedTuple):
    """A delayed entry: its ticket and fields are text or bytes, as the client decodes."""

    ticket: Any
    fields: dict[Any, Any]


# -- the words of each command --------------------------------------------------------------------


def retain_words(
    name: Key,
    retain_ms: int | None = None,
    retain_len: int | None = None,
    retain_bytes: int | None = None,
    retain_refs: References | None = None,
    retain_acked: bool | None = None,
    retain_hard_bytes: int | None = None,
    group_max_idle: int | None = None,
) -> Words:
    """XCFGSET. None leaves an option as it is, 0 switches it off."""
    acked = None if retain_acked is None else "yes" if retain_acked else "no"
    options = (
        ("RETAIN-MS", retain_ms), ("RETAIN-LEN", retain_len), ("RETAIN-BYTES", retain_bytes),
        ("RETAIN-REFS", retain_refs), ("RETAIN-ACKED", acked),
        ("RETAIN-HARD-BYTES", retain_hard_bytes), ("GROUP-MAX-IDLE", group_max_idle),
    )  # fmt: skip
    return ["XCFGSET", name, *_given(options)]


def config_words(
    name: Key,
    groupname: Key,
    ack_wait: int | None = None,
    backoff: Sequence[int] | None = None,
    max_deliveries: int | None = None,
    dead_letter: Key | None = None,
    max_pending: int | None = None,
    consumer_expiry: int | None = None,
) -> Words:
    """XGROUP CONFIG. None leaves an option as it is; 0, () and "" switch it off."""
    words: Words = ["XGROUP CONFIG", name, groupname, *_given([("ACK-WAIT", ack_wait)])]
    if backoff is not None:
        words += ["BACKOFF", *(backoff or [0])]
    options = (
        ("MAX-DELIVERIES", max_deliveries), ("DEAD-LETTER", dead_letter),
        ("MAX-PENDING", max_pending), ("CONSUMER-EXPIRY", consumer_expiry),
    )  # fmt: skip
    return [*words, *_given(options)]


def delayed_words(
    name: Key,
    fields: Fields,
    delay: int | None = None,
    at: int | None = None,
    nomkstream: bool = False,
) -> Words:
    """XADD with DELAY or AT. Raises ValueError unless one of the two is given."""
    if (delay is None) == (at is None):
        raise ValueError("one of delay and at is needed")
    words: Words = ["XADD", name, *(["NOMKSTREAM"] if nomkstream else [])]
    words += [*_given([("DELAY", delay), ("AT", at)]), "*"]
    for pair in fields.items():
        words += pair
    return words


def scheduled_words(name: Key, start: Any, end: Any, count: int | None) -> Words:
    return ["XSCHEDULED", name, start, end, *_given([("COUNT", count)])]


def range_words(
    name: Key, start: Any, end: Any, count: int | None, ref_policy: References | None
) -> Words:
    references = [] if ref_policy is None else [ref_policy]
    return ["XDELRANGE", name, start, end, *_given([("COUNT", count)]), *references]


def delete_consumer_words(
    name: Key, groupname: Key, consumername: Key, keep_pending: bool, transfer: Key | None
) -> Words:
    words: Words = ["XGROUP DELCONSUMER", name, groupname, consumername]
    return [*words, *(["KEEPPENDING"] if keep_pending else []), *_given([("TRANSFER", transfer)])]


def nack_words(
    name: Key,
    groupname: Key,
    mode: Literal["SILENT", "FAIL", "FATAL"],
    ids: Sequence[Any],
    delay: int | None,
    reason: Key | None,
    retrycount: int | None,
    force: bool,
) -> Words:
    words: Words = ["XNACK", name, groupname, mode, "IDS", len(ids), *ids]
    words += [*_given([("RETRYCOUNT", retrycount)]), *(["FORCE"] if force else [])]
    return [*words, *_given([("DELAY", delay), ("REASON", reason)])]


def _given(options: Sequence[tuple[str, Any]]) -> Words:
    return [word for name, value in options if value is not None for word in (name, value)]


# -- replies --------------------------------------------------------------------------------------


def as_scheduled(reply: Any) -> list[Scheduled]:
    return [Scheduled(ticket, as_mapping(fields)) for ticket, fields in reply or ()]


def as_mapping(reply: Any) -> dict[Any, Any]:
    """Return a map of RESP3, or the flat list of RESP2, as a dict."""
    if isinstance(reply, Mapping):
        return dict(reply)
    return dict(zip(reply[::2], reply[1::2], strict=True))


# -- the mixins -----------------------------------------------------------------------------------


class PolicyCommands:
    """Rillway's own commands, for a synchronous client of redis-py."""

    execute_command: Any

    def xcfgset_retain(self, name: Key, **options: Any) -> bool:
        """Set what the stream keeps; options as of `retain_words`."""
        return _is_ok(self.execute_command(*retain_words(name, **options)))

    def xgroup_config(self, name: Key, groupname: Key, **options: Any) -> bool:
        """Set the delivery policy of a group; options as of `config_words`."""
        return _is_ok(self.execute_command(*config_words(name, groupname, **options)))

    def xinfo_policy(self, name: Key, groupname: Key | None = None) -> dict[Any, Any]:
        """Return the policy of a stream, or of a group, and what it has done; empty without one."""
        group = [] if groupname is None else [groupname]
        return as_mapping(self.execute_command("XINFO POLICY", name, *group))

    def xadd_delayed(
        self,
        name: Key,
        fields: Fields,
        delay: int | None = None,
        at: int | None = None,
        nomkstream: bool = False,
    ) -> Any:
        """Add an entry later, after `delay` ms or at Unix ms `at`. Returns its ticket."""
        return self.execute_command(*delayed_words(name, fields, delay, at, nomkstream))

    def xscheduled(
        self, name: Key, start: Any = "-", end: Any = "+", count: int | None = None
    ) -> list[Scheduled]:
        """Return delayed entries in the order in which they are due."""
        return as_scheduled(self.execute_command(*scheduled_words(name, start, end, count)))

    def xunschedule(self, name: Key, *tickets: Any) -> int:
        """Cancel delayed entries. Returns how many there were."""
        return int(self.execute_command("XUNSCHEDULE", name, *tickets))

    def xdelrange(
        self,
        name: Key,
        start: Any,
        end: Any,
        count: int | None = None,
        ref_policy: References | None = None,
    ) -> int:
        """Delete a range of entries. Returns how many."""
        return int(self.execute_command(*range_words(name, start, end, count, ref_policy)))

    def xgroup_delconsumer(
        self,
        name: Key,
        groupname: Key,
        consumername: Key,
        keep_pending: bool = False,
        transfer: Key | None = None,
    ) -> int:
        """Delete a consumer; its pending entries are dropped, released or given to another."""
        words = delete_consumer_words(name, groupname, consumername, keep_pending, transfer)
        return int(self.execute_command(*words))

    def xnack(
        self,
        name: Key,
        groupname: Key,
        mode: Literal["SILENT", "FAIL", "FATAL"],
        *ids: Any,
        delay: int | None = None,
        reason: Key | None = None,
        retrycount: int | None = None,
        force: bool = False,
    ) -> int:
        """Give entries back, to be delivered again after `delay` ms. Returns how many."""
        words = nack_words(name, groupname, mode, ids, delay, reason, retrycount, force)
        return int(self.execute_command(*words))

    def xreason(self, name: Key, groupname: Key, id: Any) -> Any:
        """Return why a pending entry was given back; None if no reason is known."""
        return self.execute_command("XREASON", name, groupname, id)


class AsyncPolicyCommands:
    """Rillway's own commands, for a client of redis.asyncio; as PolicyCommands."""

    execute_command: Any

    async def xcfgset_retain(self, name: Key, **options: Any) -> bool:
        """Set what the stream keeps; options as of `retain_words`."""
        return _is_ok(await self.execute_command(*retain_words(name, **options)))

    async def xgroup_config(self, name: Key, groupname: Key, **options: Any) -> bool:
        """Set the delivery policy of a group; options as of `config_words`."""
        return _is_ok(await self.execute_command(*config_words(name, groupname, **options)))

    async def xinfo_policy(self, name: Key, groupname: Key | None = None) -> dict[Any, Any]:
        """Return the policy of a stream, or of a group, and what it has done; empty without one."""
        group = [] if groupname is None else [groupname]
        return as_mapping(await self.execute_command("XINFO POLICY", name, *group))

    async def xadd_delayed(
        self,
        name: Key,
        fields: Fields,
        delay: int | None = None,
        at: int | None = None,
        nomkstream: bool = False,
    ) -> Any:
        """Add an entry later, after `delay` ms or at Unix ms `at`. Returns its ticket."""
        return await self.execute_command(*delayed_words(name, fields, delay, at, nomkstream))

    async def xscheduled(
        self, name: Key, start: Any = "-", end: Any = "+", count: int | None = None
    ) -> list[Scheduled]:
        """Return delayed entries in the order in which they are due."""
        return as_scheduled(await self.execute_command(*scheduled_words(name, start, end, count)))

    async def xunschedule(self, name: Key, *tickets: Any) -> int:
        """Cancel delayed entries. Returns how many there were."""
        return int(await self.execute_command("XUNSCHEDULE", name, *tickets))

    async def xdelrange(
        self,
        name: Key,
        start: Any,
        end: Any,
        count: int | None = None,
        ref_policy: References | None = None,
    ) -> int:
        """Delete a range of entries. Returns how many."""
        return int(await self.execute_command(*range_words(name, start, end, count, ref_policy)))

    async def xgroup_delconsumer(
        self,
        name: Key,
        groupname: Key,
        consumername: Key,
        keep_pending: bool = False,
        transfer: Key | None = None,
    ) -> int:
        """Delete a consumer; its pending entries are dropped, released or given to another."""
        words = delete_consumer_words(name, groupname, consumername, keep_pending, transfer)
        return int(await self.execute_command(*words))

    async def xnack(
        self,
        name: Key,
        groupname: Key,
        mode: Literal["SILENT", "FAIL", "FATAL"],
        *ids: Any,
        delay: int | None = None,
        reason: Key | None = None,
        retrycount: int | None = None,
        force: bool = False,
    ) -> int:
        """Give entries back, to be delivered again after `delay` ms. Returns how many."""
        words = nack_words(name, groupname, mode, ids, delay, reason, retrycount, force)
        return int(await self.execute_command(*words))

    async def xreason(self, name: Key, groupname: Key, id: Any) -> Any:
        """Return why a pending entry was given back; None if no reason is known."""
        return await self.execute_command("XREASON", name, groupname, id)


def _is_ok(reply: Any) -> bool:
    return reply in (True, b"OK", "OK")
