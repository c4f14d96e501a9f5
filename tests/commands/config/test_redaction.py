"""Requests without their passwords."""

from __future__ import annotations

import pytest

import commands.catalogue  # noqa: F401  (declares every command)
from commands.config.redaction import redacted, without_bytes
from commands.core.registry import COMMANDS, find
from server.inprocess.server import InProcessServer


@pytest.mark.parametrize(
    ("request_text", "shown"),
    [
        (b"AUTH secret", b"AUTH (redacted)"),
        (b"auth joe secret", b"auth (redacted) (redacted)"),
        (b"HELLO 3", b"HELLO 3"),
        (b"HELLO 3 AUTH joe secret SETNAME n", b"HELLO 3 AUTH (redacted) (redacted) SETNAME n"),
        (
            b"HELLO 3 setname auth auth joe secret",
            b"HELLO 3 setname auth auth (redacted) (redacted)",
        ),
        (b"HELLO 3 AUTH joe", b"HELLO 3 AUTH (redacted)"),
        (b"CONFIG SET hz 10 RequirePass p", b"CONFIG SET hz 10 RequirePass (redacted)"),
        (b"acl SetUser ann on >p", b"acl SetUser (redacted) (redacted) (redacted)"),
        (b"ACL GETUSER ann", b"ACL GETUSER (redacted)"),
        (b"ACL DELUSER ann bob", b"ACL DELUSER (redacted) (redacted)"),
        (b"ACL DRYRUN ann GET k", b"ACL DRYRUN ann GET k"),
        (b"CONFIG GET requirepass", b"CONFIG GET requirepass"),
        (b"SET auth secret", b"SET auth secret"),
    ],
)
def test_only_what_is_secret_is_hidden(request_text: bytes, shown: bytes) -> None:
    argv = request_text.split(b" ")
    command = find(argv, COMMANDS)
    assert command is not None
    assert redacted(argv, command.fullname) == shown.split(b" ")
    assert argv == request_text.split(b" ")


def test_a_renamed_command_hides_its_secrets_too() -> None:
    assert redacted([b"login", b"secret"], b"auth") == [b"login", b"(redacted)"]


def test_bytes_in_a_message_are_hidden() -> None:
    words = [b"it's", b'q"b', b"both ' and \""]
    message = f"key {b'k'!r} of {words}, 'x' and web'"
    hidden = "key *redacted* of [*redacted*, *redacted*, *redacted*], 'x' and web'"
    assert without_bytes(message) == hidden


@pytest.fixture(params=["no", "yes"])
def server(request: pytest.FixtureRequest) -> InProcessServer:
    return InProcessServer(hide_user_data_from_log=request.param)


def is_in_log(server: InProcessServer, text: str) -> bool:
    """Whether the log shows a text; if it does not, that it is hidden."""
    line = server.log_lines[-1][1]
    assert (text in line) != ("*redacted*" in line)
    assert server.instance.config.hide_user_data_from_log == ("*redacted*" in line)
    return text in line


def test_the_names_of_a_client_are_hidden_in_the_log_only(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("ACL", "SETUSER", "secret", "nopass", "on", "+@all")
    client.execute("AUTH", "secret", "x")
    for words in (
        ("CLIENT", "SETNAME", "secret"),
        ("CLIENT", "SETINFO", "LIB-NAME", "secret"),
        ("CLIENT", "SETINFO", "LIB-VER", "secret"),
        ("REPLICAOF", "localhost", "1"),
    ):
        assert client.execute(*words) == b"+OK\r\n"
    is_in_log(server, "secret")
    assert client.execute("CLIENT", "INFO").count(b"=secret") == 4


def test_rules_are_hidden(server: InProcessServer) -> None:
    server.connect().execute("ACL", "SETUSER", "u", "+get|secret")
    is_in_log(server, "get|secret")


def test_data_in_the_traceback_of_a_defect_are_hidden(
    server: InProcessServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(client: object, argv: list[bytes]) -> bytes:
        raise KeyError(argv[1])

    monkeypatch.setattr(COMMANDS[b"echo"], "handler", fails)
    assert server.connect().execute("ECHO", "secret").startswith(b"-ERR internal error")
    is_in_log(server, "secret")
    assert "The command 'echo' failed: Traceback" in server.log_lines[-1][1]
