"""The memory in use."""

from __future__ import annotations

from commands.connection.client_memory import ClientMemory
from commands.eviction.memory_use import MemoryUse
from server.inprocess.server import InProcessServer


def test_the_start_the_data_clients_and_the_rest_count() -> None:
    server = InProcessServer()
    memory = server.instance.feature(MemoryUse)
    memory.startup_bytes = 1_000_000
    assert memory.used_bytes() == 1_000_000
    client = server.connect()
    clients_bytes = server.instance.feature(ClientMemory).total_bytes
    assert memory.update() == 1_000_000 + clients_bytes > 1_004_000
    client.execute("SET", "k", "v" * 10_000)
    assert 1_011_000 < memory.used_bytes() < 1_020_000
    client.execute("EVAL", "return 1", "0")
    before = memory.used_bytes()
    assert memory.update() > before


def test_the_peak_is_kept() -> None:
    server = InProcessServer()
    memory, client = server.instance.feature(MemoryUse), server.connect()
    client.execute("SET", "k", "v" * 10_000)
    used = memory.used_bytes()
    client.execute("DEL", "k")
    assert memory.used_bytes() < used == memory.peak_bytes
