"""Every entry of the table of differences is true of both servers."""

from __future__ import annotations

import re

import pytest

from tests.compat.differences import DIFFERENCES, Difference
from tests.support.programs.redis_cli import render, split_line
from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.compat


def printed(server: RunningServer, lines: tuple[str, ...]) -> str:
    with server.connect() as client:
        client.send("FLUSHALL")
        return render([client.send(*split_line(line)) for line in lines][-1])


def is_as_shown(text: str, shown: str) -> bool:
    return re.fullmatch(re.escape(shown).replace("<ms>", r"\d+"), text) is not None


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.name)
def test_a_difference_is_as_the_table_says(
    difference: Difference, rillway_server: RunningServer, redis_server: RunningServer
) -> None:
    shown = difference.shown
    assert shown.redis != shown.rillway
    redis = printed(redis_server, shown.commands)
    assert is_as_shown(redis, shown.redis), redis
    rillway = printed(rillway_server, shown.commands)
    assert is_as_shown(rillway, shown.rillway), rillway
