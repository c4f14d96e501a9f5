"""The audit file of a console (`--audit FILE`): a line of JSON for each action of a viewer.

Its fields are those of the server's audit log. It is opened for each line, so that it may be
renamed. Without a file to write to no action is done; if only the write fails, on a full disk, the
answer says that what was done is not noted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import IO, Any

from rillway.json_bytes import to_json


class AuditFile:
    """`clock` returns Unix seconds."""

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock

    def open(self) -> IO[bytes]:
        """Open the file before an action. Raises OSError."""
        return open(self.path, "ab", buffering=0)

    def write(
        self,
        file: IO[bytes],
        *,
        user: str | None,
        address: str,
        action: str,
        db: int | None,
        keys: Sequence[bytes],
        outcome: str,
    ) -> None:
        """Write what was done, in one write, and close the file. Raises OSError."""
        when = datetime.fromtimestamp(self._clock(), UTC)
        found: dict[str, Any] = {
            "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "event": "console",
            "user": user,
            "addr": address,
            "name": "console",
            "db": db,
            "command": action,
            "keys": [to_json(key) for key in keys],
            "outcome": outcome,
        }
        with file:
            file.write(json.dumps(found).encode() + b"\n")
