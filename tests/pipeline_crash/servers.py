"""A server that survives SIGKILL: each write is on the disk before it is answered."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import redis

from tests.support.programs.servers import SERVED, free_port

# A log of some hundred megabytes has to be read first.
READY_SECONDS = 180.0
DURABLE = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
PORT_LINE = re.compile(r"\bport (\d+)\b")


class DurableServer:
    """`kind` is redis or rillway. Killed and started again, it has what it had."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        log = (self.folder / "server.log").open("wb")
        if self.kind == "redis":
            self.port = free_port()
            argv = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1"]
        else:
            argv = [sys.executable, "-m", "rillway", "serve", "--port", "0"]
        self.process = subprocess.Popen(
            [*argv, "--dir", str(self.folder), *DURABLE],
            cwd=SERVED,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdout=log,
            stderr=log,
        )
        log.close()
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.kind == "rillway":
                    text = (self.folder / "server.log").read_text(errors="replace")
                    self.port = int(PORT_LINE.findall(text)[-1])
                with redis.Redis(port=self.port) as client:
                    if client.info("server")["process_id"] == self.process.pid:
                        return
            except (IndexError, redis.RedisError):
                pass
            time.sleep(0.02)
        printed = (self.folder / "server.log").read_text(errors="replace")
        raise SystemExit(f"the server did not start:\n{printed}")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
