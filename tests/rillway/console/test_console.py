"""Sessions, links and watches of one console."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from rillway.console.console import Console, ConsoleSettings, Kind, kind_of
from rillway.console.data.link import with_user
from rillway.console.watch import SHARE
from server.inprocess.server import InProcessClient
from tests.rillway.console.conftest import Open


def test_dead_letters_are_beside_their_stream_unless_it_is_said() -> None:
    settings = ConsoleSettings("redis://127.0.0.1", dead_letters={b"a": b"b"})
    assert settings.dead_letters_of(b"a") == b"b"
    assert settings.dead_letters_of(b"\xff") == b"\xff:dead"


async def test_all_viewers_of_an_open_console_share_a_session(open_console: Open) -> None:
    async with open_console() as browser:
        console = browser.console
        assert console.session(None) is console.session("guess")
        assert console.sessions.links() == set()


async def test_two_sessions_of_a_user_share_a_link_and_it_is_closed_after_both(
    open_console: Open, client: InProcessClient, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    client.execute("CONFIG", "SET", "requirepass", "admin")
    async with open_console(Kind.ACL) as browser:
        console = browser.console
        first, second = [await console.log_in("default", "admin") for _ in range(2)]
        sessions = [console.session(secret) for secret in (first, second)]
        assert sessions[0] is not None and sessions[1] is not None
        assert sessions[0].link is sessions[1].link and sessions[0].token != sessions[1].token
        assert await console.log_in("default", "wrong") is None
        await console.audience(sessions[0], 0)
        assert len(console._audiences) == 1
        await console.clean_up()
        assert len(console._audiences) == 1
        clock[0] = 13 * 3600.0
        await console.clean_up()
        assert len(console._audiences) == 0 and len(console._links) == 0


async def test_watches_share_the_time_of_the_server(open_console: Open) -> None:
    async with open_console() as browser:
        session = browser.console.session(None)
        assert session is not None
        audiences = [await browser.console.audience(session, db) for db in (0, 1, 0)]
        assert audiences[0] is audiences[2] is not audiences[1]
        assert sum(one.watch.sampler.budget.share for one in audiences[:2]) == SHARE
        with pytest.raises(redis.ResponseError):
            await browser.console.audience(session, 99)


async def test_a_login_that_the_server_does_not_take_is_none(
    open_console: Open, client: InProcessClient
) -> None:
    client.execute("CONFIG", "SET", "requirepass", "admin")
    client.execute("ACL", "SETUSER", "anna", "on", ">a", "~*", "-@all", "+select")
    async with open_console(Kind.ACL) as browser:
        console = browser.console
        assert await console.log_in("anna", "a") is not None  # who may not PING
        with pytest.raises(redis.RedisError):
            await console.log_in("a" * 60_000, "guess")
        assert len(console._links) == 1


async def test_without_the_right_to_select_there_is_one_database(
    open_console: Open, client: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "anna", "on", ">a", "~*", "+@all", "-select")
    client.execute("CONFIG", "SET", "requirepass", "admin")
    async with open_console(Kind.ACL) as browser:
        session = browser.console.session(await browser.console.log_in("anna", "a"))
        assert session is not None
        with pytest.raises(redis.exceptions.NoPermissionError):
            await browser.console.audience(session, 60_000)
        assert not browser.console._audiences


@pytest.mark.integration
async def test_whether_a_login_is_needed_is_what_the_server_says(real: Any, url: str) -> None:
    assert await kind_of(ConsoleSettings(url)) is Kind.OPEN
    assert await kind_of(ConsoleSettings(url, password="geheim")) is Kind.PASSWORD
    real.config_set("requirepass", "secret")
    try:
        assert await kind_of(ConsoleSettings(url)) is Kind.ACL
        assert await kind_of(ConsoleSettings(with_user(url, "default", "secret"))) is Kind.OPEN
        with pytest.raises(redis.AuthenticationError):
            await kind_of(ConsoleSettings(with_user(url, "default", "wrong")))
        console = Console(ConsoleSettings(url), Kind.ACL)
        assert await console.log_in("", "wrong") is None
        assert await console.log_in("", "secret") is not None
        await console.close()
    finally:
        real.execute_command("AUTH", "secret")
        real.config_set("requirepass", "")


async def test_a_server_that_is_not_there_is_an_error() -> None:
    with pytest.raises(redis.ConnectionError):
        await kind_of(ConsoleSettings("redis://127.0.0.1:1"))
