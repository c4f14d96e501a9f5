"""The Host headers that /metrics answers without a login."""

from __future__ import annotations

import pytest

from server.metrics.hosts import is_own_host


@pytest.mark.parametrize(
    "header",
    [
        "127.0.0.1:9121", "127.0.0.1", "[::1]:9121", "[::1]", "localhost:9121", "LOCALHOST",
        "10.0.0.7:9121", "[fe80::1]:9121", "db1:9121", "DB1", "metrics.example:9121",
    ],
)  # fmt: skip
def test_addresses_and_own_names_are_answered(header: str) -> None:
    assert is_own_host(header, ["127.0.0.1", "-metrics.example"], "db1")


@pytest.mark.parametrize(
    "header",
    [
        "", ":9121", "evil.example", "evil.example:9121", "127.0.0.1.evil.example",
        "localhost.evil.example:80", "db1.evil.example", "[::1", "db1@evil.example", "2130706433",
        "0x7f.1", "127.1", "localhost.", "*", "evil.example/127.0.0.1",
    ],
)  # fmt: skip
def test_other_names_are_refused(header: str) -> None:
    assert not is_own_host(header, ["127.0.0.1", "-::1"], "db1")
