"""What a viewer can do, as a viewer does it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.rillway.console.browser.conftest import OpenPage
from tests.rillway.console.processes import console
from tests.support.programs.servers import RunningServer

pytestmark = [pytest.mark.browser, pytest.mark.integration]

GROUP = "/s/0/orders/g/mailers"


def pick(page: Page, *ids: str) -> None:
    for entry_id in ids:
        page.locator(f"tr[data-key='{entry_id}'] [data-pick]").check()


def owners(orders: Any) -> dict[str, str]:
    found = orders.xpending_range("orders", "mailers", "-", "+", 100)
    return {one["message_id"].decode(): one["consumer"].decode() for one in found}


def test_an_action_raced_by_a_consumer_reports_what_was_gone(page: Page, orders: Any) -> None:
    page.goto(GROUP)
    pick(page, "1-0", "2-0")
    page.get_by_role("button", name="Acknowledge…").click()
    dialog = page.locator("dialog#confirm")
    expect(dialog).to_contain_text("Acknowledge: 2 entries, group mailers of stream orders?")
    orders.xack("orders", "mailers", "2-0")
    dialog.get_by_role("button", name="Confirm").click()
    expect(page.locator("#notice")).to_contain_text("1 entry acknowledged; 1 was gone")
    expect(page.locator("tr[data-key='1-0']")).to_have_count(0)
    expect(page.locator("tr[data-key='2-0']")).to_have_attribute("data-state", "gone")
    assert set(owners(orders)) == {"3-0", "4-0", "5-0", "6-0"}


def test_nothing_is_done_that_was_not_confirmed(page: Page, orders: Any) -> None:
    page.goto(GROUP)
    expect(page.get_by_role("button", name="Acknowledge…")).to_be_disabled()
    pick(page, "1-0")
    page.get_by_role("button", name="Acknowledge…").click()
    page.locator("dialog#confirm").get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Acknowledge…").click()
    page.keyboard.press("Escape")
    expect(page.locator("dialog#confirm")).to_be_hidden()
    assert len(owners(orders)) == 6


def test_all_entries_of_a_consumer_are_claimed_for_another(page: Page, orders: Any) -> None:
    page.goto(GROUP)
    row = page.locator("table[data-table=consumers] tr[data-key=carla]")
    row.get_by_role("button", name="Claim…").click()
    dialog = page.locator("dialog#confirm")
    expect(dialog).to_contain_text("Claim: 2 entries of consumer carla, group mailers")
    dialog.get_by_label("Consumer").fill("anna")
    dialog.get_by_role("button", name="Confirm").click()
    expect(page.locator("#notice")).to_contain_text("2 entries claimed.")
    assert set(owners(orders).values()) == {"anna"}


def test_a_dead_letter_goes_and_comes_back(page: Page, orders: Any) -> None:
    page.goto(GROUP)
    pick(page, "5-0")
    page.get_by_role("button", name="Move to dead letters…").click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("#notice")).to_contain_text("1 entry moved to the dead letters.")
    page.goto("/s/0/orders?tab=dead")
    row = page.locator("table[data-table=dead] tbody tr")
    expect(row).to_contain_text("lamp 5")
    row.locator("[data-pick]").check()
    page.get_by_role("button", name="Send back…").click()
    expect(page.locator("dialog#confirm")).to_contain_text("Send back: 1 entry, stream orders?")
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("#notice")).to_contain_text("1 entry sent back.")
    assert orders.xlen("orders:dead") == 0
    again = {b"item": b"lamp 5", b"rillway-hops": b"1"}
    assert orders.xrevrange("orders", count=1)[0][1] == again


def test_an_entry_is_added_and_arrives(page: Page, orders: Any) -> None:
    orders.xtrim("orders", maxlen=0)
    page.goto("/s/0/orders")
    page.get_by_role("button", name="Add an entry…").click()
    dialog = page.locator("dialog#add")
    dialog.get_by_label("Field", exact=True).fill("item")
    dialog.get_by_label("Value").fill("<i>desk</i>")
    dialog.get_by_role("button", name="Another field").click()
    dialog.get_by_label("Field", exact=True).nth(1).fill("qty")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#notice")).to_contain_text("Added ")
    expect(page.locator("table[data-table=entries] tbody")).to_contain_text("<i>desk</i>")
    assert orders.xrange("orders")[0][1] == {b"item": b"<i>desk</i>", b"qty": b""}


def test_a_user_who_may_not_is_told_so(
    open_page: OpenPage, orders: Any, rillway_server: RunningServer
) -> None:
    orders.execute_command(
        "ACL", "SETUSER", "viewer", "on", ">look", "~*", "+@all", "-xack", "-acl"
    )
    orders.config_set("requirepass", "admin")
    try:
        url = f"redis://127.0.0.1:{rillway_server.port}"
        with console("--url", url) as address, open_page(address) as page:
            page.goto(GROUP)
            page.get_by_label("User").fill("viewer")
            page.get_by_label("Password").fill("wrong")
            page.get_by_role("button", name="Log in").click()
            expect(page.get_by_text("User or password are wrong.")).to_be_visible()
            page.get_by_label("User").fill("viewer")
            page.get_by_label("Password").fill("look")
            page.get_by_role("button", name="Log in").click()
            expect(page).to_have_url(f"{address.rstrip('/')}{GROUP}")
            pick(page, "1-0")
            page.get_by_role("button", name="Acknowledge…").click()
            page.get_by_role("button", name="Confirm").click()
            expect(page.locator("#confirm-error")).to_contain_text("NOPERM")
            page.keyboard.press("Escape")
            page.get_by_role("button", name="Log out").click()
            page.goto("/")
            expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    finally:
        orders.execute_command("AUTH", "admin")
        orders.config_set("requirepass", "")
        orders.execute_command("ACL", "DELUSER", "viewer")
    assert len(owners(orders)) == 6


def test_a_console_that_is_read_only_offers_nothing(
    open_page: OpenPage, orders: Any, rillway_server: RunningServer
) -> None:
    url = f"redis://127.0.0.1:{rillway_server.port}"
    with console("--url", url, "--read-only") as address, open_page(address) as page:
        page.goto(GROUP)
        expect(page.locator("tr[data-key='1-0']")).to_be_visible()
        expect(page.get_by_text("read-only")).to_be_visible()
        assert page.locator("[data-action], [data-pick], dialog#confirm").count() == 0
        status = page.evaluate(
            f"async () => (await fetch('/api{GROUP}/ack', {{method: 'POST', body: '{{}}',"
            " headers: {'Content-Type': 'application/json'}})).status"
        )
        assert status == 404
