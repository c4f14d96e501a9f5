"""Requests without their passwords."""

from __future__ import annotations

import pytest

import commands.catalogue  # noqa: F401  (declares every command)
from commands.config.redaction import redacted
from commands.core.registry import COMMANDS, find


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
