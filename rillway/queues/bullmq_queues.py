"""Queues of BullMQ: a list of waiting jobs, sorted sets of the other states, one hash a job.

The keys are those of BullMQ 4 to 6. An action runs in one script of our own, and leaves what
BullMQ's own would: a marker that wakes workers, an event, a child among its parent's dependencies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from rillway.queues.queue import (
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
    number_of,
    parsed,
    raised,
    scored,
    shown,
    total,
    whole,
)
from rillway.sampler.replies import Reply, Words, as_text

KEY = re.compile(rb"(.+?):([^:]+):meta", re.DOTALL)
USUAL = b"bull"
FIELDS = ("name", "data", "timestamp", "failedReason", "atm", "attemptsMade")
LISTS = {"waiting": "wait", "running": "active"}
# The score of a delayed job is its time in ms, times this, plus a number.
DELAY_UNIT = 0x1000
PRIORITY_UNIT = 0x100000000

COMMON = """
local base = KEYS[1]
local function event(name, id, state)
  local most = redis.call('HGET', base .. 'meta', 'opts.maxLenEvents') or '10000'
  redis.call('XADD', base .. 'events', 'MAXLEN', '~', most, '*', 'event', name, 'jobId', id,
    'prev', state)
end
"""
# KEYS: what all keys of the queue begin with. ARGV: IDs.
RETRY = (
    COMMON
    + """
local paused, most, version =
  unpack(redis.call('HMGET', base .. 'meta', 'paused', 'concurrency', 'version'))
local is_full = most and redis.call('LLEN', base .. 'active') >= tonumber(most)
local is_old = not version or tonumber(string.match(version, '(%d+)%.') or '0') < 6
local done = 0
for _, id in ipairs(ARGV) do
  local job = base .. id
  if redis.call('EXISTS', job) == 1 and redis.call('ZREM', base .. 'failed', id) == 1 then
    redis.call('HDEL', job, 'finishedOn', 'processedOn', 'failedReason')
    local priority, parent = unpack(redis.call('HMGET', job, 'priority', 'parentKey'))
    priority = tonumber(priority or '0') or 0
    if priority > 0 then
      local turn = redis.call('INCR', base .. 'pc') % 4294967296
      redis.call('ZADD', base .. 'prioritized', priority * 4294967296 + turn, id)
    elseif paused and is_old then
      redis.call('LPUSH', base .. 'paused', id)
    else
      redis.call('LPUSH', base .. 'wait', id)
    end
    if not paused and not is_full then redis.call('ZADD', base .. 'marker', 0, '0') end
    if parent and redis.call('EXISTS', parent) == 1
        and redis.call('ZREM', parent .. ':unsuccessful', job)
          + redis.call('HDEL', parent .. ':failed', job) > 0 then
      redis.call('SADD', parent .. ':dependencies', job)
    end
    event('waiting', id, 'failed')
    done = done + 1
  end
end
return done
"""
)
# A job that is locked, has a parent or children, or is the next of a job scheduler, which ends
# without it, is left to BullMQ itself.
REMOVE = (
    COMMON
    + """
local function is_next(job, id)
  local scheduler = redis.call('HGET', job, 'rjk')
  local time = scheduler and redis.call('ZSCORE', base .. 'repeat', scheduler)
  return time and id == 'repeat:' .. scheduler .. ':' .. time
end
local done = 0
for _, id in ipairs(ARGV) do
  local job = base .. id
  if redis.call('EXISTS', job .. ':lock', job .. ':dependencies') == 0
      and redis.call('HEXISTS', job, 'parentKey') == 0 and not is_next(job, id) then
    local from = nil
    for _, state in ipairs({'wait', 'paused'}) do
      if not from and redis.call('LREM', base .. state, 1, id) == 1 then from = state end
    end
    for _, state in ipairs({'prioritized', 'delayed', 'failed'}) do
      if not from and redis.call('ZREM', base .. state, id) == 1 then from = state end
    end
    if from then
      local same = redis.call('HGET', job, 'deid')
      if same and redis.call('GET', base .. 'de:' .. same) == id then
        redis.call('DEL', base .. 'de:' .. same)
      end
      redis.call('DEL', job, job .. ':logs', job .. ':processed', job .. ':failed',
        job .. ':unsuccessful')
      event('removed', id, from)
      done = done + 1
    end
  end
end
return done
"""
)
FRONT = """
local done = 0
for i = #ARGV, 1, -1 do
  for _, name in ipairs({'wait', 'paused'}) do
    if redis.call('LREM', KEYS[1] .. name, 1, ARGV[i]) == 1 then
      redis.call('RPUSH', KEYS[1] .. name, ARGV[i])
      done = done + 1
    end
  end
end
return done
"""


class BullMq(Framework):
    name = "bullmq"
    actions: ClassVar[tuple[Action, ...]] = ("retry", "remove", "front")
    unknown: ClassVar[dict[str, str]] = {
        "workers": "BullMQ knows its workers by the names of their connections, not by keys"
    }

    def recognise(self, key: bytes) -> Find | None:
        match = KEY.fullmatch(key)
        if match is None:
            return None
        prefix = b"" if match[1] == USUAL else match[1] + b":"
        return Find(Queue(self.name, prefix, match[2]))

    def check(self, queue: Queue) -> Words:
        # Keys of other programs have such names, one a user, for example.
        return ("HMGET", base_of(queue) + b"meta", "version", "opts.maxLenEvents")

    def is_own(self, reply: Reply) -> bool:
        return any(one is not None for one in listed(reply))

    def measure(self, queue: Queue, notes: Sequence[bytes], now_ms: int) -> Steps[Figures | None]:
        base = base_of(queue)
        replies = yield [
            self.check(queue),
            ("LINDEX", base + b"wait", -1),
            ("GET", base + b"id"),
            ("LLEN", base + b"wait"),
            ("LLEN", base + b"paused"),
            ("ZCARD", base + b"prioritized"),
            ("LLEN", base + b"active"),
            ("ZCARD", base + b"delayed"),
            ("ZCARD", base + b"failed"),
        ]
        meta, oldest, taken, *counts, running, delayed, failed = replies
        if not self.is_own(meta):
            return None
        age_ms = None
        if isinstance(oldest, bytes):
            (since,) = yield [("HGET", base + oldest, "timestamp")]
            since = whole(since)
            age_ms = None if since is None else max(now_ms - since, 0)
        return Figures(
            total(counts), number(running), number(delayed), number(failed),
            oldest_ms=age_ms, taken=0 if taken is None else whole(taken),
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
        base = base_of(queue)
        last = first + count - 1
        scores: dict[bytes, float] = {}
        if state in LISTS:
            # Workers take the right end.
            name = base + LISTS[state].encode()
            words: list[Words] = [("LRANGE", name, -1 - last, -1 - first)]
            if state == "waiting":
                words += [("LLEN", name), ("LLEN", base + b"paused")]
            replies = yield words
            ids = listed(replies[0])[::-1]
            if state == "waiting":
                ids += yield from self._further(base, replies[1:], first, count - len(ids))
        else:
            (reply,) = yield [("ZRANGE", base + state.encode(), first, last, "WITHSCORES")]
            scores = scored(reply)
            ids = list(scores)
        if not ids:
            return []
        replies = yield [("HMGET", base + one, *FIELDS) for one in ids]
        return [
            job(one, listed(fields) or [None] * len(FIELDS), state, scores.get(one))
            for one, fields in zip(ids, replies, strict=True)
        ]

    def _further(
        self, base: bytes, lengths: Sequence[Any], first: int, count: int
    ) -> Steps[list[bytes]]:
        """Return waiting jobs that stand after those of `wait`: of a pause, then by priority."""
        waiting, paused = (number(one) or 0 for one in lengths)
        if count <= 0:
            return []
        after = max(first - waiting, 0)
        (reply,) = yield [("LRANGE", base + b"paused", -after - count, -after - 1)]
        found = listed(reply)[::-1] if after < paused else []
        after = max(first - waiting - paused, 0)
        if len(found) < count:
            last = after + count - len(found) - 1
            (reply,) = yield [("ZRANGE", base + b"prioritized", after, last)]
            found += listed(reply)
        return found

    def act(self, action: Action, queue: Queue, ids: Sequence[str], now_ms: int) -> Steps[int]:
        script = {"retry": RETRY, "remove": REMOVE, "front": FRONT}[action]
        replies = yield [("EVAL", script, 1, base_of(queue), *ids)]
        raised(replies)
        return total(replies) or 0


def base_of(queue: Queue) -> bytes:
    return (queue.prefix or USUAL + b":") + queue.name + b":"


def job(name: bytes, fields: Sequence[bytes | None], state: State, score: float | None) -> Job:
    function, data, added, reason, made, old_made = fields
    arguments = parsed(data)
    attempts = made if made is not None else old_made
    time_ms = whole(added) if score is None else number_of(score)
    if score is not None and time_ms is not None and state == "delayed":
        time_ms //= DELAY_UNIT
    return Job(
        as_text(name),
        as_text(function or b""),
        shown(data) if arguments is None and data is not None else arguments,
        whole(attempts),
        last_line(shown(reason or b"")),
        time_ms or None,
    )
