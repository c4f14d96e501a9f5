"""Rillway's own commands of streams as methods for redis-py: a mixin for each kind of client.

    class Client(PolicyCommands, redis.Redis): ...
    class AsyncClient(AsyncPolicyCommands, redis.asyncio.Redis): ...

Each method builds the words of one command and calls `execute_command`. A server that is no Rillway
answers with an error, which redis-py raises as ResponseError. Times are in milliseconds.
docs/beyond-redis.md describes the commands.

A function per command builds its words; both mixins take signature and docstring from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar

from rillway.client.operations import described

Key: TypeAlias = str | bytes | memoryview  # as redis-py
Fields: TypeAlias = Mapping[Any, Any]
References: TypeAlias = Literal["KEEPREF", "DELREF", "ACKED"]
Words: TypeAlias = list[Any]
P = ParamSpec("P")
R = TypeVar("R")


class Scheduled(NamedTuple):
    """A delayed entry: its ticket and fields are text or bytes, as the client decodes."""

    ticket: Any
    fields: dict[Any, Any]


# -- replies --------------------------------------------------------------------------------------


def as_is(reply: Any) -> Any:
    return reply


def as_success(reply: Any) -> bool:
    return reply in (True, b"OK", "OK")


def as_scheduled(reply: Any) -> list[Scheduled]:
    return [Scheduled(ticket, as_mapping(fields)) for ticket, fields in reply or ()]


def as_mapping(reply: Any) -> dict[Any, Any]:
    """Return a map of RESP3, or the flat list of RESP2, as a dict."""
    if isinstance(reply, Mapping):
        return dict(reply)
    return dict(zip(reply[::2], reply[1::2], strict=True))


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
    """Set what the stream keeps. None leaves an option as it is, 0 switches it off."""
    acked = None if retain_acked is None else "yes" if retain_acked else "no"
    options = (
        ("RETAIN-MS", retain_ms), ("RETAIN-LEN", retain_len), ("RETAIN-BYTES", retain_bytes),
        ("RETAIN-REFS", retain_refs), ("RETAIN-ACKED", acked),
        ("RETAIN-HARD-BYTES", retain_hard_bytes), ("GROUP-MAX-IDLE", group_max_idle),
    )  # fmt: skip
    return ["XCFGSET", name, *_given(*options)]


def config_words(
    name: Key,
    groupname: Key,
    ack_wait: int | None = None,
    backoff: Sequence[int] | None = None,
    max_deliveries: int | None = None,
    dead_letter: Key | None = None,
    max_pending: int | None = None,
    consumer_expiry: int | None = None,
    key_field: Key | None = None,
    key_lookahead: int | None = None,
    key_lookahead_key: int | None = None,
) -> Words:
    """Set the delivery policy of a group.

    None leaves an option as it is; 0, () and "" switch it off.
    """
    words: Words = ["XGROUP CONFIG", name, groupname, *_given(("ACK-WAIT", ack_wait))]
    if backoff is not None:
        words += ["BACKOFF", *(backoff or [0])]
    options = (
        ("MAX-DELIVERIES", max_deliveries), ("DEAD-LETTER", dead_letter),
        ("MAX-PENDING", max_pending), ("CONSUMER-EXPIRY", consumer_expiry),
        ("KEY-FIELD", key_field), ("KEY-LOOKAHEAD", key_lookahead),
        ("KEY-LOOKAHEAD-KEY", key_lookahead_key),
    )  # fmt: skip
    return [*words, *_given(*options)]


def policy_words(name: Key, groupname: Key | None = None) -> Words:
    """Return the policy of a stream, or of a group, and what it has done; empty without one."""
    return ["XINFO POLICY", name, *([] if groupname is None else [groupname])]


def delayed_words(
    name: Key,
    fields: Fields,
    delay: int | None = None,
    at: int | None = None,
    nomkstream: bool = False,
) -> Words:
    """Add an entry later, after `delay` ms or at Unix ms `at`. Returns its ticket.

    Raises ValueError unless one of the two is given.
    """
    if (delay is None) == (at is None):
        raise ValueError("one of delay and at is needed")
    words: Words = ["XADD", name, *(["NOMKSTREAM"] if nomkstream else [])]
    words += [*_given(("DELAY", delay), ("AT", at)), "*"]
    for pair in fields.items():
        words += pair
    return words


def scheduled_words(name: Key, start: Any = "-", end: Any = "+", count: int | None = None) -> Words:
    """Return delayed entries in the order in which they are due."""
    return ["XSCHEDULED", name, start, end, *_given(("COUNT", count))]


def unschedule_words(name: Key, *tickets: Any) -> Words:
    """Cancel delayed entries. Returns how many there were."""
    return ["XUNSCHEDULE", name, *tickets]


def range_words(
    name: Key,
    start: Any,
    end: Any,
    count: int | None = None,
    ref_policy: References | None = None,
) -> Words:
    """Delete a range of entries. Returns how many."""
    references = [] if ref_policy is None else [ref_policy]
    return ["XDELRANGE", name, start, end, *_given(("COUNT", count)), *references]


def delete_consumer_words(
    name: Key,
    groupname: Key,
    consumername: Key,
    keep_pending: bool = False,
    transfer: Key | None = None,
) -> Words:
    """Delete a consumer; its pending entries are dropped, released or given to another."""
    words: Words = ["XGROUP DELCONSUMER", name, groupname, consumername]
    return [*words, *(["KEEPPENDING"] if keep_pending else []), *_given(("TRANSFER", transfer))]


def nack_words(
    name: Key,
    groupname: Key,
    mode: Literal["SILENT", "FAIL", "FATAL"],
    *ids: Any,
    delay: int | None = None,
    reason: Key | None = None,
    retrycount: int | None = None,
    force: bool = False,
) -> Words:
    """Give entries back, to be delivered again after `delay` ms. Returns how many."""
    words: Words = ["XNACK", name, groupname, mode, "IDS", len(ids), *ids]
    words += [*_given(("RETRYCOUNT", retrycount)), *(["FORCE"] if force else [])]
    return [*words, *_given(("DELAY", delay), ("REASON", reason))]


def reason_words(name: Key, groupname: Key, id: Any) -> Words:
    """Return why a pending entry was given back; None if no reason is known."""
    return ["XREASON", name, groupname, id]


def _given(*options: tuple[str, Any]) -> Words:
    return [word for name, value in options if value is not None for word in (name, value)]


# -- the mixins -----------------------------------------------------------------------------------


def _method(
    words: Callable[P, Words], read: Callable[[Any], R]
) -> Callable[Concatenate[Any, P], R]:
    def call(self: PolicyCommands, *args: P.args, **options: P.kwargs) -> R:
        return read(self.execute_command(*words(*args, **options)))

    return described(call, words)  # type: ignore[no-any-return]


def _async_method(
    words: Callable[P, Words], read: Callable[[Any], R]
) -> Callable[Concatenate[Any, P], Awaitable[R]]:
    async def call(self: AsyncPolicyCommands, *args: P.args, **options: P.kwargs) -> R:
        return read(await self.execute_command(*words(*args, **options)))

    return described(call, words)  # type: ignore[no-any-return]


class PolicyCommands:
    """Rillway's own commands, for a synchronous client of redis-py."""

    execute_command: Any

    xcfgset_retain = _method(retain_words, as_success)
    xgroup_config = _method(config_words, as_success)
    xinfo_policy = _method(policy_words, as_mapping)
    xadd_delayed = _method(delayed_words, as_is)
    xscheduled = _method(scheduled_words, as_scheduled)
    xunschedule = _method(unschedule_words, int)
    xdelrange = _method(range_words, int)
    xgroup_delconsumer = _method(delete_consumer_words, int)
    xnack = _method(nack_words, int)
    xreason = _method(reason_words, as_is)


class AsyncPolicyCommands:
    """Rillway's own commands, for a client of redis.asyncio; as PolicyCommands."""

    execute_command: Any

    xcfgset_retain = _async_method(retain_words, as_success)
    xgroup_config = _async_method(config_words, as_success)
    xinfo_policy = _async_method(policy_words, as_mapping)
    xadd_delayed = _async_method(delayed_words, as_is)
    xscheduled = _async_method(scheduled_words, as_scheduled)
    xunschedule = _async_method(unschedule_words, int)
    xdelrange = _async_method(range_words, int)
    xgroup_delconsumer = _async_method(delete_consumer_words, int)
    xnack = _async_method(nack_words, int)
    xreason = _async_method(reason_words, as_is)
