"""CLIENT INFO, INFO and MEMORY STATS have the fields of Redis in its order, and newer ones."""

from __future__ import annotations

import re

import pytest

from tests.compat.differences import ADDED_CLIENT_FIELDS, ADDED_INFO_FIELDS, MISSING_INFO_FIELDS
from tests.support.programs.servers import RunningServer
from tests.support.resp import RespClient

pytestmark = pytest.mark.compat


def sections(client: RespClient) -> dict[str, list[str]]:
    """The names of INFO's fields by section, without those that depend on what has happened."""
    found: dict[str, list[str]] = {}
    for line in client.send("INFO", "everything").decode().split("\r\n")[1:]:
        if line.startswith("# "):
            found[line[2:]] = fields = []
        elif line:
            name = line.partition(":")[0]
            if not re.match("cmdstat_|errorstat_|latency_percentiles_|db[0-9]|listener", name):
                fields.append(name)
    return found


def client_fields(client: RespClient) -> list[str]:
    text = client.send("CLIENT", "INFO").decode()
    return [field.partition("=")[0] for field in text.split("\r\n")[1].split()]


def test_info_has_the_fields_of_redis_in_its_order(
    rillway_server: RunningServer, redis_server: RunningServer
) -> None:
    with rillway_server.connect() as ours, redis_server.connect() as theirs:
        found, expected = sections(ours), sections(theirs)
    del expected["Keysizes"]  # no part of everything here: it looks at every key
    for section, fields in expected.items():
        wanted = [name for name in fields if name not in MISSING_INFO_FIELDS]
        assert [name for name in found[section] if name not in ADDED_INFO_FIELDS] == wanted
    assert {name for names in found.values() for name in names} >= ADDED_INFO_FIELDS


def test_a_client_has_the_fields_of_redis_in_its_order(
    rillway_server: RunningServer, redis_server: RunningServer
) -> None:
    with rillway_server.connect() as ours, redis_server.connect() as theirs:
        found, expected = client_fields(ours), client_fields(theirs)
    assert [name for name in found if name not in ADDED_CLIENT_FIELDS] == expected
    assert set(found) >= ADDED_CLIENT_FIELDS


def test_memory_stats_have_the_names_of_redis_in_its_order(
    rillway_server: RunningServer, redis_server: RunningServer
) -> None:
    names = []
    for server in (rillway_server, redis_server):
        with server.connect() as client:
            client.send("SET", "k", "v")
            reply = client.send("MEMORY", "STATS")
        names.append(re.findall(rb"\r\n([a-z][\w.-]+)\r\n", reply))
    assert names[0] == names[1]


def test_an_entry_of_the_slow_log_counts_the_words_of_the_request(
    rillway_server: RunningServer, redis_server: RunningServer
) -> None:
    entries = []
    for server in (rillway_server, redis_server):
        with server.connect() as client:
            client.send("CONFIG", "SET", "slowlog-log-slower-than", "0")
            client.send("SLOWLOG", "RESET")
            client.send("ECHO", "word")
            entries.append(client.send("SLOWLOG", "GET", "1").split(b"\r\n"))
            client.send("CONFIG", "SET", "slowlog-log-slower-than", "10000")
    ours, theirs = entries
    assert (theirs[1], ours[1]) == (b"*6", b"*7")  # redis#15347, Redis 8.10
    assert [ours[-2]] == [b":2"]
    assert len(ours) == len(theirs) + 1
