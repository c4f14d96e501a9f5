"""Rounds in which the power fails: what was not synced is lost, or torn.

The server is one without sockets (server/inprocess/server.py) on files in memory, its clock is
ours. The same random requests as in process_rounds.py, several connections in each cycle of the
loop; the failure comes at the end of a random cycle or in the middle of it, at a random operation
on a file. Then the server starts on one of the disks that may be left, and what it holds is
compared with what was acknowledged:

* appendfsync always: nothing that was acknowledged is missing, whatever the disk lost;
* everysec: nothing that was acknowledged more than LOSS_MS ago.

Now and then only the process dies and the disk keeps what was written.
"""

from __future__ import annotations

import errno
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import hiredis

from server.inprocess.memory_files import MemoryFiles
from server.inprocess.server import InProcessClient, InProcessServer, ServerDied
from server.persistence.loading.loader import LoadFailed
from storage.append_only.manifest import ManifestError
from tests.crash.comparison import Comparison
from tests.crash.expectation import Wrong
from tests.crash.history import History
from tests.crash.jobs import JobConnection, Jobs
from tests.crash.observation import SHARED, SHARED_GROUP, Contradiction, observe_keys
from tests.crash.pipeline import Pipeline
from tests.crash.workload import Workload
from tests.fuzz.command_rules import Broken, check_database

CONNECTIONS = (b"c0", b"c1", b"d0")
PIPELINE = b"pipeline"
WORKERS = (b"worker-1", b"worker-2")
DRAINED = 0.2  # how often all jobs are worked off after a start
DATABASES = {b"c": 0, b"d": 3}
BURST = (1, 1, 2, 3)
CYCLES = (5, 60)
NOW_MS = 1_700_000_000_000
SYNC_DELAY_MS = 400  # how long a sync beside the loop takes at most
LOSS_MS = 2_000
LIVES = 4  # failures in one round, one after the other on the same disk


class PowerFails(BaseException):
    """Nothing of the server runs any more: nothing may catch this on its way."""


class FailingFiles(MemoryFiles):
    """Files whose power fails before a certain operation."""

    operations_left: int | None = None

    def _call(self, operation: str, path: str) -> None:
        if self.operations_left is not None:
            if not self.operations_left:
                raise PowerFails(f"{operation} {path}")
            self.operations_left -= 1
        super()._call(operation, path)

    @classmethod
    def on(cls, disk: MemoryFiles) -> FailingFiles:
        files = cls()
        files.__dict__.update(disk.__dict__)
        return files


@dataclass
class MemoryTally:
    rounds: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    acknowledged: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    in_flight_kept: int = 0


class Failed(Exception):
    """A round found a loss or a contradiction; the text describes it."""


class Life:
    """A server on a disk, from its start to the failure. Raises Failed if it does not load."""

    def __init__(self, disk: MemoryFiles, now_ms: int, directives: dict[str, Any]) -> None:
        self.clients: dict[bytes, InProcessClient] = {}
        self.readers: dict[bytes, hiredis.Reader] = {}
        self.sync_due_ms = now_ms + SYNC_DELAY_MS
        try:
            self.server = InProcessServer.on_files(disk, now_ms, **directives)
        except (LoadFailed, ManifestError, OSError, ServerDied) as problem:
            raise Failed(f"it does not start: {problem}") from None
        self.server.syncs_are_held = True

    def connect(self, name: bytes) -> None:
        client = self.clients[name] = self.server.connect()
        self.readers[name] = hiredis.Reader()
        client.execute("SELECT", DATABASES.get(name[:1], 0))


class MemoryRound:
    """One disk and the servers that live on it, one after the other."""

    def __init__(self, seed: int, tally: MemoryTally) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.tally = tally
        self.now_ms = NOW_MS
        self.policy = self.random.choice(("always", "always", "everysec"))
        self.preamble = self.random.random() < 0.6
        self.failed_ms = NOW_MS
        self.fault_ms: int | None = None  # before the first fault of the disk in this life
        self.told: list[tuple[str, str]] = []
        self.histories = {
            name: History(Workload(name, random.Random(self.random.random()), modern=True))
            for name in CONNECTIONS
        }
        self.pipeline = Pipeline()
        self.jobs = Jobs.drawn(self.random)
        self.workers: dict[bytes, JobConnection] = {}
        self.disk = MemoryFiles()

    def play(self) -> None:
        """Raises Failed."""
        try:
            for _ in range(LIVES):
                self.live()
            self.start_and_verify()
        except (Wrong, Contradiction, Broken, ServerDied, Failed) as problem:
            kind = f"--disk {self.seed}, {self.policy}, preamble {self.preamble}"
            log = "\n".join(line for _, line in self.told[-30:])
            raise Failed(f"{kind}:\n{problem}\nThe server said:\n{log}") from None
        self.tally.rounds[self.policy] += 1

    # -- a server's life -----------------------------------------------------------------------

    def live(self) -> None:
        """Start, be looked at, write, and end by a failure."""
        files = self.disk = FailingFiles.on(self.disk)
        in_start = self.random.random() < 0.15
        if in_start:
            files.operations_left = self.random.randrange(20)
        where = "the start"
        server: Life | None = None
        try:
            server = self.start_and_verify()
            self.fault_ms = None
            if not in_start:
                where = self.draw_failure(files)
                self.write(server, files, where)
        except PowerFails:
            pass
        except ServerDied as death:
            # What `always` has promised cannot be kept: it says so, and ends.
            if self.policy != "always" or self.fault_ms is None:
                raise Failed(f"the server gave up: {death}") from None
            where = "a fault of the disk"
        if server is not None:
            self.failed_ms = self.now_ms
            self.take_replies(server)
            for history in self.histories.values():
                self.tally.acknowledged[self.policy] += len(history.acknowledged)
        self.tally.failures[where] += 1
        self.now_ms += self.random.choice((1, 1000, 100_000))
        files.operations_left = None
        self.disk = self.what_is_left(files)

    def draw_failure(self, files: FailingFiles) -> str:
        if self.random.random() < 0.3:
            return "the end of a cycle"
        files.operations_left = self.random.choice(
            (self.random.randrange(10), self.random.randrange(150))
        )
        return "an operation"

    def what_is_left(self, files: MemoryFiles) -> MemoryFiles:
        kind = self.random.randrange(6)
        if kind == 0:
            return files.kill()
        if kind == 1:
            return files.crash()
        return files.crash(lambda limit: self.random.randint(0, limit))

    def start_and_verify(self) -> Life:
        life = Life(self.disk, self.now_ms, self.directives())
        self.told = life.server.log_lines
        self.verify(life)
        for name in CONNECTIONS:
            life.connect(name)
        life.connect(PIPELINE)
        for name in WORKERS:
            life.connect(name)
            self.workers[name] = self.jobs.connect()
        return life

    def directives(self) -> dict[str, Any]:
        chance = self.random
        return {
            "appendonly": "yes",
            "enable_debug_command": "yes",
            "appendfsync": self.policy,
            "aof_use_rdb_preamble": "yes" if self.preamble else "no",
            "aof_timestamp_enabled": chance.choice(("yes", "no")),
            "auto_aof_rewrite_percentage": chance.choice(("100", "10")),
            "auto_aof_rewrite_min_size": chance.choice(("1kb", "64mb")),
            "save": chance.choice(("", "1 1")),
            "stream_idmp_duration": "86400",
            "stream_node_max_entries": chance.choice(("5", "100")),
            "policy_grace_ms": chance.choice(("0", "50")),
        }

    # -- looking -------------------------------------------------------------------------------

    def verify(self, life: Life) -> None:
        how = Comparison(requests_only=not self.preamble)
        lossless_until_ms = self.failed_ms
        if self.policy == "everysec":
            lossless_until_ms = min(self.failed_ms, self.fault_ms or self.failed_ms) - LOSS_MS
        looker = life.server.connect()
        for name, history in self.histories.items():
            decode(looker.execute("SELECT", DATABASES[name[:1]]))
            found = observe_keys(
                lambda *words: decode(looker.execute(*words)), name, lambda: self.now_ms
            )
            survival = history.survived(
                found, how, lossless_until_ms=lossless_until_ms, now_ms=self.now_ms
            )
            if survival.problem:
                raise Failed(f"{name.decode()}: {survival.problem}")
            difference = survival.records - len(history.acknowledged)
            self.tally.lost[self.policy] += max(0, -difference)
            self.tally.in_flight_kept += max(0, difference)
        decode(looker.execute("SELECT", 0))

        def ask(*words: bytes | str | int) -> Any:
            return decode(looker.execute(*words))

        self.pipeline.check(ask, lossless_until_ms)
        self.jobs.check(ask, lossless_until_ms)
        if self.random.random() < DRAINED:
            self.jobs.drain(ask, lambda ms: self.pass_time(life, ms), lambda: self.now_ms)
            self.jobs.check(ask, self.now_ms)
        for db in life.server.instance.databases:
            check_database(db)
        for history in self.histories.values():
            history.start_anew()

    # -- writing -------------------------------------------------------------------------------

    def write(self, life: Life, files: FailingFiles, where: str) -> None:
        for db in set(DATABASES.values()):
            control = life.server.connect()
            control.execute("SELECT", db)
            control.execute("XGROUP", "CREATE", SHARED, SHARED_GROUP, "0", "MKSTREAM")
            control.disconnect()
        control = life.server.connect()
        self.jobs.configure(lambda *words: decode(control.execute(*words)), self.now_ms)
        control.disconnect()
        if self.random.random() < 0.3:
            self.draw_fault(files)
        for _ in range(self.random.randint(*CYCLES)):
            self.cycle(life)
        if where == "an operation":  # it is to come at the latest now
            files.operations_left = min(files.operations_left or 0, 1)
            self.cycle(life)

    def draw_fault(self, files: FailingFiles) -> None:
        """An operation on the disk that will fail, or a disk that gets full."""
        self.fault_ms = self.now_ms
        kind = self.random.randrange(4)
        at = self.random.randrange(1, 60)
        if kind == 0:
            files.free_bytes = self.random.randrange(20_000)
        elif kind == 1:
            files.shorten(self.random.randrange(1, 200), at=at)
        else:
            operation = self.random.choice(("any", "write", "sync", "rename", "sync_directory"))
            files.fail(operation, self.random.choice((errno.EIO, errno.ENOSPC)), at=at)

    def cycle(self, life: Life) -> None:
        server = life.server
        server.dispatcher.start_batch()
        for name, client in life.clients.items():
            history = self.sender(name)
            if history.unanswered or self.random.random() < 0.3:
                continue
            steps = history.draw(self.random.choice(BURST), self.now_ms)
            client.session.receive(b"".join(step.wire() for step in steps))
            server.cycle.touch(client.state)
        server.cycle.finish()
        self.take_replies(life)
        self.background(life)

    def background(self, life: Life) -> None:
        """What happens beside requests: time passes, syncs end, a child begins."""
        kind = self.random.random()
        if kind < 0.04:
            control = life.server.connect()
            # RELOAD: what was loaded and not looked at yet stays packed, and is written to.
            words = self.random.choice(("BGREWRITEAOF", "BGSAVE", "DEBUG RELOAD")).split()
            control.execute(*words)
            control.disconnect()
        life.server.children.is_held = self.random.random() < 0.7
        if kind < 0.5:
            self.pass_time(life, self.random.choice((1, 10, 100, SYNC_DELAY_MS)))
        if life.server.syncer.waiting and (
            self.now_ms >= life.sync_due_ms or self.random.random() < 0.2
        ):
            life.server.syncer.run_next()
        if not life.server.syncer.waiting:
            life.sync_due_ms = self.now_ms + SYNC_DELAY_MS

    def pass_time(self, life: Life, ms: int) -> None:
        self.now_ms += ms
        life.server.advance(ms)

    def take_replies(self, life: Life) -> None:
        for name, client in life.clients.items():
            life.readers[name].feed(client.received())
            while (reply := life.readers[name].gets()) is not False:
                self.sender(name).receive(reply, self.now_ms)

    def sender(self, name: bytes) -> History | Pipeline | JobConnection:
        """What a connection sends."""
        if name in self.workers:
            return self.workers[name]
        return self.pipeline if name == PIPELINE else self.histories[name]


def decode(raw: bytes) -> object:
    reader = hiredis.Reader()
    reader.feed(raw)
    return reader.gets()
