"""What the entries of a group wait for, by XINFO POLICY.

An entry waits for one of these, in the order of who can do something about it:

    read           it is due: the next XREADGROUP gets it again
    MAX-PENDING    it is new, and the group has as many in flight as it may have
    KEY-LOOKAHEAD  it is new, and as many entries wait for their keys as may do so
    key            another entry of its key is in flight (KEY-FIELD)
    deadline       it was delivered, and its consumer still has working time (ACK-WAIT)
    back-off       its pause before the next delivery is not over (BACKOFF)
    delay          as before, in a group without BACKOFF: an XNACK named the time (DELAY)

A stream's scheduled entries (XADD DELAY) are no group's yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rillway.sampler.figures import GroupFigures, PolicyValue, StreamFigures
from rillway.text import duration

READ, ROOM, LOOKAHEAD, KEY, DEADLINE, BACK_OFF, DELAY = (
    "read", "MAX-PENDING", "KEY-LOOKAHEAD", "key", "deadline", "back-off", "delay",
)  # fmt: skip
# Bounds for new entries, and the field that says that one is reached.
FULL = {ROOM: "held", LOOKAHEAD: "key-held"}


def policy_figures(policy: Mapping[str, PolicyValue] | None, lag: int | None) -> dict[str, Any]:
    """Return the figures of a group by the reply to XINFO POLICY, empty without a policy."""
    if not policy:
        return {"policy": policy}
    waits: dict[str, int | None] = {READ: _number(policy, "due") or 0}
    full = [what for what, name in FULL.items() if policy.get(name)]
    if lag != 0:
        waits |= dict.fromkeys(full, lag)
    waits[KEY] = _number(policy, "reserved") or 0
    waits[DEADLINE] = _number(policy, "before-deadline") or 0
    in_pause = _number(policy, "in-pause")
    waits[BACK_OFF if policy.get("backoff") else DELAY] = in_pause or 0
    return {
        "due": _number(policy, "due"),
        "delayed": in_pause,
        "held": bool(full),
        "dead_letters": _number(policy, "dead-lettered"),
        "next_due_ms": _number(policy, "next-due"),
        "waits_for": {what: entries for what, entries in waits.items() if entries != 0},
        "policy": policy,
    }


def scheduled_figures(policy: Mapping[str, PolicyValue] | None) -> dict[str, Any]:
    """Return the figures of a stream's schedule by the reply to XINFO POLICY."""
    policy = policy or {}
    return {
        "scheduled": _number(policy, "scheduled"),
        "next_scheduled_ms": _number(policy, "scheduled-next"),
    }


def waits_text(group: GroupFigures, now_ms: int) -> str:
    """Return `3 for a read, 12 for a deadline, 4 for a back-off, the next in 8.0 s`; or nothing."""
    parts = []
    for what, entries in group.waits_for.items():
        number = "an unknown number" if entries is None else f"{entries:,}"
        parts.append(f"{number} for {_named(what, group.policy or {})}")
    if parts and not group.due and group.next_due_ms is not None and group.next_due_ms > now_ms:
        parts.append(f"the next in {duration(group.next_due_ms - now_ms)}")
    return ", ".join(parts)


def _named(what: str, policy: Mapping[str, PolicyValue]) -> str:
    if what in FULL:
        return f"room ({what} {policy.get(what.lower(), '')} is reached)"
    return f"a {what}"


def schedule_text(stream: StreamFigures, now_ms: int) -> str:
    """Return `2 for their time (DELAY), the next in 1 h`; or nothing."""
    if not stream.scheduled:
        return ""
    text = f"{stream.scheduled:,} for their time (DELAY)"
    if stream.next_scheduled_ms is not None:
        text += f", the next in {duration(max(stream.next_scheduled_ms - now_ms, 0))}"
    return text


def entry_wait(
    policy: Mapping[str, PolicyValue] | None, idle_ms: int | None, deliveries: int
) -> str:
    """Return what one pending entry waits for; `idle_ms` is None if it has no owner.

    XPENDING does not say when an entry without an owner falls due.
    """
    policy = policy or {}
    ack_wait_ms = _number(policy, "ack-wait")
    if not ack_wait_ms:
        return "a claim, or its delay" if policy and idle_ms is None else ""
    if idle_ms is None:
        return "a read, or its pause"
    left_ms = ack_wait_ms - idle_ms
    most = _number(policy, "max-deliveries")
    if most and deliveries >= most:
        return f"dead letters, in {duration(left_ms)}" if left_ms > 0 else "dead letters"
    if left_ms > 0:
        return f"its deadline, in {duration(left_ms)}"
    left_ms += pause_ms(policy, deliveries)
    return f"its back-off, {duration(left_ms)} more" if left_ms > 0 else "a read"


def pause_ms(policy: Mapping[str, PolicyValue], deliveries: int) -> int:
    """Return the pause before the next delivery of an entry that had this number."""
    pauses = policy.get("backoff")
    if not isinstance(pauses, list) or not pauses:
        return 0
    return pauses[min(max(deliveries, 1), len(pauses)) - 1]


def _number(policy: Mapping[str, PolicyValue], name: str) -> int | None:
    value = policy.get(name)
    return value if isinstance(value, int) else None
