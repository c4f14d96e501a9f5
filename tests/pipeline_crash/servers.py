"""A server that survives SIGKILL: each write is on the disk before it is answered."""

from __future__ import annotations

from pathlib import Path

from tests.support.programs.servers import RunningServer, start_redis, start_rillway

# A log of some hundred megabytes has to be read first.
READY_SECONDS = 180.0
DURABLE = ["--appendonly", "yes", "--appendfsync", "always"]


class DurableServer:
    """`kind` is redis or rillway. Killed and started again, it has what it had."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._kind, self._folder = kind, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._server.port}"

    def start(self) -> None:
        """Start it, on another port. Raises ServerFailed."""
        for log in self._folder.glob("*.log"):
            log.unlink()  # it names the port of before
        begin = start_redis if self._kind == "redis" else start_rillway
        self._server: RunningServer = begin(self._folder, *DURABLE, ready_seconds=READY_SECONDS)

    def kill(self) -> None:
        self._server.kill()

    def stop(self) -> None:
        self._server.stop()
