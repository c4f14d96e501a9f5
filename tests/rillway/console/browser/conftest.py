"""Chromium, one for the session, with a context a test; and consoles over Rillway."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

import pytest
import redis
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.rillway.console.processes import console
from tests.support.programs.servers import RunningServer

# A name of somebody else that leads to this machine: DNS rebinding.
FOREIGN = "rebound.example"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    f"--host-resolver-rules=MAP {FOREIGN} 127.0.0.1",
]
INSTALL = (
    "chromium is not installed. On Debian: apt-get install chromium (`make chromium` does it)."
)

OpenPage: TypeAlias = Callable[..., AbstractContextManager[Page]]

# The sampler takes its share of the server only, which may be slow at the moment.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium")
    assert path is not None, INSTALL
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser) -> OpenPage:
    """Opens a page in a context of its own; errors of its scripts, and dialogs, fail the test."""

    @contextmanager
    def open_(base_url: str, **options: Any) -> Iterator[Page]:
        context = chromium.new_context(base_url=base_url, **options)
        page = context.new_page()
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        yield page
        context.close()
        assert troubles == []

    return open_


@pytest.fixture(scope="session")
def address(rillway_server: RunningServer) -> Iterator[str]:
    """A console over `rillway_server`."""
    with console("--url", f"redis://127.0.0.1:{rillway_server.port}") as address:
        yield address


@pytest.fixture
def data(rillway_server: RunningServer) -> Iterator[Any]:
    """A client of that server, which is empty."""
    with redis.Redis(port=rillway_server.port) as client:
        client.flushall()
        yield client


@pytest.fixture
def orders(data: Any) -> Any:
    """Twelve entries; anna has four pending, carla two."""
    for number in range(1, 13):
        data.xadd("orders", {"item": f"lamp {number}"}, id=f"{number}-0")
    data.xgroup_create("orders", "mailers", id="0")
    data.xreadgroup("mailers", "anna", {"orders": ">"}, count=4)
    data.xreadgroup("mailers", "carla", {"orders": ">"}, count=2)
    return data


@pytest.fixture
def page(open_page: OpenPage, address: str) -> Iterator[Page]:
    """A page at the console."""
    with open_page(address) as page:
        yield page
