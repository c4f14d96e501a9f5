"""LOLWUT."""

from __future__ import annotations

import random

import pytest

from commands.core.host import REDIS_VERSION
from commands.server.lolwut import draw
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import decode


def test_the_version_stands_below_the_picture() -> None:
    text = decode(InProcessServer().connect().execute("LOLWUT")).decode()
    assert text.endswith(f"Redis ver. {REDIS_VERSION}\n")
    assert "~" in text


def test_pictures_differ(client: InProcessClient) -> None:
    assert client.execute("LOLWUT") != client.execute("LOLWUT")


def test_the_size_can_follow_any_version() -> None:
    text = decode(InProcessServer().connect().execute("LOLWUT", "VERSION", "5", "20", "3")).decode()
    picture = text.split("\n")[:-3]
    assert len(picture) == 3
    assert max(map(len, picture)) <= 20


def test_it_is_a_verbatim_string_in_resp3(client: InProcessClient) -> None:
    client.execute("HELLO", "3")
    reply = client.execute("LOLWUT")
    assert reply.startswith(b"=")
    assert reply.split(b"\r\n")[1].startswith(b"txt:")


@pytest.mark.parametrize("words", [("FOO",), ("VERSION", "abc"), ("VERSION", "5", "x")])
def test_numbers_must_be_numbers(words: tuple[str, ...]) -> None:
    reply = InProcessServer().connect().execute("LOLWUT", *words)
    assert reply == b"-ERR value is not an integer or out of range\r\n"


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (2, 50), (80, 5), (150, 2)])
def test_the_rill_never_leaves_the_picture(columns: int, rows: int) -> None:
    lines = list(draw(columns, rows, random.Random(7).randrange))
    assert len(lines) == rows
    for line in lines:
        assert len(line) <= columns
        assert set(line) <= set('~o" ')
        assert "~" in line or "o" in line
