"""URLs as redis-py takes them: refused, shown, changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rillway.pipeline.wire.urls import check_url, public_url, with_database, with_timeout


def test_a_public_url_has_no_password() -> None:
    assert public_url("redis://:secret@host:1/2?password=secret") == "redis://:***@host:1/2"
    assert public_url("redis://host:1/2") == "redis://host:1/2"
    assert public_url("unix:///run/a.sock?db=1") == "unix:///run/a.sock"


def test_a_url_that_is_none_is_refused() -> None:
    check_url("rediss://host:1")
    with pytest.raises(ValueError, match="scheme"):
        check_url("http://host")
    with pytest.raises(ValueError, match="a URL rediss:// has no option ssl_ca_cert"):
        check_url("rediss://host:1?ssl_ca_cert=ca.pem")


def test_a_file_of_a_url_that_is_missing_is_named(tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    with pytest.raises(ValueError, match=f"ssl_ca_certs={authority}: there is no such file"):
        check_url(f"rediss://host:1?ssl_ca_certs={authority}")
    authority.touch()
    check_url(f"rediss://host:1?ssl_ca_certs={authority}")


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("redis://h:1/2", "redis://h:1/2?socket_timeout=6.0"),
        ("redis://h:1/2?socket_timeout=2&db=3", "redis://h:1/2?db=3&socket_timeout=2.0"),
        ("unix:///a/b.sock?socket_timeout=9", "unix:///a/b.sock?socket_timeout=6.0"),
    ],
)
def test_a_url_has_another_timeout_unless_its_own_is_shorter(url: str, found: str) -> None:
    assert with_timeout(url, 6.0) == found


def test_the_database_takes_the_place_of_the_one_in_the_url() -> None:
    assert with_database("redis://host/2", 5) == "redis://host/2?db=5"
    assert with_database("unix:///s?db=1&x=y", 5) == "unix:///s?x=y&db=5"
    assert with_database("redis://h:1/0?x=1&db=2", 5) == "redis://h:1/0?x=1&db=5"
    assert with_database("redis://h", None) == "redis://h"
