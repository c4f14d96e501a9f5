"""Damaged inputs at a running server: `python tests/fuzz/fuzz_server.py --seconds 60`.

The server is a process of its own, from SERVED (`make fuzz`: compiled). In each turn every
connection sends one input (server_strategies.py): administrators, restricted users, strangers who
do not know the password, clients of the TLS port, and orderly ones whose requests are not damaged.
Then one more client, the guard, runs a transaction of which it knows the answer. The rules:

- the server lives, and its log has no traceback;
- the guard is answered right, within HELD_SECONDS. It ends the scripts that never end;
- what the server sends is well-formed RESP, and no internal error;
- the server's process grows by less than MAX_GROWTH_BYTES; its `maxmemory` allows MAX_DATA_BYTES.

The first rule that is broken ends the program with status 1. The message names the seed, and a file
in .run with the last inputs of each connection. The same seed sends the same inputs in the same
order; how the server cuts them into turns is left to the sockets.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import resource
import socket
import ssl
import struct
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

sys.path.append(str(Path(__file__).resolve().parents[2]))

import hiredis

from tests.fuzz.command_rules import Broken, check_reply, require
from tests.fuzz.server_strategies import PASSWORD, REMOVED, USERS, Inputs
from tests.support.certificates import Authority
from tests.support.programs.ports import free_port
from tests.support.programs.servers import ROOT, RunningServer, start_rillway
from tests.support.resp import BrokenReply, Command, ReplyReader, encode_command, parse

HELD_SECONDS = 5.0
MAX_GROWTH_BYTES = 500 << 20
MAX_DATA_BYTES = 150 << 20
REPORTS = ROOT / ".run"
REPORTED_INPUTS = 20  # of each connection
LIFETIMES = (1, 2, 5, 20, 60)  # inputs that a connection sends before it is replaced
RECEIVE_BYTES = 1 << 18
MAX_RECEIVES = 8  # a turn
LARGE_REPLY_BYTES = 1 << 16

_COMMANDS = "+@all -client|kill -client|pause"
RULES = {
    "admin": f"~* &* {_COMMANDS}",
    "reader": f"%R~* &news {_COMMANDS} -@write -acl -config",
    "writer": f"%W~* {_COMMANDS} -acl -config (%R~s +@read)",
    "narrow": "~s %R~t (~text +get +set) -@all +@stream +multi +exec +acl|whoami +client|info",
}
assert RULES.keys() == set(USERS)


class Kind:
    """A kind of client: its first words, and what it sends."""

    def __init__(self, name: str, *, user: str = "", resp3: bool = False) -> None:
        self.name = name
        self.greeting = encode_command((b"AUTH", user, PASSWORD)) if user else b""
        self.greeting += encode_command((b"HELLO", b"3")) if resp3 else b""
        self.is_orderly = name.startswith("orderly")
        self.is_handshake = name == "handshake"
        self.is_encrypted = name == "encrypted"


KINDS = (
    *[Kind("admin", user="admin")] * 10,
    *[Kind("admin in RESP3", user="admin", resp3=True)] * 8,
    *[Kind(name, user=name, resp3=name == "writer") for name in USERS[1:]] * 3,
    *[Kind("stranger")] * 4,
    *[Kind("orderly", user="admin"), Kind("orderly in RESP3", user="admin", resp3=True)] * 2,
    *[Kind("handshake")] * 2,
    *[Kind("encrypted", user="admin")] * 2,
)


class LeavesEarly(Exception):
    """The server has closed the connection, or does not read it."""


class Link:
    """One socket of a connection, encrypted or not."""

    def __init__(self, port: int, context: ssl.SSLContext | None) -> None:
        try:
            self.socket = socket.create_connection(("127.0.0.1", port), HELD_SECONDS)
        except OSError:
            raise LeavesEarly from None
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        try:
            if context is not None:
                self._tls = context.wrap_bio(self._incoming, self._outgoing)
                self._shake_hands(self._tls)
        except (OSError, ssl.SSLError):
            self.socket.close()
            raise LeavesEarly from None
        self.socket.setblocking(False)

    def _shake_hands(self, tls: ssl.SSLObject) -> None:
        while True:
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                self.socket.sendall(self._outgoing.read())
                self._incoming.write(self.socket.recv(RECEIVE_BYTES))
            else:
                self.socket.sendall(self._outgoing.read())
                return

    def records(self, data: bytes) -> bytes:
        """What goes through the socket for `data`."""
        if self._tls is None or not data:
            return data
        self._tls.write(data)
        return self._outgoing.read()

    def send(self, data: bytes) -> None:
        """Raises LeavesEarly."""
        try:
            if self.socket.send(data) < len(data):
                raise LeavesEarly
        except OSError:
            raise LeavesEarly from None

    def receive(self) -> bytes:
        """What has arrived. Raises LeavesEarly after the last of it."""
        try:
            data = self.socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return b""
        except OSError:
            raise LeavesEarly from None
        if not data:
            raise LeavesEarly
        if self._tls is None:
            return data
        self._incoming.write(data)
        try:
            with contextlib.suppress(ssl.SSLWantReadError):
                return self._tls.read(RECEIVE_BYTES)
        except ssl.SSLError:
            raise LeavesEarly from None
        return b""

    def close(self, abruptly: bool) -> None:
        if abruptly:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Replies:
    """Checks what a connection receives."""

    def __init__(self, kind: Kind) -> None:
        self._is_orderly = kind.is_orderly
        self._cutter = ReplyReader()
        self._reader = hiredis.Reader(notEnoughData=Ellipsis)

    def feed(self, data: bytes) -> None:
        """Raises Broken."""
        require(b"-ERR internal error" not in data, f"{data[:200]!r}")
        try:
            self._reader.feed(data)
            while self._reader.gets() is not Ellipsis:
                pass
            if self._is_orderly:
                self._cutter.feed(data)
                while (raw := self._cutter.next_reply()) is not None:
                    if len(raw) < LARGE_REPLY_BYTES:
                        check_reply(raw, {2, 3})
        except (BrokenReply, hiredis.ProtocolError) as problem:
            raise Broken(f"no RESP: {problem}: {data[:500]!r}") from None


@dataclass
class Connection:
    """A client that is replaced when it has lived long enough, or was closed."""

    kind: Kind
    port: int
    context: ssl.SSLContext | None
    link: Link | None = None
    left: int = 0  # inputs until it is replaced
    last_inputs: deque[bytes] = field(default_factory=lambda: deque(maxlen=REPORTED_INPUTS))
    opened: int = 0

    def take_turn(self, data: bytes, chance: random.Random) -> None:
        """Send an input; open the connection for it if there is none."""
        lifetime, abruptly = chance.choice(LIFETIMES), chance.random() < 0.5
        if self.left <= 0 or self.kind.is_handshake:
            self.close(abruptly)
        self.left -= 1
        self.last_inputs.append(data)
        try:
            if self.link is None:
                self.left = lifetime
                self._open()
            assert self.link is not None
            records = self.link.records(data)
            if self.kind.is_encrypted and abruptly and lifetime == LIFETIMES[0]:
                records = records[: len(records) // 2] + data[:1] + records[len(records) // 2 :]
            self.link.send(records)
        except LeavesEarly:
            self.close(abruptly)

    def _open(self) -> None:
        self.opened += 1
        self.last_inputs.append(b"(a new connection)")
        self.link = Link(self.port, self.context)
        self.replies = Replies(self.kind)
        if self.kind.greeting:
            self.link.send(self.link.records(self.kind.greeting))

    def receive(self) -> None:
        """Look at what has arrived. Raises Broken."""
        try:
            for _ in range(MAX_RECEIVES):
                if self.link is None or not (data := self.link.receive()):
                    break
                if not self.kind.is_handshake:
                    self.replies.feed(data)
        except LeavesEarly:
            self.close(abruptly=False)

    def close(self, abruptly: bool) -> None:
        if self.link is not None:
            self.link.close(abruptly)
            self.link = None


class Guard:
    """The client that is answered right all the time."""

    def __init__(self, server: RunningServer, held_seconds: float = HELD_SECONDS) -> None:
        self._client = server.connect(timeout_seconds=held_seconds)
        self._held_seconds = held_seconds
        self._number = 0
        self.worst_seconds = 0.0
        self.killed_scripts = 0

    def set_up(self) -> None:
        """Set the limit of memory, which counts the process at its start, and make the users."""
        fields = parse(self._client.send("INFO", "memory")).text.decode().splitlines()
        name = "used_memory_startup:"
        startup_bytes = next(int(line[len(name) :]) for line in fields if line.startswith(name))
        requests: list[Command] = [
            ("CONFIG", "SET", "maxmemory", startup_bytes + MAX_DATA_BYTES),
            ("CONFIG", "SET", "requirepass", PASSWORD),
        ]
        for user, rules in RULES.items():
            requests.append(("ACL", "SETUSER", user, "on", b">" + PASSWORD, *_rules(rules)))
        assert set(self._client.pipeline(requests)) == {b"+OK\r\n"}

    def check(self) -> None:
        """Raises Broken."""
        start = time.monotonic()
        try:
            while not self._is_answered():
                require(time.monotonic() - start < self._held_seconds, "a script holds it")
        except (TimeoutError, BrokenReply, OSError) as problem:
            raise Broken(f"the guard is not answered: {problem}") from None
        self.worst_seconds = max(self.worst_seconds, time.monotonic() - start)

    def _is_answered(self) -> bool:
        """Whether the transaction ran; otherwise a script is about to end."""
        self._number += 1
        value = b"%d" % self._number
        answers = self._client.pipeline(
            [
                ("MULTI",),
                ("SET", "guarded", value),
                ("APPEND", "guarded", "!"),
                ("GET", "guarded"),
                ("XADD", "guarded stream", "1-1", "f", value),
                ("XRANGE", "guarded stream", "-", "+"),
                ("DEL", "guarded", "guarded stream"),
                ("EXEC",),
            ]
        )
        if any(answer.startswith(b"-BUSY ") for answer in answers):
            self.killed_scripts += 1
            self._client.pipeline([("SCRIPT", "KILL"), ("FUNCTION", "KILL"), ("DISCARD",)])
            return False
        bulk = b"$%d\r\n%b\r\n" % (len(value), value)
        right = (
            b"*6\r\n+OK\r\n:%d\r\n$%d\r\n%b!\r\n" % (len(value) + 1, len(value) + 1, value)
            + b"$3\r\n1-1\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n%b:2\r\n" % bulk
        )
        require(answers[-1] == right, f"the guard is answered {answers}")
        return True


def _rules(text: str) -> list[str]:
    """The words of rules, those of a selector in one."""
    plain, _, selector = text.partition("(")
    if not selector:
        return plain.split()
    inside, _, rest = selector.partition(")")
    return [*plain.split(), f"({inside})", *rest.split()]


class Watch:
    """Looks at the server's process and log."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self._log: TextIO = server.log.open(errors="replace")
        self._first_bytes = self._resident_bytes()
        self.most_bytes = 0

    def check(self) -> None:
        """Raises Broken."""
        status = self._server.process.poll()
        printed = self._log.read()
        require(status is None, f"the server has ended with status {status}: {printed[-3000:]}")
        require("Traceback" not in printed, f"the log has {printed[-3000:]}")
        resident_bytes = self._resident_bytes()
        self.most_bytes = max(self.most_bytes, resident_bytes)
        growth_bytes = resident_bytes - self._first_bytes
        require(growth_bytes < MAX_GROWTH_BYTES, f"the server has grown by {growth_bytes} bytes")

    def _resident_bytes(self) -> int:
        with open(f"/proc/{self._server.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()


class Run:
    """Turns at one server."""

    def __init__(self, server: RunningServer, tls_port: int, inputs: Inputs) -> None:
        self.inputs, self.guard, self.watch = inputs, Guard(server), Watch(server)
        self.guard.set_up()
        self.sent = 0  # inputs
        self._start = time.monotonic()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.connections = [
            Connection(
                kind,
                tls_port if kind.is_handshake or kind.is_encrypted else server.port,
                context if kind.is_encrypted else None,
            )
            for kind in KINDS
        ]

    def take_turn(self) -> None:
        """Raises Broken."""
        inputs = self.inputs
        for connection in self.connections:
            kind = connection.kind
            draw = inputs.orderly if kind.is_orderly else inputs.batch
            data, count = inputs.handshake() if kind.is_handshake else draw()
            connection.take_turn(data, inputs.random)
            self.sent += count
        try:
            self.guard.check()
            for connection in self.connections:
                connection.receive()
        finally:
            self.watch.check()  # that the server has ended says more than that it does not answer

    def summary(self) -> str:
        opened = sum(connection.opened for connection in self.connections)
        rate = self.sent / (time.monotonic() - self._start)
        return (
            f"{self.sent} inputs, {rate:.0f} a second, {opened} connections, "
            f"{self.guard.killed_scripts} endless scripts, the guard waited "
            f"{self.guard.worst_seconds * 1000:.0f} ms at most, the server took "
            f"{self.watch.most_bytes >> 20} MiB at most"
        )

    def write_report(self, file: Path) -> None:
        """The last inputs of each connection, the newest last."""
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = []
        for number, connection in enumerate(self.connections):
            lines.append(f"-- {number}: {connection.kind.name} {connection.kind.greeting!r}")
            lines += map(repr, connection.last_inputs)
        file.write_text("\n".join(lines) + "\n")


@contextlib.contextmanager
def serving() -> Iterator[tuple[RunningServer, int]]:
    """A server to be fuzzed, and its TLS port."""
    with tempfile.TemporaryDirectory(prefix="fuzz_server-") as name:
        folder, tls_port = Path(name), free_port()
        own = Authority(folder).issue("server")
        removed = [word for name in REMOVED for word in ("--rename-command", name.decode(), "")]
        server = start_rillway(
            folder,
            *("--port", str(free_port()), "--tls-port", str(tls_port), "--tls-auth-clients", "no"),
            *("--tls-cert-file", own.certificate, "--tls-key-file", own.key),
            *("--maxmemory-policy", "allkeys-lru"),
            *("--busy-reply-threshold", "20", "--proto-max-bulk-len", "1mb"),
            *removed,
        )
        try:
            yield server, tls_port
        finally:
            server.stop()


def run(seed: int, seconds: float, inputs: int = sys.maxsize) -> tuple[Run, str]:
    """Send inputs of a seed; what came of it, and the rule that was broken, if any."""
    drawn = Inputs(seed)
    with serving() as (server, tls_port):
        played = Run(server, tls_port, drawn)
        end = time.monotonic() + seconds
        while played.sent < inputs and time.monotonic() < end:
            try:
                played.take_turn()
            except Broken as problem:
                report = REPORTS / f"fuzz_server-{seed}.txt"
                played.write_report(report)
                return played, f"--seed {seed}: {problem}\nlast inputs: {report}"
    return played, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--inputs", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    played, problem = run(seed, options.seconds, options.inputs)
    print(f"--seed {seed}: {played.summary()}")
    print(problem or "all rules kept")
    return bool(problem)


if __name__ == "__main__":
    sys.exit(main())
