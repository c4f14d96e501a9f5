"""MEMORY."""

from __future__ import annotations

import pytest

from commands.core.registry import COMMANDS
from commands.server.info.memory_figures import MemoryFigures
from commands.server.memory import report
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import decode, pairs

MIB = 1024 * 1024


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


def figures(used: int, peak: int = 0, clients: int = 0) -> MemoryFigures:
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
        (figures(used=2 * MIB), "There is hardly any data"),
        (figures(used=100 * MIB), "Nothing stands out"),
        (figures(used=100 * MIB, peak=200 * MIB), "At its peak the process occupied 200.00M"),
        (figures(used=900 * MIB), "occupies 900.00M of the machine's 1000.00M"),
        (figures(used=100 * MIB, clients=50 * MIB), "Clients have 50.00M in their buffers"),
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
