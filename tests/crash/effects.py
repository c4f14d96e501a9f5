"""What each request does to what a connection's keys must hold.

An effect checks the reply if there is one. Without one it uses the server's data after the crash
if the requests alone do not determine the result.
"""

from __future__ import annotations

from typing import Any

from storage.groups.group import MAX_DELIVERIES, References
from tests.crash.expectation import (
    NODE_ENTRIES,
    Expectation,
    ExpectedStream,
    ExpectedString,
    Facts,
    Wrong,
)
from tests.crash.observation import format_id, parse_id
from tests.storage.stream_model import ModelGroup

ALL = 2**128 - 1
POLICIES = {"KEEPREF": References.KEEP, "DELREF": References.DELETE, "ACKED": References.ACKED}


# -- entries -------------------------------------------------------------------------------------


def add(
    key: bytes, fields: list[bytes], entry_id: int | None, trim: tuple[str, int] | None,
    message: tuple[bytes, bytes] | None, keys: Expectation, facts: Facts,
) -> None:  # fmt: skip
    """XADD; `entry_id` None is `*`; `message` is a producer's message and its name (IDMP)."""
    stream = keys.streams.get(key, ExpectedStream())
    if entry_id is not None and entry_id <= stream.model.last_id:
        if facts.reply is not None and not isinstance(facts.reply, Exception):
            raise Wrong(f"an ID that is too small was added: {facts.reply!r}")
        return  # and no stream was made for it
    keys.streams[key] = stream
    if message is not None and is_duplicate(stream, key, message, facts):
        stream.duplicates += 1
        return
    entry_id = entry_id or new_id(key, facts)
    if facts.reply is not None and entry_id <= stream.model.last_id:
        raise Wrong(f"{facts.reply!r} is not above the last ID of {key!r}")
    stream.model.append(entry_id, fields, NODE_ENTRIES)
    if message is not None:
        stream.messages.known = [m for m in stream.messages.known if m[:2] != message]
        stream.messages.record(*message, entry_id)
        stream.messages_added += 1
    if trim is not None:
        trim_exactly(stream, *trim)


def is_duplicate(
    stream: ExpectedStream, key: bytes, message: tuple[bytes, bytes], facts: Facts
) -> bool:
    """Whether a message was known. A rewrite as requests forgets those whose entry is deleted."""
    known = stream.messages.find(*message)
    if known is None:
        return False
    if facts.reply is not None:
        is_known = bool(facts.reply == format_id(known))
        if not is_known and stream.is_alive(known):
            raise Wrong(f"{message} is forgotten: {facts.reply!r}, expected {format_id(known)!r}")
        return is_known
    found = facts.found.streams.get(key) if facts.found is not None else None
    return found is None or found.last_id <= stream.model.last_id


def new_id(key: bytes, facts: Facts) -> int:
    """The ID that the server chose."""
    if facts.reply is not None:
        return parse_id(facts.reply)
    found = facts.found.streams.get(key) if facts.found is not None else None
    return 1 if found is None else found.last_id


def trim_exactly(stream: ExpectedStream, kind: str, threshold: int) -> int:
    if kind == "MAXLEN":
        return stream.model.trim_to_length(threshold, False, 0)
    return stream.model.trim_before(threshold, False, 0)


def trim(
    key: bytes, kind: str, threshold: int, policy: str, keys: Expectation, facts: Facts
) -> None:
    stream = keys.streams.get(key)
    if stream is None:
        facts.check(0)
    elif policy == "KEEPREF":
        facts.check(trim_exactly(stream, kind, threshold))
    else:
        end, length = (ALL, threshold) if kind == "MAXLEN" else (threshold, 0)
        facts.check(stream.model.trim_by_references(end, length, 0, POLICIES[policy]))


def trim_about(key: bytes, length: int, keys: Expectation, facts: Facts) -> None:
    """XTRIM MAXLEN ~: whole nodes go; how many, the server says."""
    stream = keys.streams.get(key)
    if stream is None:
        return facts.check(0)
    if facts.reply is not None:
        removed = facts.reply
    else:
        found = facts.found.streams.get(key) if facts.found is not None else None
        removed = stream.model.length - len(found.entries) if found is not None else 0
    if stream.model.length - removed < min(length, stream.model.length):
        raise Wrong(f"{removed} entries of {key!r} were trimmed, {length} must stay")
    stream.model.trim_to_length(stream.model.length - removed, False, 0)
    return None


def delete_entries(key: bytes, ids: list[int], keys: Expectation, facts: Facts) -> None:
    stream = keys.streams.get(key)
    facts.check(sum(stream.model.delete(i) for i in ids) if stream else 0)


def delete_with_policy(
    key: bytes, policy: str, ids: list[int], keys: Expectation, facts: Facts
) -> None:
    stream = keys.streams.get(key)
    facts.check([stream.delete(i, policy) if stream else -1 for i in ids])


def set_id(
    key: bytes, entry_id: int, added: int, deleted: int, keys: Expectation, facts: Facts
) -> None:
    """XSETID with numbers that fit what is there."""
    stream = keys.streams.get(key)
    if stream is None or isinstance(facts.reply, Exception):
        return
    model = stream.model
    entries = model.entries()
    top = entries[-1].entry_id if entries else 0
    if entry_id >= max(top, deleted) and added >= model.length:
        model.last_id, model.entries_added, model.max_deleted_id = entry_id, added, deleted


# -- groups --------------------------------------------------------------------------------------


def group_of(
    keys: Expectation, key: bytes, name: bytes
) -> tuple[ExpectedStream, ModelGroup] | None:
    stream = keys.streams.get(key)
    if stream is None or name not in stream.model.groups:
        return None
    return stream, stream.model.groups[name]


def create_group(
    key: bytes, name: bytes, entry_id: int, entries_read: int, keys: Expectation, facts: Facts
) -> None:
    stream = keys.streams.setdefault(key, ExpectedStream())
    if name not in stream.model.groups:
        facts.check(b"OK")
        read = min(entries_read, stream.model.entries_added)
        stream.model.groups[name] = ModelGroup(entry_id, read)


def destroy_group(key: bytes, name: bytes, keys: Expectation, facts: Facts) -> None:
    stream = keys.streams.get(key)
    if stream is not None:
        facts.check(int(stream.model.groups.pop(name, None) is not None))


def set_group(key: bytes, name: bytes, entry_id: int, keys: Expectation, facts: Facts) -> None:
    if found := group_of(keys, key, name):
        facts.check(b"OK")
        found[1].last_delivered_id, found[1].entries_read = entry_id, -1


def create_consumer(
    key: bytes, name: bytes, consumer: bytes, keys: Expectation, facts: Facts
) -> None:
    if found := group_of(keys, key, name):
        facts.check(int(consumer not in found[1].consumers))
        found[1].consumers.add(consumer)


def delete_consumer(
    key: bytes, name: bytes, consumer: bytes, keys: Expectation, facts: Facts
) -> None:
    if found := group_of(keys, key, name):
        facts.check(found[0].model.delete_consumer(name, consumer))


def read_new(
    key: bytes, name: bytes, consumer: bytes, count: int, noack: bool, modern: bool,
    keys: Expectation, facts: Facts,
) -> None:  # fmt: skip
    if not (found := group_of(keys, key, name)):
        return
    stream, group = found
    pending, released, consumers = dict(group.pending), list(group.released), set(group.consumers)
    ids = stream.model.deliver_new(name, consumer, count, facts.window[0])
    check_delivered(key, ids, facts)
    if not ids and not modern:  # Redis 7.0 makes a consumer only for what it delivers
        group.consumers = consumers
    if noack:  # nothing becomes pending
        group.pending, group.released = pending, released
    else:
        for entry_id in ids:
            stream.note(name, entry_id, facts.window)


def read_claim(key: bytes, name: bytes, consumer: bytes, keys: Expectation, facts: Facts) -> None:
    """XREADGROUP CLAIM 0 with room for all: everything pending that is still there, and all new."""
    if not (found := group_of(keys, key, name)):
        return
    stream, group = found
    group.consumers.add(consumer)
    claimed = [entry_id for entry_id in list(group.pending) if stream.is_alive(entry_id)]
    for entry_id in claimed:
        count = min(group.pending[entry_id].delivery_count + 1, MAX_DELIVERIES)
        stream.deliver(name, entry_id, consumer, facts.window, count)
    new = stream.model.deliver_new(name, consumer, ALL, facts.window[0])
    for entry_id in new:
        stream.note(name, entry_id, facts.window)
    if facts.reply is not None:
        delivered = delivered_ids(facts.reply)
        if sorted(delivered) != sorted(claimed + new):
            raise Wrong(f"CLAIM delivered {delivered}, expected {claimed} and {new}")


def delivered_ids(reply: Any) -> list[int]:
    return [parse_id(entry[0]) for entry in reply[0][1]] if reply else []


def check_delivered(key: bytes, ids: list[int], facts: Facts) -> None:
    if facts.reply is not None and (delivered := delivered_ids(facts.reply)) != ids:
        raise Wrong(f"{key!r}: delivered {delivered}, expected {ids}")


def read_history(key: bytes, name: bytes, consumer: bytes, keys: Expectation, facts: Facts) -> None:
    """XREADGROUP 0: counts once more, in memory only."""
    if not (found := group_of(keys, key, name)):
        return
    stream, group = found
    mine = sorted(i for i, pending in group.pending.items() if pending.consumer == consumer)
    group.consumers.add(consumer)
    for entry_id in mine:
        if stream.is_alive(entry_id):
            stream.read_again(name, entry_id, facts.window)
    check_delivered(key, mine, facts)


def ack(key: bytes, name: bytes, ids: list[int], keys: Expectation, facts: Facts) -> None:
    found = group_of(keys, key, name)
    facts.check(sum(found[1].drop(i) for i in ids) if found else 0)


def ack_and_delete(
    key: bytes, name: bytes, policy: str, ids: list[int], keys: Expectation, facts: Facts
) -> None:
    found = group_of(keys, key, name)
    if not found:
        return facts.check([-1] * len(ids))
    stream, group = found
    answer = [max(stream.delete(i, policy), 1) if group.drop(i) else -1 for i in ids]
    return facts.check(answer)


def nack(
    key: bytes, name: bytes, mode: str, ids: list[int], keys: Expectation, facts: Facts
) -> None:
    if not (found := group_of(keys, key, name)):
        return
    stream, group = found
    pending = [i for i in ids if i in group.pending]
    for entry_id in pending:
        before = group.pending[entry_id].delivery_count
        after = {"SILENT": max(before - 1, 0), "FAIL": before, "FATAL": MAX_DELIVERIES}[mode]
        stream.release(name, entry_id, after)
        if mode == "FATAL":
            stream.unwritten.pop((name, entry_id), None)
    facts.check(len(pending))


def claim(
    key: bytes, name: bytes, consumer: bytes, ids: list[int], just_id: bool, force: bool,
    retry_count: int | None, modern: bool, keys: Expectation, facts: Facts,
) -> None:  # fmt: skip
    if not (found := group_of(keys, key, name)):
        return
    stream, group = found
    claimed = []
    if modern:
        group.consumers.add(consumer)
    for entry_id in ids:
        pending = group.pending.get(entry_id)
        if not stream.is_alive(entry_id):
            group.drop(entry_id)
        elif pending is not None or force:
            count = 1 if pending is None else pending.delivery_count
            count = count if just_id else min(count + 1, MAX_DELIVERIES)
            count = count if retry_count is None else retry_count
            group.consumers.add(consumer)
            stream.deliver(name, entry_id, consumer, facts.window, count)
            claimed.append(entry_id)
    if facts.reply is not None:
        texts = facts.reply if just_id else [entry[0] for entry in facts.reply]
        if [parse_id(text) for text in texts] != claimed:
            raise Wrong(f"claimed {texts}, expected {claimed}")


def claim_all(
    key: bytes, name: bytes, consumer: bytes, count: int, modern: bool,
    keys: Expectation, facts: Facts,
) -> None:  # fmt: skip
    """XAUTOCLAIM from the start, whatever their idle time."""
    if not (found := group_of(keys, key, name)):
        return
    stream, group = found
    for entry_id in sorted(group.pending)[:count]:
        if stream.is_alive(entry_id):
            delivered = min(group.pending[entry_id].delivery_count + 1, MAX_DELIVERIES)
            group.consumers.add(consumer)
            stream.deliver(name, entry_id, consumer, facts.window, delivered)
        else:
            group.drop(entry_id)
    if modern:
        group.consumers.add(consumer)


# -- other keys ----------------------------------------------------------------------------------


def set_string(
    key: bytes, text: bytes, lifetime_ms: int | None, keys: Expectation, facts: Facts
) -> None:
    facts.check(b"OK")
    keys.forget(key)
    keys.strings[key] = ExpectedString(text)
    if lifetime_ms is not None:
        keys.expires[key] = (facts.window[0] + lifetime_ms, facts.window[1] + lifetime_ms)


def increment(key: bytes, keys: Expectation, facts: Facts) -> None:
    string = keys.strings.setdefault(key, ExpectedString(b"0"))
    string.text = b"%d" % (int(string.text) + 1)
    facts.check(int(string.text))


def append_text(key: bytes, text: bytes, keys: Expectation, facts: Facts) -> None:
    string = keys.strings.setdefault(key, ExpectedString(b""))
    string.text += text
    facts.check(len(string.text))


def delete_key(key: bytes, keys: Expectation, facts: Facts) -> None:
    may_be_gone = key in keys.expires
    was_there = keys.forget(key)
    if not may_be_gone:
        facts.check(int(was_there))


def expire(key: bytes, lifetime_ms: int, keys: Expectation, facts: Facts) -> None:
    is_there = key in keys.streams or key in keys.strings
    is_found = facts.found is None or key in facts.found.strings or key in facts.found.streams
    if key in keys.expires and (facts.reply == 0 or (facts.reply is None and not is_found)):
        keys.forget(key)  # its time had come
    elif is_there:
        facts.check(1)
        keys.expires[key] = (facts.window[0] + lifetime_ms, facts.window[1] + lifetime_ms)


def persist(key: bytes, keys: Expectation, facts: Facts) -> None:
    had_lifetime = keys.expires.pop(key, None) is not None
    facts.check(int(had_lifetime))


def rename(key: bytes, to: bytes, keys: Expectation, facts: Facts) -> None:
    stream = keys.streams.get(key)
    if stream is not None:
        lifetime = keys.expires.get(key)
        keys.forget(to)
        keys.forget(key)
        keys.streams[to] = stream
        if lifetime is not None:
            keys.expires[to] = lifetime


# -- the stream that all connections share -------------------------------------------------------


def add_shared(keys: Expectation, facts: Facts) -> None:
    if facts.reply is not None:
        keys.shared.added.append(parse_id(facts.reply))
    elif facts.found is not None:
        keys.shared.added += facts.found.shared_added[-1:]


def read_shared(keys: Expectation, facts: Facts) -> None:
    if isinstance(facts.reply, Exception):
        return  # a group that could not be made
    if facts.reply is not None:
        keys.shared.pending |= set(delivered_ids(facts.reply))
    elif facts.found is not None:
        keys.shared.pending |= facts.found.shared_pending


def ack_shared(ids: list[int], keys: Expectation, facts: Facts) -> None:
    facts.check(len(keys.shared.pending & set(ids)))
    keys.shared.pending -= set(ids)
