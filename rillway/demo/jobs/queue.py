"""The queue of the demo: adds jobs, and says what is left to do.

On a Rillway the group has a policy, and the server delivers again, delays and moves dead letters.
On any other server the workers do that, without delays.
"""

from __future__ import annotations

from random import Random
from typing import Any

import redis

from rillway.client.policies import PolicyCommands, delayed_words
from rillway.demo.jobs.work import (
    DEAD_LETTERS,
    GROUP,
    JOBS,
    LEDGER,
    PLAIN_SHARES,
    SHARES,
    WAITING_SHARE,
    Trouble,
    jobs,
)

# Long enough that `rillway top` shows a dead worker.
ACK_WAIT_MS = 3_000
BACKOFF_MS = (200, 1_000)
MAX_DELIVERIES = 4
# A job that hangs is delivered to another worker in the meantime, which completes it first.
HANG_SHARE = 1.5


class Client(PolicyCommands, redis.Redis):
    """A client with the commands of policies."""


class Queue:
    """The demo's stream and group."""

    def __init__(self, client: Client, random: Random, rate: int) -> None:
        self._client = client
        client.xgroup_create(JOBS, GROUP, id="0", mkstream=True)
        self.has_policy = self._set_policy()
        shares = SHARES if self.has_policy else PLAIN_SHARES
        self._jobs = jobs(random, rate, shares, WAITING_SHARE if self.has_policy else 0)
        self.added = 0

    def _set_policy(self) -> bool:
        """Let the server look after the group; return False if it has no policies."""
        try:
            return self._client.xgroup_config(
                JOBS,
                GROUP,
                ack_wait=ACK_WAIT_MS,
                backoff=BACKOFF_MS,
                max_deliveries=MAX_DELIVERIES,
                dead_letter=DEAD_LETTERS,
                key_field="customer",
            )
        except redis.ResponseError as error:
            if "unknown subcommand" not in str(error).lower():
                raise
            return False

    def add(self, number: int, trouble: Trouble | None = None) -> None:
        """Add jobs in one transaction, delayed ones by XADD DELAY. `trouble`: that of all jobs."""
        if not number:
            return
        with self._client.pipeline() as transaction:
            for _ in range(number):
                job: dict[Any, Any] = next(self._jobs)
                if trouble is not None:
                    job |= {"trouble": trouble.value, "waits_ms": "0"}
                if trouble == Trouble.HANG:
                    job["takes_ms"] = f"{ACK_WAIT_MS * HANG_SHARE:.1f}"
                waits_ms = int(job["waits_ms"])
                if waits_ms:
                    words = delayed_words(JOBS, job, waits_ms)
                    transaction.execute_command(*words)  # type: ignore[no-untyped-call]
                else:
                    transaction.xadd(JOBS, job)
            first, self.added = self.added + 1, self.added + number
            record: dict[Any, Any] = {"event": "added", "first": first, "last": self.added}
            transaction.xadd(LEDGER, record)
            transaction.execute()

    def note_crash(self, worker: str) -> None:
        self._client.xadd(LEDGER, {"event": "crashed", "worker": worker})

    def pending(self) -> dict[str, int]:
        """Jobs in hand, by consumer."""
        consumers = self._client.xinfo_consumers(JOBS, GROUP)
        return {consumer["name"].decode(): consumer["pending"] for consumer in consumers}

    def forget(self, worker: str) -> None:
        """Delete a consumer that has nothing in hand."""
        self._client.xgroup_delconsumer(JOBS, GROUP, worker)

    @property
    def dead_letters(self) -> int:
        return self._client.xlen(DEAD_LETTERS)

    @property
    def left(self) -> tuple[int, int, int]:
        """How many jobs are to appear later, are not yet delivered, are not yet acknowledged."""
        policy = self._client.xinfo_policy(JOBS) if self.has_policy else {}
        (group,) = self._client.xinfo_groups(JOBS)
        return policy.get(b"scheduled", 0), group["lag"], group["pending"]
