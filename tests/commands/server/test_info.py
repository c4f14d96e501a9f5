"""INFO as a reply: which sections, in which shape.

TIME, LASTSAVE.

MODULE without modules. The replies are those of redis-server 7.0.15.

LOLWUT.
"""

from __future__ import annotations

import random

import pytest

from commands.core.host import REDIS_VERSION
from commands.server.info import draw
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import decode

DEFAULT = [
    "Server", "Clients", "Memory", "Persistence", "Threads", "Stats", "Replication", "CPU",
    "Modules", "Errorstats", "Cluster", "Keyspace",
]  # fmt: skip


@pytest.fixture
def client() -> InProcessClient:
    return InProcessServer().connect()


def headings(client: InProcessClient, *sections: str) -> list[str]:
    text = decode(client.execute("INFO", *sections)).decode()
    return [line[2:] for line in text.split("\r\n") if line.startswith("# ")]


def test_a_plain_info_has_the_default_sections_in_the_order_of_redis(
    client: InProcessClient,
) -> None:
    assert headings(client) == DEFAULT
    assert headings(client, "default") == DEFAULT


def test_all_and_everything(client: InProcessClient) -> None:
    everything = headings(client, "everything")
    assert set(everything) == {*DEFAULT, "Commandstats", "Latencystats"}  # no look at each key
    assert set(everything) - set(headings(client, "ALL")) == {"Modules"}


def test_each_section_is_printed_once_in_the_fixed_order(client: InProcessClient) -> None:
    assert headings(client, "keyspace", "SERVER", "server") == ["Server", "Keyspace"]
    assert headings(client, "commandstats", "cpu") == ["CPU", "Commandstats"]


def test_unknown_sections_say_nothing(client: InProcessClient) -> None:
    assert client.execute("INFO", "nonsense") == b"$0\r\n\r\n"
    assert headings(client, "nonsense", "cluster") == ["Cluster"]


def test_lines_end_like_those_of_redis(client: InProcessClient) -> None:
    text = decode(client.execute("INFO", "cluster", "modules"))
    assert text == b"# Modules\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n"


def test_the_text_is_verbatim_in_resp3(client: InProcessClient) -> None:
    client.execute("HELLO", "3")
    reply = client.execute("INFO", "cluster")
    assert reply == b"=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n"


def test_time_is_seconds_and_microseconds() -> None:
    server = InProcessServer(now_ms=1_700_000_000_042)
    assert server.connect().execute("TIME") == b"*2\r\n$10\r\n1700000000\r\n$5\r\n42000\r\n"


def test_lastsave_is_the_start_while_nothing_was_saved() -> None:
    server = InProcessServer(now_ms=1_700_000_000_999)
    client = server.connect()
    server.advance(60_000)
    assert client.execute("LASTSAVE") == b":1700000000\r\n"


@pytest.mark.parametrize("resp", ["2", "3"])
def test_no_modules_are_loaded(client: InProcessClient, resp: str) -> None:
    client.execute("HELLO", resp)
    assert client.execute("MODULE", "LIST") == b"*0\r\n"


def test_none_can_be_loaded(client: InProcessClient) -> None:
    reply = client.execute("MODULE", "LOAD", "x")
    assert reply == b"-ERR unknown subcommand 'LOAD'. Try MODULE HELP.\r\n"
    assert b"+LIST\r\n" in client.execute("MODULE", "HELP")


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
