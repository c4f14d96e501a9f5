"""Leases, with a real server."""

from __future__ import annotations

import pytest

from rillway.pipeline.archive.lease import Lease, LeaseLost, LeaseTaken
from rillway.pipeline.client.connection import Connection

KEY = "__archive:x:lease:{orders}"


def lease(connection: Connection) -> Lease:
    return Lease(connection.url, KEY, "archiving orders")


def test_a_second_holder_is_told_who_the_first_is(link: Connection) -> None:
    with lease(link), pytest.raises(LeaseTaken, match="process"), lease(link):
        pass


def test_it_is_given_back(link: Connection) -> None:
    for _ in range(2):
        with lease(link) as held:
            held.check()
    assert link.call("EXISTS", KEY) == 0


@pytest.mark.parametrize("change", [("DEL", KEY), ("SET", KEY, "somebody else")])
def test_a_lost_one_is_noticed(redis_link: Connection, change: tuple[str, ...]) -> None:
    with lease(redis_link) as held:
        redis_link.call(*change)
        with pytest.raises(LeaseLost):
            held.check()


def test_another_holders_key_is_left_alone(redis_link: Connection) -> None:
    with lease(redis_link):
        redis_link.call("SET", KEY, "somebody else")
    assert redis_link.call("GET", KEY) == b"somebody else"


def test_it_expires_by_itself(redis_link: Connection) -> None:
    with lease(redis_link):
        assert 0 < redis_link.call("PTTL", KEY) <= 30_000
