"""Keyboard alone, small windows, colours, and what axe-core finds."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.rillway.console.browser.conftest import OpenPage

pytestmark = [pytest.mark.browser, pytest.mark.integration]

PATHS = [
    "/", "/streams", "/s/0/orders", "/s/0/orders?tab=groups", "/s/0/orders?tab=dead",
    "/s/0/orders?tab=facts", "/s/0/orders/e/1-0", "/s/0/orders/g/mailers", "/slow", "/memory",
    "/clients", "/replication", "/nothing",
]  # fmt: skip


@pytest.fixture
def letters(orders: Any) -> Any:
    """The orders, with a dead letter and a slow request."""
    orders.xadd("orders:dead", {"item": "lamp", "rillway-stream": "orders", "rillway-group": "m"})
    orders.config_set("slowlog-log-slower-than", 0)
    orders.xlen("orders")
    orders.config_set("slowlog-log-slower-than", 10_000)
    return orders


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_page: OpenPage, address: str, letters: Any, scheme: Any) -> None:
    axe = Axe()
    with open_page(address, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce") as page:
        for path in PATHS:
            page.goto(path)
            found = axe.run(page)
            assert found.violations_count == 0, f"{path}: {found.generate_report()}"
        page.goto("/s/0/orders/g/mailers")
        page.locator("[data-pick]").first.check()
        page.get_by_role("button", name="Claim for…").click()
        found = axe.run(page)
        assert found.violations_count == 0, found.generate_report()


def test_nothing_is_wider_than_a_small_window(
    open_page: OpenPage, address: str, letters: Any
) -> None:
    with open_page(address, viewport={"width": 360, "height": 640}) as page:
        for path in PATHS:
            page.goto(path)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= 360, path


def test_the_scheme_of_the_system_and_the_switch(
    open_page: OpenPage, address: str, orders: Any
) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    with open_page(address, color_scheme="dark") as page:
        page.goto("/")
        dark = page.evaluate(background)
        page.get_by_role("button", name="Light").click()
        expect(page.get_by_role("button", name="Light")).to_have_attribute("aria-pressed", "true")
        page.wait_for_load_state()
        light = page.evaluate(background)
        assert (dark, light) == ("rgb(20, 24, 27)", "rgb(246, 247, 248)")
        page.goto("/streams")
        assert page.evaluate(background) == light


def test_forced_colours_and_reduced_motion(open_page: OpenPage, address: str, orders: Any) -> None:
    with open_page(address, forced_colors="active", reduced_motion="reduce") as page:
        page.goto("/s/0/orders")
        orders.xadd("orders", {"item": "late"}, id="13-0")
        row = page.locator("tr[data-key='13-0']")
        expect(row).to_be_visible()
        assert row.evaluate("row => getComputedStyle(row).animationName") == "none"
        mark = page.locator("nav [aria-current]").first
        assert mark.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"


def wait_for_keys(page: Page) -> None:
    """Until the script is there that knows them."""
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()


def test_the_keyboard_alone_is_enough(page: Page, orders: Any) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(page).to_have_title("Streams · Rillway")
    wait_for_keys(page)
    page.keyboard.press("/")
    page.keyboard.type("ord")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("match=ord"))
    page.wait_for_load_state()
    expect(page.locator("table[data-table=streams] tbody tr")).to_have_count(1)
    wait_for_keys(page)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("orders")
    wait_for_keys(page)
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("tr[data-key='11-0']")).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator("tr[data-key='12-0']")).to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("dialog#help")).to_be_visible()
    page.keyboard.press("Escape")
    page.goto("/s/0/orders/g/mailers")
    page.locator("tr[data-key='1-0'] [data-pick]").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Acknowledge…").focus()
    page.keyboard.press("Enter")
    page.locator("dialog#confirm").get_by_role("button", name="Confirm").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("1 entry acknowledged.")


def test_the_keys_can_be_switched_off(page: Page, orders: Any) -> None:
    page.goto("/")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_label("Single keys are shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.keyboard.press("?")
    expect(page.locator("dialog#help")).to_be_hidden()
    expect(page).to_have_title("Overview · Rillway")


def test_without_script_the_pages_are_complete(
    open_page: OpenPage, address: str, letters: Any
) -> None:
    with open_page(address, java_script_enabled=False) as page:
        page.goto("/s/0/orders")
        expect(page.locator("tr[data-key='12-0']")).to_be_visible()
        expect(page.get_by_role("button", name="Add an entry…")).to_be_hidden()
        page.get_by_label("find").fill("lamp 7")
        page.get_by_role("button", name="Show").click()
        expect(page.locator("table[data-table=entries] tbody tr")).to_have_count(1)
        page.get_by_role("link", name="Groups").click()
        page.get_by_role("link", name="mailers").click()
        expect(page.locator("tr[data-key='6-0']")).to_be_visible()
        expect(page.get_by_role("button", name="Acknowledge…")).to_be_hidden()
