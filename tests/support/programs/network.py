"""A network that can be cut: relays in front of the ports of servers that dial each other.

Each server announces the ports of its relays, so the others dial these. A relay finds out which of
the servers has dialled it, by the sender's ID in a message of the bus, else by the owner of the
socket. It passes nothing on between two that are on different sides of a cut: what they send waits,
as on a line that is down, and arrives when it is up again. Clients that dial the server itself are
not affected. Needs no rights, unlike namespaces and iptables.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

CHUNK_BYTES = 1 << 16
POLL_SECONDS = 0.02
# The first bytes of a message of a cluster's bus, and where it names its sender.
BUS_MESSAGE = b"RCmb"
SENDER = slice(40, 80)


class Relay:
    """What is dialled at `port` reaches `target_port`, which belongs to `server`."""

    def __init__(self, port: int, server: object) -> None:
        self.port = port
        self.server = server
        self.target_port = 0


class Network:
    """Servers, by any name, and their relays. `ids`: of nodes; `processes`: those of now."""

    def __init__(self) -> None:
        self.ids: dict[bytes, object] = {}
        self.processes: dict[object, int] = {}
        self._sides: dict[object, int] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def relay(self, server: object) -> Relay:
        """A relay to a server; its `target_port` is to be set before anything dials it."""
        return asyncio.run_coroutine_threadsafe(self._relay(server), self._loop).result()

    async def _relay(self, server: object) -> Relay:
        relay = Relay(0, server)

        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(asyncio.CancelledError):  # by `close`
                await self._serve(relay, reader, writer)

        listener = await asyncio.start_server(accepted, "127.0.0.1", 0)
        relay.port = int(listener.sockets[0].getsockname()[1])
        return relay

    def cut(self, *sides: Iterable[object]) -> None:
        """Servers of different sides do not reach each other. Who is named nowhere reaches all."""
        self._sides = {server: place for place, side in enumerate(sides) for server in side}

    def mend(self) -> None:
        self._sides = {}

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._cancel(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(
        self, relay: Relay, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            said = await reader.read(CHUNK_BYTES)
            caller = self.ids.get(said[SENDER]) if said.startswith(BUS_MESSAGE) else None
            caller = caller or self._owner(writer.get_extra_info("peername")[1], relay.port)
            await self._until_joined(caller, relay.server)
            there, away = await asyncio.open_connection("127.0.0.1", relay.target_port)
            away.write(said)
        except OSError:
            writer.transport.abort()
            return
        pumps = [
            asyncio.create_task(self._pump(*ends, caller, relay.server))
            for ends in ((reader, away), (there, writer))
        ]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        await self._until_joined(caller, relay.server)
        for pump in pumps:
            pump.cancel()
        writer.transport.abort()
        away.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *ends: object
    ) -> None:
        try:
            while data := await reader.read(CHUNK_BYTES):
                await self._until_joined(*ends)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass

    async def _until_joined(self, *ends: object) -> None:
        while len({self._sides[end] for end in ends if end in self._sides}) > 1:
            await asyncio.sleep(POLL_SECONDS)

    def _owner(self, port: int, relay_port: int) -> object:
        """The server that has dialled a relay from a port; None for anybody else."""
        inode = _inode(port, relay_port)
        for server, process in self.processes.items():
            if f"socket:[{inode}]" in _open_files(process):
                return server
        return None


def _inode(port: int, peer_port: int) -> str:
    """Of the socket of a connection on this machine; empty if it has been closed."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[1].endswith(f":{port:04X}") and words[2].endswith(f":{peer_port:04X}"):
            return words[9]
    return ""


def _open_files(process: int) -> set[str]:
    folder = f"/proc/{process}/fd"
    found = set()
    try:
        for name in os.listdir(folder):
            try:
                found.add(os.readlink(f"{folder}/{name}"))
            except OSError:
                continue  # closed meanwhile
    except OSError:
        pass  # it has ended
    return found
