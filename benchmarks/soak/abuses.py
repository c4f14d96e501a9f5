"""The abusive clients, one function each; each runs in a process of its own.

A function returns what it saw: failures (the server did something wrong, whatever its speed), and
figures to print. How much it does is a share of the full amount (`Target.scale`).
"""

from __future__ import annotations

import os
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import hiredis

from benchmarks.load.processes import OwnProcess
from benchmarks.machine import resident_bytes
from benchmarks.servers import connect, pack

PONG = b"+PONG\r\n"
PING = pack("PING")
SECONDS = 300.0  # for anything that is awaited
MB = 1 << 20


@dataclass(frozen=True)
class Target:
    """The server that is abused, and how much of the full amount is done."""

    pid: int
    port: int
    tls_port: int
    authority: str  # the file of the certificate
    scale: float

    def share(self, amount: float) -> int:
        """This scale's part of a full amount, at least one."""
        return max(1, round(amount * self.scale))


@dataclass
class Outcome:
    """What an abusive client saw."""

    failures: list[str] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)


class Caller:
    """A connection that is used in order."""

    def __init__(self, port: int) -> None:
        self.socket = connect(port)
        self._reader = hiredis.Reader()

    def call(self, *words: bytes | str | int) -> Any:
        """A command and its reply; errors are returned."""
        self.socket.sendall(pack(*words))
        while (reply := self._reader.gets()) is False:
            received = self.socket.recv(1 << 20)
            if not received:
                raise ConnectionError("the server has closed the connection")
            self._reader.feed(received)
        return reply


# -- clients that do not read ----------------------------------------------------------------------

VALUE_BYTES = 100_000
REPLIES = 2_000
RANGES, RANGE_ENTRIES = 120, 500
RANGES_BYTES = RANGE_ENTRIES * VALUE_BYTES
HOLD_SECONDS = 2.0


def unread_replies(target: Target) -> Outcome:
    """GETs of 100 KB in a pipeline, all sent before anything is read."""
    caller = Caller(target.port)
    caller.call("SET", "unread", b"v" * VALUE_BYTES)
    reply_bytes = len(b"$%d\r\n" % VALUE_BYTES) + VALUE_BYTES + 2
    outcome = _leave_unread(target, caller, pack("GET", "unread"), REPLIES, reply_bytes)
    caller.call("DEL", "unread")
    return outcome


def unread_ranges(target: Target) -> Outcome:
    """Ranges of 50 MB in a pipeline, all sent before anything is read."""
    caller = Caller(target.port)
    reply_bytes = len(b"*%d\r\n" % RANGE_ENTRIES)
    for number in range(RANGE_ENTRIES):
        entry_id = b"%d-0" % (1000 + number)
        caller.call("XADD", "unread", entry_id, "f", os.urandom(VALUE_BYTES // 2).hex())
        id_bytes = len(b"*2\r\n") + len(b"$6\r\n") + len(entry_id) + 2
        fields_bytes = len(b"*2\r\n$1\r\nf\r\n$%d\r\n" % VALUE_BYTES) + VALUE_BYTES + 2
        reply_bytes += id_bytes + fields_bytes
    request = pack("XREVRANGE", "unread", "+", "-", "COUNT", RANGE_ENTRIES)
    outcome = _leave_unread(target, caller, request, RANGES, reply_bytes)
    caller.call("DEL", "unread")
    return outcome


def _leave_unread(
    target: Target, caller: Caller, request: bytes, count: int, reply_bytes: int
) -> Outcome:
    """Send requests, wait, and read all replies: their bytes are counted."""
    count = target.share(count)
    idle = connect(target.port)
    idle.sendall(request * count)
    time.sleep(HOLD_SECONDS)
    outcome = Outcome()
    if caller.call("PING") != b"PONG":
        outcome.failures.append("PING was not answered beside the client that does not read")
    idle.settimeout(SECONDS)
    left = count * reply_bytes
    while left > 0 and (received := len(idle.recv(min(left, MB)))):
        left -= received
    if left:
        outcome.failures.append(f"{left} bytes of {count} replies are missing")
    idle.close()
    return outcome


MESSAGE_BYTES = 64 * 1024
HARD_BYTES, SOFT_BYTES, SOFT_SECONDS = 32 * MB, 8 * MB, 60
# What the sockets of both sides take before the server's own buffer fills.
SOCKET_BYTES = 10 * MB


def unread_messages(target: Target) -> Outcome:
    """A subscriber never reads while another client publishes: closed at the hard limit."""
    subscriber, caller = connect(target.port), Caller(target.port)
    _subscribe(subscriber)
    published = 0
    while caller.call("PUBLISH", "channel", b"m" * MESSAGE_BYTES) and published < 4 * HARD_BYTES:
        published += MESSAGE_BYTES
    outcome = Outcome(figures={"closed after MB": published / MB})
    if not HARD_BYTES <= published <= HARD_BYTES + SOCKET_BYTES:
        outcome.failures.append(f"the subscriber was closed after {published} bytes")
    return outcome


def unread_few_messages(target: Target) -> Outcome:
    """A subscriber leaves more than the soft limit unread: closed after the limit's time."""
    subscriber, caller = connect(target.port), Caller(target.port)
    seconds = max(2, target.share(SOFT_SECONDS))
    limit = f"pubsub {HARD_BYTES} {SOFT_BYTES} {seconds}"
    caller.call("CONFIG", "SET", "client-output-buffer-limit", limit)
    _subscribe(subscriber)
    started = time.monotonic()  # the limit is reached while messages are published
    for _ in range((SOFT_BYTES + SOCKET_BYTES) // MESSAGE_BYTES):
        caller.call("PUBLISH", "channel", b"m" * MESSAGE_BYTES)
    while caller.call("PUBSUB", "NUMSUB", "channel")[1]:
        if time.monotonic() > started + 2 * seconds + 10:
            return Outcome(["the subscriber was not closed at its soft limit"])
        time.sleep(0.1)
        # Redis looks at the limit when it adds output.
        caller.call("PUBLISH", "channel", b"m")
    elapsed = time.monotonic() - started
    outcome = Outcome(figures={"closed after s": elapsed})
    if elapsed < seconds - 1:
        outcome.failures.append(f"the subscriber was closed after {elapsed:.1f} s")
    return outcome


def _subscribe(subscriber: socket.socket) -> None:
    subscriber.sendall(pack("SUBSCRIBE", "channel"))
    subscriber.recv(1000)


# -- slow requests ---------------------------------------------------------------------------------

SLOW_CLIENTS = 200
SLOW_SECONDS = 20
SLOW_REQUEST = b"*3\r\n$3\r\nSET\r\n$4\r\nslow\r\n$1000000\r\n" + b"v" * 1000


def slow_requests(target: Target) -> Outcome:
    """Two hundred clients send a byte a second of a request each."""
    clients = [connect(target.port) for _ in range(SLOW_CLIENTS)]
    for position in range(max(3, target.share(SLOW_SECONDS))):
        for number, client in enumerate(clients):
            at = position + 20 * (number % 2)  # within a line, or within the value
            client.sendall(SLOW_REQUEST[: at + 1] if not position else SLOW_REQUEST[at : at + 1])
        time.sleep(1)
    closed = len(select.select(clients, [], [], 0)[0])
    for client in clients:
        client.close()
    return Outcome([f"{closed} of the slow clients were closed"] if closed else [])


# -- many connections ------------------------------------------------------------------------------

CONNECTIONS = 10_000
PROCESSES = 4


def idle_connections(target: Target) -> Outcome:
    """Ten thousand connections that say nothing after a PING."""
    return _idle(target, lambda: connect(target.port))


def idle_encrypted_connections(target: Target) -> Outcome:
    """The same with TLS."""
    context = ssl.create_default_context(cafile=target.authority)
    return _idle(target, lambda: _encrypted(target, context))


def handshakes(target: Target) -> Outcome:
    """Clients that connect with a full handshake, send one PING and close, again and again."""
    context = ssl.create_default_context(cafile=target.authority)
    count = target.share(CONNECTIONS) // PROCESSES

    def connect_often() -> int:
        done = 0
        for _ in range(count):
            with suppress(OSError), _encrypted(target, context) as client:
                done += _is_answered(client)
        return done

    started = time.monotonic()
    done = sum(work.result() for work in [OwnProcess(connect_often) for _ in range(PROCESSES)])
    outcome = Outcome(figures={"handshakes/s": done / (time.monotonic() - started)})
    if done < count * PROCESSES:
        outcome.failures.append(f"{count * PROCESSES - done} handshakes failed")
    return outcome


def _idle(target: Target, make: Callable[[], socket.socket]) -> Outcome:
    """Hold connections until the server's memory has been measured."""
    count = target.share(CONNECTIONS) // PROCESSES
    forking = get_context("fork")
    all_are_there, all_may_leave = (forking.Barrier(PROCESSES + 1) for _ in range(2))

    def hold() -> int:
        with ExitStack() as kept:
            clients = [kept.enter_context(make()) for _ in range(count)]
            answered = sum(map(_is_answered, clients))
            all_are_there.wait(SECONDS)
            all_may_leave.wait(SECONDS)
            return answered

    before = resident_bytes(target.pid)
    started = time.monotonic()
    holding = [OwnProcess(hold) for _ in range(PROCESSES)]
    all_are_there.wait(SECONDS)
    elapsed = time.monotonic() - started
    time.sleep(HOLD_SECONDS)
    grown = resident_bytes(target.pid) - before
    all_may_leave.wait(SECONDS)
    answered = sum(each.result() for each in holding)
    total = count * PROCESSES
    outcome = Outcome(figures={"bytes each": grown / total, "connections/s": total / elapsed})
    if answered < total:
        outcome.failures.append(f"{total - answered} connections were not answered")
    return outcome


def _encrypted(target: Target, context: ssl.SSLContext) -> ssl.SSLSocket:
    return context.wrap_socket(connect(target.tls_port), server_hostname="localhost")


def _is_answered(client: socket.socket) -> bool:
    client.sendall(PING)
    return client.recv(100) == PONG


# -- a large value ---------------------------------------------------------------------------------

LARGE_BYTES = 512 * MB
PIECE_BYTES = 1 * MB


def large_value(target: Target) -> Outcome:
    """SET of 512 MB in pieces, GET of it, DEL."""
    size = target.share(LARGE_BYTES)
    caller = Caller(target.port)
    client, piece = caller.socket, os.urandom(PIECE_BYTES)
    started = time.monotonic()
    client.sendall(b"*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n$%d\r\n" % size)
    for start in range(0, size, PIECE_BYTES):
        client.sendall(piece[: size - start])
    client.sendall(b"\r\n")
    outcome = Outcome()
    if client.recv(100) != b"+OK\r\n":
        outcome.failures.append("SET of the large value was refused")
        return outcome
    outcome.figures["SET s"] = time.monotonic() - started
    started = time.monotonic()
    client.sendall(pack("GET", "large"))
    if not _is_value(client, piece, size):
        outcome.failures.append("GET returned something else")
    outcome.figures["GET s"] = time.monotonic() - started
    if caller.call("DEL", "large") != 1:
        outcome.failures.append("DEL did not find the large value")
    return outcome


def _is_value(client: socket.socket, piece: bytes, size: int) -> bool:
    """Read a bulk reply, and compare it with the pieces that were sent."""
    head = b"$%d\r\n" % size
    is_same = _read_exactly(client, len(head)) == head
    for start in range(0, size, PIECE_BYTES):
        wanted = piece[: size - start]
        is_same &= _read_exactly(client, len(wanted)) == wanted
    return _read_exactly(client, 2) == b"\r\n" and is_same


def _read_exactly(client: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        part = client.recv(count - len(received))
        if not part:
            raise ConnectionError("the server has closed the connection")
        received += part
    return bytes(received)


# -- clients without the password ------------------------------------------------------------------

STRANGERS = 1_000
STRANGERS_PROCESSES = 2
REFUSED = 10_000
PASSWORD = "soak"
RECONNECT_SECONDS = 10
# More than a stranger may send; the replies to all of them are no more than redis-server lets wait.
BURST = 200


def strangers(target: Target) -> Outcome:
    """A thousand connections that do not know the password send ten thousand PINGs each at once."""
    count = max(1, target.share(STRANGERS) // STRANGERS_PROCESSES)
    all_are_there = get_context("fork").Barrier(STRANGERS_PROCESSES)

    def flood() -> tuple[int, int]:
        with ExitStack() as kept:
            clients = [kept.enter_context(connect(target.port)) for _ in range(count)]
            all_are_there.wait(SECONDS)
            return _send_and_read(clients, PING * REFUSED)

    with _password(target):
        flooding = [OwnProcess(flood) for _ in range(STRANGERS_PROCESSES)]
        results = [each.result() for each in flooding]
    closed, replies = (sum(column) for column in zip(*results, strict=True))
    total = count * STRANGERS_PROCESSES
    outcome = Outcome(figures={"closed": closed, "replies each": replies / total})
    if closed < total:
        outcome.failures.append(f"{total - closed} of the strangers were not closed")
    return outcome


def reconnecting_strangers(target: Target) -> Outcome:
    """Four clients connect, are refused until they are closed, and connect again, without end."""
    ends = time.monotonic() + max(1, target.share(RECONNECT_SECONDS))

    def connect_often() -> int:
        done = 0
        while time.monotonic() < ends:
            with suppress(OSError), connect(target.port) as client:
                client.sendall(PING * BURST)
                _read_lines(client, BURST)
            done += 1
        return done

    started = time.monotonic()
    with _password(target):
        done = sum(work.result() for work in [OwnProcess(connect_often) for _ in range(PROCESSES)])
    return Outcome(figures={"connections/s": done / (time.monotonic() - started)})


@contextmanager
def _password(target: Target) -> Iterator[None]:
    """The others have logged in before, and go on; who connects now needs a password."""
    caller = Caller(target.port)
    caller.call("CONFIG", "SET", "requirepass", PASSWORD)
    yield
    caller.call("CONFIG", "SET", "requirepass", "")


def _read_lines(client: socket.socket, most: int) -> None:
    """Read replies of a line each, until there are `most`, or the server has closed."""
    count = 0
    while count < most and (received := client.recv(1 << 16)):
        count += received.count(b"\n")


def _send_and_read(clients: list[socket.socket], data: bytes) -> tuple[int, int]:
    """Send the same to all at once, and read the replies, or until it is closed.

    Returns how many were closed, and the number of replies.
    """
    left = {client.fileno(): client for client in clients}
    sent, read = dict.fromkeys(left, 0), dict.fromkeys(left, 0)
    closed = 0
    events = select.epoll()
    for client in clients:
        client.setblocking(False)
        events.register(client, select.EPOLLIN | select.EPOLLOUT)
    deadline = time.monotonic() + SECONDS
    while left and time.monotonic() < deadline:
        for descriptor, event in events.poll(1):
            client = left[descriptor]
            try:
                if event & ~select.EPOLLOUT:
                    received = client.recv(1 << 16)
                    read[descriptor] += received.count(b"\n")
                    if not received:
                        raise ConnectionError
                    if read[descriptor] == REFUSED:
                        events.unregister(descriptor)
                        del left[descriptor]
                elif sent[descriptor] < len(data):
                    start = sent[descriptor]
                    sent[descriptor] += client.send(data[start : start + (1 << 16)])
                else:
                    events.modify(descriptor, select.EPOLLIN)
            except BlockingIOError:
                continue
            except OSError:
                events.unregister(descriptor)
                del left[descriptor]
                closed += 1
    return closed, sum(read.values())
