"""`make cluster-restart`: nodes are killed in the middle of `rillway cluster restart`, under load.

    python -m tests.failover.restarts --rounds 10

A round restarts all nodes, and kills one by SIGKILL at a random moment; the restart is repeated
until it ends with 0, as it says. Each shard has a stream. Nothing that WAIT 1 confirmed may be
lost, and every node must be a new process. Printed is how long a shard took no write: a longer time
than `--longest SECONDS` is a failure. Usually that is the node timeout and three seconds; three
timeouts and three seconds if a primary was killed whose replica was just starting, as nobody can
take over from it. Ends with status 1 if a promise was broken, and leaves files.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import redis
from redis.exceptions import RedisClusterException, RedisError

from rillway.cluster.folder import ClusterFolder
from tests.failover.cluster import Failed, direct_client
from tests.support.programs.ports import free_ports
from tests.support.programs.servers import SERVED

SHARDS, NODE_TIMEOUT_MS = 3, 2000
STREAMS = ("s{a}", "s{b}", "s{c}")  # one on each shard
TRIES = 4
PAUSE_SECONDS, WAIT_MS = 0.005, 500
PATIENCE_SECONDS = 120.0


class Producer(threading.Thread):
    """Adds numbered entries to one stream, each until it is acknowledged."""

    def __init__(self, port: int, stream: str) -> None:
        super().__init__(daemon=True)
        self.stream = stream
        self.confirmed: set[int] = set()  # by WAIT 1
        self.moments: list[float] = []  # at which something was acknowledged
        self.is_over = threading.Event()
        self._ports = range(port, port + 2 * SHARDS)

    def run(self) -> None:
        number, clients = 0, {port: direct_client(port) for port in self._ports}
        place = self._ports[0]
        while not self.is_over.is_set():
            try:
                is_confirmed = add(clients[place], self.stream, number)
            except redis.exceptions.MovedError as moved:
                place = moved.port
            except RedisError:
                place = self._ports[(place - self._ports[0] + 1) % len(self._ports)]
                time.sleep(PAUSE_SECONDS)
            else:
                self.moments.append(time.monotonic())
                if is_confirmed:
                    self.confirmed.add(number)
                number += 1
                time.sleep(PAUSE_SECONDS)

    def longest_gap(self, begin: float) -> float:
        moments = [begin, *(moment for moment in self.moments if moment > begin)]
        return max(map(float.__sub__, [*moments[1:], time.monotonic()], moments))


def add(client: Any, stream: str, number: int) -> bool:
    """Whether a replica has the entry, too. Raises RedisError if it is not acknowledged."""
    with client.pipeline(transaction=False) as pipeline:
        pipeline.xadd(stream, {"n": number})
        pipeline.execute_command("WAIT", 1, WAIT_MS)
        return bool(pipeline.execute()[1] >= 1)


def kept(port: int, stream: str) -> set[int]:
    """The numbers in the stream."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with (
            suppress(RedisError, RedisClusterException),
            redis.RedisCluster(port=port, host="127.0.0.1", decode_responses=True) as client,
        ):
            return {int(fields["n"]) for _, fields in client.xrange(stream)}
        if time.monotonic() > deadline:
            raise Failed(f"{stream} cannot be read")
        time.sleep(PAUSE_SECONDS)


def command(folder: Path, job: str, *words: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "rillway", "cluster", job, "--dir", str(folder), *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, cwd=SERVED, stdout=pipe, stderr=subprocess.STDOUT, text=True)


def end_of(process: subprocess.Popen[str], *, must_succeed: bool = False) -> str:
    printed, _ = process.communicate(timeout=PATIENCE_SECONDS * 5)
    if must_succeed and process.returncode:
        raise Failed(printed)
    return printed


def pids(folder: Path) -> dict[int, int]:
    """The processes by ports."""
    return {each.port: each.pid for each in ClusterFolder(folder).processes() if each.pid}


def play(folder: Path, chance: random.Random, usual_seconds: float) -> tuple[str, float]:
    """One round; what was killed, and the time that the whole took. Raises Failed."""
    before, began = pids(folder), time.monotonic()
    restart = command(folder, "restart")
    with suppress(subprocess.TimeoutExpired):
        restart.wait(chance.uniform(0, usual_seconds))
    port, pid = chance.choice(sorted(pids(folder).items()))
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    printed = end_of(restart)
    reasons = []
    while restart.returncode:
        reasons += re.findall(r"^rillway cluster: (.*)$", printed, re.M)
        if len(reasons) == TRIES:
            raise Failed(f"the restart does not come to an end: {reasons}")
        if "First: rillway cluster start" in printed:
            end_of(command(folder, "start"), must_succeed=True)
        restart = command(folder, "restart")
        printed = end_of(restart)
    end_of(command(folder, "start"), must_succeed=True)  # one that was killed after its turn
    same = set(before.values()) & set(pids(folder).values())
    if same or len(pids(folder)) != len(before):
        raise Failed(f"the processes {same} of {before} run on; now {pids(folder)}: {printed}")
    return f"{port} killed; {'; '.join(reasons) or 'nothing stopped'}", time.monotonic() - began


def run(folder: Path, rounds: int, seed: int, longest: float | None) -> None:
    """All rounds. Raises Failed."""
    chance, port = random.Random(seed), free_ports(2 * SHARDS)
    words = ("--nodes", str(SHARDS), "--replicas", "1", "--port", str(port), "--")
    start = command(folder, "start", *words, "--cluster-node-timeout", str(NODE_TIMEOUT_MS))
    with ExitStack() as stack:
        stack.callback(lambda: end_of(command(folder, "stop")))
        end_of(start, must_succeed=True)
        producers = [Producer(port, stream) for stream in STREAMS]
        for producer in producers:
            producer.start()
            stack.callback(producer.join)
            stack.callback(producer.is_over.set)
        usual_seconds = 10.0
        for number in range(rounds):
            began = time.monotonic()
            what, usual_seconds = play(folder, chance, usual_seconds)
            gap = max(producer.longest_gap(began) for producer in producers)
            print(
                f"round {number + 1} of {rounds}: {what}, {gap:.1f} s without a write", flush=True
            )
            if longest is not None and gap > longest:
                raise Failed(f"a shard took no write for {gap:.1f} s")
        for producer in producers:
            producer.is_over.set()
            producer.join()
        lost = {each.stream: each.confirmed - kept(port, each.stream) for each in producers}
        confirmed = sum(len(producer.confirmed) for producer in producers)
        print(f"{confirmed} confirmed by WAIT 1, lost: {sum(map(len, lost.values()))}")
        if any(lost.values()) or not all(producer.confirmed for producer in producers):
            raise Failed(f"lost although a replica had them: {lost}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill nodes while a cluster restarts.")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--longest", type=float, metavar="SECONDS")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="rillway-restarts-"))
    print(f"seed {options.seed}, node timeout {NODE_TIMEOUT_MS} ms")
    try:
        run(folder / "c", options.rounds, options.seed, options.longest)
    except Failed as failure:
        print(f"\nFAILED: {failure}\nThe files are in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
