"""A client that replays an append-only file, for tests of batched requests."""

from __future__ import annotations

from commands.core.client import Client
from server.inprocess.server import InProcessServer


def replaying_client(server: InProcessServer) -> Client:
    client = Client(server.instance, -1, server.instance.databases[0])
    client.replays = True
    return client
