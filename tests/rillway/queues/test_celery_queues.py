"""Actions on tasks of Celery leave what kombu and Celery would."""

from __future__ import annotations

import base64
import json

import pytest

from rillway.queues.frameworks import BY_NAME
from rillway.queues.queue import Refused
from tests.rillway.queues.conftest import Found
from tests.rillway.queues.keys import celery_result


def test_celery_sends_a_failed_task_again_once(everything: Found) -> None:
    assert everything.act("celery", b"mail", "retry", "f2") == 1
    assert everything.act("celery", b"mail", "retry", "f2") == 0
    assert everything.call("EXISTS", "celery-task-meta-f2") == 0
    message = json.loads(everything.call("LINDEX", "mail", 0))
    assert message["headers"]["task"] == "add"
    assert message["headers"]["id"] == message["properties"]["correlation_id"] == "f2"
    arguments = json.loads(base64.b64decode(message["body"]))
    assert arguments[:2] == [[9, 1], {"z": 2}]


def test_celery_needs_results_with_arguments_to_send_again(everything: Found) -> None:
    with pytest.raises(Refused, match="result_extended"):
        everything.act("celery", b"celery", "retry", "f1")
    assert everything.call("EXISTS", "celery-task-meta-f1") == 1


def test_celery_leaves_a_result_that_has_changed_meanwhile(everything: Found) -> None:
    known = everything.finder.find("celery", b"mail")
    assert known is not None
    steps = BY_NAME["celery"].act("retry", known.queue, ["f2"], 0)
    requests = steps.send(everything.call_all(next(steps)))
    everything.call("SET", "celery-task-meta-f2", celery_result("f2", retries=4))
    with pytest.raises(StopIteration) as end:
        steps.send(everything.call_all(requests))
    assert end.value.value == 0
    assert everything.call("LLEN", "mail") == 1


def test_celery_removes_waiting_tasks_and_failed_results(everything: Found) -> None:
    assert everything.act("celery", b"celery", "remove", "w1", "w3", "f1", "r1") == 3
    assert everything.ids("celery", b"celery", "waiting") == ["w2"]
    everything.look()
    assert everything.ids("celery", b"celery", "failed") == []
    assert everything.ids("celery", b"celery", "running") == ["r1"]


def test_celery_moves_tasks_to_the_front_within_their_priority(everything: Found) -> None:
    assert everything.act("celery", b"celery", "front", "w2", "w3") == 2
    assert everything.ids("celery", b"celery", "waiting") == ["w2", "w1", "w3"]
