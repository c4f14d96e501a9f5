"""INFO as a reply: which sections, in which shape."""

from __future__ import annotations

import pytest

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
