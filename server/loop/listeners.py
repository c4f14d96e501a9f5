"""The sockets on which the server accepts clients: TCP, TLS and a Unix socket.

`port` and `tls-port` are on every address of `bind`. They, and `bind`, can be changed while the
server runs: what is new is bound first, and what is no longer wanted is closed after that.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from commands.config.configuration import Configuration
from server.tls.handshakes import Handshakes, Listener
from server.unix_socket import SocketFile, make_way

Accept: TypeAlias = Callable[[], asyncio.Protocol]
Place: TypeAlias = tuple[str, str, int]  # (kind: "tcp", "tls" or "unix", address, port)


class Listeners:
    """The listeners of one server."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        config: Configuration,
        accept: Mapping[str, Accept],
        handshakes: Handshakes,
        log: Callable[[str, str], None],
    ) -> None:
        """`accept`: for "tcp" and "unix", what makes the protocol of an accepted connection."""
        self.places: list[Place] = []
        self.picked_port: int | None = None  # by the system, where the configuration says 0
        self.socket_file: SocketFile | None = None
        self._loop = loop
        self._config = config
        self._accept = accept
        self._handshakes = handshakes
        self._log = log
        self._servers: dict[Place, asyncio.Server | Listener] = {}
        self._coming: set[Place] = set()  # bound, and soon in _servers
        self._wanted: set[Place] = set()  # by the last rebind
        self._rebinding: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Listen. Raises OSError if an address cannot be bound."""
        config = self._config
        bound = []
        for kind, port in self._ports():
            sockets = self._bind(kind, port)
            if kind == "tcp" and sockets:
                config.port = sockets[0][1].getsockname()[1]
                self.picked_port = None if port else config.port
            bound += [(kind, address, sock) for address, sock in sockets]
        await self._listen(bound)
        if config.unixsocket:
            await self._listen_unix(config.unixsocket, config.unixsocketperm)

    def _bind(self, kind: str, port: int) -> list[tuple[str, socket.socket]]:
        """Bind every address. Raises OSError, which names the program that has taken the port."""
        try:
            return bind_addresses(self._config.bind, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        from server.port_user import first_free, port_in_use  # for this message only

        free = first_free(port, lambda other: is_free(self._config.bind, other))
        directive = "tls-port" if kind == "tls" else "port"
        raise OSError(errno.EADDRINUSE, port_in_use(directive, port, free))

    def rebind(self) -> None:
        """CONFIG SET of a port or of `bind`. Raises ValueError; nothing is changed then."""
        wanted: set[Place] = set()
        bound: list[tuple[str, str, socket.socket]] = []
        for kind, port in self._ports():
            places = {(kind, word.removeprefix("-"), port): word for word in self._config.bind}
            wanted |= places.keys()
            there = self._servers.keys() | self._coming
            missing = [word for place, word in places.items() if place not in there]
            try:
                sockets = bind_addresses(missing, port)
            except OSError as error:
                for _, _, sock in bound:
                    sock.close()
                self._log("warning", f"Could not listen: {error}")
                raise ValueError("Unable to listen on this port. Check server logs.") from None
            bound += [(kind, address, sock) for address, sock in sockets]
        self._wanted = wanted
        for place in self._servers.keys() - wanted:
            if place[0] != "unix":
                self._close(place)
        self._coming |= {(kind, address, sock.getsockname()[1]) for kind, address, sock in bound}
        self._rebinding = self._loop.create_task(self._listen(bound))

    async def close(self) -> None:
        """Accept no more; remove the Unix socket."""
        for place, server in list(self._servers.items()):
            self._close(place)
            if isinstance(server, asyncio.Server):
                await server.wait_closed()
        if self.socket_file is not None:
            self.socket_file.remove()

    def _ports(self) -> Iterator[tuple[str, int]]:
        """The kinds with their ports. `port 0` takes a free one, or none beside `tls-port`."""
        if self._config.port or not self._config.tls_port:
            yield "tcp", self._config.port
        if self._config.tls_port:
            yield "tls", self._config.tls_port

    async def _listen(self, bound: list[tuple[str, str, socket.socket]]) -> None:
        """Accept connections on bound sockets."""
        for kind, address, sock in bound:
            place, backlog = (kind, address, sock.getsockname()[1]), self._config.tcp_backlog
            if kind == "tls":
                self._servers[place] = self._handshakes.listen(sock, backlog)
            else:
                self._servers[place] = await self._loop.create_server(
                    self._accept[kind], sock=sock, backlog=backlog
                )
            self.places.append(place)
            if place in self._coming and place not in self._wanted:
                self._close(place)  # another change came meanwhile
            self._coming.discard(place)

    async def _listen_unix(self, path: str, permissions: str) -> None:
        try:
            make_way(path)
            server = await self._loop.create_unix_server(self._accept["unix"], path)
        except OSError as error:
            raise OSError(error.errno, f"{path}: {error.strerror or error}") from None
        self.socket_file = SocketFile(path)
        if permissions != "0":
            os.chmod(path, int(permissions, 8))
        self._servers["unix", path, 0] = server
        self.places.append(("unix", path, 0))

    def _close(self, place: Place) -> None:
        self._servers.pop(place).close()
        self.places.remove(place)


def is_free(addresses: list[str], port: int) -> bool:
    """Return True if every address could be bound."""
    try:
        bound = bind_addresses(addresses, port)
    except OSError:
        return False
    for _, sock in bound:
        sock.close()
    return True


def bind_addresses(addresses: list[str], port: int) -> list[tuple[str, socket.socket]]:
    """Bind every address; port 0 picks a free one, the same for all. Raises OSError.

    As in Redis, an address with a minus sign before it may be missing on this machine.
    """
    bound: list[tuple[str, socket.socket]] = []
    for word in addresses:
        optional, address = word.startswith("-"), word.removeprefix("-")
        host = {"*": "0.0.0.0", "::*": "::"}.get(address, address)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind((host, port))
        except OSError as error:
            sock.close()
            if optional and error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                continue
            for _, other in bound:
                other.close()
            raise OSError(error.errno, f"{host}:{port}: {error.strerror}") from None
        port = sock.getsockname()[1]
        bound.append((address, sock))
    return bound
