"""Queues that are shown only: of arq, dramatiq, huey, taskiq, FastStream and saq."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from rillway.queues.queue import (
    Figures,
    Find,
    Framework,
    Job,
    Queue,
    State,
    Steps,
    last_line,
    listed,
    mapped,
    number,
    number_in,
    number_of,
    parsed,
    read_notes,
    scored,
    shown,
)
from rillway.sampler.replies import Reply, Words, as_text, is_error

HEARTBEAT_MS = 60_000
READ = 1000


class Arq(Framework):
    """A sorted set of job IDs by time; jobs and results are pickles, which are not read."""

    name = "arq"
    unknown: ClassVar[dict[str, str]] = {
        "failed": "results are pickles, which are never loaded",
        "workers": "a worker leaves one line for all workers of its queue",
    }
    KEY = re.compile(
        rb"(arq:(?!(?:job|in-progress|result|retry|abort):)[^:]+)(?::health-check)?", re.DOTALL
    )

    def recognise(self, key: bytes) -> Find | None:
        match = self.KEY.fullmatch(key)
        if match is None or match[1] == b"arq:cron":
            return None
        return Find(Queue(self.name, b"", match[1]))

    def measure(self, queue: Queue, notes: Sequence[bytes], now_ms: int) -> Steps[Figures | None]:
        due, delayed, oldest = yield [
            ("ZCOUNT", queue.name, "-inf", now_ms),
            ("ZCOUNT", queue.name, f"({now_ms}", "+inf"),
            ("ZRANGE", queue.name, 0, READ - 1, "WITHSCORES"),
        ]
        if is_error(due):
            return None
        times = scored(oldest)
        running = yield from self._running(list(times))
        count = number(due) or 0
        scores = [score for one, score in times.items() if one not in running]
        since = number_of(scores[0]) if scores and scores[0] <= now_ms else None
        age_ms = None if since is None else now_ms - since
        return Figures(
            max(count - len(running), 0), len(running), number(delayed), oldest_ms=age_ms
        )

    def _running(self, ids: Sequence[bytes]) -> Steps[set[bytes]]:
        if not ids:
            return set()
        replies = yield [("EXISTS", b"arq:in-progress:" + one) for one in ids]
        return {one for one, reply in zip(ids, replies, strict=True) if number(reply)}

    def jobs(
        self,
        queue: Queue,
        state: State,
        first: int,
        count: int,
        notes: Sequence[bytes],
        now_ms: int,
    ) -> Steps[list[Job]]:
        if state == "failed":
            return []
            yield []
        (reply,) = yield [("ZRANGE", queue.name, 0, first + count + READ, "WITHSCORES")]
        scores = scored(reply)
        running = yield from self._running(list(scores))
        chosen = [
            one
            for one, score in scores.items()
            if (state == "running") == (one in running)
            and (state == "running" or (score > now_ms) == (state == "delayed"))
        ][first : first + count]
        replies = (yield [("GET", b"arq:job:" + one) for one in chosen]) if chosen else []
        return [
            Job(as_text(one), arguments=shown(data or b""), time_ms=number_of(scores[one]))
            for one, data in zip(chosen, replies, strict=True)
        ]


class Dramatiq(Framework):
    """A list of message IDs, messages in a hash; `.DQ` is delayed, `.XQ` is dead."""

    name = "dramatiq"
    KEY = re.compile(rb"([^:]+):(?!__)(.+?)(?:\.DQ|\.XQ)?\.msgs", re.DOTALL)
    USUAL = b"dramatiq"

    def recognise(self, key: bytes) -> Find | None:
        match = self.KEY.fullmatch(key)
        if match is None:
            return None
        prefix = b"" if match[1] == self.USUAL else match[1] + b":"
        return Find(Queue(self.name, prefix, match[2]))

    def _base(self, queue: Queue) -> tuple[bytes, bytes]:
        prefix = queue.prefix or self.USUAL + b":"
        return prefix, prefix + queue.name

    def measure(self, queue: Queue, notes: Sequence[bytes], now_ms: int) -> Steps[Figures | None]:
        prefix, base = self._base(queue)
        waiting, known, delayed, dead, workers, first = yield [
            ("LLEN", base),
            ("HLEN", base + b".msgs"),
            ("HLEN", base + b".DQ.msgs"),
            ("ZCARD", base + b".XQ"),
            ("ZCOUNT", prefix + b"__heartbeats__", now_ms - HEARTBEAT_MS, "+inf"),
            ("LINDEX", base, 0),
        ]
        if is_error(waiting) or is_error(known):
            return None
        age_ms = None
        if isinstance(first, bytes):
            (data,) = yield [("HGET", base + b".msgs", first)]
            since = number_in(parsed(data), "message_timestamp")
            age_ms = None if since is None else max(now_ms - since, 0)
        count = number(waiting) or 0
        return Figures(
            count, max((number(known) or 0) - count, 0), number(delayed), number(dead),
            number(workers), age_ms,
        )  # fmt: skip

    def jobs(
        self,
        queue: Queue,
        state: State,
        first: int,
        count: int,
        notes: Sequence[bytes],
        now_ms: int,
    ) -> Steps[list[Job]]:
        _, base = self._base(queue)
        last = first + count - 1
        if state == "waiting":
            (reply,) = yield [("LRANGE", base, first, last)]
            messages = yield from self._messages(base + b".msgs", listed(reply))
        elif state == "failed":
            (reply,) = yield [("ZRANGE", base + b".XQ", first, last)]
            messages = yield from self._messages(base + b".XQ.msgs", listed(reply))
        else:
            name = base + (b".DQ.msgs" if state == "delayed" else b".msgs")
            replies = yield [("HSCAN", name, 0, "COUNT", READ), ("LRANGE", base, 0, READ)]
            waiting = set(listed(replies[1])) if state == "running" else set()
            found = mapped(listed(replies[0])[1]) if listed(replies[0]) else {}
            chosen: dict[bytes, bytes | None] = {
                one: data for one, data in found.items() if one not in waiting
            }
            messages = list(chosen.items())[first : first + count]
        return [self._job(one, data) for one, data in messages]

    def _messages(
        self, name: bytes, ids: Sequence[bytes]
    ) -> Steps[list[tuple[bytes, bytes | None]]]:
        if not ids:
            return []
        (reply,) = yield [("HMGET", name, *ids)]
        return list(zip(ids, listed(reply) or [None] * len(ids), strict=True))

    def _job(self, name: bytes, data: bytes | None) -> Job:
        message = parsed(data)
        if not isinstance(message, dict):
            return Job(as_text(name), arguments=shown(data or b""))
        options = message.get("options")
        options = options if isinstance(options, dict) else {}
        return Job(
            as_text(name),
            str(message.get("actor_name", "")),
            [message.get("args"), message.get("kwargs")],
            number_in(options, "retries"),
            last_line(str(options.get("traceback", ""))),
            number_in(options, "eta") or number_in(message, "message_timestamp"),
        )


class Huey(Framework):
    """A list, or a sorted set by priority, of pickles."""

    name = "huey"
    unknown: ClassVar[dict[str, str]] = {
        "running": "huey takes a task out before it runs",
        "failed": "results are pickles, which are never loaded",
        "workers": "huey's consumers leave no key",
        "oldest": "a task is a pickle, which is never loaded",
    }
    KEY = re.compile(rb"huey\.(?:redis|schedule)\.(.+)", re.DOTALL)

    def recognise(self, key: bytes) -> Find | None:
        match = self.KEY.fullmatch(key)
        return Find(Queue(self.name, b"", match[1])) if match else None

    def measure(self, queue: Queue, notes: Sequence[bytes], now_ms: int) -> Steps[Figures | None]:
        key = b"huey.redis." + queue.name
        length, members, delayed = yield [
            ("LLEN", key), ("ZCARD", key), ("ZCARD", b"huey.schedule." + queue.name)
        ]  # fmt: skip
        counts = [one for one in (number(length), number(members)) if one is not None]
        return Figures(max(counts), delayed=number(delayed)) if counts else None

    def jobs(
        self,
        queue: Queue,
        state: State,
        first: int,
        count: int,
        notes: Sequence[bytes],
        now_ms: int,
    ) -> Steps[list[Job]]:
        key, last = b"huey.redis." + queue.name, first + count - 1
        if state == "waiting":
            # A list is taken from its right end.
            items, by_priority = yield [
                ("LRANGE", key, -1 - last, -1 - first), ("ZRANGE", key, first, last)
            ]  # fmt: skip
            found = listed(items)[::-1] or listed(by_priority)
        elif state == "delayed":
            (reply,) = yield [("ZRANGE", b"huey.schedule." + queue.name, first, last)]
            found = listed(reply)
        else:
            return []
        return [
            Job(str(first + at), arguments=f"(pickle, {len(data)} bytes)")
            for at, data in enumerate(found)
        ]


class Taskiq(Framework):
    """A list, or a stream, of JSON. Only the usual name is recognised."""

    name = "taskiq"
    unknown: ClassVar[dict[str, str]] = {
        "running": "a list's worker takes a task out before it runs",
        "failed": "results are pickles, which are never loaded",
        "delayed": "a schedule does not name its queue",
        "workers": "taskiq's workers leave no key; those of a stream are its consumers",
    }
    KEY = re.compile(rb"taskiq(?:[:_-].*)?", re.DOTALL)

    def recognise(self, key: bytes) -> Find | None:
        return Find(Queue(self.name, b"", key)) if self.KEY.fullmatch(key) else None

    def measure(self, queue: Queue, notes: Sequence[bytes], now_ms: int) -> Steps[Figures | None]:
        key = queue.name
        length, first, groups = yield [
            ("LLEN", key), ("LINDEX", key, -1), ("XINFO", "GROUPS", key)
        ]  # fmt: skip
        if not is_error(length):
            return Figures(number(length)) if is_task(first) or first is None else None
        if is_error(groups) or not groups:
            return None
        found = mapped(listed(groups)[0])
        return Figures(
            number(found.get(b"lag")), number(found.get(b"pending")),
            workers=number(found.get(b"consumers")),
        )  # fmt: skip

    def jobs(
        self,
        queue: Queue,
        state: State,
        first: int,
        count: int,
        notes: Sequence[bytes],
        now_ms: int,
    ) -> Steps[list[Job]]:
        key = queue.name
        items, groups = yield [
            ("LRANGE", key, -first - count, -first - 1), ("XINFO", "GROUPS", key)
        ]  # fmt: skip
        if not is_error(items):
            return [task(b"", data) for data in listed(items)[::-1]] if state == "waiting" else []
        if is_error(groups) or not groups or state not in ("waiting", "running"):
            return []
        group = mapped(listed(groups)[0])
        if state == "waiting":
            after = b"(" + group[b"last-delivered-id"]
            (reply,) = yield [("XRANGE", key, after, "+", "COUNT", first + count)]
            entries = listed(reply)[first:]
        else:
            (reply,) = yield [("XPENDING", key, group[b"name"], "-", "+", first + count)]
            ids = [one[0] for one in listed(reply)[first:]]
            replies = (yield [("XRANGE", key, one, one) for one in ids]) if ids else []
            entries = [listed(one)[0] for one in replies if listed(one)]
        return [task(entry[0], mapped(entry[1]).get(b"data", b"")) for entry in entries]


def is_task(data: Reply) -> bool:
    message = parsed(data)
    return isinstance(message, dict) and "task_name" in message


def task(entry_id: bytes, data: bytes) -> Job:
    message = parsed(data)
    if not isinstance(message, dict):
        return Job(as_text(entry_id), arguments=shown(data))
    return Job(
        str(message.get("task_id", "")),
        str(message.get("task_name", "")),
        [message.get("args"), message.get("kwargs")],
        time_ms=int(entry_id.partition(b"-")[0]) if entry_id else None,
    )


class FastStream(Framework):
    """A list of messages with headers, whose name is free: its first message is looked at.

    Streams of FastStream are on the page of streams, with their groups.
    """

    name = "faststream"
    unknown: ClassVar[dict[str, str]] = {
        "running": "a message is taken out before it is handled",
        "delayed": "FastStream has no delays",
        "failed": "FastStream keeps no failures",
        "workers": "FastStream's subscribers leave no key",
        "oldest": "a message does not say when it was sent",
    }
    MAGIC = b"\x89BIN\r\n\x1a\n"

    def recognise(self, key: bytes) -> Find | None:
        return None

    def is_message(self, data: Reply) -> bool:
        """Return True if the first message of a list is one of FastStream's."""
        return isinstance(data, bytes) and data.startswith(self.MAGIC)

    def measure(self, queue: Queue, notes: Sequence[bytes], now_ms: int) -> Steps[Figures | None]:
        length, first = yield [("LLEN", queue.name), ("LINDEX", queue.name, 0)]
        if is_error(length) or (first is not None and not self.is_message(first)):
            return None
        return Figures(number(length))

    def jobs(
        self,
        queue: Queue,
        state: State,
        first: int,
        count: int,
        notes: Sequence[bytes],
        now_ms: int,
    ) -> Steps[list[Job]]:
        if state != "waiting":
            return []
        (reply,) = yield [("LRANGE", queue.name, first, first + count - 1)]
        return [self._job(first + at, data) for at, data in enumerate(listed(reply))]

    def _job(self, place: int, data: bytes) -> Job:
        """Return a message: magic, version (2 bytes), two offsets (4 each), headers, the body."""
        start = int.from_bytes(data[14:18], "big")
        body = data[start:] if len(data) >= 18 else data
        value = parsed(body)
        return Job(str(place), arguments=shown(body) if value is None else value)


class Saq(Framework):
    """Lists of jobs that wait and run, one JSON a job, which also keeps its failure."""

    name = "saq"
    KEY = re.compile(rb"saq:(?!job:|abort:)([^:]+):(?:incomplete|queued|active|stats|sweep)")
    JOB = re.compile(rb"saq:job:([^:]+):.+", re.DOTALL)

    def recognise(self, key: bytes) -> Find | None:
        match = self.KEY.fullmatch(key)
        if match is not None:
            return Find(Queue(self.name, b"", match[1]))
        match = self.JOB.fullmatch(key)
        return Find(Queue(self.name, b"", match[1]), key) if match else None

    def measure(self, queue: Queue, notes: Sequence[bytes], now_ms: int) -> Steps[Figures | None]:
        base = b"saq:" + queue.name
        now = now_ms // 1000
        waiting, running, delayed, workers, first = yield [
            ("LLEN", base + b":queued"),
            ("LLEN", base + b":active"),
            ("ZCOUNT", base + b":incomplete", f"({now}", "+inf"),
            ("ZCOUNT", base + b":stats", now_ms, "+inf"),
            ("LINDEX", base + b":queued", 0),
        ]
        if is_error(waiting):
            return None
        age_ms = None
        if isinstance(first, bytes):
            (data,) = yield [("GET", first)]
            since = number_in(parsed(data), "queued")
            age_ms = None if since is None else max(now_ms - since, 0)
        failures = yield from self._failures(notes)
        return Figures(
            number(waiting), number(running), number(delayed), len(failures), number(workers),
            age_ms,
        )  # fmt: skip

    def _failures(self, notes: Sequence[bytes]) -> Steps[list[dict[str, Any]]]:
        found = []
        for _, data in (yield from read_notes(notes)):
            message = parsed(data)
            if isinstance(message, dict) and message.get("status") in ("failed", "aborted"):
                found.append(message)
        found.sort(key=lambda one: number_in(one, "completed") or 0)
        return found

    def jobs(
        self,
        queue: Queue,
        state: State,
        first: int,
        count: int,
        notes: Sequence[bytes],
        now_ms: int,
    ) -> Steps[list[Job]]:
        if state == "failed":
            failures = yield from self._failures(notes)
            return [self._job(one) for one in failures[first : first + count]]
        base, last = b"saq:" + queue.name, first + count - 1
        words: Words = ("LRANGE", base + b":queued", first, last)
        if state == "running":
            words = ("LRANGE", base + b":active", first, last)
        elif state == "delayed":
            words = (
                "ZRANGEBYSCORE", base + b":incomplete", f"({now_ms // 1000}", "+inf",
                "LIMIT", first, count,
            )  # fmt: skip
        (reply,) = yield [words]
        keys = listed(reply)
        replies = (yield [("GET", key) for key in keys]) if keys else []
        messages = [parsed(data) for data in replies]
        return [self._job(one) for one in messages if isinstance(one, dict)]

    def _job(self, message: dict[str, Any]) -> Job:
        return Job(
            str(message.get("key", "")),
            str(message.get("function", "")),
            message.get("kwargs"),
            number_in(message, "attempts"),
            last_line(str(message.get("error") or "")),
            number_in(message, "queued"),
        )
