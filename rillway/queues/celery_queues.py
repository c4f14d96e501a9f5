"""Queues of Celery (kombu): lists of messages by priority, what workers hold, results by task.

The keys are those of kombu 5 and Celery 5. Workers hold what is `unacked`: a task with a time to
come is delayed, another one runs or was prefetched. Results name their task and queue only with
`result_extended`; those that do not count for the queue `celery`.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from rillway.queues.queue import (
    SEARCHED,
    Action,
    Figures,
    Find,
    Framework,
    Job,
    Queue,
    Refused,
    State,
    Steps,
    last_line,
    listed,
    number,
    number_in,
    parsed,
    raised,
    read_notes,
    shown,
    total,
)
from rillway.queues.rq_queues import time_ms
from rillway.sampler.replies import Reply, Words, as_text

BINDING = re.compile(rb"(.*?)_kombu\.binding\.(.+)", re.DOTALL)
RESULT = re.compile(rb"(.*?)celery-task-meta-(.+)", re.DOTALL)
# Queues by which Celery talks to its workers.
INTERNAL = re.compile(rb"celeryev(\..*)?|.*\.pidbox", re.DOTALL)
SEPARATOR = b"\x06\x16"
PRIORITIES = range(10)
DEFAULT = b"celery"
# More unacked messages, or larger ones, are not read, and not counted by queue.
UNACKED, UNACKED_BYTES = 1000, 16 << 20

# KEYS: a list. ARGV: messages. Workers take the right end.
FRONT = """
local done = 0
for i = #ARGV, 1, -1 do
  if redis.call('LREM', KEYS[1], -1, ARGV[i]) == 1 then
    redis.call('RPUSH', KEYS[1], ARGV[i])
    done = done + 1
  end
end
return done
"""
# KEYS: a result, the queue. ARGV: the result as it was read, the message.
RETRY = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('LPUSH', KEYS[2], ARGV[2])
return 1
"""
# KEYS: a result. ARGV: the result as it was read.
FORGET = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""


class Celery(Framework):
    name = "celery"
    actions: ClassVar[tuple[Action, ...]] = ("retry", "remove", "front")
    unknown: ClassVar[dict[str, str]] = {
        "oldest": "a message of Celery does not say when it was sent",
        "failed": "only a result backend in the same database keeps failures",
    }

    def recognise(self, key: bytes) -> Find | None:
        match = RESULT.fullmatch(key)
        return Find(Queue(self.name, match[1], b""), key) if match else None

    def registry(self, key: bytes) -> Words | None:
        match = BINDING.fullmatch(key)
        return ("SMEMBERS", key) if match and not INTERNAL.fullmatch(match[2]) else None

    def registered(self, key: bytes, reply: Reply) -> list[Queue]:
        prefix = key.partition(b"_kombu.binding.")[0]
        names = {binding[2] for one in listed(reply) if len(binding := one.split(SEPARATOR)) == 3}
        return [Queue(self.name, prefix, one) for one in names if one]

    def measure(self, queue: Queue, notes: Sequence[bytes], now_ms: int) -> Steps[Figures | None]:
        *lengths, unacked, used, workers = yield [
            *(("LLEN", one) for one in lists_of(queue)),
            ("HLEN", queue.prefix + b"unacked"),
            ("MEMORY", "USAGE", queue.prefix + b"unacked", "SAMPLES", UNACKED),
            ("SCARD", queue.prefix + b"_kombu.binding.celery.pidbox"),
        ]
        waiting = total(lengths)
        if waiting is None:
            return None
        running: int | None = None
        delayed: int | None = None
        if (number(unacked) or 0) <= UNACKED and (number(used) or 0) <= UNACKED_BYTES:
            held = yield from self._held(queue)
            delayed = sum(eta_of(message) is not None for message in held)
            running = len(held) - delayed
        failed = yield from self._failures(queue, notes)
        return Figures(waiting, running, delayed, len(failed), number(workers))

    def _held(self, queue: Queue) -> Steps[list[dict[str, Any]]]:
        """Return the messages of a queue that workers hold."""
        (reply,) = yield [("HVALS", queue.prefix + b"unacked")]
        found: list[tuple[dict[str, Any], bytes, bytes]] = []
        for value in listed(reply):
            held = parsed(value)
            if isinstance(held, list) and len(held) == 3 and isinstance(held[0], dict):
                found.append((held[0], str(held[1]).encode(), str(held[2]).encode()))
        exchanges = sorted({exchange for _, exchange, _ in found} - {b""})
        keys = [queue.prefix + b"_kombu.binding." + one for one in exchanges]
        replies = (yield [("SMEMBERS", key) for key in keys]) if keys else []
        # By exchange, and by routing key; the exchange without a name takes the queue's.
        ways = {(b"", queue.name)}
        for exchange, members in zip(exchanges, replies, strict=True):
            bindings = [one.split(SEPARATOR) for one in listed(members)]
            ways |= {(exchange, one[0]) for one in bindings if one[-1] == queue.name}
        return [message for message, *way in found if tuple(way) in ways]

    def _failures(
        self, queue: Queue, notes: Sequence[bytes]
    ) -> Steps[list[tuple[bytes, bytes, dict[str, Any]]]]:
        """Return key, bytes and content of the results that are failures of a queue."""
        found = []
        for key, data in (yield from read_notes(notes)):
            result = parsed(data) if b'"FAILURE"' in data else None
            if not isinstance(result, dict) or result.get("status") != "FAILURE":
                continue
            if str(result.get("queue") or DEFAULT.decode()).encode() == queue.name:
                found.append((key, data, result))
        found.sort(key=lambda one: str(one[2].get("date_done")))
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
            failures = yield from self._failures(queue, notes)
            return [failed_job(result) for _, _, result in failures[first : first + count]]
        if state == "waiting":
            messages = yield from self._waiting(queue, first, count)
            return [job(message) for _, _, message in messages]
        held = yield from self._held(queue)
        chosen = [one for one in held if (eta_of(one) is not None) == (state == "delayed")]
        return [job(message) for message in chosen[first : first + count]]

    def _waiting(
        self, queue: Queue, first: int, count: int
    ) -> Steps[list[tuple[bytes, bytes, dict[str, Any]]]]:
        """Return list, bytes and content of messages, in the order in which they are taken."""
        lists = lists_of(queue)
        lengths = yield [("LLEN", one) for one in lists]
        found: list[tuple[bytes, bytes, dict[str, Any]]] = []
        for name, length in zip(lists, lengths, strict=True):
            before = number(length) or 0
            if first < before and len(found) < count:
                wanted = count - len(found)
                (reply,) = yield [("LRANGE", name, -first - wanted, -first - 1)]
                for data in listed(reply)[::-1]:
                    message = parsed(data)
                    found.append((name, data, message if isinstance(message, dict) else {}))
            first = max(first - before, 0)
        return found

    def act(self, action: Action, queue: Queue, ids: Sequence[str], now_ms: int) -> Steps[int]:
        wanted = set(ids)
        if action != "retry":
            messages = yield from self._waiting(queue, 0, SEARCHED)
            chosen = [one for one in messages if id_of(one[2]) in wanted]
            requests: list[Words] = []
            for name in dict.fromkeys(one[0] for one in chosen):
                own = [data for other, data, _ in chosen if other == name]
                if action == "front":
                    own.sort(key=[data for _, data, _ in chosen].index)
                    requests.append(("EVAL", FRONT, 1, name, *own))
                else:
                    requests += [("LREM", name, -1, data) for data in own]
            wanted -= {id_of(one[2]) for one in chosen}
            done = 0
            if requests:
                replies = yield requests
                raised(replies)
                done = total(replies) or 0
            if action == "front" or not wanted:
                return done
            return done + (yield from self._results(action, queue, wanted))
        return (yield from self._results(action, queue, wanted))

    def _results(self, action: Action, queue: Queue, wanted: set[str]) -> Steps[int]:
        """Send tasks that failed again, or forget them, by the keys of their results."""
        prefix = queue.prefix + b"celery-task-meta-"
        failures = yield from self._failures(queue, [prefix + one.encode() for one in wanted])
        requests: list[Words] = []
        for key, data, result in failures:
            if action == "remove":
                requests.append(("EVAL", FORGET, 1, key, data))
                continue
            target = queue.prefix + queue.name
            requests.append(("EVAL", RETRY, 2, key, target, data, message_of(result, queue)))
        if not requests:
            return 0
        replies = yield requests
        raised(replies)
        return total(replies) or 0


def lists_of(queue: Queue) -> list[bytes]:
    """Return the lists of a queue, the most urgent first."""
    key = queue.prefix + queue.name
    return [key + SEPARATOR + b"%d" % one if one else key for one in PRIORITIES]


def headers_of(message: dict[str, Any]) -> dict[str, Any]:
    headers = message.get("headers")
    return headers if isinstance(headers, dict) else {}


def id_of(message: dict[str, Any]) -> str:
    return str(headers_of(message).get("id", ""))


def eta_of(message: dict[str, Any]) -> int | None:
    eta = headers_of(message).get("eta")
    return time_ms(eta.encode()) if isinstance(eta, str) else None


def job(message: dict[str, Any]) -> Job:
    headers = headers_of(message)
    return Job(
        id_of(message),
        str(headers.get("task", "")),
        arguments_of(message),
        number_in(headers, "retries"),
        time_ms=eta_of(message),
    )


def arguments_of(message: dict[str, Any]) -> Any:
    """Return the arguments: JSON as [args, kwargs], else their text in the headers, if any."""
    body = str(message.get("body", ""))
    data = body.encode()
    properties = message.get("properties")
    if isinstance(properties, dict) and properties.get("body_encoding") == "base64":
        with contextlib.suppress(binascii.Error, ValueError):
            data = base64.b64decode(body)
    if str(message.get("content-type")) == "application/json":
        value = parsed(data)
        if isinstance(value, list) and len(value) == 3:
            return value[:2]
        return shown(data)
    headers = headers_of(message)
    texts = [str(headers[one]) for one in ("argsrepr", "kwargsrepr") if one in headers]
    return " ".join(texts) or f"({message.get('content-type')}, {len(data)} bytes)"


def failed_job(result: dict[str, Any]) -> Job:
    error = result.get("result")
    text = str(error)
    if isinstance(error, dict):
        values = error.get("exc_message")
        reason = ", ".join(map(str, values)) if isinstance(values, list) else str(values)
        text = f"{error.get('exc_type', 'Error')}: {reason}"
    done = result.get("date_done")
    known = "args" in result
    return Job(
        str(result.get("task_id", "")),
        str(result.get("name") or ""),
        [result["args"], result.get("kwargs")] if known else None,
        number_in(result, "retries"),
        last_line(text),
        time_ms(done.encode()) if isinstance(done, str) else None,
    )


def message_of(result: dict[str, Any], queue: Queue) -> str:
    """Return the message that sends a failed task again. Raises Refused."""
    arguments, keywords, name = (result.get(one) for one in ("args", "kwargs", "name"))
    if not name or not isinstance(arguments, list) or not isinstance(keywords, dict):
        raise Refused(
            "ERR the result keeps no arguments: set result_extended, with JSON as the serializer"
        )
    task_id = str(result["task_id"])
    options = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    body = json.dumps([arguments, keywords, options]).encode()
    routing_key = as_text(queue.name)
    return json.dumps(
        {
            "body": base64.b64encode(body).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": {
                "lang": "py", "task": name, "id": task_id, "root_id": task_id, "parent_id": None,
                "eta": None, "expires": None, "group": None, "retries": 0,
                "timelimit": [None, None], "argsrepr": repr(tuple(arguments)),
                "kwargsrepr": repr(keywords), "origin": "rillway",
            },
            "properties": {
                "correlation_id": task_id, "delivery_mode": 2, "priority": 0,
                "delivery_info": {"exchange": "", "routing_key": routing_key},
                "body_encoding": "base64", "delivery_tag": task_id,
            },
        }
    )  # fmt: skip
