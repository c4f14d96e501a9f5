"""A client as a replay of an append-only file has it, for tests of what runs are taken as."""

from __future__ import annotations

from commands.core.client import Client
from server.inprocess import InProcessServer


def replaying_client(server: InProcessServer) -> Client:
    client = Client(server.instance, -1, server.instance.databases[0])
    client.replays = True
    return client
