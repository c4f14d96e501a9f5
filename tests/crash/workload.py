"""What the connections of a crash round send, and what each request must do to its keys.

A `Request` is an argv and an effect: a function that does to the expectation what the server did,
told the reply where one came. A `Step` is one request, or several between MULTI and EXEC.

What a client cannot know from the requests alone comes from the reply, or after the crash from what
the server holds: an ID from the clock, the number of entries that an approximate trim removed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from protocol import replies
from storage.group import MAX_DELIVERIES
from storage.references import References
from tests.crash.expectation import (
    NODE_ENTRIES,
    Expectation,
    ExpectedStream,
    ExpectedString,
    Facts,
    Wrong,
)
from tests.crash.observation import SHARED, SHARED_GROUP, format_id, parse_id
from tests.storage.stream_model import ModelGroup

Effect: TypeAlias = Callable[[Expectation, Facts], None]

GROUPS = (b"g", b"h")
CONSUMERS = (b"a", b"b", b"c")
ALL = 2**128 - 1
LONG_MS = 3_600_000
SHARED_COUNT = 3
POLICIES = {"KEEPREF": References.KEEP, "DELREF": References.DELETE, "ACKED": References.ACKED}


@dataclass(frozen=True)
class Request:
    argv: tuple[bytes, ...]
    effect: Effect

    @property
    def is_chosen(self) -> bool:
        """Whether what it does is not in it, but only in its reply.

        Should none come, the state shows it, if nothing was sent after it.
        """
        return b"*" in self.argv or b"~" in self.argv or SHARED in self.argv


@dataclass(frozen=True)
class Step:
    """One request, or several in a transaction."""

    requests: tuple[Request, ...]

    @property
    def is_transaction(self) -> bool:
        return len(self.requests) > 1

    def wire(self) -> bytes:
        argvs = [list(request.argv) for request in self.requests]
        if self.is_transaction:
            argvs = [[b"MULTI"], *argvs, [b"EXEC"]]
        return b"".join(map(replies.command, argvs))

    @property
    def is_chosen(self) -> bool:
        return self.requests[-1].is_chosen

    @property
    def reply_count(self) -> int:
        return len(self.requests) + 2 if self.is_transaction else 1

    def apply(self, keys: Expectation, received: list[Any] | None, facts: Facts) -> None:
        """`received`: all replies of the step, None if the last one did not come."""
        answers: list[Any] = [None] * len(self.requests)
        if received is not None:
            answers = received[-1] if self.is_transaction else received
            if isinstance(answers, Exception):  # EXECABORT: one of them was refused
                answers = [answers] * len(self.requests)
        for request, answer in zip(self.requests, answers, strict=True):
            if is_refusal(answer):
                continue
            try:
                request.effect(keys, Facts(answer, facts.window, facts.found))
            except Wrong as problem:
                raise Wrong(f"{b' '.join(request.argv)!r}: {problem}") from None


def is_refusal(reply: Any) -> bool:
    """Whether the server did nothing, because it cannot keep what it would do."""
    return isinstance(reply, Exception) and str(reply).startswith(("MISCONF", "EXECABORT"))


# -- entries -------------------------------------------------------------------------------------


def add(
    key: bytes, fields: list[bytes], entry_id: int | None, trim: tuple[str, int] | None,
    message: tuple[bytes, bytes] | None, keys: Expectation, facts: Facts,
) -> None:  # fmt: skip
    """XADD; `entry_id` None is `*`; `message` is a producer's message and its name (IDMP)."""
    stream = keys.streams.get(key)
    if stream is None:
        stream = keys.streams[key] = ExpectedStream()
    if entry_id is not None and entry_id <= stream.model.last_id:
        if facts.reply is not None and not isinstance(facts.reply, Exception):
            raise Wrong(f"an ID that is too small was added: {facts.reply!r}")
        return
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


# -- drawing -------------------------------------------------------------------------------------


class Workload:
    """Draws one connection's steps. `modern`: the server has what Redis 8 added."""

    def __init__(self, name: bytes, chance: random.Random, *, modern: bool) -> None:
        self.name = name
        self.random = chance
        self.modern = modern
        self.streams = [name + b":s%d" % number for number in range(3)]
        self.serial = 0

    def step(self, keys: Expectation) -> Step:
        """One request, or a transaction. `keys`: what is known so far."""
        if self.random.random() < 0.08:
            requests = [self.request(keys) for _ in range(self.random.randrange(2, 6))]
            chosen = [request for request in requests if request.is_chosen]
            plain = [request for request in requests if not request.is_chosen]
            if len(plain) + len(chosen[:1]) > 1:
                return Step((*plain, *chosen[:1]))
        return Step((self.request(keys),))

    def request(self, keys: Expectation) -> Request:
        kinds = (*KINDS, *MODERN_KINDS) if self.modern else KINDS
        draw, _ = self.random.choices(kinds, [weight for _, weight in kinds])[0]
        return draw(self, keys)

    def key(self) -> bytes:
        return self.random.choice(self.streams)

    def fields(self) -> list[bytes]:
        self.serial += 1
        pairs = [b"n", b"%d" % self.serial]
        for _ in range(self.random.choice((0, 0, 0, 1, 3))):
            size = self.random.choice((0, 1, 5, 20, 200))
            pairs += [b"f%d" % self.random.randrange(4), self.random.randbytes(size)]
        return pairs

    def ids(self, keys: Expectation, key: bytes) -> list[int]:
        """Some IDs of the stream, most of them there."""
        stream = keys.streams.get(key)
        known = [entry.entry_id for entry in stream.model.entries()] if stream else []
        if stream is not None and self.random.random() < 0.6:
            pending = [i for group in stream.model.groups.values() for i in group.pending]
            known = pending or known
        count = min(len(known), self.random.choice((1, 1, 1, 2, 5)))
        return self.random.sample(known, count) if known else [1 << 64 | 1]

    def about(self, key: bytes, *words: bytes | str | int) -> tuple[bytes, ...]:
        """An argv: the command, the key, the rest."""
        texts = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        return texts[0], key, *texts[1:]

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    # Each of these draws one request.

    def draw_add(self, keys: Expectation) -> Request:
        key, fields, entry_id, trimming = self.key(), self.fields(), None, None
        words: list[bytes | str | int] = []
        if self.random.random() < 0.3:
            kind = self.pick("MAXLEN", "MINID")
            threshold = self.random.choice((0, 5, 50, 100))
            if kind == "MINID":
                threshold = self.ids(keys, key)[0]
            trimming = (kind, threshold)
            words = [kind, "=", threshold if kind == "MAXLEN" else format_id(threshold)]
        if self.random.random() < 0.3 and key in keys.streams:
            entry_id = keys.streams[key].model.last_id + self.pick(1, 3, 1 << 64, 0)
        words.append(b"*" if entry_id is None else format_id(entry_id))
        argv = self.about(key, "XADD", *words, *fields)
        return Request(argv, partial(add, key, fields, entry_id, trimming, None))

    def draw_message(self, keys: Expectation) -> Request:
        key, fields = self.key(), self.fields()
        message = (self.pick(b"p", b"q"), b"%d" % self.random.randrange(40))
        argv = self.about(key, "XADD", "IDMP", *message, "*", *fields)
        return Request(argv, partial(add, key, fields, None, None, message))

    def draw_trim(self, keys: Expectation) -> Request:
        key, policy = self.key(), "KEEPREF"
        kind = self.pick("MAXLEN", "MINID")
        threshold = self.pick(0, 5, 50, 100)
        if kind == "MINID":
            threshold = self.ids(keys, key)[0]
        words = [kind, "=", threshold if kind == "MAXLEN" else format_id(threshold)]
        if self.modern and self.random.random() < 0.6:
            policy = self.pick(*POLICIES)
            words.append(policy)
        return Request(
            self.about(key, "XTRIM", *words), partial(trim, key, kind, threshold, policy)
        )

    def draw_trim_about(self, keys: Expectation) -> Request:
        key, length = self.key(), self.pick(0, 20, 100)
        argv = self.about(key, "XTRIM", "MAXLEN", "~", length)
        return Request(argv, partial(trim_about, key, length))

    def draw_delete(self, keys: Expectation) -> Request:
        key = self.key()
        ids = self.ids(keys, key)
        return Request(
            self.about(key, "XDEL", *map(format_id, ids)), partial(delete_entries, key, ids)
        )

    def draw_delete_with_policy(self, keys: Expectation) -> Request:
        key, policy = self.key(), self.pick(*POLICIES)
        ids = self.ids(keys, key)
        argv = self.about(key, "XDELEX", policy, "IDS", len(ids), *map(format_id, ids))
        return Request(argv, partial(delete_with_policy, key, policy, ids))

    def draw_set_id(self, keys: Expectation) -> Request:
        key = self.key()
        model = keys.streams.get(key, ExpectedStream()).model
        entry_id, added = model.last_id + self.pick(0, 5), model.entries_added + self.pick(0, 2)
        deleted = self.pick(model.max_deleted_id, model.last_id)
        if not entry_id or not deleted:
            return self.draw_add(keys)
        argv = self.about(key, "XSETID", format_id(entry_id), "ENTRIESADDED", added,
                          "MAXDELETEDID", format_id(deleted))  # fmt: skip
        return Request(argv, partial(set_id, key, entry_id, added, deleted))

    def group_words(self) -> tuple[bytes, bytes, bytes]:
        return self.key(), self.pick(*GROUPS), self.pick(*CONSUMERS)

    def draw_create_group(self, keys: Expectation) -> Request:
        key, name, _ = self.group_words()
        entry_id = self.pick(0, self.ids(keys, key)[0])
        added = keys.streams[key].model.entries_added if key in keys.streams else 0
        read = self.pick(-1, 0, min(3, added))
        words = [b"XGROUP", b"CREATE", key, name, format_id(entry_id), b"MKSTREAM"]
        if read >= 0:
            words += [b"ENTRIESREAD", b"%d" % read]
        argv = tuple(words)
        return Request(argv, partial(create_group, key, name, entry_id, read))

    def draw_destroy_group(self, keys: Expectation) -> Request:
        key, name, _ = self.group_words()
        return Request((b"XGROUP", b"DESTROY", key, name), partial(destroy_group, key, name))

    def draw_set_group(self, keys: Expectation) -> Request:
        key, name, _ = self.group_words()
        entry_id = self.ids(keys, key)[0]
        argv = (b"XGROUP", b"SETID", key, name, format_id(entry_id))
        return Request(argv, partial(set_group, key, name, entry_id))

    def draw_create_consumer(self, keys: Expectation) -> Request:
        words = self.group_words()
        return Request((b"XGROUP", b"CREATECONSUMER", *words), partial(create_consumer, *words))

    def draw_delete_consumer(self, keys: Expectation) -> Request:
        words = self.group_words()
        return Request((b"XGROUP", b"DELCONSUMER", *words), partial(delete_consumer, *words))

    def read_argv(self, key: bytes, name: bytes, consumer: bytes, *words: Any) -> Any:
        texts = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        return b"XREADGROUP", b"GROUP", name, consumer, *texts[:-1], b"STREAMS", key, texts[-1]

    def draw_read(self, keys: Expectation) -> Request:
        key, name, consumer = self.group_words()
        count, noack = self.pick(1, 2, 5, 20), self.random.random() < 0.2
        argv = self.read_argv(
            key, name, consumer, "COUNT", count, *(["NOACK"] if noack else []), ">"
        )
        return Request(argv, partial(read_new, key, name, consumer, count, noack, self.modern))

    def draw_read_claim(self, keys: Expectation) -> Request:
        words = self.group_words()
        return Request(
            self.read_argv(*words, "COUNT", 1_000_000, "CLAIM", 0, ">"), partial(read_claim, *words)
        )

    def draw_history(self, keys: Expectation) -> Request:
        words = self.group_words()
        return Request(
            self.read_argv(*words, "COUNT", 1_000_000, "0"), partial(read_history, *words)
        )

    def draw_ack(self, keys: Expectation) -> Request:
        key, name, _ = self.group_words()
        ids = self.ids(keys, key)
        argv = self.about(key, "XACK", name, *map(format_id, ids))
        return Request(argv, partial(ack, key, name, ids))

    def draw_ack_and_delete(self, keys: Expectation) -> Request:
        key, name, _ = self.group_words()
        ids, policy = self.ids(keys, key), self.pick(*POLICIES)
        argv = self.about(key, "XACKDEL", name, policy, "IDS", len(ids), *map(format_id, ids))
        return Request(argv, partial(ack_and_delete, key, name, policy, ids))

    def draw_nack(self, keys: Expectation) -> Request:
        key, name, _ = self.group_words()
        ids, mode = self.ids(keys, key), self.pick("SILENT", "FAIL", "FATAL")
        argv = self.about(key, "XNACK", name, mode, "IDS", len(ids), *map(format_id, ids))
        return Request(argv, partial(nack, key, name, mode, ids))

    def a_consumer(self, keys: Expectation, key: bytes, name: bytes) -> bytes | None:
        """One that exists: whether claiming makes one differs between versions of Redis."""
        found = group_of(keys, key, name)
        names = sorted(found[1].consumers) if found else []
        return self.random.choice(names) if names else None

    def draw_claim(self, keys: Expectation) -> Request:
        key, name, _ = self.group_words()
        consumer = self.a_consumer(keys, key, name)
        if consumer is None:
            return self.draw_read(keys)
        ids, just_id = self.ids(keys, key), self.random.random() < 0.3
        force, retry_count = self.random.random() < 0.3, self.pick(None, None, 0, 7)
        words: list[Any] = [name, consumer, 0, *map(format_id, ids)]
        words += ["JUSTID"] if just_id else []
        words += ["FORCE"] if force else []
        words += [] if retry_count is None else ["RETRYCOUNT", retry_count]
        effect = partial(claim, key, name, consumer, ids, just_id, force, retry_count, self.modern)
        return Request(self.about(key, "XCLAIM", *words), effect)

    def draw_claim_all(self, keys: Expectation) -> Request:
        key, name, _ = self.group_words()
        consumer = self.a_consumer(keys, key, name)
        if consumer is None:
            return self.draw_read(keys)
        count = self.pick(1, 3, 100)
        argv = self.about(key, "XAUTOCLAIM", name, consumer, 0, "0", "COUNT", count)
        return Request(argv, partial(claim_all, key, name, consumer, count, self.modern))

    def draw_string(self, keys: Expectation) -> Request:
        name, key = self.name, self.name + b":k%d" % self.random.randrange(4)
        kind = self.random.randrange(6)
        if kind == 0:
            return Request((b"INCR", name + b":n"), partial(increment, name + b":n"))
        if kind == 1:
            text = self.random.randbytes(self.pick(1, 9))
            return Request(
                (b"APPEND", name + b":t", text), partial(append_text, name + b":t", text)
            )
        if kind == 2:
            return Request((b"DEL", key), partial(delete_key, key))
        if kind == 3:
            lifetime = self.pick(200, 3000, LONG_MS)
            words = (b"PEXPIRE", key, b"%d" % lifetime)
            return Request(words, partial(expire, key, lifetime))
        text = self.pick(
            self.random.randbytes(30), b"x" * 500, b"%d" % self.random.randrange(10**9)
        )
        if kind == 4:
            lifetime = self.pick(100, 3000, LONG_MS)
            argv = (b"SET", key, text, b"PX", b"%d" % lifetime)
            return Request(argv, partial(set_string, key, text, lifetime))
        return Request((b"SET", key, text), partial(set_string, key, text, None))

    def draw_key(self, keys: Expectation) -> Request:
        """Whole streams: gone, renamed, with a time to live that does not end meanwhile."""
        key, kind = self.key(), self.random.randrange(4)
        if kind == 0:
            return Request((b"DEL", key), partial(delete_key, key))
        if kind == 1:
            to = self.random.choice([other for other in self.streams if other != key])
            return Request((b"RENAME", key, to), partial(rename, key, to))
        if kind == 2:
            return Request((b"PERSIST", key), partial(persist, key))
        argv = (b"PEXPIRE", key, b"%d" % LONG_MS)
        return Request(argv, partial(expire, key, LONG_MS))

    def draw_shared(self, keys: Expectation) -> Request:
        kind = self.random.randrange(3)
        if kind == 0 and keys.shared.pending:
            ids = self.random.sample(sorted(keys.shared.pending), 1)
            argv = (b"XACK", SHARED, SHARED_GROUP, *map(format_id, ids))
            return Request(argv, partial(ack_shared, ids))
        if kind == 1:
            argv = self.read_argv(SHARED, SHARED_GROUP, self.name, "COUNT", SHARED_COUNT, ">")
            return Request(argv, read_shared)
        return Request((b"XADD", SHARED, b"*", b"by", self.name), add_shared)


Draw: TypeAlias = Callable[[Workload, Expectation], Request]

KINDS: tuple[tuple[Draw, int], ...] = (
    (Workload.draw_add, 30),
    (Workload.draw_read, 14),
    (Workload.draw_ack, 8),
    (Workload.draw_claim, 6),
    (Workload.draw_claim_all, 3),
    (Workload.draw_history, 2),
    (Workload.draw_delete, 4),
    (Workload.draw_trim, 3),
    (Workload.draw_trim_about, 2),
    (Workload.draw_set_id, 1),
    (Workload.draw_create_group, 6),
    (Workload.draw_destroy_group, 1),
    (Workload.draw_set_group, 1),
    (Workload.draw_create_consumer, 2),
    (Workload.draw_delete_consumer, 1),
    (Workload.draw_string, 10),
    (Workload.draw_key, 1),
    (Workload.draw_shared, 10),
)
MODERN_KINDS: tuple[tuple[Draw, int], ...] = (
    (Workload.draw_message, 6),
    (Workload.draw_read_claim, 1),
    (Workload.draw_nack, 4),
    (Workload.draw_ack_and_delete, 4),
    (Workload.draw_delete_with_policy, 3),
)
