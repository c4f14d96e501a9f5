"""MONITOR: a line for every request that the server runs.

Dispatch feeds the monitors, and hides passwords (commands/config/redaction.py). Requests that may
change the server itself (the ADMIN flag) are not shown, as in Redis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commands.core.gates import GATE_MONITOR
from commands.core.registry import ADMIN, LOADING, NOSCRIPT, STALE, command
from protocol import replies
from protocol.errors import ReplyError
from protocol.request import Request
from protocol.requests import Argv

if TYPE_CHECKING:
    from commands.core.client import Client
    from commands.core.instance import Instance

_ESCAPES = {b"\\": b"\\\\", b'"': b'\\"'} | {
    b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t", b"\a": b"\\a", b"\b": b"\\b"
}  # fmt: skip
# The escaped form of each byte between quotes.
_QUOTED = [
    _ESCAPES.get(bytes([byte]), bytes([byte]) if 0x20 <= byte < 0x7F else b"\\x%02x" % byte)
    for byte in range(256)
]


@command("MONITOR", arity=1, flags=ADMIN | NOSCRIPT | LOADING | STALE)
def monitor(client: Client, argv: Request) -> bytes | None:
    """OK; a second MONITOR gets no reply, as in Redis."""
    if client.deny_blocking:
        raise ReplyError(b"ERR MONITOR isn't allowed for DENY BLOCKING client")
    if client.gates & GATE_MONITOR:
        return None
    client.gates |= GATE_MONITOR
    client.instance.monitors[client] = None
    return replies.OK


def feed_monitors(instance: Instance, client: Client, argv: Argv) -> None:
    """Send a line about a request of `client`, which holds no secrets, to every monitor."""
    seconds, microseconds = divmod(instance.host.clock_us(), 1_000_000)
    line = replies.simple(
        b"%d.%06d [%d %b] %b"
        % (
            seconds,
            microseconds,
            client.db.index,
            _origin(client),
            b" ".join(map(quoted, argv)),
        )
    )
    for watcher in list(instance.monitors):
        watcher.send(line)


def _origin(client: Client) -> bytes:
    if client.connection.unix_socket:
        return b"unix:" + client.instance.config.unixsocket.encode("utf-8", "surrogateescape")
    return client.address


def quoted(word: bytes) -> bytes:
    """`word` in double quotes, with escapes for unprintable bytes."""
    return b'"%b"' % b"".join(map(_QUOTED.__getitem__, word))
