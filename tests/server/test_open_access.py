"""server/open_access.py: when the log warns that the server accepts anyone."""

from __future__ import annotations

import pytest

from commands.config.configuration import Configuration
from server.open_access import exposure_warning, metrics_warning

EVERYWHERE = [("tcp", "*", 6379), ("tcp", "::*", 6379)]
ENCRYPTED = [("tls", "*", 6379)]
LOOPBACK = [("tcp", "127.0.0.1", 6379), ("tcp", "::1", 6379), ("unix", "/run/rillway.sock", 0)]


def configured(**directives: str) -> Configuration:
    config = Configuration()
    for name, text in directives.items():
        config.set(name.replace("_", "-"), [text])
    return config


def test_without_a_password_and_protection_it_is_open() -> None:
    listeners = [*LOOPBACK, *EVERYWHERE]
    warning = exposure_warning(configured(protected_mode="no"), listeners, requires_login=False)
    assert warning is not None and "\n" not in warning
    assert "everyone who reaches port 6379 on * or port 6379 on ::* may" in warning
    assert "RILLWAY_REQUIREPASS" in warning


def test_a_tls_port_is_open_if_clients_need_no_certificate() -> None:
    for mode, is_open in (("no", True), ("optional", False), ("yes", False)):
        config = configured(protected_mode="no", tls_auth_clients=mode)
        warning = exposure_warning(config, ENCRYPTED, requires_login=False)
        assert (warning is not None) is is_open


@pytest.mark.parametrize(
    ("mode", "listeners", "requires_login"),
    [
        ("no", EVERYWHERE, True),
        ("yes", EVERYWHERE, False),
        ("no", LOOPBACK, False),
        ("no", [], False),
    ],
)
def test_otherwise_there_is_nothing_to_warn_of(
    mode: str, listeners: list[tuple[str, str, int]], requires_login: bool
) -> None:
    config = configured(protected_mode=mode)
    assert exposure_warning(config, listeners, requires_login=requires_login) is None


def test_metrics_that_others_may_read_are_worth_a_warning() -> None:
    assert metrics_warning(configured(), ["127.0.0.1", "::1"]) is None
    assert metrics_warning(configured(metrics_user="health"), ["*"]) is None
    warning = metrics_warning(configured(metrics_port="9121"), ["127.0.0.1", "10.0.0.7"])
    assert "port 9121 on 10.0.0.7" in str(warning)
