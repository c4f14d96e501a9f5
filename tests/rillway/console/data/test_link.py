"""The connections of one user."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from rillway.console.data.link import Link, error_code, with_user
from rillway.pipeline.wire.urls import with_database


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://host:1/2", "redis://a%2Fb:p%40%3A@host:1/2"),
        ("rediss://x:y@host?ssl_cert_reqs=none", "rediss://a%2Fb:p%40%3A@host?ssl_cert_reqs=none"),
        ("unix:///tmp/s?db=1", "unix://a%2Fb:p%40%3A@/tmp/s?db=1"),
    ],
)
def test_credentials_take_the_place_of_those_in_the_url(url: str, expected: str) -> None:
    assert with_user(url, "a/b", "p@:") == expected


def test_the_default_database_is_that_of_the_url() -> None:
    assert Link(with_database("redis://host/2", 5)).default_db == 5
    assert Link("redis://host").default_db == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (redis.exceptions.NoPermissionError("User x has no permissions"), "NOPERM"),
        (redis.AuthenticationError("Authentication required."), "NOAUTH"),
        (redis.ResponseError("WRONGTYPE Operation"), "WRONGTYPE"),
        (redis.ResponseError("no such key"), "ERR"),
        (redis.ResponseError("DB index is out of range"), "ERR"),
    ],
)
def test_the_code_of_an_error(error: Exception, code: str) -> None:
    assert error_code(error) == code


@pytest.mark.integration
async def test_replies_are_as_they_came(link: Link) -> None:
    assert await link.call(0, "XADD", "s", "1-0", b"\xff", "v") == b"1-0"
    assert await link.call(0, "XRANGE", "s", "-", "+") == [[b"1-0", [b"\xff", b"v"]]]
    first, second = await link.call_all(0, [("XLEN", "s"), ("XLEN",)])
    assert first == 1 and isinstance(second, redis.ResponseError)
    assert await link.call(3, "XLEN", "s") == 0
    with pytest.raises(redis.ResponseError):
        await link.call(0, "XADD", "s", "1-0", "n", "v")


@pytest.mark.integration
async def test_each_user_has_connections_of_its_own(link: Link, real: Any, url: str) -> None:
    real.execute_command("ACL", "SETUSER", "anna", "on", ">se:cr@t/", "~*", "+acl|whoami")
    anna = Link(url, "anna", "se:cr@t/")
    try:
        assert await anna.call(0, "ACL", "WHOAMI") == b"anna"
        with pytest.raises(redis.exceptions.NoPermissionError):
            await anna.call(0, "PING")
        assert await link.call(0, "ACL", "WHOAMI") == b"default"
    finally:
        await anna.close()
        real.execute_command("ACL", "DELUSER", "anna")
