"""The sockets on which the server accepts clients: TCP, TLS and a Unix socket.

`port` and `tls-port` are on every address of `bind`. They, and `bind`, can be changed while the
server runs: what stays is not touched, and what is no longer wanted is closed after what is new is
bound; or before it, where it is in the way, because `*` cannot be bound beside one of its
addresses.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from commands.config.configuration import Configuration
from server.tls.handshakes import Handshakes, Listener


def make_way(path: str) -> None:
    """Remove a socket without a listener. Raises OSError if `path` is anything else."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(errno.EEXIST, "there is a file of that name, which is not a socket", path)
    if _is_listened_on(path):
        raise OSError(errno.EADDRINUSE, "another server listens there", path)
    os.unlink(path)


def _is_listened_on(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return False
        except BlockingIOError:
            pass  # there is a listener, with a full queue
    return True


def give_to_group(path: str, name: str) -> None:
    """Make a group the file's. Raises OSError: others than `unixsocketgroup` must not connect."""
    import grp  # needed by few

    try:
        os.chown(path, -1, grp.getgrnam(name).gr_gid)
    except KeyError:
        raise OSError(errno.EINVAL, f"there is no group '{name}' (unixsocketgroup)") from None
    except OSError as error:
        reason = f"{path}: unixsocketgroup {name}: {error.strerror}"
        raise OSError(error.errno, reason) from None


class SocketFile:
    """The socket file that this server has created at `path`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._made = os.lstat(path)

    def remove(self) -> None:
        """Remove it, if it is still the one that this server created."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.lstat(self.path), self._made):
                os.unlink(self.path)


_LISTENING = "0A"


def port_in_use(directive: str, port: int, free: int | None, proc: str = "/proc") -> str:
    """`port 6379 is in use by redis-server, pid 123; try --port 6380`.

    `free` is a port that is not taken; None if there is none.
    """
    user = listener(port, proc)
    by = f" by {user}" if user else ""
    advice = f"; try --{directive} {free}" if free else ""
    return f"port {port} is in use{by}{advice}"


def listener(port: int, proc: str = "/proc") -> str | None:
    """The program that listens on a port, and its process ID; None if that cannot be read."""
    sockets = {f"socket:[{inode}]" for inode in _listening_sockets(port, proc)}
    for pid in filter(str.isdecimal, _names(proc)):
        for descriptor in _names(f"{proc}/{pid}/fd"):
            with contextlib.suppress(OSError):  # it was closed meanwhile
                if os.readlink(f"{proc}/{pid}/fd/{descriptor}") in sockets:
                    return f"{_program(f'{proc}/{pid}')}, pid {pid}"
    return None


def _program(process: str) -> str:
    """The name of a process; with the module, where Python runs one."""
    name, words = _lines(f"{process}/comm")[0], _lines(f"{process}/cmdline")[0].split("\0")
    return f"{name} -m {words[2]}" if words[1:2] == ["-m"] else name


def first_free(port: int, is_free: Callable[[int], bool]) -> int | None:
    """The first port above `port` that is free; None if none of the next hundred is."""
    return next(filter(is_free, range(port + 1, min(port + 101, 65_536))), None)


def _listening_sockets(port: int, proc: str) -> Iterator[str]:
    """The inodes of the sockets that listen on a port."""
    for table in ("tcp", "tcp6"):
        for line in _lines(f"{proc}/net/{table}")[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == _LISTENING and int(local.rpartition(":")[2], 16) == port:
                yield inode


def _lines(path: str) -> list[str]:
    try:
        with open(path, errors="replace") as file:
            return file.read().splitlines() or [""]
    except OSError:
        return [""]


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


WARNING = (
    "No password is set and protected-mode is off: everyone who reaches {} may read and change all"
    " data. Set requirepass (in a container RILLWAY_REQUIREPASS), or keep others from reaching it."
)

METRICS_WARNING = (
    "Without metrics-user, everyone who reaches port {} on {} may read the metrics, which name"
    " keys, groups and consumers."
)


def exposure_warning(
    config: Configuration, listeners: list[tuple[str, str, int]], *, requires_login: bool
) -> str | None:
    """The warning; None if clients must log in, or no other machine can connect."""
    if requires_login or config.protected_mode:
        return None
    places = [
        f"port {port} on {address}"
        for kind, address, port in listeners
        if (kind == "tcp" or (kind == "tls" and config.tls_auth_clients == "no"))
        and not _is_loopback(address)
    ]
    return WARNING.format(" or ".join(places)) if places else None


def metrics_warning(config: Configuration, addresses: list[str]) -> str | None:
    """A warning if other machines may read the metrics, in which the names of keys are."""
    exposed = [address for address in addresses if not _is_loopback(address)]
    if config.metrics_user or not exposed:
        return None
    return METRICS_WARNING.format(config.metrics_port, " and ".join(exposed))


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address in ("::1", "localhost")


Accept: TypeAlias = Callable[[], asyncio.Protocol]
Place: TypeAlias = tuple[str, str, int]  # (kind: "tcp", "tls" or "unix", address, port)
Bound: TypeAlias = list[tuple[Place, socket.socket]]  # sockets that listen


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
        # The socket itself until connections are accepted on it.
        self._servers: dict[Place, asyncio.Server | Listener | socket.socket] = {}
        self._rebinding: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Listen. Raises OSError if an address cannot be bound."""
        config = self._config
        bound: Bound = []
        for kind, port in self._ports():
            sockets = self._bind(kind, port)
            if kind == "tcp" and sockets:
                config.port = sockets[0][1].getsockname()[1]
                self.picked_port = None if port else config.port
            bound += [((kind, word, sock.getsockname()[1]), sock) for word, sock in sockets]
        self._add(bound)
        await self._begin(bound)
        if config.unixsocket:
            await self._listen_unix(
                config.unixsocket, config.unixsocketperm, config.unixsocketgroup
            )

    def _bind(self, kind: str, port: int) -> list[tuple[str, socket.socket]]:
        """Bind every address. Raises OSError, which names the program that has taken the port."""
        try:
            return bind_addresses(self._config.bind, port, self._config.tcp_backlog)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        from server.loop.listeners import first_free, port_in_use  # for this message only

        free = first_free(port, lambda other: is_free(self._config.bind, other))
        directive = "tls-port" if kind == "tls" else "port"
        raise OSError(errno.EADDRINUSE, port_in_use(directive, port, free))

    def rebind(self) -> None:
        """CONFIG SET of a port or of `bind`. Raises OSError; nothing is changed then.

        Port 0 closes the listeners of its kind, as in Redis.
        """
        ports = (("tcp", self._config.port), ("tls", self._config.tls_port))
        gone = [place for place in self._servers if place[0] != "unix"]
        missing: list[Place] = []
        for kind, port in ports:
            for word in self._config.bind if port else ():
                place = kind, word.removeprefix("-"), port
                if place in gone:
                    gone.remove(place)
                else:
                    missing.append((kind, word, port))
        try:
            bound = self._bind_all(missing)
        except OSError as error:
            in_the_way = [place for place in gone if place[2] in dict(ports).values()]
            if error.errno != errno.EADDRINUSE or not in_the_way:
                raise
            bound = self._replace(in_the_way, missing)
            gone = [place for place in gone if place not in in_the_way]
        for place in gone:
            self._close(place)
        self._add(bound)
        self._rebinding = self._loop.create_task(self._begin(bound))

    def _replace(self, old: Collection[Place], new: list[Place]) -> Bound:
        """Close listeners, then bind others. Raises OSError; the old ones listen again then."""
        for place in old:
            self._close(place)
        try:
            return self._bind_all(new)
        except OSError:
            again = self._bind_all([(kind, f"-{address}", port) for kind, address, port in old])
            self._add(again)
            self._rebinding = self._loop.create_task(self._begin(again))
            raise

    def _bind_all(self, places: Iterable[Place]) -> Bound:
        """Listen on every place; the addresses as in `bind`. Raises OSError, and on none then."""
        bound: Bound = []
        try:
            for kind, word, port in places:
                for address, sock in bind_addresses([word], port, self._config.tcp_backlog):
                    bound.append(((kind, address, port), sock))
        except OSError:
            for _, sock in bound:
                sock.close()
            raise
        return bound

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

    def _add(self, bound: Bound) -> None:
        for place, sock in bound:
            self._servers[place] = sock
            self.places.append(place)

    async def _begin(self, bound: Bound) -> None:
        """Accept connections, except where another change has closed the socket meanwhile."""
        for place, sock in bound:
            if self._servers.get(place) is not sock:
                continue
            if place[0] == "tls":
                self._servers[place] = self._handshakes.listen(sock)
            else:
                server = await self._loop.create_server(
                    self._accept[place[0]],
                    sock=sock,
                    backlog=self._config.tcp_backlog,
                    start_serving=False,  # waits for nothing
                )
                self._servers[place] = server
                await server.start_serving()

    async def _listen_unix(self, path: str, permissions: str, group: str) -> None:
        try:
            make_way(path)
            server = await self._loop.create_unix_server(self._accept["unix"], path)
        except OSError as error:
            raise OSError(error.errno, f"{path}: {error.strerror or error}") from None
        self.socket_file = SocketFile(path)
        if permissions != "0":
            os.chmod(path, int(permissions, 8))
        if group:
            give_to_group(path, group)
        self._servers["unix", path, 0] = server
        self.places.append(("unix", path, 0))

    def _close(self, place: Place) -> None:
        self._servers.pop(place).close()
        self.places.remove(place)


def is_free(addresses: list[str], port: int) -> bool:
    """Return True if every address could be bound."""
    try:
        bound = bind_addresses(addresses, port, 1)
    except OSError:
        return False
    for _, sock in bound:
        sock.close()
    return True


def bind_addresses(
    addresses: list[str], port: int, backlog: int
) -> list[tuple[str, socket.socket]]:
    """Listen on every address; port 0 picks a free one, the same for all. Raises OSError.

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
            sock.listen(backlog)
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
