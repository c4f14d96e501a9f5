"""Who counts as local, and what that allows.

CONFIG.
"""

from __future__ import annotations

import pytest

from commands.server.config import is_allowed, is_local
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import decode, info_fields, pairs, server_with


@pytest.mark.parametrize(
    ("address", "local"),
    [
        (b"127.0.0.1:5000", True),
        (b"127.8.9.10:5000", True),
        (b"[::1]:5000", True),
        (b"", True),
        (b"10.0.0.1:5000", False),
        (b"[::1:2]:5000", False),
        (b"[fe80::1]:5000", False),
    ],
)
def test_a_client_is_local_by_its_address(address: bytes, local: bool) -> None:
    client = InProcessServer().connect().state
    client.address = address
    assert is_local(client) is local


def test_a_unix_socket_is_local() -> None:
    client = InProcessServer().connect().state
    client.address, client.connection.unix_socket = b"/run/rillway.sock:0", True
    assert is_local(client)


@pytest.mark.parametrize(
    ("setting", "near", "far"), [("yes", True, True), ("local", True, False), ("no", False, False)]
)
def test_a_setting_lets_everyone_the_local_ones_or_no_one(
    setting: str, near: bool, far: bool
) -> None:
    client = InProcessServer().connect().state
    assert is_allowed(setting, client) is near
    client.address = b"10.0.0.1:5000"
    assert is_allowed(setting, client) is far


def get(client: InProcessClient, *patterns: str) -> dict[bytes, bytes]:
    return pairs(decode(client.execute("CONFIG", "GET", *patterns)))


def failed(name: str, reason: str) -> bytes:
    text = f"-ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}\r\n"
    return text.encode()


# -- GET -----------------------------------------------------------------------------------------


def test_get_takes_names_and_patterns_and_answers_each_directive_once(
    client: InProcessClient,
) -> None:
    reply = client.execute("CONFIG", "GET", "port", "PORT", "p?rt", "stream-node-*")
    assert pairs(decode(reply)) == {
        b"port": b"6379",
        b"stream-node-max-bytes": b"4096",
        b"stream-node-max-entries": b"100",
    }


def test_get_answers_what_benchmarks_and_clients_ask_for(client: InProcessClient) -> None:
    assert get(client, "save", "appendonly", "maxmemory", "maxmemory-policy") == {
        b"save": b"",
        b"appendonly": b"no",
        b"maxmemory": b"0",
        b"maxmemory-policy": b"noeviction",
    }


def test_get_of_nothing_known_is_an_empty_map(client: InProcessClient) -> None:
    assert client.execute("CONFIG", "GET", "nonsense", b"\xff*") == b"*0\r\n"


def test_get_is_a_map_in_resp3(client: InProcessClient) -> None:
    client.execute("HELLO", "3")
    assert client.execute("CONFIG", "GET", "hz") == b"%1\r\n$2\r\nhz\r\n$2\r\n10\r\n"


# -- SET -----------------------------------------------------------------------------------------


def test_set_changes_several_directives(client: InProcessClient) -> None:
    assert client.execute("CONFIG", "SET", "HZ", "20", "timeout", "7") == b"+OK\r\n"
    assert get(client, "hz", "timeout") == {b"hz": b"20", b"timeout": b"7"}


def test_a_refused_value_leaves_every_directive_as_it_was(
    server: InProcessServer, client: InProcessClient
) -> None:
    before = dict(vars(server.instance.config))
    reply = client.execute(
        "CONFIG", "SET", "notify-keyspace-events", "AKE", "timeout", "7", "hz", "abc"
    )
    assert reply == failed("hz", "argument couldn't be parsed into an integer")
    assert vars(server.instance.config) == before


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        (
            ("nope", "1"),
            b"-ERR Unknown option or number of arguments for CONFIG SET - 'nope'\r\n",
        ),
        (("hz", "1", "port"), b"-ERR syntax error\r\n"),
        (("hz", "10", "HZ", "20"), failed("hz", "duplicate parameter")),
        (
            ("replica-priority", "1", "slave-priority", "2"),
            failed("slave-priority", "duplicate parameter"),
        ),
        (("databases", "3", "nope", "1"), failed("databases", "can't set immutable config")),
        (
            ("enable-debug-command", "yes"),
            failed("enable-debug-command", "can't set immutable config"),
        ),
        (("dir", "/"), failed("dir", "can't set protected config")),
        (
            ("timeout", "-1"),
            failed("timeout", "argument must be between 0 and 2147483647 inclusive"),
        ),
        (("protected-mode", "maybe"), failed("protected-mode", "argument must be 'yes' or 'no'")),
        (
            ("io-threads", "4"),
            failed(
                "io-threads",
                "can't set immutable config",
            ),
        ),
    ],
)
def test_set_refuses_with_the_text_of_redis(
    client: InProcessClient, words: tuple[str, ...], reply: bytes
) -> None:
    assert client.execute("CONFIG", "SET", *words) == reply


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lazyfree-lazy-user-del", "yes"),
        ("crash-log-enabled", "no"),
        ("lazyfree-lazy-user-flush", "yes"),
    ],
)
def test_an_inert_directive_is_set_and_shown_and_the_log_says_that_it_has_no_effect(
    client: InProcessClient, name: str, value: str
) -> None:
    assert client.execute("CONFIG", "SET", name, value) == b"+OK\r\n"
    assert get(client, name) == {name.encode(): value.encode()}
    assert ("notice", f"CONFIG SET: without effect here: {name}") in client.server.log_lines


def test_the_off_value_of_a_missing_feature_can_be_set(client: InProcessClient) -> None:
    assert client.execute("CONFIG", "SET", "socket-mark-id", "0", "maxmemory", "0") == b"+OK\r\n"


def test_a_protected_directive_can_be_set_by_whom_the_configuration_lets() -> None:
    server = server_with(enable_protected_configs="local")
    near, far = server.connect(), server.connect()
    far.state.address = b"10.0.0.1:4711"
    assert near.execute("CONFIG", "SET", "dir", "/") == b"+OK\r\n"
    assert far.execute("CONFIG", "SET", "dir", "/tmp") == failed(
        "dir", "can't set protected config"
    )


def test_only_changed_directives_are_applied_to_the_server(
    server: InProcessServer, client: InProcessClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(server, "apply_config", told.extend)
    client.execute("CONFIG", "SET", "hz", "10", "timeout", "5", "save", "")
    assert told == ["timeout"]


def test_when_the_server_cannot_follow_everything_goes_back(
    server: InProcessServer, client: InProcessClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, int]] = []

    def apply(names: list[str]) -> None:
        seen.append((names[0], server.instance.config.timeout))
        if names == ["port"]:
            raise ValueError("Unable to listen on this port. Check server logs.")

    monkeypatch.setattr(server, "apply_config", apply)
    reply = client.execute("CONFIG", "SET", "timeout", "5", "port", "1", "hz", "20")
    assert reply == failed("port", "Unable to listen on this port. Check server logs.")
    assert get(client, "timeout", "port", "hz") == {
        b"timeout": b"0",
        b"port": b"6379",
        b"hz": b"10",
    }
    assert seen == [("timeout", 5), ("port", 5), ("timeout", 0)]


def test_a_new_password_concerns_new_connections_only(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("CONFIG", "SET", "requirepass", "secret")
    assert client.execute("PING") == b"+PONG\r\n"
    assert server.connect().execute("PING") == b"-NOAUTH Authentication required.\r\n"


# -- RESETSTAT, REWRITE, HELP --------------------------------------------------------------------


def test_resetstat_sets_the_counters_of_info_to_zero(client: InProcessClient) -> None:
    client.execute("GET", "missing")
    client.execute("NONSENSE")
    client.execute("CONFIG", "RESETSTAT")
    fields = info_fields(client.execute("INFO", "stats", "errorstats", "commandstats"))
    assert fields["keyspace_misses"] == fields["total_error_replies"] == "0"
    assert "errorstat_ERR" not in fields
    assert "cmdstat_get" not in fields


def test_rewrite_without_a_file_is_refused(client: InProcessClient) -> None:
    reply = client.execute("CONFIG", "REWRITE")
    assert reply == b"-ERR The server is running without a config file\r\n"


def test_a_rewrite_that_fails_says_why(
    server: InProcessServer, client: InProcessClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(server, "rewrite_config", refuse)
    reply = client.execute("CONFIG", "REWRITE")
    assert reply == b"-ERR Rewriting config file: Read-only file system\r\n"


def test_rewrite_answers_ok(
    server: InProcessServer, client: InProcessClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "rewrite_config", lambda: None)
    assert client.execute("CONFIG", "REWRITE") == b"+OK\r\n"


def test_help_names_every_subcommand(client: InProcessClient) -> None:
    lines = decode(client.execute("CONFIG", "HELP"))
    assert {line.split()[0] for line in lines if not line.startswith(b" ")} == {
        b"CONFIG", b"GET", b"SET", b"RESETSTAT", b"REWRITE", b"HELP",
    }  # fmt: skip
