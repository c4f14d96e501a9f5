"""Who supervises the process."""

from __future__ import annotations

import pytest

from server.process import supervisor


@pytest.mark.parametrize(
    ("mode", "environment", "found"),
    [
        ("no", {"NOTIFY_SOCKET": "/run/s"}, "no"),
        ("systemd", {"NOTIFY_SOCKET": "/run/s"}, "systemd"),
        ("upstart", {"UPSTART_JOB": "rillway"}, "upstart"),
        ("auto", {"NOTIFY_SOCKET": "/run/s"}, "systemd"),
        ("auto", {"UPSTART_JOB": "rillway"}, "upstart"),
        ("auto", {}, "no"),
    ],
)
def test_the_supervisor_is_the_one_that_left_its_variable(
    mode: str, environment: dict[str, str], found: str
) -> None:
    warnings: list[str] = []
    assert supervisor(mode, environment, warnings.append) == found
    assert not warnings


def test_a_supervisor_that_did_not_start_the_process_is_warned_of() -> None:
    warnings: list[str] = []
    assert supervisor("systemd", {"UPSTART_JOB": "x"}, warnings.append) == "no"
    assert warnings == [
        "supervised systemd: NOTIFY_SOCKET is not set, so systemd did not start this process."
    ]
