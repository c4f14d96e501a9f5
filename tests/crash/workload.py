"""What the connections of a crash round send, and what each request must do to its keys.

A `Request` is an argv and an effect: a function that applies to the expectation what the server
did, given the reply if there was one. A `Step` is one request, or several between MULTI and EXEC.

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
from tests.crash.effects import (
    POLICIES,
    ack,
    ack_and_delete,
    ack_shared,
    add,
    add_shared,
    append_text,
    claim,
    claim_all,
    create_consumer,
    create_group,
    delete_consumer,
    delete_entries,
    delete_key,
    delete_with_policy,
    destroy_group,
    expire,
    group_of,
    increment,
    nack,
    persist,
    read_claim,
    read_history,
    read_new,
    read_shared,
    rename,
    set_group,
    set_id,
    set_string,
    trim,
    trim_about,
)
from tests.crash.expectation import (
    Expectation,
    ExpectedStream,
    Facts,
    Wrong,
)
from tests.crash.observation import SHARED, SHARED_GROUP, format_id

Effect: TypeAlias = Callable[[Expectation, Facts], None]

GROUPS = (b"g", b"h")
CONSUMERS = (b"a", b"b", b"c")
LONG_MS = 3_600_000
SHARED_COUNT = 3


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
            # Not DELREF: which references to deleted entries it drops depends on where nodes begin,
            # and a rewrite as requests begins them elsewhere.
            policy = self.pick("KEEPREF", "ACKED")
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
