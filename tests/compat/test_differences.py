"""Every entry of the tables of differences is true of both servers."""

from __future__ import annotations

import re

import pytest

from tests.compat.differences import NEWER_THAN_7_0, NEWER_THAN_8_2, Difference, Shown
from tests.support.programs.redis_cli import render, split_line
from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.compat


def printed(server: RunningServer, lines: tuple[str, ...]) -> str:
    with server.connect() as client:
        client.send("FLUSHALL")
        return render([client.send(*split_line(line)) for line in lines][-1])


def is_as_shown(text: str, shown: str) -> bool:
    return re.fullmatch(re.escape(shown).replace("<ms>", r"\d+"), text) is not None


def check(shown: Shown, ours: RunningServer, theirs: RunningServer) -> None:
    assert shown.redis != shown.rillway
    redis = printed(theirs, shown.commands)
    assert is_as_shown(redis, shown.redis), redis
    rillway = printed(ours, shown.commands)
    assert is_as_shown(rillway, shown.rillway), rillway


@pytest.mark.parametrize("difference", NEWER_THAN_8_2, ids=lambda difference: difference.name)
def test_what_is_newer_than_redis_82_is_as_the_table_says(
    difference: Difference, rillway_server: RunningServer, redis_server: RunningServer
) -> None:
    check(difference.shown, rillway_server, redis_server)


@pytest.mark.parametrize("difference", NEWER_THAN_7_0, ids=lambda difference: difference.name)
def test_what_changed_since_redis_70_is_as_the_table_says(
    difference: Difference, rillway_server: RunningServer, older_redis_server: RunningServer
) -> None:
    check(difference.shown, rillway_server, older_redis_server)


@pytest.mark.parametrize("difference", NEWER_THAN_7_0, ids=lambda difference: difference.name)
def test_redis_82_answers_as_rillway_does(
    difference: Difference, redis_server: RunningServer
) -> None:
    redis = printed(redis_server, difference.shown.commands)
    assert is_as_shown(redis, difference.shown.rillway), redis
