"""Rounds in which a real server process is killed: SIGKILL, restart, look.

One round: the server starts on the folder that the rounds before have left, what it holds is
compared with what was acknowledged, then six connections write until the kill, one of them in
pipelines of 64. What is allowed to
be missing depends on the policy:

* appendfsync always: nothing that was acknowledged;
* everysec: at most what was acknowledged in the last two seconds (Redis holds a write back for up
  to two while a sync is running), and nothing from before something that is there;
* no file but snapshots: nothing from before the last snapshot that was known to be finished.

A killed process loses nothing that the kernel took. That `always` has synced before it answers is
shown by memory_rounds.py, where a crash loses what was not.
"""

from __future__ import annotations

import random
import select
import shutil
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tests.crash.comparison import Comparison
from tests.crash.expectation import Wrong
from tests.crash.history import History, Survival
from tests.crash.jobs import JobConnection, Jobs
from tests.crash.observation import (
    SHARED,
    SHARED_GROUP,
    Contradiction,
    ObservedKeys,
    observe_keys,
)
from tests.crash.pipeline import Pipeline
from tests.crash.servers import REPLY_SECONDS, Begin, DidNotStart, Link, Server, wait_until_loaded
from tests.crash.workload import Workload

CONNECTIONS = (b"c0", b"c1", b"c2", b"d0", b"d1")
BURST = (1, 1, 1, 2, 4)  # steps that a connection sends before it waits for replies
DATABASES = {b"c": 0, b"d": 3}
EVERYSEC_LOSS_MS = 2_000
FOLDER_ROUNDS = 12  # on average
POLICIES = ("always", "everysec", "snapshots")
POLICY_WEIGHTS = (5, 4, 1)
TRAFFIC_SECONDS = (0.05, 1.2)
KILL_SECONDS = (0.0, 0.02)  # from the last look at what is running to the kill
START_SECONDS = (0.0, 0.5)  # from the start to a kill that meets it
HURRY_SECONDS = (0.0, 0.08)  # from the start of a rewrite or snapshot to the kill
JOB_CONNECTIONS = 2
DRAINED = 0.2  # how often all jobs are worked off after a restart

Sender: TypeAlias = History | Pipeline | JobConnection


def clock_ms() -> int:
    return time.time_ns() // 1_000_000


class Failed(Exception):
    """A round found a loss or a contradiction; the text has all details to examine it."""


@dataclass
class Tally:
    """What the rounds did and found."""

    rounds: Counter[str] = field(default_factory=Counter)  # by policy
    acknowledged: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)  # allowed losses, in steps
    in_flight_kept: int = 0
    pipelined: int = 0  # entries that were acknowledged in pipelines
    kills: Counter[str] = field(default_factory=Counter)  # by what was running
    torn: int = 0
    streams: int = 0
    fresh: int = 0
    kills_at_start: int = 0
    requests: Counter[str] = field(default_factory=Counter)


@dataclass
class Folder:
    """A server's folder, and what must be in it."""

    path: Path
    policy: str
    preamble: bool
    histories: dict[bytes, History]
    pipeline: Pipeline
    jobs: Jobs
    # What was acknowledged up to then is on disk: by a snapshot that was finished.
    saved_ms: int = 0


class Rounds:
    """Plays rounds with one seed. `modern`: the server has what Redis 8 added."""

    def __init__(self, begin: Begin, folder: Path, seed: int, *, modern: bool) -> None:
        self.begin = begin
        self.base = folder
        self.random = random.Random(seed)
        self.modern = modern
        self.tally = Tally()
        self.folder: Folder | None = None
        self.number = 0

    # -- one round -----------------------------------------------------------------------------

    def play(self) -> None:
        """Raises Failed."""
        self.number += 1
        if self.folder is None or self.random.random() < 1 / FOLDER_ROUNDS:
            self.folder = self.new_folder()
        folder = self.folder
        policy = folder.policy
        if policy != "snapshots":
            policy = self.random.choices(POLICIES[:2], POLICY_WEIGHTS[:2])[0]
        server = self.restart(folder, self.directives(folder, policy))
        try:
            self.verify(server, folder)
            folder.policy = policy
            self.write_and_kill(server, folder)
        except (Wrong, Contradiction) as problem:
            raise Failed(self.report(folder, server, str(problem))) from None
        finally:
            if server.process.poll() is None:
                server.kill()
        self.tally.rounds[folder.policy] += 1

    def new_folder(self) -> Folder:
        if self.folder is not None:
            # A child of the server that was killed may still be removing what it wrote.
            shutil.rmtree(self.folder.path, ignore_errors=True)
        path = self.base / f"data{self.number}"
        path.mkdir(parents=True)
        self.tally.fresh += 1
        histories = {
            name: History(Workload(name, random.Random(self.random.random()), modern=self.modern))
            for name in CONNECTIONS
        }
        policy = self.random.choices(POLICIES, POLICY_WEIGHTS[: len(POLICIES)])[0]
        preamble = self.random.random() < 0.6
        jobs = Jobs.drawn(self.random)
        return Folder(path, policy, preamble, histories, Pipeline(), jobs)

    def directives(self, folder: Folder, policy: str) -> tuple[str, ...]:
        chance = self.random
        words = ["--stream-node-max-entries", chance.choice(("5", "100"))]
        if self.modern:
            words += ["--stream-idmp-duration", "86400"]
            words += ["--policy-grace-ms", chance.choice(("0", "50"))]
        if policy == "snapshots":
            return *words, "--save", "1 200"
        words += ["--appendonly", "yes", "--appendfsync", policy]
        words += ["--aof-use-rdb-preamble", "yes" if folder.preamble else "no"]
        words += ["--save", chance.choice(("", "", "1 1"))]
        words += ["--aof-timestamp-enabled", chance.choice(("yes", "no"))]
        if chance.random() < 0.4:
            words += ["--auto-aof-rewrite-percentage", "10", "--auto-aof-rewrite-min-size", "4kb"]
        return tuple(words)

    def restart(self, folder: Folder, directives: tuple[str, ...]) -> Server:
        """Now and then it is killed while it starts, even twice in a row. Raises Failed."""
        log = folder.path.parent / f"{folder.path.name}-{self.number}.log"
        while self.random.random() < 0.2:
            server = self.begin(folder.path, log, directives)
            time.sleep(self.random.uniform(*START_SECONDS))
            server.kill()
            self.tally.kills_at_start += 1
            log.unlink()  # the port in it is no longer used
        try:
            server = wait_until_loaded(self.begin(folder.path, log, directives))
        except DidNotStart as failure:
            raise Failed(f"round {self.number}: it does not start again:\n{failure}") from None
        if lines := server.unexpected_warnings():
            server.kill()
            raise Failed(f"round {self.number}: warnings while loading:\n" + "\n".join(lines))
        self.tally.torn += bool(server.warnings())
        return server

    def clean_up(self) -> None:
        """Nothing has failed: the files tell nothing."""
        shutil.rmtree(self.base, ignore_errors=True)

    def report(self, folder: Folder, server: Server, problem: str) -> str:
        return (
            f"round {self.number}, {folder.policy}, preamble {folder.preamble}, in {folder.path}:\n"
            f"{problem}\nThe server printed:\n{server.log.read_text(errors='replace')[-3000:]}"
        )

    # -- what survived -------------------------------------------------------------------------

    def verify(self, server: Server, folder: Folder) -> None:
        """What is there is what may be there. Raises Failed, Contradiction."""
        now_ms = clock_ms()
        how = Comparison(requests_only=not folder.preamble, modern=self.modern)
        lossless_until_ms = self.lossless_until_ms(folder, now_ms)
        observed, survivals = {}, {}
        with Link(server.port) as link:
            for name, history in folder.histories.items():
                found = observed[name] = self.look(link, name)
                survival = survivals[name] = history.survived(
                    found, how, lossless_until_ms=lossless_until_ms, now_ms=now_ms
                )
                if survival.problem:
                    text = f"{name.decode()}: {survival.problem}"
                    raise Failed(self.report(folder, server, text))
                difference = survival.records - len(history.acknowledged)
                self.tally.lost[folder.policy] += max(0, -difference)
                self.tally.in_flight_kept += max(0, difference)
                self.tally.streams += len(found.streams)
            link.ask("SELECT", 0)
            folder.pipeline.check(link.ask, lossless_until_ms)
            if self.modern:
                folder.jobs.check(link.ask, lossless_until_ms)
                if self.random.random() < DRAINED:
                    folder.jobs.drain(link.ask, lambda ms: time.sleep(ms / 1000), clock_ms)
                    folder.jobs.check(link.ask, clock_ms())
        if problem := out_of_order(folder, survivals, observed, how, now_ms):
            raise Failed(self.report(folder, server, problem))
        for history in folder.histories.values():
            history.start_anew()

    def lossless_until_ms(self, folder: Folder, now_ms: int) -> int:
        if folder.policy == "always":
            return now_ms
        if folder.policy == "everysec":
            return self.killed_ms - EVERYSEC_LOSS_MS
        return folder.saved_ms

    killed_ms = 0

    def look(self, link: Link, name: bytes) -> ObservedKeys:
        link.ask("SELECT", DATABASES[name[:1]])
        return observe_keys(link.ask, name, clock_ms)

    # -- the traffic and the kill --------------------------------------------------------------

    def write_and_kill(self, server: Server, folder: Folder) -> None:
        with ExitStack() as stack:
            control = stack.enter_context(Link(server.port))
            for db in set(DATABASES.values()):
                control.ask("SELECT", db)
                control.ask("XGROUP", "CREATE", SHARED, SHARED_GROUP, "0", "MKSTREAM")
            links: dict[Any, tuple[Link, Sender]] = {}
            for name, history in folder.histories.items():
                link = stack.enter_context(Link(server.port))
                link.ask("SELECT", DATABASES[name[:1]])
                links[link.socket] = link, history
            link = stack.enter_context(Link(server.port))
            links[link.socket] = link, folder.pipeline
            if self.modern:
                control.ask("SELECT", 0)
                folder.jobs.configure(control.ask, clock_ms())
                for _ in range(JOB_CONNECTIONS):
                    link = stack.enter_context(Link(server.port))
                    links[link.socket] = link, folder.jobs.connect()
            traffic = Traffic(links, self.random, self.tally)
            traffic.run_for(self.random.uniform(*TRAFFIC_SECONDS))
            if self.random.random() < 0.55:
                self.begin_background_work(control, folder, traffic)
            running = self.what_is_running(control)
            # From another thread, so that it comes at any moment of what this one does.
            killer = threading.Timer(self.random.uniform(*KILL_SECONDS), self.kill, [server])
            killer.start()
            traffic.run_until_the_end()
            killer.join()
            self.tally.kills[running] += 1
            for history in folder.histories.values():
                self.tally.acknowledged[folder.policy] += len(history.acknowledged)
            self.tally.pipelined += len(folder.pipeline.acknowledged)

    def begin_background_work(self, control: Link, folder: Folder, traffic: Traffic) -> None:
        """A rewrite or a snapshot, so that the kill may meet it."""
        if folder.policy != "snapshots" and self.random.random() < 0.7:
            request = "BGREWRITEAOF"
        else:
            request = "BGSAVE"
        began_ms = clock_ms()
        # Refused when a save point was faster: that snapshot is of an earlier moment.
        has_begun = control.ask(request) == b"Background saving started"
        if folder.policy == "snapshots" and has_begun and self.random.random() < 0.5:
            self.wait_until_saved(control, folder, began_ms, traffic)
        traffic.run_for(self.random.uniform(*HURRY_SECONDS))

    def wait_until_saved(
        self, control: Link, folder: Folder, began_ms: int, traffic: Traffic
    ) -> None:
        while self.info(control)["rdb_bgsave_in_progress"] == "1":
            traffic.run_for(0.01)
        if self.info(control)["rdb_last_bgsave_status"] == "ok":
            folder.saved_ms = began_ms - 1

    def kill(self, server: Server) -> None:
        self.killed_ms = clock_ms()
        server.kill()

    def what_is_running(self, control: Link) -> str:
        info = self.info(control)
        if info["aof_rewrite_in_progress"] == "1":
            return "rewrite"
        return "snapshot" if info["rdb_bgsave_in_progress"] == "1" else "nothing"

    def info(self, control: Link) -> dict[str, str]:
        text = control.ask("INFO", "persistence").decode()
        return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


def out_of_order(
    folder: Folder, survivals: dict[bytes, Survival], observed: dict[bytes, ObservedKeys],
    how: Comparison, now_ms: int,
) -> str:  # fmt: skip
    """What one connection lost though another's later request is there; "" if nothing."""
    lost = [
        record.acknowledged_ms
        for name, history in folder.histories.items()
        for record in history.acknowledged[survivals[name].records :]
    ]
    if not lost:
        return ""
    lost_ms = min(moment for moment in lost if moment is not None)
    for name, history in folder.histories.items():
        # What changed nothing may have come later than all that is there.
        fitting = history.prefixes_that_fit(observed[name], how, now_ms)
        kept = history.acknowledged[: fitting[0]] if fitting else history.acknowledged
        if kept and kept[-1].sent_ms > lost_ms:
            return (
                f"a step that was acknowledged at {lost_ms} is lost; {name.decode()}'s, sent at "
                f"{kept[-1].sent_ms}, is there: {kept[-1].step.requests}"
            )
    return ""


class Traffic:
    """Several connections that write at once, from one thread."""

    def __init__(
        self, links: dict[Any, tuple[Link, Sender]], chance: random.Random, tally: Tally
    ) -> None:
        self.links = links
        self.random = chance
        self.tally = tally

    def run_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.send_next()
            if not self.receive(left):
                raise Wrong("the server closed a connection")

    def run_until_the_end(self) -> None:
        """Until the server is dead; what it had sent before counts."""
        while self.links:
            with suppress(ConnectionError):
                self.send_next()
            self.receive(REPLY_SECONDS)

    def send_next(self) -> None:
        """Every connection that waits for nothing sends again."""
        for link, history in self.links.values():
            if not history.unanswered:
                steps = history.draw(self.random.choice(BURST), clock_ms())
                for step in steps:
                    for request in step.requests:
                        self.tally.requests[request.argv[0].decode()] += 1
                link.socket.sendall(b"".join(step.wire() for step in steps))

    def receive(self, seconds: float) -> bool:
        """Whether all connections are open. One that is closed is not used any more."""
        readable, _, _ = select.select(list(self.links), [], [], seconds)
        all_open = True
        for connection in readable:
            link, history = self.links[connection]
            received, is_open = link.arrived()
            now_ms = clock_ms()
            for reply in received:
                history.receive(reply, now_ms)
            if not is_open:
                del self.links[connection]
                all_open = False
        return all_open
