"""HOTKEYS of a server process: hot keys among many, by time and by bytes."""

from __future__ import annotations

import random

import pytest

from tests.integration.conftest import Connect
from tests.support.resp import parse

pytestmark = pytest.mark.integration


def test_hot_keys_are_found_among_many(connect: Connect) -> None:
    client, chance = connect(), random.Random(5)
    hot = [f"hot{number}" for number in range(5)]
    requests = [
        ("SET", chance.choice(hot) if chance.random() < 0.7 else f"cold{chance.random()}", "v")
        for _ in range(3000)
    ]
    start = ("HOTKEYS", "START", "METRICS", "2", "CPU", "NET", "COUNT", "5")
    assert client.send(*start) == b"+OK\r\n"
    client.pipeline([("SET", "large", "x" * 300_000), *requests])
    assert client.send("HOTKEYS", "STOP") == b"+OK\r\n"
    (found,) = parse(client.send("HOTKEYS", "GET")).items
    fields = {
        name.text: value for name, value in zip(found.items[::2], found.items[1::2], strict=True)
    }
    by_bytes = [name.text.decode() for name in fields[b"by-net-bytes"].items[::2]]
    by_time = [name.text.decode() for name in fields[b"by-cpu-time-us"].items[::2]]
    assert by_bytes[0] == "large"
    assert set(by_bytes[1:]) < set(hot)
    # Any request may be interrupted by the machine, and then takes longer than a hot key's.
    assert len(by_time) == 5
    assert client.send("HOTKEYS", "RESET") == b"+OK\r\n"
