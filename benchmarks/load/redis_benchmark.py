"""Load by redis-benchmark, for the commands that it can send.

`__rand_int__` in an argument becomes twelve digits, different ones in each request.
"""

from __future__ import annotations

import csv
import io
import math
import subprocess

from benchmarks.figures import Figure
from benchmarks.load.load import Load
from benchmarks.machine import Stopwatch
from benchmarks.servers import Server, ServerError, pack

FIRST_REQUESTS = 1_000
DIGITS = "0" * 12


class RedisBenchmark(Load):
    """One command, a number of clients, and a number of requests in each write.

    The number of requests for the wanted time follows from the previous run, or from a short one.
    """

    def __init__(
        self, argv: tuple[str, ...], clients: int, pipeline: int, numbers: int = 1_000_000
    ) -> None:
        self._argv = argv
        self._clients = clients
        self._pipeline = pipeline
        self._numbers = numbers
        self._rates: dict[int, float] = {}

    def learn(self, server: Server) -> None:
        self.reply = server.raw_reply(
            pack(*(word.replace("__rand_int__", DIGITS) for word in self._argv))
        )

    def run(self, server: Server, seconds: float) -> Figure:
        port = server.tls_port or server.port
        tls = ("--tls", "--insecure") if server.tls_port else ()
        if port not in self._rates:
            self._rates[port] = self._run(FIRST_REQUESTS, "-p", str(port), *tls)
        with Stopwatch(server.pid) as watch:
            rate = self._rates[port] = self._run(self._rates[port] * seconds, "-p", str(port), *tls)
        return Figure(rate, *watch.shares)

    def _run(self, requests: float, *place: str) -> float:
        at_once = self._clients * self._pipeline
        count = at_once * max(4, round(requests / at_once))
        command = ["redis-benchmark", *place, "-n", str(count), "-r", str(self._numbers)]
        command += ["-c", str(self._clients), "-P", str(self._pipeline), "--csv", *self._argv]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            raise ServerError(f"redis-benchmark {self._argv}: {ran.stdout}{ran.stderr}")
        (row,) = csv.DictReader(io.StringIO(ran.stdout))
        rate = float(row["rps"])
        # So few requests that its clock of milliseconds saw no time pass.
        return rate if math.isfinite(rate) else self._run(10 * count, *place)
