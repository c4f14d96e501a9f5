"""Figures of memory.

MEMORY.
"""

from __future__ import annotations

import pytest

from commands.connection.client_memory import ClientMemory
from commands.core.registry import COMMANDS
from commands.server.memory import MemoryFigures, human, memory_figures, percentage, report
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import decode, pairs

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


def test_usage_grows_with_the_value(client: InProcessClient) -> None:
    client.execute("SET", "small", "x")
    client.execute("SET", "large", "x" * 10_000)
    small = decode(client.execute("MEMORY", "USAGE", "small"))
    large = decode(client.execute("MEMORY", "USAGE", "large"))
    assert 0 < small < large - 9_000
    assert decode(client.execute("MEMORY", "USAGE", "large", "SAMPLES", "0")) == large


def test_usage_of_a_missing_or_expired_key_is_null(
    server: InProcessServer, client: InProcessClient
) -> None:
    assert client.execute("MEMORY", "USAGE", "missing") == b"$-1\r\n"
    client.execute("SET", "k", "v", "PX", "10")
    server.instance.active_expiry = False
    server.advance(1000)
    assert client.execute("MEMORY", "USAGE", "k") == b"$-1\r\n"


def test_usage_does_not_touch_the_key(server: InProcessServer, client: InProcessClient) -> None:
    client.execute("SET", "k", "v")
    server.advance(5000)
    client.execute("MEMORY", "USAGE", "k")
    assert client.execute("OBJECT", "IDLETIME", "k") == b":5\r\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("SAMPLES", b"-ERR syntax error\r\n"),
        ("SAMPLES -1", b"-ERR syntax error\r\n"),
        ("FOO 1", b"-ERR syntax error\r\n"),
        ("SAMPLES x", b"-ERR value is not an integer or out of range\r\n"),
    ],
)
def test_usage_refuses_other_options(client: InProcessClient, words: str, error: bytes) -> None:
    assert client.execute("MEMORY", "USAGE", "missing", *words.split()) == error


def test_stats_are_figures_with_a_map_for_each_database_in_use(client: InProcessClient) -> None:
    client.execute("SET", "k", "v")
    client.execute("HELLO", "3")
    stats = decode(client.execute("MEMORY", "STATS"))
    assert 0 < stats[b"total.allocated"] < 100_000
    assert stats[b"allocator.resident"] == 10 * MIB
    assert stats[b"peak.percentage"] == 100.0
    assert stats[b"keys.count"] == 1
    assert stats[b"db.0"].keys() == {b"overhead.hashtable.main", b"overhead.hashtable.expires"}
    assert b"db.1" not in stats
    assert stats[b"fragmentation"] == pytest.approx(10 * MIB / stats[b"total.allocated"])


def test_stats_are_flat_in_resp2(client: InProcessClient) -> None:
    client.execute("SET", "k", "v")
    stats = pairs(decode(client.execute("MEMORY", "STATS")))
    assert pairs(stats[b"db.0"])[b"overhead.hashtable.main"] > 0
    assert stats[b"peak.percentage"] == b"100"


def reported(used: int, peak: int = 0, clients: int = 0) -> MemoryFigures:
    return MemoryFigures(
        used=used,
        resident=used,
        peak=max(used, peak),
        peak_ms=0,
        startup=MIB,
        clients=clients,
        keys=1,
        total_system=1000 * MIB,
    )


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (reported(used=2 * MIB), "There is hardly any data"),
        (reported(used=100 * MIB), "Nothing stands out"),
        (
            reported(used=100 * MIB, peak=200 * MIB),
            "At its peak the process occupied 200.00M",
        ),
        (reported(used=900 * MIB), "occupies 900.00M of the machine's 1000.00M"),
        (
            reported(used=100 * MIB, clients=50 * MIB),
            "Clients have 50.00M in their buffers",
        ),
    ],
)
def test_the_doctor_says_what_stands_out(found: MemoryFigures, words: str) -> None:
    assert words in report(found, clients=10)


def test_the_doctor_answers_a_text(client: InProcessClient) -> None:
    client.execute("HELLO", "3")
    assert b"\r\ntxt:" in client.execute("MEMORY", "DOCTOR")


def test_purge_asks_the_host(
    server: InProcessServer, client: InProcessClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(server, "purge_memory", lambda: asked.append("purge"))
    assert client.execute("MEMORY", "PURGE") == b"+OK\r\n"
    assert asked == ["purge"]


def test_help_names_every_subcommand(client: InProcessClient) -> None:
    words = {line.split()[0].lower() for line in decode(client.execute("MEMORY", "HELP"))}
    assert COMMANDS[b"memory"].subcommands.keys() <= words
