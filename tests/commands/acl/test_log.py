"""The log of refusals."""

from __future__ import annotations

from commands.acl.log import AccessLog
from server.inprocess.server import InProcessClient, InProcessServer
from tests.support.resp import parse


def shown(client: InProcessClient, *words: str) -> list[tuple[int, bytes, bytes, bytes]]:
    """Count, reason, context and object of each entry."""
    client.execute("HELLO", 3)
    found = []
    for entry in parse(client.execute("ACL", "LOG", *words)).items:
        fields = dict(zip([item.text for item in entry.items[::2]], entry.items[1::2], strict=True))
        texts = (fields[name].text for name in (b"reason", b"context", b"object"))
        found.append((fields[b"count"].number, *texts))
    return found  # type: ignore[return-value]


def test_an_entry_says_who_was_refused_what_and_when(
    server: InProcessServer, client: InProcessClient, ann: InProcessClient
) -> None:
    ann.execute("CLIENT", "ID")
    server.advance(1500)
    fields = [item.text for item in parse(client.execute("ACL", "LOG")).items[0].items]
    assert fields[:12] == [
        b"count", b"1", b"reason", b"command", b"context", b"toplevel", b"object", b"client|id",
        b"username", b"ann", b"age-seconds", b"1.5",
    ]  # fmt: skip
    assert fields[12] == b"client-info" and b" user=ann " in fields[13]
    assert fields[14:] == [
        b"entry-id", b"0", b"timestamp-created", b"1700000000000",
        b"timestamp-last-updated", b"1700000000000",
    ]  # fmt: skip


def test_equal_refusals_of_a_minute_are_one_entry(
    server: InProcessServer, client: InProcessClient, ann: InProcessClient
) -> None:
    for seconds in (0, 30, 60, 61):
        server.advance(seconds * 1000)
        ann.execute("PING")
    ann.execute("ECHO", "x")
    ann.execute("PING")
    assert shown(client) == [
        (2, b"command", b"toplevel", b"ping"),
        (1, b"command", b"toplevel", b"echo"),
        (3, b"command", b"toplevel", b"ping"),
    ]


def test_contexts_are_transactions_and_scripts(
    client: InProcessClient, ann: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "ann", "+multi", "+eval")
    ann.execute("EVAL", "return redis.pcall('ping')", 0)
    ann.execute("MULTI")
    ann.execute("PING")
    assert [entry[2] for entry in shown(client)] == [b"multi", b"lua"]


def test_a_failed_login_is_logged_by_the_word_that_asked(client: InProcessClient) -> None:
    client.execute("auth", "nobody", "x")
    client.execute("HELLO", 3, "AUTH", "nobody", "x")
    assert [entry[3] for entry in shown(client)] == [b"HELLO", b"auth"]


def test_it_is_bounded_by_acllog_max_len(client: InProcessClient, ann: InProcessClient) -> None:
    client.execute("CONFIG", "SET", "acllog-max-len", 2)
    for name in ("PING", "DBSIZE", "UNWATCH"):
        ann.execute(name)
    assert [entry[3] for entry in shown(client)] == [b"unwatch", b"dbsize"]
    client.execute("CONFIG", "SET", "acllog-max-len", 0)
    ann.execute("TIME")
    assert shown(client) == []


def test_the_newest_come_first_and_reset_forgets_them(
    client: InProcessClient, ann: InProcessClient
) -> None:
    for number in range(12):
        ann.execute("GET", number)
        ann.execute("ACL", "WHOAMI") if number else ann.execute("PING")
    assert [entry[3] for entry in shown(client, "1")] == [b"acl|whoami"]
    assert len(shown(client)) == 3 and shown(client, "-1") == []
    assert client.execute("ACL", "LOG", "reset") == b"+OK\r\n"
    assert client.execute("ACL", "LOG") == b"*0\r\n"


def test_only_the_ten_newest_entries_are_compared(server: InProcessServer) -> None:
    log = server.instance.feature(AccessLog)
    for number in [*range(11), 0, 10]:
        log.add(b"key", b"toplevel", b"%d" % number, b"ann", b"", 0)
    assert [(one.object, one.count) for one in log.latest(3)] == [(b"10", 2), (b"0", 1), (b"9", 1)]
