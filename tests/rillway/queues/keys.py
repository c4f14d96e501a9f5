"""Keys as the frameworks themselves left them, recorded from their workers and then shortened."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any, TypeAlias

Request: TypeAlias = tuple[bytes | str | int | float, ...]

# The server's clock in these tests.
NOW_MS = 1_795_910_900_000
TRACEBACK = 'Traceback (most recent call last):\n  File "app.py", line 6\nValueError: boom\n'
PICKLE = b"\x80\x04\x95\x2e\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01t\x94N\x8c\x01f\x94\x8c\x02ok."


def celery_message(task_id: str, arguments: list[Any], eta: str | None = None) -> str:
    options = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    body = base64.b64encode(json.dumps([arguments, {}, options]).encode()).decode()
    headers = {"lang": "py", "task": "add", "id": task_id, "eta": eta, "retries": 0}
    return json.dumps(
        {
            "body": body, "content-encoding": "utf-8", "content-type": "application/json",
            "headers": headers,
            "properties": {
                "correlation_id": task_id, "priority": 0, "body_encoding": "base64",
                "delivery_info": {"exchange": "", "routing_key": "celery"},
                "delivery_tag": task_id,
            },
        }
    )  # fmt: skip


def celery_result(task_id: str, **extended: Any) -> str:
    error = {"exc_type": "ValueError", "exc_message": ["boom"], "exc_module": "builtins"}
    return json.dumps(
        {
            "status": "FAILURE", "result": error, "traceback": TRACEBACK, "children": [],
            "date_done": "2026-11-29T00:04:58.774665+00:00", "task_id": task_id, **extended,
        }
    )  # fmt: skip


def held(message: str, routing_key: str = "celery") -> str:
    return json.dumps([json.loads(message), "", routing_key])


ETA = "2026-11-29T00:09:54.833000+00:00"
CELERY: list[Request] = [
    ("SADD", "_kombu.binding.celery", "celery\x06\x16\x06\x16celery"),
    ("SADD", "_kombu.binding.mail", "mail\x06\x16\x06\x16mail"),
    ("SADD", "_kombu.binding.celery.pidbox", "\x06\x16\x06\x16celery@vm.celery.pidbox"),
    ("SADD", "_kombu.binding.celeryev", "worker.#\x06\x16\x06\x16celeryev.3702"),
    ("LPUSH", "celery", celery_message("w1", [1, 2]), celery_message("w2", [3])),
    ("LPUSH", "celery\x06\x163", celery_message("w3", [5])),
    ("LPUSH", "mail", celery_message("m1", [])),
    ("HSET", "unacked", "t1", held(celery_message("r1", [8]))),
    ("HSET", "unacked", "t2", held(celery_message("d1", [9], ETA))),
    ("HSET", "unacked", "t3", held(celery_message("r2", [8]), "mail")),
    ("SET", "celery-task-meta-f1", celery_result("f1")),
    (
        "SET", "celery-task-meta-f2",
        celery_result("f2", name="add", args=[9, 1], kwargs={"z": 2}, queue="mail", retries=3),
    ),
    ("SET", "celery-task-meta-s1", '{"status": "SUCCESS", "result": 3, "task_id": "s1"}'),
]  # fmt: skip

STAMP = "2026-11-29T00:05:29.136062Z"


def rq_job(name: str, state: str, description: str, **fields: Any) -> Request:
    pairs = {
        "status": state, "created_at": STAMP, "data": b"x\x9ck`\x9d*\xc9", "origin": "default",
        "description": description, "enqueued_at": STAMP, "started_at": "", "ended_at": "",
        "worker_name": "", **fields,
    }  # fmt: skip
    return ("HSET", f"rq:job:{name}", *(word for pair in pairs.items() for word in pair))


RQ_ERROR = base64.b64encode(zlib.compress(TRACEBACK.encode()))
RQ: list[Request] = [
    ("SADD", "rq:queues", "rq:queue:default", "rq:queue:empty"),
    rq_job("w1", "queued", "jobs.ok(4)"),
    rq_job("w2", "queued", "jobs.ok({'a': 1}, name='x')"),
    rq_job("r1", "started", "jobs.slow(3)"),
    rq_job("d1", "scheduled", "jobs.ok(6)"),
    rq_job("f1", "failed", "jobs.boom(2)", ended_at=STAMP, worker_name="bd94"),
    rq_job("f2", "failed", "jobs.boom(3)", exc_info=zlib.compress(TRACEBACK.encode())),
    ("EXPIRE", "rq:job:f1", 31_536_000),
    ("RPUSH", "rq:queue:default", "w1", "w2"),
    ("ZADD", "rq:wip:default", 1795910822, "r1:c8766fbc6ecb4b8c9f4ab7e9594d49a8"),
    ("ZADD", "rq:scheduled:default", 1795911029, "d1"),
    ("ZADD", "rq:failed:default", 1827446732, "f1", 1827446733, "f2"),
    ("XADD", "rq:results:f1", "1795910732302-0", "type", 2, "exc_string", RQ_ERROR),
    ("SADD", "rq:workers:default", "rq:worker:bd94", "rq:worker:dead"),
    (
        "HSET", "rq:worker:bd94", "state", "busy", "successful_job_count", 4,
        "failed_job_count", 1,
    ),
]  # fmt: skip


def bull_job(name: str, function: str, data: str, **fields: Any) -> Request:
    pairs = {
        "name": function, "data": data, "opts": '{"attempts":0}', "timestamp": 1795910738398,
        "delay": 0, "priority": 0, **fields,
    }  # fmt: skip
    return ("HSET", f"bull:mail:{name}", *(word for pair in pairs.items() for word in pair))


BULLMQ: list[Request] = [
    ("HSET", "bull:mail:meta", "opts.maxLenEvents", 10000, "version", "bullmq:6.7.0"),
    bull_job("1", "boom", '{"x":1}', failedReason="boom", atm=1, ats=1, processedOn=1795910738439),
    bull_job("2", "ok", '{"x":2}'),
    bull_job("3", "late", '{"x":3}', delay=300000),
    bull_job("4", "slow", '{"x":4}', processedOn=1795910739416),
    bull_job("5", "wait", '{"x":5}'),
    bull_job("6", "urgent", '{"x":6}', priority=3),
    bull_job("7", "boom", '{"x":7}', priority=3, failedReason="boom"),
    bull_job("8", "child", '{"x":8}', parentKey="bull:flow:p1"),
    ("SET", "bull:mail:4:lock", "20553b26"),
    ("SET", "bull:mail:id", 8),
    ("SET", "bull:mail:pc", 1),
    ("LPUSH", "bull:mail:wait", 2, 5),
    ("RPUSH", "bull:mail:wait", 8),
    ("LPUSH", "bull:mail:active", 4),
    ("ZADD", "bull:mail:delayed", 1795911038402 * 4096, 3),
    ("ZADD", "bull:mail:failed", 1795910738458, 1, 1795910738459, 7),
    ("ZADD", "bull:mail:prioritized", 3 * 4294967296 + 1, 6),
    ("HSET", "bull:flow:meta", "opts.maxLenEvents", 10000, "version", "bullmq:6.7.0"),
    ("HSET", "app:not-a-queue:meta", "title", "another program"),
]  # fmt: skip

ARQ: list[Request] = [
    ("ZADD", "arq:queue", NOW_MS - 5000, "w1", NOW_MS - 9000, "r1", NOW_MS + 60_000, "d1"),
    *(("SET", f"arq:job:{one}", PICKLE) for one in ("w1", "r1", "d1")),
    ("SET", "arq:in-progress:r1", 1),
    ("SET", "arq:retry:r1", 1),
    ("SET", "arq:result:f1", PICKLE),
    ("SET", "arq:queue:health-check", "Nov-29 00:06:12 j_complete=1 j_failed=1 queued=5"),
]


def dramatiq_message(name: str, actor: str, queue: str = "default", **options: Any) -> str:
    return json.dumps(
        {
            "queue_name": queue, "actor_name": actor, "args": [1], "kwargs": {},
            "options": {"redis_message_id": name, **options}, "message_id": f"m-{name}",
            "message_timestamp": NOW_MS - 3000,
        }
    )  # fmt: skip


DRAMATIQ: list[Request] = [
    ("ZADD", "dramatiq:__heartbeats__", NOW_MS - 1000, "c0a6", NOW_MS - 90_000, "old"),
    ("SADD", "dramatiq:__acks__.c0a6.default", "r1"),
    ("RPUSH", "dramatiq:default", "w1", "w2"),
    *(
        ("HSET", "dramatiq:default.msgs", one, dramatiq_message(one, "ok"))
        for one in ("w1", "w2", "r1")
    ),
    (
        "HSET", "dramatiq:default.DQ.msgs", "d1",
        dramatiq_message("d1", "again", "default.DQ", eta=NOW_MS + 60_000, retries=2,
                         traceback=TRACEBACK),
    ),
    ("ZADD", "dramatiq:default.XQ", NOW_MS - 10, "f1"),
    ("HSET", "dramatiq:default.XQ.msgs", "f1", dramatiq_message("f1", "boom")),
]  # fmt: skip

HUEY: list[Request] = [
    ("LPUSH", "huey.redis.app", PICKLE, PICKLE + b"2"),
    ("ZADD", "huey.redis.prio", -5, PICKLE),
    ("ZADD", "huey.schedule.app", 1795911078, PICKLE),
    ("HSET", "huey.results.app", "1b2e", PICKLE),
]


def taskiq_message(name: str, function: str) -> str:
    return json.dumps(
        {"task_id": name, "task_name": function, "labels": {}, "args": [4], "kwargs": {}}
    )


TASKIQ: list[Request] = [
    ("LPUSH", "taskiq", taskiq_message("w1", "ok"), taskiq_message("w2", "boom")),
    ("XGROUP", "CREATE", "taskiq:stream", "taskiq", "$", "MKSTREAM"),
    ("XADD", "taskiq:stream", "1795910804728-0", "data", taskiq_message("r1", "slow")),
    ("XADD", "taskiq:stream", "1795910804729-0", "data", taskiq_message("w3", "ok")),
    ("XREADGROUP", "GROUP", "taskiq", "c1", "COUNT", 1, "STREAMS", "taskiq:stream", ">"),
    ("SET", "taskiq-settings", "no queue"),
]
FASTSTREAM: list[Request] = [
    (
        "RPUSH", "jobs",
        b"\x89BIN\r\n\x1a\n\x00\x01\x00\x00\x00\x12\x00\x00\x00\x1a\x00\x00\x00\x01aaaa"
        b'{"a": 1}',
    ),
    ("RPUSH", "names", "ada", "grace"),
]  # fmt: skip


def saq_job(name: str, function: str, state: str, **others: Any) -> Request:
    job = {
        "function": function, "kwargs": {"x": 1}, "queue": "mail", "key": name, "attempts": 1,
        "queued": NOW_MS - 2000, "status": state, **others,
    }  # fmt: skip
    return ("SET", f"saq:job:mail:{name}", json.dumps(job))


SAQ: list[Request] = [
    saq_job("w1", "ok", "queued"),
    saq_job("r1", "slow", "active"),
    saq_job("d1", "ok", "queued", scheduled=1795911108.3),
    saq_job("f1", "boom", "failed", error=TRACEBACK, completed=NOW_MS - 500),
    saq_job("c1", "ok", "complete"),
    ("RPUSH", "saq:mail:queued", "saq:job:mail:w1"),
    ("RPUSH", "saq:mail:active", "saq:job:mail:r1"),
    (
        "ZADD", "saq:mail:incomplete", 0, "saq:job:mail:w1", 0, "saq:job:mail:r1",
        1795911108.3, "saq:job:mail:d1",
    ),
    ("ZADD", "saq:mail:stats", NOW_MS + 9000, "saq:mail:worker_info:a"),
    ("SET", "saq:abort:c53f", "swept"),
]  # fmt: skip
ALL = {
    "celery": CELERY, "rq": RQ, "bullmq": BULLMQ, "arq": ARQ, "dramatiq": DRAMATIQ, "huey": HUEY,
    "taskiq": TASKIQ, "faststream": FASTSTREAM, "saq": SAQ,
}  # fmt: skip
