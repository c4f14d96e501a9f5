"""Queues of RQ: lists of job IDs, registries of the other states, one hash a job.

The keys are those of RQ 1.16 to 3.0. An action runs in one script, so that of two operators, or of
an operator and a worker, one wins; the job then goes by RQ's own way, and runs once.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import ClassVar

from rillway.queues.queue import (
    SHOWN_BYTES,
    Action,
    Figures,
    Find,
    Framework,
    Job,
    Queue,
    State,
    Steps,
    last_line,
    listed,
    number,
    raised,
    shown,
    total,
    whole,
)
from rillway.sampler.replies import Reply, Words, as_text, is_error

KEY = re.compile(rb"rq:(?:queue|failed|scheduled|deferred|wip|finished|workers):(.+)", re.DOTALL)
QUEUE = b"rq:queue:"
REGISTRIES = {"running": b"rq:wip:", "delayed": b"rq:scheduled:", "failed": b"rq:failed:"}
FIELDS = (b"description", b"enqueued_at", b"created_at", b"exc_info", b"number_of_retries")
WORKERS = 200

# KEYS: the registry of failures, the queue, rq:queues. ARGV: the time, then IDs.
RETRY = """
local done = 0
for i = 2, #ARGV do
  local job = 'rq:job:' .. ARGV[i]
  if redis.call('HEXISTS', job, 'rate_limit_key') == 0 and redis.call('EXISTS', job) == 1
      and redis.call('ZREM', KEYS[1], ARGV[i]) == 1 then
    redis.call('HSET', job, 'status', 'queued', 'enqueued_at', ARGV[1], 'started_at', '',
      'ended_at', '', 'worker_name', '', 'last_heartbeat', '')
    redis.call('HDEL', job, 'exc_info')
    redis.call('PERSIST', job)
    redis.call('SADD', KEYS[3], KEYS[2])
    redis.call('RPUSH', KEYS[2], ARGV[i])
    done = done + 1
  end
end
return done
"""
# KEYS: the queue, the registries of delayed, deferred and failed jobs. ARGV: IDs.
REMOVE = """
local done = 0
for i = 1, #ARGV do
  local job = 'rq:job:' .. ARGV[i]
  if redis.call('EXISTS', job .. ':dependents') == 0
      and redis.call('HEXISTS', job, 'rate_limit_key') == 0 then
    local found = redis.call('LREM', KEYS[1], 1, ARGV[i])
    for k = 2, 4 do found = found + redis.call('ZREM', KEYS[k], ARGV[i]) end
    if found > 0 then
      local group = redis.call('HGET', job, 'group_id')
      if group and group ~= '' then redis.call('SREM', 'rq:group:' .. group, ARGV[i]) end
      redis.call('DEL', job, 'rq:results:' .. ARGV[i], 'rq:job::' .. ARGV[i] .. ':dependencies')
      done = done + 1
    end
  end
end
return done
"""
# KEYS: the queue. ARGV: IDs, the last of which comes first.
FRONT = """
local done = 0
for i = #ARGV, 1, -1 do
  if redis.call('LREM', KEYS[1], 1, ARGV[i]) == 1 then
    redis.call('LPUSH', KEYS[1], ARGV[i])
    done = done + 1
  end
end
return done
"""


class Rq(Framework):
    name = "rq"
    actions: ClassVar[tuple[Action, ...]] = ("retry", "remove", "front")

    def recognise(self, key: bytes) -> Find | None:
        match = KEY.fullmatch(key)
        return Find(Queue(self.name, b"", match[1])) if match else None

    def registry(self, key: bytes) -> Words | None:
        return ("SMEMBERS", key) if key == b"rq:queues" else None

    def registered(self, key: bytes, reply: Reply) -> list[Queue]:
        names = [one.removeprefix(QUEUE) for one in listed(reply)]
        return [Queue(self.name, b"", name) for name in names]

    def measure(self, queue: Queue, notes: Sequence[bytes], now_ms: int) -> Steps[Figures | None]:
        name = queue.name
        waiting, *registries, workers, first = yield [
            ("LLEN", QUEUE + name),
            *(("ZCARD", registry + name) for registry in REGISTRIES.values()),
            ("SMEMBERS", b"rq:workers:" + name),
            ("LINDEX", QUEUE + name, 0),
        ]
        if is_error(waiting):
            return None
        names = listed(workers)[:WORKERS]
        oldest = None if is_error(first) else first
        requests: list[Words] = [
            ("HMGET", one, "state", "successful_job_count", "failed_job_count") for one in names
        ]
        if oldest is not None:
            requests.append(("HGET", b"rq:job:" + oldest, "enqueued_at"))
        replies = (yield requests) if requests else []
        alive = [one for one in map(listed, replies[: len(names)]) if one and one[0] is not None]
        since = time_ms(replies[-1]) if oldest is not None else None
        running, delayed, failed = map(number, registries)
        return Figures(
            number(waiting), running, delayed, failed, len(alive),
            None if since is None else max(now_ms - since, 0),
            done=sum(whole(count) or 0 for one in alive for count in one[1:]),
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
        key = (QUEUE if state == "waiting" else REGISTRIES[state]) + queue.name
        command = "LRANGE" if state == "waiting" else "ZRANGE"
        (reply,) = yield [(command, key, first, first + count - 1)]
        ids = [one.partition(b":")[0] if state == "running" else one for one in listed(reply)]
        if not ids:
            return []
        requests: list[Words] = [("HMGET", b"rq:job:" + one, *FIELDS) for one in ids]
        if state == "failed":
            requests += [("XREVRANGE", b"rq:results:" + one, "+", "-", "COUNT", 1) for one in ids]
        replies = yield requests
        results = replies[len(ids) :] or [None] * len(ids)
        return [
            job(one, listed(fields) or [None] * len(FIELDS), result)
            for one, fields, result in zip(ids, replies, results, strict=False)
        ]

    def act(self, action: Action, queue: Queue, ids: Sequence[str], now_ms: int) -> Steps[int]:
        key = QUEUE + queue.name
        if action == "retry":
            now = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            words: Words = (
                "EVAL", RETRY, 3, REGISTRIES["failed"] + queue.name, key, b"rq:queues", now, *ids,
            )  # fmt: skip
        elif action == "remove":
            others = (REGISTRIES["delayed"], b"rq:deferred:", REGISTRIES["failed"])
            words = ("EVAL", REMOVE, 4, key, *(one + queue.name for one in others), *ids)
        else:
            words = ("EVAL", FRONT, 1, key, *ids)
        replies = yield [words]
        raised(replies)
        return total(replies) or 0


def job(name: bytes, fields: Sequence[bytes | None], result: Reply) -> Job:
    description, enqueued, created, exception, retries = fields
    text = as_text(description or b"")
    function, _, arguments = text.partition("(")
    error = unpacked(exception) if exception else ""
    if not error and listed(result):
        words = listed(result)[0][1]
        found = dict(zip(words[::2], words[1::2], strict=True)).get(b"exc_string", b"")
        try:
            error = unpacked(base64.b64decode(found))
        except binascii.Error:
            error = shown(found)
    return Job(
        as_text(name),
        function,
        f"({arguments}" if arguments else "",
        None if (made := whole(retries)) is None else made + 1,
        last_line(error),
        time_ms(enqueued or created),
    )


def unpacked(data: bytes) -> str:
    """Return text that RQ has compressed, up to 16 times SHOWN_BYTES."""
    try:
        return as_text(zlib.decompressobj().decompress(data, SHOWN_BYTES * 16))
    except zlib.error:
        return shown(data)


def time_ms(text: Reply) -> int | None:
    """Return a time such as 2026-11-29T00:05:29.132556Z as Unix ms; without a zone it is UTC."""
    if not isinstance(text, bytes):
        return None
    try:
        when = datetime.fromisoformat(text.decode())
    except ValueError:
        return None
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)
