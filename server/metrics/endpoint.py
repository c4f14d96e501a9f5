"""The endpoint over HTTP: `/metrics` for Prometheus, `/healthz` and `/readyz` for probes.

It listens on `metrics-port` at each address of `metrics-bind`, with TLS if `metrics-tls` says so;
CONFIG SET changes all of it while the server runs. With `metrics-user` the metrics, and only they,
ask for that user's password; without it the request must name this machine (hosts.py). At most 16
connections are open: a further one takes the place of the oldest that has not sent its request, or
else of the oldest that has not taken its answer.

The connections are no clients of the keyspace: they are not in CLIENT LIST, and `maxclients` does
not count them.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import socket
from collections.abc import Callable, Iterable, Iterator
from ipaddress import ip_address
from typing import TypeAlias
from urllib.parse import urlsplit

from commands.acl.access_control import AccessControl
from commands.core.instance import Instance
from server import clock
from server.loop.listeners import bind_addresses, metrics_warning
from server.metrics.collection import Collection
from server.metrics.connection import HttpConnection, HttpRequest
from server.metrics.names import CONTENT_TYPE
from server.tls.credentials import Credentials
from server.tls.handshakes import Handshakes, Listener


def unreadiness(instance: Instance) -> str | None:
    """Why the server is not ready; None if it is."""
    config, replication = instance.config, instance.replication
    if instance.shutdown_at_ms:
        return "the server is shutting down"
    if instance.persistence.loading:
        return "the data is being loaded"
    if replication.is_replica and not (replication.is_link_up or config.replica_serve_stale_data):
        return "the link to the primary is down, and replica-serve-stale-data is no"
    if instance.write_refusal is not None:
        return "a file cannot be written: see INFO persistence and the log"
    return None


def is_own_host(header: str, bound: Iterable[str], name: str | None = None) -> bool:
    """Return True for addresses, the names of this machine, and those in `metrics-bind`.

    `name`: this machine's, by default what the system says.
    """
    host = host_name(header)
    try:
        ip_address(host)
    except ValueError:
        names = {"localhost", (name or socket.gethostname()).lower()}
        names |= {word.removeprefix("-").lower() for word in bound}
        return host != "" and host in names
    return True


def host_name(header: str) -> str:
    """The name or address in a Host header, in lower case; empty if there is none."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


# How long a page serves.
PAGE_US = 1_000_000

# The parts of a page; None if collecting it failed.
Take: TypeAlias = Callable[[list[bytes] | None], None]


class Scrapes:
    """The scrapes of one instance."""

    def __init__(
        self,
        instance: Instance,
        schedule: Callable[[], None],
        monotonic_us: Callable[[], int],
        unix_ms: Callable[[], int],
    ) -> None:
        """`schedule` makes sure that the background work goes on."""
        self._instance = instance
        self._schedule = schedule
        self._monotonic_us = monotonic_us
        self._unix_ms = unix_ms
        self._page: list[bytes] | None = None
        self._ended_us = 0
        self._last_s = 0.0
        self._count = 0
        self._waiting: list[Take] = []

    def ask(self, take: Take) -> None:
        """Call `take` with a page: at once if there is one, else when it is complete."""
        if self._page is not None and self._monotonic_us() - self._ended_us < PAGE_US:
            take(self._page)
            return
        self._waiting.append(take)
        if len(self._waiting) == 1:
            self._page = None
            self._instance.background_work.answer(self._scrape())
            self._schedule()

    def _scrape(self) -> Iterator[None]:
        started_us, page = self._monotonic_us(), None
        self._count += 1
        collection = Collection(self._instance, self._unix_ms(), self._count, self._last_s)
        try:
            yield from collection.steps()
            page = list(collection.page.pieces())
        finally:
            self._ended_us = self._monotonic_us()
            self._last_s = (self._ended_us - started_us) / 1e6
            self._page = page
            waiting, self._waiting = self._waiting, []
            for take in waiting:
                take(page)


MOST_CONNECTIONS = 16
_BACKLOG = 16

Place: TypeAlias = tuple[str, int, bool]  # address, port, whether it is encrypted


class MetricsEndpoint:
    """The endpoint of one server."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        instance: Instance,
        credentials: Credentials,
        schedule: Callable[[], None],
    ) -> None:
        """`schedule` makes sure that the instance's background work goes on."""
        self._loop = loop
        self._instance = instance
        self._credentials = credentials
        self._log = instance.host.log
        self._scrapes = Scrapes(instance, schedule, clock.monotonic_us, clock.now_ms)
        self._connections: dict[HttpConnection, None] = {}  # the oldest first
        self._listeners: dict[Place, Listener] = {}
        # Where it listens, in the words of the directives.
        self._wanted: tuple[list[str], int, bool] | None = None
        self._accepting: set[asyncio.Task[object]] = set()
        self._handshakes = Handshakes(
            loop,
            lambda: credentials.for_clients,
            self._connection,
            self._admits,
            instance.host.log_bounded,
        )

    # -- listeners -----------------------------------------------------------------------------

    def open(self) -> None:
        """Listen where the configuration says; close other listeners.

        Raises OSError if an address cannot be bound, and TlsError; nothing is changed then.
        """
        config = self._instance.config
        if config.metrics_tls and config.metrics_port:
            self._credentials.load()
        words = config.metrics_bind if config.metrics_port else []
        wanted = list(words), config.metrics_port, config.metrics_tls
        if wanted == self._wanted:
            return
        before = list(self._listeners)
        # Closed first: the new addresses may include the old ones.
        self._close_listeners()
        try:
            self._bind(words, config.metrics_port, is_encrypted=config.metrics_tls)
        except OSError:
            for address, port, is_encrypted in before:
                self._bind([f"-{address}"], port, is_encrypted=is_encrypted)
            raise
        self._wanted = wanted
        if self._listeners:
            self._announce()

    def close(self) -> None:
        """Accept no more, and close all connections."""
        self._handshakes.stop()
        self._close_listeners()
        for connection in list(self._connections):
            connection.abort()

    def _close_listeners(self) -> None:
        for listener in self._listeners.values():
            listener.close()
        self._listeners.clear()

    def _bind(self, words: list[str], port: int, *, is_encrypted: bool) -> None:
        for address, sock in bind_addresses(words, port, _BACKLOG):
            self._listeners[address, port, is_encrypted] = (
                self._handshakes.listen(sock)
                if is_encrypted
                else Listener(self._loop, sock, self._accept)
            )

    def _announce(self) -> None:
        self._log("notice", f"Metrics: {', '.join(map(_url, self._listeners))}")
        config = self._instance.config
        if warning := metrics_warning(config, [address for address, _, _ in self._listeners]):
            self._log("warning", warning)
        users = self._instance.feature(AccessControl).users
        if config.metrics_user and self._user_name() not in users:
            shown = self._instance.shown(config.metrics_user)
            self._log("warning", f"There is no user {shown} (metrics-user) to read the metrics.")

    def _user_name(self) -> bytes:
        """The name of the user who may read the metrics."""
        return self._instance.config.metrics_user.encode("utf-8", "surrogateescape")

    # -- connections ---------------------------------------------------------------------------

    def _accept(self, sock: socket.socket, peer: tuple[str, int]) -> None:
        if not self._admits(0):
            sock.close()
            return
        connection = self._connection()
        task: asyncio.Task[object] = self._loop.create_task(
            self._loop.connect_accepted_socket(lambda: connection, sock)
        )
        self._accepting.add(task)
        task.add_done_callback(self._accepting.discard)

    def _admits(self, handshakes: int) -> bool:
        """Return True if there is room for one more, beside handshakes under way."""
        if len(self._connections) + handshakes < MOST_CONNECTIONS:
            return True
        asking = (one for one in self._connections if one.is_asking)
        oldest = next(asking, None) or next(iter(self._connections), None)
        if oldest is None:
            return False
        del self._connections[oldest]
        oldest.abort()
        return True

    def _connection(self) -> HttpConnection:
        connection = HttpConnection(self._loop, self._serve, self._forget)
        self._connections[connection] = None
        return connection

    def _forget(self, connection: HttpConnection) -> None:
        self._connections.pop(connection, None)

    # -- requests ------------------------------------------------------------------------------

    def _serve(self, connection: HttpConnection, request: HttpRequest) -> None:
        if request.path not in ("/metrics", "/healthz", "/readyz"):
            connection.answer(404, [b"There are /metrics, /healthz and /readyz.\n"])
        elif request.method != "GET":
            connection.answer(405, [b"Only GET\n"], Allow="GET")
        elif request.path == "/healthz":
            connection.answer(200, [b"ok\n"])
        elif request.path == "/readyz":
            reason = unreadiness(self._instance)
            connection.answer(503 if reason else 200, [f"{reason or 'ok'}\n".encode()])
        elif not self._is_safe(request):
            hint = b"unknown Host: name it in metrics-bind, or set metrics-user\n"
            connection.answer(403, [hint])
        elif not self._may_read(connection, request):
            wanted = 'Basic realm="Rillway metrics", charset="UTF-8"'
            connection.answer(401, [b"Unauthorized\n"], WWW_Authenticate=wanted)
        else:
            self._scrapes.ask(lambda page: _send(connection, page))

    def _is_safe(self, request: HttpRequest) -> bool:
        """Return False if the page of a stranger may read the answer in the browser of a user."""
        config = self._instance.config
        if config.metrics_user:
            return True
        return is_own_host(request.headers.get("host", ""), config.metrics_bind)

    def _may_read(self, connection: HttpConnection, request: HttpRequest) -> bool:
        """Return True if no login is asked for, or the request has the user's password."""
        if not self._instance.config.metrics_user:
            return True
        given = _credentials(request.headers.get("authorization", ""))
        if given is None:
            return False
        name, password = given
        access = self._instance.feature(AccessControl)
        if access.admits(name, password) and name == self._user_name():
            return True
        info = b"addr=%b name=metrics" % connection.peer.encode()
        access.note_failed_login(name, b"toplevel", b"metrics", info, clock.now_ms())
        return False


def _url(place: Place) -> str:
    address, port, is_encrypted = place
    address = {"*": "0.0.0.0", "::*": "::"}.get(address, address)
    host = f"[{address}]" if ":" in address else address
    return f"http{'s' * is_encrypted}://{host}:{port}/metrics"


def _send(connection: HttpConnection, page: list[bytes] | None) -> None:
    if page is None:
        connection.answer(500, [b"Collecting failed: see the server's log.\n"])
    else:
        connection.answer(200, page, CONTENT_TYPE)


def _credentials(header: str) -> tuple[bytes, bytes] | None:
    """The user and the password of HTTP Basic; None for anything else."""
    scheme, _, word = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        decoded = base64.b64decode(word.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    name, _, password = decoded.partition(b":")
    return name, password
