"""Draws docs/images: pages of the console, over data and by a clock that are always the same.

`make screenshots`. Server and console run in this process; Chromium gets each answer from here.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import Browser, Route, async_playwright

from rillway.console.application import create
from rillway.console.console import Console, ConsoleSettings, Kind
from rillway.console.data.link import Link
from rillway.console.watch import Watch
from server.inprocess.server import InProcessServer
from tests.doubles.in_process_link import InProcessLink

IMAGES = Path(__file__).parent / "images"
ORIGIN = "http://127.0.0.1:8001"
NOON_MS = int(datetime(2026, 11, 27, 12, tzinfo=UTC).timestamp() * 1000)
STEP_MS, SECONDS = 100, 330
PAGES = {
    "overview": "/",
    "stream": "/s/0/orders",
    "group": "/s/0/emails/g/mailers",
}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1100, "height": 660}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1100, "height": 660}},
    "narrow": {"color_scheme": "light", "viewport": {"width": 390, "height": 760}},
}
MAX_BYTES = 150_000
GOODS = ("lamp", "desk", "chair", "shelf", "rug", "mirror")
NAMES = ("anna", "bert", "carla", "dora")
# Stream -> entries a second, and its groups -> entries a second that each consumer reads.
TRAFFIC: dict[str, tuple[float, dict[str, float]]] = {
    "orders": (12.0, {"billing": 9.0, "shipping": 9.0}),
    "emails": (3.0, {"mailers": 0.4}),
    "payments": (5.0, {"ledger": 2.5}),
    "thumbnails": (2.0, {"workers": 0.3}),
    "audit": (8.0, {}),
}
# This one stops after a while, and stays dead.
DEAD, DIES_AT_S = ("mailers", "carla"), 200


class Shop:
    """Producers and consumers of a small shop, one step after the other."""

    def __init__(self, server: InProcessServer) -> None:
        self._client = server.connect()
        self._chance = random.Random(44)
        for stream, (_, groups) in TRAFFIC.items():
            for group in groups:
                self._client.execute("XGROUP", "CREATE", stream, group, "0", "MKSTREAM")

    def step(self, second: float) -> None:
        for stream, (rate, groups) in TRAFFIC.items():
            if self._chance.random() < rate * STEP_MS / 1000:
                self._client.execute("XADD", stream, "*", *self._fields(stream))
            for group, reads in groups.items():
                for name in NAMES[: 2 if reads > 2 else 3]:
                    is_dead = (group, name) == DEAD and second > DIES_AT_S
                    if not is_dead and self._chance.random() < reads * STEP_MS / 1000:
                        self._work(stream, group, name)

    def _fields(self, stream: str) -> list[str]:
        chance = self._chance
        if stream == "emails":
            return ["to", f"{chance.choice(NAMES)}@example.com", "template", "receipt"]
        fields = ["item", chance.choice(GOODS), "qty", str(chance.randint(1, 4))]
        return [*fields, "customer", str(chance.randint(1000, 9999))]

    def _work(self, stream: str, group: str, name: str) -> None:
        """Acknowledge what was read before, most of the time, and read the next."""
        words = ("GROUP", group, name, "COUNT", 3, "STREAMS", stream)
        owned = self._client.execute("XREADGROUP", *words, "0").decode().split("\r\n")
        ids = [word for word in owned if word.partition("-")[0].isdecimal() and "-" in word]
        if ids and self._chance.random() < 0.85:
            self._client.execute("XACK", stream, group, *ids)
        self._client.execute("XREADGROUP", *words, ">")


async def simulate(server: InProcessServer, watch: Watch, now: list[float]) -> None:
    shop = Shop(server)
    for step in range(SECONDS * 1000 // STEP_MS):
        now[0] += STEP_MS / 1000
        shop.step(now[0])
        server.advance(STEP_MS)
        server.instance.stats.sample(server.now_ms)
        await watch._step()
        if step % 10 == 0:
            watch.tick()


async def draw(browser: Browser, client: httpx.AsyncClient) -> None:
    async def answer(route: Route) -> None:
        if "/events" in route.request.url:
            await asyncio.Event().wait()  # open, and silent
        got = await client.get(route.request.url)
        await route.fulfill(status=got.status_code, headers=dict(got.headers), body=got.content)

    for look, options in LOOKS.items():
        for name, path in PAGES.items():
            context = await browser.new_context(**options, reduced_motion="reduce")
            page = await context.new_page()
            await page.route("**/*", answer)
            await page.goto(f"{ORIGIN}{path}")
            await page.wait_for_timeout(500)  # the plot
            file = IMAGES / f"{name}-{look}.png"
            await page.screenshot(path=file)
            await page.unroute_all(behavior="ignoreErrors")
            await context.close()
            size = file.stat().st_size
            assert size < MAX_BYTES, f"{file}: {size} bytes"
            print(f"{file.relative_to(IMAGES.parents[1])}: {size:,} bytes")


async def main() -> None:
    server = InProcessServer(now_ms=NOON_MS - SECONDS * 1000)

    def link(_: str, user: str | None = None, password: str | None = None) -> Link:
        return InProcessLink(server, user, password)

    now = [0.0]
    console = Console(ConsoleSettings("redis://127.0.0.1"), Kind.OPEN, open_link=link)
    watch = console._audience(console.link, 0).watch
    watch._clock = lambda: now[0]
    watch._wall_clock = lambda: server.now_ms / 1000
    watch._next_tick = float("inf")
    watch.set_focus(lambda: ([name.encode() for name in TRAFFIC], [b"emails"]))
    await simulate(server, watch, now)
    application = create(console)
    transport = httpx.ASGITransport(application)
    IMAGES.mkdir(exist_ok=True)
    async with (
        application.router.lifespan_context(application),
        httpx.AsyncClient(transport=transport) as client,
        async_playwright() as playwright,
    ):
        arguments = ["--no-sandbox", "--disable-background-networking"]
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=arguments
        )
        await draw(browser, client)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
