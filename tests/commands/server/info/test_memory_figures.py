"""Figures of memory."""

from __future__ import annotations

import pytest

from commands.connection.client_memory import ClientMemory
from commands.server.info.memory_figures import MemoryFigures, human, memory_figures, percentage
from server.inprocess.server import InProcessServer

MIB = 1024 * 1024


def figures(used: int = 100, startup: int = 20, clients: int = 30) -> MemoryFigures:
    return MemoryFigures(
        used=used,
        resident=150,
        peak=200,
        peak_ms=0,
        startup=startup,
        clients=clients,
        keys=4,
        total_system=1000,
    )


def test_what_is_neither_the_empty_server_nor_buffers_is_data() -> None:
    assert figures().overhead == 50
    assert figures().dataset == 50
    assert figures().dataset_percentage == 62.5
    assert figures().peak_percentage == 50
    assert figures().bytes_per_key == 20


def test_a_process_that_shrank_has_no_negative_data() -> None:
    assert figures(used=10).dataset == 0
    assert figures(used=10).bytes_per_key == 0
    assert figures(used=10).dataset_percentage == 0


def test_the_figures_come_from_the_process_the_clients_and_the_keys() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("SET", "k", "v")
    client.feed(b"*2\r\n$4\r\nPING\r\n$100\r\nhalf of it")
    found = memory_figures(server.instance)
    assert (found.resident, found.total_system) == (10 * MIB, 1024 * MIB)
    assert found.keys == 1
    assert found.clients == server.instance.feature(ClientMemory).total_bytes > 4000
    assert found.peak == found.used > found.clients


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1.00K"),
        (1536, "1.50K"),
        (25276510208, "23.54G"),
        (5 * 1024**4, "5.00T"),
        (7 * 1024**6, "7168.00P"),
    ],
)
def test_sizes_are_written_for_people(size: int, text: str) -> None:
    assert human(size) == text


def test_nothing_is_no_percentage_of_nothing() -> None:
    assert percentage(0, 0) == 0
