"""Pages that are open while things happen."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import redis
from playwright.sync_api import Page, expect

from tests.rillway.console.browser.conftest import OpenPage
from tests.rillway.console.processes import console
from tests.support.programs.servers import start_rillway

pytestmark = [pytest.mark.browser, pytest.mark.integration]

GROUP = "/s/0/orders/g/mailers"


def test_an_entry_is_seen_two_seconds_after_it_was_added(page: Page, orders: Any) -> None:
    page.goto("/s/0/orders")
    expect(page.locator("tr[data-key='12-0']")).to_be_visible()
    orders.xadd("orders", {"item": "<b>late</b>"}, id="13-0")
    started = time.monotonic()
    row = page.locator("tr[data-key='13-0']")
    expect(row).to_be_visible(timeout=2_000)
    assert time.monotonic() - started < 2
    expect(row).to_contain_text("<b>late</b>")
    expect(page.locator("table[data-table=entries] tbody tr").first).to_have_attribute(
        "data-key", "13-0"
    )


def test_a_paused_tail_holds_entries_back(page: Page, orders: Any) -> None:
    page.goto("/s/0/orders")
    page.get_by_role("button", name="Pause").click()
    orders.xadd("orders", {"item": "late"}, id="13-0")
    button = page.get_by_role("button", name="Continue (1 new)")
    expect(button).to_be_visible()
    expect(page.locator("tr[data-key='13-0']")).to_have_count(0)
    button.click()
    expect(page.locator("tr[data-key='13-0']")).to_be_visible()


def test_figures_change_and_the_focus_stays(page: Page, orders: Any) -> None:
    page.goto("/streams")
    row = page.locator("tr[data-key=orders]")
    row.locator("a").focus()
    orders.xadd("orders", {"item": "lamp"}, id="13-0")
    expect(row.locator("[data-cell=length]")).to_have_text("13")
    expect(row.locator("a")).to_be_focused()
    orders.xadd("audit", {"a": "b"})
    expect(page.locator("tr[data-key=audit]")).to_be_visible()


def test_a_consumer_that_works_is_seen_in_its_group(page: Page, orders: Any) -> None:
    page.goto(GROUP)
    expect(page.locator("#plot canvas")).to_be_visible()
    orders.xack("orders", "mailers", "1-0", "2-0")
    anna = page.locator("table[data-table=consumers] tr[data-key=anna]")
    expect(anna.locator("[data-cell=pending]")).to_have_text("2")
    expect(page.locator("p.figures [data-text=pending]")).to_have_text("4")


def test_a_stream_that_is_deleted_is_said_to_be_gone(page: Page, orders: Any) -> None:
    page.goto("/s/0/orders")
    expect(page.locator("tr[data-key='12-0']")).to_be_visible()
    orders.delete("orders")
    expect(page.locator("#notice")).to_contain_text("was deleted")
    page.goto(GROUP)
    expect(page.get_by_role("heading", level=1)).to_contain_text("404")


def test_a_server_that_restarts_is_found_again(open_page: OpenPage, tmp_path: Path) -> None:
    server = start_rillway(tmp_path)
    try:
        with (
            console("--url", f"redis://127.0.0.1:{server.port}") as address,
            open_page(address) as page,
        ):
            page.goto("/")
            expect(page.locator("[data-text=server]")).to_have_text("Rillway 0.1.0")
            server.stop()
            expect(page.locator("#notice")).to_contain_text("No connection to the server since")
            server.log.unlink()
            server = start_rillway(tmp_path, "--port", str(server.port))
            expect(page.locator("#notice")).to_contain_text("Connected to the server again")
            with redis.Redis(port=server.port) as client:
                client.xadd("orders", {"a": "b"})
            page.goto("/s/0/orders")
            expect(page.locator("tr[data-key]")).to_have_count(1)
    finally:
        server.stop()


def test_a_page_that_is_hidden_holds_no_connection(page: Page, orders: Any) -> None:
    page.goto("/s/0/orders")
    expect(page.locator("tr[data-key='12-0']")).to_be_visible()
    hide = (
        "hidden => { Object.defineProperty(document, 'hidden',"
        " {value: hidden, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')); }"
    )
    page.evaluate(hide, True)
    orders.xadd("orders", {"item": "late"}, id="13-0")
    page.wait_for_timeout(700)
    expect(page.locator("tr[data-key='13-0']")).to_have_count(0)
    page.evaluate(hide, False)
    expect(page.locator("tr[data-key='13-0']")).to_be_visible()


def test_what_entries_wait_for_changes_on_the_page(page: Page, orders: Any) -> None:
    orders.execute_command("XGROUP", "CONFIG", "orders", "mailers", "ACK-WAIT", 600_000)
    pending = orders.xpending("orders", "mailers")["pending"]
    page.goto(GROUP)
    waits = page.locator("[data-text=waits]")
    expect(waits).to_contain_text(f"{pending} for a deadline")
    expect(page.locator("table[data-table=pending] td[data-cell=waits]").first).to_contain_text(
        "its deadline, in 10 min"
    )
    orders.xack("orders", "mailers", orders.xpending("orders", "mailers")["min"])
    expect(waits).to_contain_text(f"{pending - 1} for a deadline")
