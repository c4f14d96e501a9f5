"""The container's health check: exit status 0 if the server answers PING.

It finds the address on which the server listens, however the port was set: in a file, a variable,
on the command line or by CONFIG SET. On Linux, a process's sockets are in /proc/PID/fd, and the
addresses of listening sockets in /proc/net. It needs no password: the error -NOAUTH is an answer,
too. A server that is loading its data is not ready; one without a TCP port (`port 0`) is unhealthy.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress

TIMEOUT_SECONDS = 1.5  # less than the timeout in the Dockerfile, so that the reason is printed
LISTENING = "0A"


def main() -> int:
    """Print the address and the answer or the error. 0: healthy, 1: not."""
    addresses = list(listening_addresses(server_sockets()))
    if not addresses:
        print("no server is listening")
        return 1
    host, port = addresses[0]
    try:
        answer = ping(host, port)
    except OSError as error:
        print(f"{host} port {port}: {error}")
        return 1
    print(f"{host} port {port}: {answer.decode(errors='replace').strip() or 'no answer'}")
    return 0 if answer and not answer.startswith(b"-LOADING") else 1


def ping(host: str, port: int) -> bytes:
    """The first bytes of the answer. Raises OSError."""
    with socket.create_connection((host, port), TIMEOUT_SECONDS) as connection:
        connection.sendall(b"PING\r\n")
        return connection.recv(256)


def server_sockets() -> set[str]:
    """The sockets of every `rillway serve` that we may look into, as inode numbers."""
    inodes: set[str] = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        # A process that ended meanwhile has neither file; another user's descriptors are not shown.
        with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as cmdline:
            if b"rillway\0serve\0" in cmdline.read():
                inodes |= sockets_of(pid)
    return inodes


def sockets_of(pid: str) -> set[str]:
    """The inode numbers of a process's sockets. Raises OSError."""
    inodes: set[str] = set()
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # a client that left meanwhile
            kind, _, inode = os.readlink(f"/proc/{pid}/fd/{descriptor}").partition(":")
            if kind == "socket":
                inodes.add(inode.strip("[]"))
    return inodes


def listening_addresses(inodes: set[str]) -> Iterator[tuple[str, int]]:
    """Host and port of the sockets among `inodes` that accept connections."""
    for family, table in ((socket.AF_INET, "/proc/net/tcp"), (socket.AF_INET6, "/proc/net/tcp6")):
        if not os.path.exists(table):
            continue  # a kernel without IPv6
        with open(table) as lines:
            next(lines)
            for line in lines:
                fields = line.split()
                if fields[3] == LISTENING and fields[9] in inodes:
                    address, _, port = fields[1].partition(":")
                    yield decode_address(family, address), int(port, 16)


def decode_address(family: socket.AddressFamily, text: str) -> str:
    """`0100007F` -> `127.0.0.1`: the kernel prints words of 32 bits in the machine's byte order."""
    words = (int(text[i : i + 8], 16) for i in range(0, len(text), 8))
    return socket.inet_ntop(family, b"".join(struct.pack("=I", word) for word in words))


if __name__ == "__main__":
    sys.exit(main())
