"""Replicas of streams with deadlines, delays, dead letters and retention: a Redis 7.0, a Redis 8.2,
a Valkey 9.1 and a Rillway have the entries and the pending entries of their primary."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.conftest import compared_redis_or_skip, compared_valkey_or_skip
from tests.crash.jobs import DEAD, GROUP, STREAM, Jobs
from tests.crash.servers import Link
from tests.support.programs.servers import (
    COMPARED_REDIS,
    COMPARED_VALKEY,
    RunningServer,
    start_redis,
    start_rillway,
)
from tests.support.replicas import client_of, follow, wait_for_offset
from tests.support.waiting import until

pytestmark = pytest.mark.integration

DIRECTIVES = ("--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes")
REQUESTS, MOST_REQUESTS = 1500, 150_000


@pytest.fixture
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RunningServer]]:
    """The primary, then its replicas."""
    newer, valkey = compared_redis_or_skip(), compared_valkey_or_skip()

    def folder() -> Path:
        return tmp_path_factory.mktemp("server")

    started = [
        start_rillway(folder(), *DIRECTIVES, "--rdb-stream-type", "19"),
        start_rillway(folder(), *DIRECTIVES),
        start_redis(folder()),
        start_redis(folder(), program=newer, line=COMPARED_REDIS),
        start_redis(folder(), program=valkey, line=COMPARED_VALKEY),
    ]
    yield started
    for server in started:
        server.stop()


def test_replicas_have_what_the_primary_did_by_itself(servers: list[RunningServer]) -> None:
    primary, ours, *others = servers
    jobs = Jobs(random.Random(1), retains=True, is_keyed=True)
    with Link(primary.port) as link:
        jobs.configure(link.ask, 0)
        for replica in (ours, *others):
            follow(replica, primary)
        workers = [jobs.connect() for _ in range(3)]
        for number in range(MOST_REQUESTS):
            if number >= REQUESTS and link.ask("XLEN", DEAD) > 0:
                break  # deadlines have passed, however quick the machine is
            worker = workers[number % len(workers)]
            ((request,),) = [step.requests for step in worker.draw(1, 0)]
            worker.receive(link.ask(*request.argv), 0)
        assert link.ask("XLEN", DEAD) > 0
        stand_still(link)
        for replica in (ours, *others):
            wait_for_offset(replica, primary)
            with Link(replica.port) as there:
                for key in (STREAM, DEAD):
                    assert there.ask("XRANGE", key, "-", "+") == link.ask("XRANGE", key, "-", "+")
                assert pending(there) == pending(link) != []
        with client_of(primary) as client, client_of(ours) as here:
            assert here.execute_command("DEBUG DIGEST") == client.execute_command("DEBUG DIGEST")
    for replica in others:
        assert "CRITICAL" not in replica.log.read_text()
        with client_of(replica) as client:
            assert client.info("stats")["unexpected_error_replies"] == 0


def stand_still(link: Link) -> None:
    """Let nothing happen by itself any more: no dead letters, and all that is delayed appears."""
    off = ("MAX-DELIVERIES", 0, "DEAD-LETTER", "")
    assert link.ask("XGROUP", "CONFIG", STREAM, GROUP, *off) == b"OK"
    until(lambda: not link.ask("XSCHEDULED", STREAM))


def pending(link: Link) -> list[list[object]]:
    """The pending entries, without how long they were idle."""
    rows = link.ask("XPENDING", STREAM, GROUP, "-", "+", 100_000)
    return [row[:2] + row[3:] for row in rows]
