"""What the timer does for groups: wakes readers, moves dead letters. Rillway's own.

Nothing happens to an entry when it falls due: it stays with its owner, who may still acknowledge
it, until a read hands it on. So the timer is only armed for a group

* with a reader that waits, to wake it when an entry falls due
  (commands/streams/groups/policy_turn.py),
* with MAX-DELIVERIES, to move entries whose last delivery has ended (dead_letters.py),
* with CONSUMER-EXPIRY (consumer_expiry.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from commands.core.client import Client
from commands.streams.policies.consumer_expiry import expire_consumers, next_expiry_ms
from commands.streams.policies.dead_letters import bury, cause_of
from commands.streams.policies.timer import FEATURES, PolicyTimer, Turn, note
from storage.groups.group import Group
from storage.policies.due_entries import NEVER_MS
from storage.policies.group_policy import GroupPolicy
from storage.stream import Stream


def await_due(client: Client, key: bytes, stream: Stream, policy: GroupPolicy) -> None:
    """A client waits for entries of a group: wake it when one falls due."""
    policy.is_awaited = True
    look(client.instance.feature(PolicyTimer), policy, client.instance.now_ms)
    note(client, key, stream)


def look(timer: PolicyTimer, policy: GroupPolicy, now_ms: int) -> None:
    """Find out what is due, if anything may be."""
    policy.due.begin_at(timer.grace_until_ms)
    if now_ms >= policy.due.quiet_until_ms:
        policy.due.look(now_ms)


class GroupDeliveries:
    """The feature of the timer; see the module."""

    def due_ms(self, timer: PolicyTimer, stream: Stream) -> int | None:
        """The time at which a group of the stream has something to do."""
        for _, policy in _policies(stream):
            policy.due.begin_at(timer.grace_until_ms)
        policies = (policy for _, policy in _policies(stream))
        when_ms = min((_due_ms(stream, policy) for policy in policies), default=NEVER_MS)
        return None if when_ms >= NEVER_MS else when_ms

    def work(self, turn: Turn, key: bytes, stream: Stream) -> None:
        """Do what is due in each group; after a turn that is over, the next one goes on."""
        assert stream.policy is not None
        groups = list(_policies(stream))
        first = stream.policy.next_group % max(len(groups), 1)
        for place, (group, policy) in enumerate(groups[first:] + groups[:first], first + 1):
            look(turn.timer, policy, turn.now_ms)
            if policy.options.max_deliveries:
                _bury_dead(turn, key, stream, group, policy)
            expire_consumers(turn, key, stream, group, policy)
            if policy.is_awaited and _may_read(stream, policy, turn.now_ms):
                policy.is_awaited = False  # until a reader waits again
                turn.client.signal_key_as_ready(key)
            if turn.is_over():
                stream.policy.next_group = place
                return


def _policies(stream: Stream) -> Iterator[tuple[Group, GroupPolicy]]:
    for group in stream.groups.values():
        if group.policy is not None:
            yield group, group.policy


def _due_ms(stream: Stream, policy: GroupPolicy) -> int:
    due, when_ms = policy.due, NEVER_MS
    if policy.is_awaited and policy.keys is not None and policy.keys.has_news(stream.first_id):
        when_ms = 0
    elif policy.is_awaited:
        has_room = not policy.is_held or _may_have_room(stream, policy)
        when_ms = due.next_due_ms(has_room=has_room)
        if policy.is_held and has_room:
            when_ms = 0
    if policy.options.max_deliveries:
        when_ms = min(when_ms, due.next_dead_ms())
    return min(when_ms, next_expiry_ms(policy))


def _may_have_room(stream: Stream, policy: GroupPolicy) -> bool:
    """Return True if entries were deleted, which are not in flight any more (MAX-PENDING)."""
    return stream.entries_added - stream.length != policy.swept[0]


def _may_read(stream: Stream, policy: GroupPolicy, now_ms: int) -> bool:
    """Return True if a reader that waits may find something."""
    if policy.is_held and _may_have_room(stream, policy):
        return True
    if policy.keys is not None and policy.keys.has_news(stream.first_id):
        policy.keys.wakes = False
        return True
    if policy.options.ack_wait_ms:
        return policy.due.has_due(now_ms, has_room=not policy.is_held)
    # Readers with CLAIM take it from the claim order.
    return policy.due.take(now_ms) is not None


def _bury_dead(turn: Turn, key: bytes, stream: Stream, group: Group, policy: GroupPolicy) -> None:
    """Move entries whose last delivery has ended, each by itself."""
    due, now_ms = policy.due, turn.now_ms
    is_any = False
    while not turn.is_over() and (row := due.take_dying(now_ms)) is not None:
        if bury(turn.client, key, stream, group, row, cause_of(row), now_ms):
            is_any = True
        else:
            due.retry_dying(row, now_ms + policy.options.ack_wait_ms)
        turn.end_unit()
    if is_any and policy.is_held:
        turn.client.signal_key_as_ready(key)


FEATURES.append(GroupDeliveries())
