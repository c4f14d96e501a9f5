"""A client's socket: asyncio's callbacks on one side, a session on the other.

Input goes to the session as it arrives. Output is sent in one write per loop cycle. A slow reader
never blocks the loop: what its socket does not accept stays in the transport's buffer, and the
limits of client-output-buffer-limit apply to it. The connection keeps reading while its client is
blocked, so it notices at once when the peer closes.
"""

from __future__ import annotations

import asyncio
import select
import socket
from asyncio import Transport
from collections import deque
from collections.abc import Callable
from time import perf_counter_ns, time_ns
from typing import cast

import cython

from commands.acl.access_control import AccessControl
from commands.connection.client_memory import (
    ClientMemory,
    drop_for_output,
    is_unlimited,
    output_limit,
)
from commands.core.client import Client, Clients, ClientState
from commands.core.gates import GATE_AUTH
from commands.core.host import DETACHED
from commands.core.instance import Instance, Stats
from protocol import replies
from server.loop.cycle import EventLoopCycle
from server.requests.command_clock import CommandClock
from server.requests.dispatch import Dispatcher
from server.requests.session import Session
from server.requests.waiters import ClientQueues, is_being_answered

# Well below a millisecond.
AT_ONCE = 30


class Closings:
    """The transports of one server that are to be closed."""

    def __init__(self, schedule: Callable[[Callable[[], None]], object]) -> None:
        """`schedule` runs a callback after the loop has polled."""
        self._schedule = schedule
        self._transports: deque[Transport] = deque()

    def add(self, transport: Transport) -> None:
        """Close a transport soon, once what it has buffered is sent."""
        if not self._transports:
            self._schedule(self._close_some)
        self._transports.append(transport)

    def _close_some(self) -> None:
        for _ in range(min(AT_ONCE, len(self._transports))):
            self._transports.popleft().close()
        if self._transports:
            self._schedule(self._close_some)


# After a read of this many bytes the socket probably holds more, ...
_LONG_READ_BYTES: cython.Py_ssize_t = 128 * 1024
# ... and after a shorter one that ends in the middle of a request.
_PART_BYTES: cython.Py_ssize_t = 4 * 1024
# The poll event for a peer that has closed, even with unread bytes; 0 on systems without it.
_PEER_CLOSED: int = getattr(select, "POLLRDHUP", 0)
# How often a connection whose peer has closed its side checks whether all is answered.
_LOOK_AGAIN_SECONDS = 0.01
# How long buffered output may take to be sent after the client is closed.
_LINGER_SECONDS = 60

# What it takes to read a socket, and to keep a byte of that: measured, on a slow machine.
_READ_NS: cython.long = 20_000
_BYTE_NS: cython.long = 1

_AUTH: cython.long = GATE_AUTH
_YIELDED: cython.int = ClientState.YIELDED
_CLOSING: cython.int = ClientState.CLOSING
_CLOSED: cython.int = ClientState.CLOSED

_DENIED = (
    b"-DENIED Rillway is in protected mode: no password is set for the default user, so only"
    b" connections from this machine are accepted. Set one with the requirepass directive, or"
    b" turn the mode off with protected-mode no.\r\n"
)


@cython.cclass
class Connection:
    """One client's connection: a protocol of asyncio."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        cycle: EventLoopCycle,
        on_room: Callable[[], None],
        closings: Closings,
        *,
        unix_socket: bool = False,
    ) -> None:
        """`on_room` is called when the transport's buffer is nearly empty."""
        self.unix_socket = unix_socket
        self.local_address = b""
        self.fd = -1
        self._loop = loop
        self._on_room = on_room
        self._closings = closings
        # What each request needs.
        self._cycle: EventLoopCycle = cycle
        self._dispatcher: Dispatcher = cycle.dispatcher
        self._queues: ClientQueues = cycle.queues
        self._instance: Instance = cycle.dispatcher.instance
        self._memory: ClientMemory = cycle.dispatcher.instance.feature(ClientMemory)
        self._stats: Stats = cycle.dispatcher.instance.stats
        self.transport: asyncio.Transport
        self.client: Client
        self.session: Session
        self.over_soft_limit_since_ms = 0
        # Its socket is not read: its requests have not run yet; strangers have used up their slice.
        self._is_paused = self._is_held = False
        self._is_stranger = False

    # -- asyncio's callbacks -------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected: register it, or refuse it with Redis's texts."""
        self.transport = cast("asyncio.Transport", transport)
        instance = self._instance
        instance.now_ms = time_ns() // 1_000_000
        instance.monotonic_ms = perf_counter_ns() // 1_000_000
        instance.stats.connections_received += 1
        client = instance.feature(Clients).new()
        self.client = client
        self._identify()
        client.connection = self
        instance.feature(AccessControl).admit(client)
        if instance.config.tls_auth_clients_user != "off":
            self._log_in_by_certificate(instance.config.tls_auth_clients_user)
        self.session = Session(client, self._dispatcher)
        self._cycle.sessions[client] = self.session
        if client.gates & _AUTH:
            self._is_stranger = True
            self._cycle.strangers.add(self)
        refusal = self._refusal()
        if refusal:
            instance.stats.rejected_connections += 1
            self.transport.write(refusal)
            self.close()
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Bytes from the client."""
        client, cycle, stats = self.client, self._cycle, self._stats
        if client.state == _CLOSED or cycle.is_stopped:
            return
        now_ns: cython.long = time_ns()
        self._dispatcher.start_input(now_ns // 1_000_000)
        stats.reads_processed += 1
        stats.net_input_bytes += len(data)
        self.session.receive(data)
        self._memory.note(client)
        cycle.touch(client)
        if (
            len(data) >= _LONG_READ_BYTES
            or client.state == _YIELDED
            or (len(data) >= _PART_BYTES and self.session.reader.buffered_bytes())
        ):
            self._pause()
        if self._is_stranger:
            self._after_stranger(len(data))

    def pause_writing(self) -> None:
        """The transport's buffer is long: `client-output-buffer-limit` covers that."""
        self._memory.set_slow(self.client, is_slow=True)

    def resume_writing(self) -> None:
        """The transport's buffer is nearly empty: a long reply may go on."""
        self._memory.set_slow(self.client, is_slow=False)
        self._on_room()

    def eof_received(self) -> bool:
        """The peer has closed its side: a blocked client gets nothing any more.

        The peer may still read. As in Redis, the requests that it sent before closing are answered:
        a long reply that is under way, and the requests after it.
        """
        if is_being_answered(self.client):
            self._close_when_answered()
            return True
        self.close()
        self._linger()
        self._closings.add(self.transport)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        self.close()
        # This breaks a reference cycle, so that no collection is needed.
        self.client.connection = DETACHED

    # -- the server's side ---------------------------------------------------------------------

    def write(self) -> None:
        """Send the client's output in one write (the cycle's last step)."""
        client = self.client
        if client.state == _CLOSED:
            return
        output = client.output
        if output:
            data = output[0] if len(output) == 1 else replies.joined(output)
            output.clear()
            stats = self._stats
            stats.writes_processed += 1
            stats.net_output_bytes += len(data)
            client.net_output_bytes += len(data)
            if self.over_soft_limit_since_ms:
                self._is_over_output_limit()  # not any more, if enough has left meanwhile
            self._memory.note(client)  # of what is left of earlier replies
            self.transport.write(data)
            if not is_unlimited(client):
                self._check_output_limit()
        if client.state == _CLOSING:
            self.close()
            self.transport.close()  # after what is buffered has left
            self._linger()

    def close(self) -> None:
        """Remove the client from the instance; the caller closes the transport."""
        if not self.client.closed:
            self._cycle.sessions.pop(self.client, None)
            if self._is_stranger:
                self._is_stranger = False
                self._cycle.strangers.remove(self)
            self._queues.forget(self.client)
            self._instance.feature(Clients).forget(self.client)

    def send_soon(self) -> None:
        """Write the client's output at the end of this cycle."""
        self._cycle.touch(self.client)

    def abort(self) -> None:
        """Drop the connection now."""
        self.close()
        self.transport.abort()

    def is_encrypted(self) -> bool:
        """Return True for a connection over TLS."""
        return self.transport.get_extra_info("sslcontext") is not None

    def unsent_bytes(self) -> int:
        """Output that waits in the transport."""
        size: int = self.transport.get_write_buffer_size()
        return size

    def read_on(self) -> None:
        """Read the socket again, unless requests that were read wait for their time slice."""
        if self._is_paused and self.client.state != _YIELDED and not self.transport.is_closing():
            self._is_paused = False
            if self._is_stranger and not self.client.gates & _AUTH:
                self._is_stranger = False
                self._cycle.strangers.remove(self)
            if not self._is_held:
                self.transport.resume_reading()

    def stop_reading(self) -> None:
        """Read no more: strangers have used up their time slice."""
        self._is_held = True
        if not self._is_paused and not self.transport.is_closing():
            self.transport.pause_reading()

    def start_reading(self) -> None:
        """Read again."""
        self._is_held = False
        if not self._is_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    def set_delay(self, *, is_allowed: bool) -> None:
        """TCP_NODELAY."""
        if not self.unix_socket:
            sock = self.transport.get_extra_info("socket")
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not is_allowed)

    def peer_has_closed(self) -> bool:
        """Ask the socket itself whether the peer has closed; the loop may not have reported it."""
        if self.transport.is_closing() or self.fd < 0:
            return True
        if not _PEER_CLOSED:
            return self._is_at_end()
        poll = select.poll()
        poll.register(self.fd, _PEER_CLOSED)
        return bool(poll.poll(0))

    def _is_at_end(self) -> bool:
        """`peer_has_closed` for systems other than Linux; takes ten times as long."""
        sock = self.transport.get_extra_info("socket")
        # uvloop's wrapper has no recv; a duplicate of the descriptor has.
        probe = socket.socket(sock.family, socket.SOCK_STREAM, 0, fileno=sock.fileno())
        try:
            return probe.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            probe.detach()

    # -- details -------------------------------------------------------------------------------

    def _close_when_answered(self) -> None:
        if is_being_answered(self.client):
            self._loop.call_later(_LOOK_AGAIN_SECONDS, self._close_when_answered)
        elif not self.client.closed:
            self.close()
            self.transport.close()  # after what is buffered has left
            self._linger()

    def _linger(self) -> None:
        """Limit the time that a closed client's peer may take to read its last replies."""
        if self.transport.get_write_buffer_size():
            self._loop.call_later(_LINGER_SECONDS, self.transport.abort)

    def _pause(self) -> None:
        """Stop reading until other clients have had their time slices.

        Otherwise the loop would read a socket that has more many times in a row.
        """
        if not self.transport.is_closing():
            self._is_paused = True
            self.transport.pause_reading()
            if self.client.state != _YIELDED:
                self._loop.call_soon(self.read_on)

    @cython.cfunc
    def _after_stranger(self, size: cython.Py_ssize_t) -> None:
        """Bytes have come from a client that had not logged in."""
        clock: CommandClock = self._dispatcher.clock
        if not self.client.gates & _AUTH:
            self._is_stranger = False
            self._cycle.strangers.remove(self)
        else:
            clock.strangers_ns += _READ_NS + size * _BYTE_NS
            if not clock.admits_strangers():
                self._cycle.strangers.stop_reading()

    def _identify(self) -> None:
        client, transport = self.client, self.transport
        sock = transport.get_extra_info("socket")
        self.fd = sock.fileno() if sock is not None else -1
        if self.unix_socket:
            path = self._instance.config.unixsocket.encode()
            client.address = self.local_address = path + b":0"
            return
        client.address = _format_address(transport.get_extra_info("peername"))
        self.local_address = _format_address(transport.get_extra_info("sockname"))
        keepalive_s = self._instance.config.tcp_keepalive
        if keepalive_s and sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, keepalive_s)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(1, keepalive_s // 3))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)

    def _log_in_by_certificate(self, field: str) -> None:
        """Make the client the user that its certificate names: in the common name, or in a URI."""
        certificate = self.transport.get_extra_info("peercert") or {}
        if field == "URI":
            names = [name for kind, name in certificate.get("subjectAltName", ()) if kind == "URI"]
        else:
            subject = certificate.get("subject", ())
            names = [name for part in subject for kind, name in part if kind == "commonName"][-1:]
        if names:
            access = self._instance.feature(AccessControl)
            access.log_in_by_certificate(self.client, [name.encode() for name in names])

    def _refusal(self) -> bytes:
        """Why the connection is refused, as a reply; b"" if it is accepted."""
        instance = self._instance
        if len(instance.feature(Clients).by_id) > instance.config.maxclients:
            return replies.error(b"ERR max number of clients reached")
        default = instance.feature(AccessControl).default
        if instance.config.protected_mode and not default.needs_password:
            host = self.client.address.rpartition(b":")[0].strip(b"[]")
            if not self.unix_socket and not host.startswith(b"127.") and host != b"::1":
                return _DENIED
        return b""

    def _check_output_limit(self) -> None:
        """Drop the client if it leaves too much in the transport, or too much for too long."""
        if not self.client.closed and self._is_over_output_limit():
            drop_for_output(self.client)

    def _is_over_output_limit(self) -> bool:
        limit = output_limit(self.client)
        if not limit.hard_bytes and not limit.soft_bytes:
            return False
        waiting_bytes = self.transport.get_write_buffer_size()
        if limit.hard_bytes and waiting_bytes >= limit.hard_bytes:
            return True
        if not limit.soft_bytes or waiting_bytes < limit.soft_bytes:
            self.over_soft_limit_since_ms = 0
            return False
        instance = self._instance
        if not self.over_soft_limit_since_ms:
            self.over_soft_limit_since_ms = instance.monotonic_ms
            # There may be no further reply that would trigger this check again.
            self._loop.call_later(limit.soft_seconds + 1, self._check_output_limit)
        waited_ms: int = instance.monotonic_ms - self.over_soft_limit_since_ms
        return waited_ms > limit.soft_seconds * 1000


def write_output(client: Client) -> None:
    """Send a client's output: the cycle's last step."""
    connection = client.connection
    if isinstance(connection, Connection):
        connection.write()


def _format_address(address: tuple[str, int] | None) -> bytes:
    if not address:
        return b"?:0"
    host, port = address[0], address[1]
    return (f"[{host}]:{port}" if ":" in host else f"{host}:{port}").encode()
