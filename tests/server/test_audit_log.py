"""The file of the audit trail: whole lines, a full disk, a rename, a killed server."""

from __future__ import annotations

import errno
import json
import random

import pytest

from server.audit_log import MOST_KEPT_BYTES
from server.inprocess.memory_files import MemoryFiles
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import server_with

PATH = "audit.log"
REFUSED = b"-MISCONF The audit log cannot be written"


def audited(events: str = "all", **directives: str) -> InProcessServer:
    return server_with(audit_log=PATH, audit_events=events, **directives)


def numbers(files: MemoryFiles, path: str = PATH) -> list[int]:
    content = files.snapshot()[path]
    assert content == b"" or content.endswith(b"\n")
    return [json.loads(line)["seq"] for line in content.splitlines()]


def access(client: InProcessClient) -> dict[str, str]:
    text = client.execute("INFO", "access").decode().split("\r\n\r\n")[0]
    return dict(line.split(":") for line in text.splitlines() if ":" in line)


def test_a_line_is_in_the_file_before_the_reply_leaves() -> None:
    server = audited()
    client = server.connect()
    client.send(b"*1\r\n$4\r\nPING\r\n")
    assert numbers(server.files) == []
    server.finish_cycle()
    assert client.received() == b"+PONG\r\n"
    assert numbers(server.files) == [1]


def test_a_cycle_is_one_write() -> None:
    server = audited()
    client = server.connect()
    before = server.files.calls["write"]
    client.pipeline(*[("PING",)] * 50)
    assert server.files.calls["write"] == before + 1
    assert numbers(server.files) == list(range(1, 51))


def test_the_log_goes_on_in_a_new_file_after_a_rename() -> None:
    server = audited()
    client = server.connect()
    client.execute("PING")
    server.files.rename(PATH, "audit.log.1")
    client.execute("PING")
    server.advance(1000)
    client.execute("PING")
    assert numbers(server.files, "audit.log.1") == [1, 2]
    assert numbers(server.files) == [3]


def test_it_stays_with_the_old_file_where_no_new_one_can_be_opened() -> None:
    server = audited()
    client = server.connect()
    server.files.rename(PATH, "audit.log.1")
    server.files.fail("append", errno.EACCES)
    server.advance(1000)
    client.execute("PING")
    assert numbers(server.files, "audit.log.1") == [1]
    server.files.heal()
    server.advance(1000)
    client.execute("PING")
    assert numbers(server.files) == [2]


@pytest.mark.parametrize("can_truncate", [True, False])
def test_a_disk_that_fills_up_loses_no_line_and_leaves_no_torn_one(can_truncate: bool) -> None:
    server = audited()
    client = server.connect()
    client.execute("PING")
    size = len(server.files.snapshot()[PATH])
    server.files.free_bytes = size + size // 2
    if not can_truncate:
        server.files.fail("truncate", errno.ENOSPC)
    for _ in range(3):
        assert client.execute("PING") == b"+PONG\r\n"
    if can_truncate:
        assert numbers(server.files) == [1, 2]
    assert access(client)["audit_log_last_write_status"] == "err"
    server.files.heal()
    server.advance(100)
    assert numbers(server.files) == [1, 2, 3, 4, 5]
    assert access(client)["audit_log_last_write_status"] == "ok"
    assert access(client)["audit_log_missed"] == "0"


def test_what_finds_no_room_is_missed_and_counted() -> None:
    server = audited()
    client = server.connect()
    server.files.fail("write", errno.ENOSPC)
    key = "k" * 1000
    for _ in range(MOST_KEPT_BYTES // 100_000 + 2):
        client.pipeline(*[("GET", key)] * 100)
    facts = access(client)
    missed = int(facts["audit_log_missed"])
    assert missed > 0
    server.files.heal()
    client.execute("PING")
    found = numbers(server.files)
    assert found == sorted(set(found))
    assert len(found) + missed == found[-1] == int(access(client)["audit_log_lines"])


def test_a_full_disk_refuses_administration_where_that_is_asked_for() -> None:
    server = audited("admin", audit_required="yes")
    client = server.connect()
    server.files.fail("write", errno.ENOSPC)
    assert client.execute("CONFIG", "SET", "maxclients", "50") == b"+OK\r\n"  # finds it
    assert client.execute("CONFIG", "SET", "maxclients", "60").startswith(REFUSED)
    assert client.execute("CONFIG", "SET", "audit-required", "no").startswith(REFUSED)
    assert client.execute("MULTI") == b"+OK\r\n"
    assert client.execute("ACL", "SETUSER", "bob").startswith(REFUSED)
    assert client.execute("EXEC").startswith(b"-EXECABORT")
    assert client.execute("SET", "k", "v") == b"+OK\r\n"
    assert client.execute("REPLCONF", "listening-port", "1") == b"+OK\r\n"
    server.files.heal()
    server.advance(100)
    assert client.execute("CONFIG", "GET", "maxclients").endswith(b"50\r\n")
    outcomes = [json.loads(line)["outcome"] for line in server.files.snapshot()[PATH].splitlines()]
    assert outcomes == ["ok", "MISCONF", "MISCONF", "MISCONF", "ok"]


def test_a_full_disk_refuses_nothing_by_default() -> None:
    server = audited("admin")
    client = server.connect()
    server.files.fail("write", errno.ENOSPC)
    for _ in range(2):
        assert client.execute("CONFIG", "SET", "maxclients", "50") == b"+OK\r\n"
    assert ("warning", "The audit log cannot be written: No space left on device") in (
        server.log_lines
    )


def test_a_part_of_a_line_that_a_killed_server_has_left_is_removed() -> None:
    files = MemoryFiles()
    files.put(PATH, b'{"seq":1}\n{"seq":2}\n{"se')
    server = InProcessServer.on_files(files, audit_log=PATH, audit_events="all")
    server.connect().execute("PING")
    assert numbers(files) == [1, 2, 1]
    assert any("4 bytes" in line for _, line in server.log_lines)


def test_a_file_of_one_torn_line_becomes_empty() -> None:
    files = MemoryFiles()
    files.put(PATH, b'{"se')
    InProcessServer.on_files(files, audit_log=PATH)
    assert files.snapshot()[PATH] == b""


def test_a_log_that_cannot_be_opened_stops_the_start() -> None:
    with pytest.raises(OSError, match="audit"):
        InProcessServer(audit_log="nowhere/audit.log")


def test_of_many_requests_none_is_missing_doubled_or_torn() -> None:
    """Each request has a line, in its client's order, through renames and full disks."""
    server, chance = audited(), random.Random(7)
    clients = [server.connect() for _ in range(5)]
    sent: dict[int, list[str]] = {client.state.id: [] for client in clients}
    parts = 0
    for number in range(1000):
        client = chance.choice(clients)
        client.execute("GET", f"k{number}")
        sent[client.state.id].append(f"k{number}")
        if not number % 100:
            server.files.heal()
            server.advance(1000)
            server.files.rename(PATH, f"{PATH}.{parts}")
            parts += 1
        if number % 100 == 75:
            server.files.free_bytes = chance.randrange(5000)
    server.files.heal()
    server.advance(1000)
    names = [f"{PATH}.{part}" for part in range(parts)] + [PATH]
    lines = [json.loads(line) for name in names for line in _content(server, name).splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, 1001))
    for client_id, keys in sent.items():
        assert [line["keys"][0] for line in lines if line["id"] == client_id] == keys


def _content(server: InProcessServer, name: str) -> bytes:
    content = server.files.snapshot()[name]
    assert content.endswith(b"\n") or not content
    return content
