"""The pages, without script."""

from __future__ import annotations

import re

import pytest

from rillway.console.console import Kind
from rillway.console.pages import Sort, local_path
from server.inprocess.server import InProcessClient
from tests.rillway.console.conftest import ORIGIN, Browser, Open

FORM = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}
HOSTILE = "<img src=x onerror=alert(1)>"


async def text(browser: Browser, path: str, status: int = 200) -> str:
    answer = await browser.get(path)
    assert answer.status_code == status, answer.text
    return answer.text


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/", ["Rillway 0.1.0", "Groups that are furthest behind", "mailers"]),
        ("/streams", ["orders", 'aria-sort="descending"', "1 stream</span>"]),
        ("/s/0/orders", ["10-0", "lamp 10", "Add an entry"]),
        ("/s/0/orders?find=lamp+3", ["3-0", "10 entries searched"]),
        ("/s/0/orders?before=3-0&limit=1", ["2-0", "?before=2-0"]),
        ("/s/0/orders?tab=groups", ["mailers"]),
        ("/s/0/orders?tab=dead", ["orders:dead", "There are no dead letters"]),
        ("/s/0/orders?tab=facts", ["last-generated-id", "10-0"]),
        ("/s/0/orders/e/3-0", ["lamp 3"]),
        ("/s/0/orders/g/mailers", ["anna", "carla", "6-0"]),
        ("/s/0/orders/g/mailers?consumer=carla&limit=1", ["Only those of carla", "after=5-0"]),
        ("/slow", ["The slow log is empty"]),
        ("/memory", ["The largest streams"]),
        ("/clients", ["Connected clients"]),
        ("/replication", ["none: this is a primary"]),
    ],
)
async def test_each_page_is_complete_without_script(
    browser: Browser, orders: InProcessClient, path: str, words: list[str]
) -> None:
    session = browser.console.session(None)
    assert session is not None
    audience = await browser.console.audience(session, 0)
    while not audience.watch.sampler.streams:
        await audience.watch._step()
    audience.watch.tick()
    shown = await text(browser, path)
    for word in words:
        assert word in shown


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        ("/s/0/nothing", 404),
        ("/s/0/orders?tab=nothing", 404),
        ("/s/0/orders/e/99-0", 404),
        ("/s/0/orders/e/nothing", 400),
        ("/s/0/orders/g/nothing", 404),
        ("/s/0/orders?from=nothing", 400),
        ("/s/99/orders", 400),
        ("/streams?sort=nothing", 400),
    ],
)
async def test_an_error_is_a_page(
    browser: Browser, orders: InProcessClient, path: str, status: int
) -> None:
    assert "Try again" in await text(browser, path, status)


async def test_hostile_names_and_values_are_text(browser: Browser, client: InProcessClient) -> None:
    key = "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"
    client.execute("XADD", HOSTILE, "1-0", HOSTILE, '"><script>alert(1)</script>')
    client.execute("XGROUP", "CREATE", HOSTILE, HOSTILE, "0")
    client.execute("XREADGROUP", "GROUP", HOSTILE, HOSTILE, "STREAMS", HOSTILE, ">")
    for path in (
        f"/s/0/{key}",
        f"/s/0/{key}/e/1-0",
        f"/s/0/{key}/g/{key}",
        f"/s/0/{key}?tab=groups",
    ):
        shown = await text(browser, path)
        assert "<img" not in shown and "<script>" not in shown
        assert "&lt;img src=x onerror=alert(1)&gt;" in shown


async def test_no_page_has_script_or_style_of_its_own(
    browser: Browser, orders: InProcessClient
) -> None:
    for path in ("/", "/streams", "/s/0/orders", "/s/0/orders/g/mailers"):
        shown = await text(browser, path)
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", shown)


async def test_whole_values_are_on_the_page_of_an_entry(
    browser: Browser, client: InProcessClient
) -> None:
    client.execute("XADD", "s", "1-0", "f", "x" * 5000, "big", "y" * 1_048_577)
    assert "x" * 161 not in await text(browser, "/s/0/s")
    shown = await text(browser, "/s/0/s/e/1-0")
    assert "x" * 5000 in shown and "Only the first megabyte is shown" in shown


async def test_actions_are_only_offered_where_they_are_allowed(
    open_console: Open, orders: InProcessClient
) -> None:
    async with open_console(is_read_only=True) as browser:
        for path in ("/s/0/orders", "/s/0/orders/g/mailers"):
            shown = await text(browser, path)
            assert "data-action" not in shown and "rillway-token" not in shown
            assert "read-only" in shown and "Add an entry" not in shown


async def test_the_dead_letters_of_a_stream_are_where_they_were_said_to_be(
    open_console: Open, client: InProcessClient
) -> None:
    client.execute("XADD", "orders", "1-0", "a", "b")
    letter = ("item", "lamp", "rillway-stream", "orders", "rillway-group", "mailers")
    client.execute("XADD", "graveyard", "5-0", *letter, "rillway-error", "boom")
    client.execute("XADD", "graveyard", "6-0", "item", "desk", "rillway-stream", "other")
    async with open_console(dead_letters={b"orders": b"graveyard"}) as browser:
        shown = await text(browser, "/s/0/orders?tab=dead")
        assert "lamp" in shown and "boom" in shown and "desk" not in shown


# -- login -----------------------------------------------------------------------------------------


async def log_in(browser: Browser, password: str, user: str = "") -> int:
    form = {"user": user, "password": password, "to": "/slow"}
    return (await browser.post("/login", data=form, headers=FORM)).status_code


async def test_a_page_leads_to_the_login_and_back(open_console: Open) -> None:
    async with open_console(Kind.PASSWORD, password="geheim") as browser:
        answer = await browser.get("/slow?db=0")
        assert (answer.status_code, answer.headers["location"]) == (
            303,
            "/login?to=%2Fslow%3Fdb%3D0",
        )
        assert 'value="/slow?db=0"' in await text(browser, answer.headers["location"])
        answer = await browser.post(
            "/login", data={"password": "geheim", "to": "/slow"}, headers=FORM
        )
        assert (answer.status_code, answer.headers["location"]) == (303, "/slow")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Secure" not in cookie
        assert "Slow requests" in await text(browser, "/slow")
        await browser.post("/logout", data={"to": "/"}, headers=FORM)
        assert (await browser.get("/slow")).status_code == 303


async def test_under_tls_the_cookie_is_secure(open_console: Open) -> None:
    async with open_console(Kind.PASSWORD, password="geheim", is_tls=True) as browser:
        answer = await browser.post("/login", data={"password": "geheim"}, headers=FORM)
        assert "Secure" in answer.headers["set-cookie"]


async def test_five_wrong_passwords_a_minute_are_enough(
    open_console: Open, clock: list[float]
) -> None:
    async with open_console(Kind.PASSWORD, password="geheim") as browser:
        assert [await log_in(browser, "guess") for _ in range(6)] == [403] * 5 + [429]
        assert await log_in(browser, "geheim") == 429
        clock[0] = 61.0
        assert await log_in(browser, "geheim") == 303


async def test_a_user_of_the_server_logs_in(open_console: Open, client: InProcessClient) -> None:
    client.execute("ACL", "SETUSER", "anna", "on", ">secret", "~*", "+@all")
    client.execute("CONFIG", "SET", "requirepass", "admin")
    async with open_console(Kind.ACL) as browser:
        assert await log_in(browser, "wrong", "anna") == 403
        assert await log_in(browser, "secret", "anna") == 303
        assert "anna" in await text(browser, "/slow")
        assert await log_in(browser, "admin") == 303
        assert '<span class="user">default</span>' in await text(browser, "/slow")


async def test_a_login_from_another_page_is_refused(open_console: Open) -> None:
    async with open_console(Kind.PASSWORD, password="geheim") as browser:
        headers = {"Origin": "http://evil.example"}
        answer = await browser.post("/login", data={"password": "geheim"}, headers=headers)
        assert answer.status_code == 403 and "set-cookie" not in answer.headers


async def test_an_open_console_has_no_login(browser: Browser) -> None:
    assert (await browser.get("/login")).headers["location"] == "/"


# -- the rest --------------------------------------------------------------------------------------


async def test_the_theme_is_kept(browser: Browser) -> None:
    await browser.post("/theme", data={"theme": "dark", "to": "/slow"}, headers=FORM)
    assert 'data-theme="dark"' in await text(browser, "/slow")
    answer = await browser.post("/theme", data={"theme": "<", "to": "/"}, headers=FORM)
    assert answer.status_code == 403


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "http://evil", "", "/\r\nx"])
def test_no_form_leads_to_another_site(path: str) -> None:
    assert local_path(path) == "/"
    assert local_path("/s/0/a?tab=dead") == "/s/0/a?tab=dead"


def test_a_heading_sorts_and_then_sorts_the_other_way() -> None:
    sort = Sort("-lag", lambda sort: sort)
    assert (sort.state("lag"), sort.address("lag")) == ("descending", "lag")
    assert (sort.state("name"), sort.address("name")) == ("none", "name")
    assert Sort("name", lambda sort: sort).address("name") == "-name"


async def test_a_group_with_a_policy_shows_what_its_entries_wait_for(
    browser: Browser, orders: InProcessClient
) -> None:
    orders.execute(
        "XGROUP", "CONFIG", "orders", "mailers", "ACK-WAIT", "60000", "MAX-DELIVERIES", "2",
        "DEAD-LETTER", "orders:dead",
    )  # fmt: skip
    orders.execute("XADD", "orders", "DELAY", "3600000", "*", "item", "later")
    session = browser.console.session(None)
    assert session is not None
    audience = await browser.console.audience(session, 0)
    while not audience.watch.sampler.streams:
        await audience.watch._step()
    page = await text(browser, "/s/0/orders/g/mailers")
    assert "Policy of the group" in page and "orders:dead" in page
    assert re.search(r"Waiting: <span[^>]*>\d+ for a deadline", page)
    assert "its deadline, in" in page
    groups = await text(browser, "/s/0/orders?tab=groups")
    assert "waits for" in groups and "1 delayed" in groups


async def test_without_policies_no_page_names_them(
    browser: Browser, orders: InProcessClient
) -> None:
    for path in ("/s/0/orders/g/mailers", "/s/0/orders?tab=groups"):
        page = await text(browser, path)
        assert "waits for" not in page and "Policy" not in page
