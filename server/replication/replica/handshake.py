"""The handshake of a replica with its primary: PING, AUTH, REPLCONF, PSYNC, a line to answer each.

Without I/O: the link writes what it asks, and gives it what comes (link.py).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from commands.core.instance import Instance
from commands.core.server_state import RILLWAY
from protocol.replies import command
from server.replication.replica.reception import BadSnapshot

_MAX_LINE_BYTES = 1024
_VALKEY_VERSION = b"9.0.0"  # the oldest whose snapshots have times of hash fields
_TEMPORARY_ERRORS = (b"-NOMASTERLINK", b"-LOADING")
# Accepted answers to PING: authentication comes later.
_HARMLESS = (b"+", b"-NOAUTH", b"-NOPERM", b"-ERR operation not permitted")
_FULL = rb"\+FULLRESYNC ([0-9a-fA-F]{40}) ([0-9]{1,18})"
_CONTINUE = rb"\+CONTINUE(?: ([0-9a-fA-F]{40}))?"

Answer = Callable[[bytes], None]


class FullSync(NamedTuple):
    """The primary sends a snapshot. It has no offsets to report if only SYNC got it."""

    replication_id: str
    offset: int  # where the stream goes on after the snapshot
    knows_offsets: bool = True


class Resumption(NamedTuple):
    """The primary sends what is missing; the ID of its history, empty if that is as before."""

    replication_id: str


class Handshake:
    """The handshake of one connection. `outcome` is None until PSYNC is answered."""

    def __init__(
        self,
        instance: Instance,
        write: Callable[[bytes], None],
        can_resume: bool,
        failover: bool,
    ) -> None:
        """`failover`: PSYNC asks the other server to take over."""
        self.outcome: FullSync | Resumption | None = None
        self._instance = instance
        self._write = write
        self._can_resume = can_resume
        self._failover = failover
        self._line = b""
        self._answers: deque[Answer] = deque()

    @property
    def has_asked_to_sync(self) -> bool:
        """True if PSYNC was sent and is not answered."""
        return self._after_psync in self._answers

    def begin(self) -> None:
        self._ask([b"PING"], self._after_ping)

    def _ask(self, argv: list[bytes], answer: Answer) -> None:
        self._answers.append(answer)
        self._write(command(argv))

    def take(self, data: bytes) -> bytes:
        """Handle each line that is complete; returns the bytes after the last one, once it is over.

        Raises BadSnapshot.
        """
        self._line += data
        while self.outcome is None:
            line, end, rest = self._line.partition(b"\n")
            if not end:
                if len(self._line) > _MAX_LINE_BYTES:
                    raise BadSnapshot(
                        "Bad protocol from MASTER, a line of the handshake has no end"
                    )
                return b""
            self._line = rest
            line = line.rstrip(b"\r")
            if line:  # an empty one is a sign of life
                self._answers.popleft()(line)
        rest, self._line = self._line, b""
        return rest

    def _after_ping(self, line: bytes) -> None:
        if not line.startswith(_HARMLESS):
            raise BadSnapshot(f"Error reply to PING from master: '{_decode(line)}'")
        self._log("notice", "Master replied to PING, replication can continue...")
        config = self._instance.config
        if config.masterauth:
            user = [_encode(config.masteruser)] if config.masteruser else []
            self._ask([b"AUTH", *user, _encode(config.masterauth)], self._after_auth)
        port = config.tls_port if config.tls_replication and config.tls_port else config.port
        port = config.replica_announce_port or port
        self._ask_option("listening-port", b"%d" % port)
        if config.replica_announce_ip:
            self._ask_option("ip-address", _encode(config.replica_announce_ip))
        # A Redis does not know the option. A Valkey does, and sends the format of that version.
        self._ask([b"REPLCONF", b"version", _VALKEY_VERSION], lambda line: None)
        words = [b"capa", b"eof", b"capa", b"psync2", b"capa", RILLWAY]
        self._ask([b"REPLCONF", *words], self._after_last_option)

    def _after_auth(self, line: bytes) -> None:
        if line.startswith(b"-"):
            raise BadSnapshot(f"Unable to AUTH to MASTER: {_decode(line)}")

    def _ask_option(self, name: str, value: bytes) -> None:
        words = [b"REPLCONF", name.encode(), value]
        self._ask(words, lambda line: self._after_option(name, line))

    def _after_option(self, name: str, line: bytes) -> None:
        if line.startswith(b"-"):
            self._log(
                "notice",
                f"(Non critical) Master does not understand REPLCONF {name}: {_decode(line)}",
            )

    def _after_last_option(self, line: bytes) -> None:
        self._after_option("capa", line)
        request, state = [b"PSYNC", b"?", b"-1"], self._instance.replication
        if self._can_resume:
            request[1] = state.replication_id.encode()
            request[2] = b"%d" % (state.offset + 1)
            self._log(
                "notice",
                f"Trying a partial resynchronization (request {state.replication_id}:"
                f"{state.offset + 1}).",
            )
        else:
            self._log("notice", "Partial resynchronization not possible (no cached master)")
        if self._failover:
            request.append(b"FAILOVER")
        self._ask(request, self._after_psync)

    def _after_psync(self, line: bytes) -> None:
        if line.startswith(_TEMPORARY_ERRORS):
            raise BadSnapshot(
                "Master is currently unable to PSYNC but should be in the future: " + _decode(line)
            )
        if line.startswith(b"+FULLRESYNC"):
            found = re.fullmatch(_FULL, line)
            if found is None:
                raise BadSnapshot(f"Master replied with wrong +FULLRESYNC syntax. It says {line!r}")
            self.outcome = FullSync(found[1].decode().lower(), int(found[2]))
        elif line.startswith(b"+CONTINUE"):
            resumed = re.fullmatch(_CONTINUE, line)
            if resumed is None or not self._can_resume:
                raise BadSnapshot(
                    f"Unexpected reply to PSYNC from master: {line!r}, a history that this replica"
                    " did not ask for"
                )
            self.outcome = Resumption((resumed[1] or b"").decode().lower())
        elif self._failover:
            raise BadSnapshot(f"Failover target rejected psync request. It says {line!r}")
        else:
            self._log_unknown_psync(line)
            self._write(b"SYNC\r\n")
            self.outcome = FullSync(self._instance.host.random_hex(40), 0, knows_offsets=False)

    def _log_unknown_psync(self, line: bytes) -> None:
        if line.startswith(b"-ERR"):
            text = f"Master does not support PSYNC or is in error state (reply: {_decode(line)})"
            self._log("notice", text)
        else:
            self._log("warning", f"Unexpected reply to PSYNC from master: {_decode(line)}")
        self._log("notice", "Retrying with SYNC...")

    def _log(self, level: str, message: str) -> None:
        self._instance.host.log(level, message)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decode(line: bytes) -> str:
    return line.decode("latin-1")
