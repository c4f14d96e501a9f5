"""The audit trail: which requests have a line, and what is in it."""

from __future__ import annotations

import json

import pytest

from commands.acl.access_control import AccessControl
from commands.server.audit import MOST_KEY_BYTES, MOST_KEYS
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import server_with

SECRET = "s3cret-v4lue"


def audited(events: str, **directives: str) -> InProcessServer:
    return server_with(audit_log="audit.log", audit_events=events, **directives)


def lines(server: InProcessServer) -> list[dict[str, object]]:
    server.finish_cycle()
    return [json.loads(line) for line in server.files.snapshot()["audit.log"].splitlines()]


def events(server: InProcessServer) -> list[tuple[object, ...]]:
    return [(line["event"], line["command"], line["outcome"]) for line in lines(server)]


def test_a_line_says_who_did_what_with_what_outcome() -> None:
    server = audited("keys-removed")
    client = server.connect()
    client.execute("CLIENT", "SETNAME", "clerk")
    client.execute("SELECT", "3")
    client.execute("SET", "a", "1")
    client.execute("DEL", "a", "b")
    assert lines(server) == [
        {
            "time": "2023-11-14T22:13:20.000000Z",
            "seq": 1,
            "event": "keys-removed",
            "user": "default",
            "addr": client.state.address.decode(),
            "id": client.state.id,
            "name": "clerk",
            "db": 3,
            "command": "del",
            "keys": ["a", "b"],
            "outcome": "ok",
            "removed": 1,
        }
    ]


def test_nothing_is_recorded_by_default_and_no_request_is_observed() -> None:
    server = InProcessServer(audit_log="audit.log")
    server.connect().execute("FLUSHALL")
    assert lines(server) == []
    assert not server.instance.monitors


def test_events_of_authentication_include_refusals() -> None:
    server = audited("auth", requirepass="p", user="ann on >q +get ~a*")
    client = server.connect()
    client.execute("GET", "a")
    client.execute("AUTH", "x")
    client.execute("HELLO", "3", "AUTH", "ann", "q")
    client.execute("GET", "a")
    client.execute("GET", "b")
    client.execute("SET", "a", "1")
    client.execute("RESET")
    client.execute("HELLO", "3")
    assert events(server) == [
        ("auth", "get", "NOAUTH"),
        ("auth", "auth", "WRONGPASS"),
        ("auth", "hello", "ok"),
        ("auth", "get", "NOPERM"),
        ("auth", "set", "NOPERM"),
        ("auth", "reset", "ok"),
        ("auth", "hello", "NOAUTH"),
    ]
    assert [line["user"] for line in lines(server)] == [None, None, "ann", "ann", "ann", None, None]
    assert lines(server)[2]["about"] == ["ann"]
    assert [line["keys"] for line in lines(server)[:4]] == [[], [], [], ["b"]]


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (["AUTH", SECRET], ["default"]),
        (["AUTH", SECRET, "x"], None),
        (["AUTH", "ann", SECRET], ["ann"]),
        (["HELLO", "3", "AUTH", SECRET, SECRET], None),
        (["HELLO", "3", "SETNAME", "n", "AUTH", "ann", SECRET], ["ann"]),
        (["ACL", "SETUSER", "bob", ">" + SECRET, "#" + SECRET], None),
        (["ACL", "SETUSER", "ann", "<" + SECRET], ["ann"]),
        (["CONFIG", "SET", "requirepass", SECRET], ["requirepass"]),
        (["CONFIG", "SET", "masterauth", SECRET, SECRET, SECRET], ["masterauth"]),
        (["CONFIG", "GET", SECRET], None),
        (["MIGRATE", "127.0.0.1", "1", "", "0", "9", "AUTH", SECRET, "KEYS", "k"], None),
        (["MIGRATE", "h", "1", "", "0", "9", "AUTH2", SECRET, SECRET, "KEYS", "k"], None),
        (["EVAL", f"return '{SECRET}'", "1", "k", SECRET], None),
        (["EVAL", f"redis.call('set', KEYS[1], '{SECRET}')", "1", "k"], None),
        (["EVAL", f"return redis.call('{SECRET}')", "0"], None),
        (["SET", "k", SECRET], None),
        (["SET", "k", "v", SECRET], None),
        (["XADD", "k", "*", SECRET, SECRET], None),
        (["PUBLISH", "channel", SECRET], None),
        (["ECHO", SECRET], None),
        (["CLIENT", "KILL", "ID", SECRET], None),
        (["DEBUG", SECRET], None),
        (["GET", "k", SECRET], None),
        ([SECRET], None),
        ([SECRET, SECRET], None),
        (["CONFIG", SECRET, SECRET], None),
    ],
)
def test_values_and_passwords_are_in_no_line(words: list[str], about: list[str] | None) -> None:
    server = audited("all", user="ann on >q +@all ~*")
    client = server.connect()
    client.execute(*words)
    client.execute("MULTI")
    client.execute(*words)
    client.execute("EXEC")
    text = server.files.snapshot()["audit.log"].decode()
    assert SECRET not in text
    assert lines(server)[0].get("about" if words[0] != "EVAL" else "none") == about


@pytest.mark.parametrize(
    "script",
    ["return redis.error_reply(ARGV[1]..' x')", "error({err=ARGV[1]..' x'})"],
)
def test_the_text_of_an_error_that_a_script_makes_is_in_no_line(script: str) -> None:
    server = audited("all")
    reply = server.connect().execute("EVAL", script, "0", SECRET)
    assert reply.startswith(f"-{SECRET} ".encode())
    assert events(server) == [("request", "eval", "ERR")]


def test_requests_in_transactions_and_scripts_have_their_lines() -> None:
    server = audited("all")
    client = server.connect()
    for words in (["MULTI"], ["SET", "a", "1"], ["GET"], ["DISCARD"]):
        client.execute(*words)
    for words in (["MULTI"], ["SET", "a", "1"], ["LPUSH", "a", "1"], ["EXEC"]):
        client.execute(*words)
    script = "redis.call('del', KEYS[1]); redis.pcall('lpop'); return redis.pcall('config', 'x')"
    client.execute("EVAL", script, "1", "a")
    assert [(line["command"], line["outcome"], line.get("in")) for line in lines(server)] == [
        ("multi", "ok", None),
        ("get", "ERR", "multi"),
        ("discard", "ok", None),
        ("multi", "ok", None),
        ("set", "ok", "multi"),
        ("lpush", "WRONGTYPE", "multi"),
        ("exec", "ok", None),
        ("del", "ok", "script"),
        ("lpop", "ERR", "script"),
        (None, "ERR", "script"),
        ("eval", "ERR", None),
    ]


def test_what_exec_and_a_script_must_not_run_has_a_line() -> None:
    server = audited("auth", user="ann on nopass ~* +@all")
    client, admin = server.connect(), server.connect()
    client.execute("AUTH", "ann", "x")
    client.execute("MULTI")
    client.execute("SET", "a", "1")
    admin.execute("ACL", "SETUSER", "ann", "-set")
    client.execute("EXEC")
    client.execute("EVAL", "return redis.pcall('set', 'a', 1)", "0")
    assert events(server)[1:] == [("auth", "set", "NOPERM"), ("auth", "set", "NOPERM")]


def test_administration_covers_the_changes_of_settings() -> None:
    for wanted, number in (("config", 2), ("admin", 3), ("admin,config", 3)):
        server = audited(wanted)
        client = server.connect()
        client.execute("CONFIG", "SET", "maxclients", "50")
        client.execute("ACL", "SETUSER", "bob")
        client.execute("SLOWLOG", "RESET")
        client.execute("GET", "k")
        assert len(lines(server)) == number


def test_each_way_to_remove_a_key_has_a_line() -> None:
    server = audited("keys-removed")
    client = server.connect()
    for key in "abcdefgh":
        client.execute("SET", key, "1")
    client.execute("UNLINK", "a")
    client.execute("RENAME", "b", "c")
    client.execute("GETDEL", "c")
    client.execute("PEXPIRE", "d", "-1")
    client.execute("EXPIRE", "d", "-1")  # there is no such key any more
    client.execute("EXPIRE", "e", "100")
    client.execute("PEXPIRE", "f", "5")
    server.advance(100)
    client.execute("MOVE", "e", "1")
    client.execute("FLUSHALL")
    assert [(line["command"], line["keys"]) for line in lines(server)] == [
        ("unlink", ["a"]),
        ("rename", ["b", "c"]),
        ("getdel", ["c"]),
        ("pexpire", ["d"]),
        ("expired", ["f"]),
        ("move", ["e"]),
        ("flushall", []),
    ]


def test_an_evicted_key_has_a_line() -> None:
    server = audited("keys-removed", maxmemory_policy="allkeys-lru")
    client = server.connect()
    client.execute("SET", "k", "v" * 1000)
    client.execute("CONFIG", "SET", "maxmemory", "1")
    client.execute("PING")
    assert [(line["command"], line["keys"]) for line in lines(server)] == [("evicted", ["k"])]


def test_a_blocked_request_has_one_line() -> None:
    server = audited("all")
    waiter, client = server.connect(), server.connect()
    waiter.execute("BLPOP", "q", "0")
    client.execute("RPUSH", "q", "1")
    assert b"$1\r\n1" in waiter.received()
    assert events(server) == [("request", "blpop", "waits"), ("request", "rpush", "ok")]


def test_a_change_of_what_is_recorded_is_recorded() -> None:
    server = audited("auth")
    client = server.connect()
    client.execute("CONFIG", "SET", "maxclients", "50")
    client.execute("CONFIG", "SET", "audit-events", "keys-removed,auth")
    assert client.execute("CONFIG", "GET", "audit-events").endswith(b"auth,keys-removed\r\n")
    client.execute("DEL", "a")
    client.execute("CONFIG", "SET", "audit-events", "")
    client.execute("DEL", "a")
    found = [(line["command"], line.get("about")) for line in lines(server)]
    assert found[0] == ("config|set", ["audit-events"])
    assert found[1] == ("del", None)
    assert not server.instance.monitors


def test_events_need_a_file() -> None:
    client = InProcessServer().connect()
    refused = client.execute("CONFIG", "SET", "audit-events", "all")
    assert refused.endswith(b"there is no audit-log, which is set at the start\r\n")
    refused = client.execute("CONFIG", "SET", "audit-events", "all,some")
    assert b"argument(s) must be some of the following" in refused
    assert b"can't set immutable" in client.execute("CONFIG", "SET", "audit-log", "x")


def test_keys_are_limited_in_number_and_size() -> None:
    server = audited("keys-removed")
    client = server.connect()
    client.execute("DEL", *[f"k{number}" for number in range(MOST_KEYS + 7)])
    client.execute("DEL", b"\xff" + b"x" * (MOST_KEY_BYTES + 4))
    many, long = lines(server)
    assert len(many["keys"]) == MOST_KEYS  # type: ignore[arg-type]
    assert many["keys_left_out"] == 7
    assert long["keys"] == ["\\xff" + "x" * (MOST_KEY_BYTES - 1) + "... (5 more bytes)"]


def test_the_name_of_a_client_is_limited_in_size() -> None:
    server = audited("config")
    client = server.connect()
    client.execute("CLIENT", "SETNAME", "n" * (MOST_KEY_BYTES + 5))
    client.execute("CONFIG", "RESETSTAT")
    assert lines(server)[0]["name"] == "n" * MOST_KEY_BYTES + "... (5 more bytes)"


def test_what_a_primary_sends_has_no_line() -> None:
    server = audited("all")
    client: InProcessClient = server.connect()
    client.state.replays = True
    client.execute("SET", "a", "1")
    client.execute("EVAL", "redis.call('set', 'a', 1)", "0")
    assert lines(server) == []


def test_the_end_of_the_server_has_its_line() -> None:
    server = audited("admin")
    server.connect().execute("SHUTDOWN", "NOSAVE")
    assert server.shutdown_requested
    text = server.files.snapshot()["audit.log"]
    assert json.loads(text)["command"] == "shutdown"


def test_a_login_by_certificate_has_a_line() -> None:
    server = audited("auth", user="ann on nopass +@all")
    access = server.instance.feature(AccessControl)
    access.log_in_by_certificate(server.connect().state, [b"unknown", b"ann"])
    access.log_in_by_certificate(server.connect().state, [SECRET.encode()])
    found = [(line["command"], line["user"], line["outcome"]) for line in lines(server)]
    assert found == [("tls-cert", "ann", "ok"), ("tls-cert", "default", "NOPERM")]
    assert SECRET.encode() not in server.files.snapshot()["audit.log"]
