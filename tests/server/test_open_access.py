"""server/open_access.py: when the log warns that the server accepts anyone."""

from __future__ import annotations

import pytest

from commands.config.configuration import Configuration
from server.open_access import exposure_warning

EVERYWHERE = [("tcp", "*", 6379), ("tcp", "::*", 6379)]
LOOPBACK = [("tcp", "127.0.0.1", 6379), ("tcp", "::1", 6379), ("unix", "/run/rillway.sock", 0)]


def configured(**directives: str) -> Configuration:
    config = Configuration()
    for name, text in directives.items():
        config.set(name.replace("_", "-"), [text])
    return config


def test_without_a_password_and_protection_it_is_open() -> None:
    warning = exposure_warning(configured(protected_mode="no"), [*LOOPBACK, *EVERYWHERE])
    assert warning is not None and "\n" not in warning
    assert "everyone who reaches port 6379 on * or port 6379 on ::* may" in warning
    assert "RILLWAY_REQUIREPASS" in warning


@pytest.mark.parametrize(
    ("directives", "listeners"),
    [
        ({"protected_mode": "no", "requirepass": "secret"}, EVERYWHERE),
        ({"protected_mode": "yes"}, EVERYWHERE),
        ({"protected_mode": "no"}, LOOPBACK),
        ({"protected_mode": "no"}, []),
    ],
)
def test_otherwise_there_is_nothing_to_warn_of(
    directives: dict[str, str], listeners: list[tuple[str, str, int]]
) -> None:
    assert exposure_warning(configured(**directives), listeners) is None
