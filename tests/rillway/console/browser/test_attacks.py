"""Hostile data, and pages of others."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from rillway.console.formats import to_path
from tests.rillway.console.browser.conftest import FOREIGN, OpenPage

pytestmark = [pytest.mark.browser, pytest.mark.integration]

ATTACKER = "http://localhost:9"
HOSTILE = [
    b"<img src=x onerror=alert(1)>", b"</script><script>alert(1)</script>", b"javascript:alert(1)",
    b"\x1b[31m\x07", b"\xff\xfe/%2F", b"\"' onfocus=alert(1) autofocus x='", b"{{ 7 * 7 }}",
    b"", b"..",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_and_values_are_shown_as_text(page: Page, data: Any, name: bytes) -> None:
    data.xadd(name, {name: name, b"n": b"v"}, id="1-0")
    data.xgroup_create(name, name, id="0")
    data.xreadgroup(name, name or b"c", {name: ">"})
    key = to_path(name)
    for path in (
        f"/s/0/{key}",
        f"/s/0/{key}?tab=groups",
        f"/s/0/{key}/g/{key}",
        f"/s/0/{key}/e/1-0",
    ):
        answer = page.goto(path)
        assert answer is not None and answer.status == 200, path
    page.goto(f"/s/0/{key}")
    data.xadd(name, {name: name}, id="2-0")  # by the script
    expect(page.locator("tr[data-key='2-0']")).to_be_visible()
    page.goto("/streams")
    page.locator(f"table[data-table=streams] a[href='/s/0/{key}']").click()
    expect(page.locator("tr[data-key='1-0']")).to_be_visible()
    assert page.locator("main img, main script").count() == 0


def test_a_value_of_a_megabyte_is_cut(page: Page, data: Any) -> None:
    data.xadd("big", {"f": "x" * 1_000_000}, id="1-0")
    page.goto("/s/0/big")
    expect(page.locator("tr[data-key='1-0']")).to_contain_text("(976.6 KB)")
    assert len(page.content()) < 30_000
    page.locator("tr[data-key='1-0'] a").click()
    assert len(page.locator("pre").inner_text()) == 1_000_000


def test_html_cannot_be_written_by_script(page: Page, data: Any) -> None:
    page.goto("/")
    outcome = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; return 'written'; }"
        " catch (error) { return error.name; } }"
    )
    assert outcome == "TypeError"


def attack(page: Page, script: str, body: str = "") -> None:
    """Open a page of another origin with this script."""
    html = f"<!doctype html><body>{body}<script>{script}</script>"
    page.route(f"{ATTACKER}/**", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto(f"{ATTACKER}/")


def test_a_form_of_another_origin_writes_nothing(page: Page, address: str, orders: Any) -> None:
    target = f"{address}api/s/0/orders/g/mailers/ack"
    form = f"""<form method=post action="{target}" enctype=text/plain>
      <input name='{{"ids":["1-0"],"x":"' value='"}}'></form>"""
    with page.expect_response(target) as answer:
        attack(page, "document.forms[0].submit()", form)
    assert answer.value.status == 403
    assert orders.xpending("orders", "mailers")["pending"] == 6


def test_a_script_of_another_origin_reads_and_writes_nothing(
    page: Page, address: str, orders: Any
) -> None:
    attack(page, "")
    script = """async ([url, options]) => {
      try { return (await fetch(url, options)).type; } catch (error) { return error.name; } }"""
    for options in (
        {"credentials": "include"},
        {"method": "POST", "headers": {"Content-Type": "application/json"}, "body": "{}"},
    ):
        path = f"{address}api/s/0/orders/g/mailers/ack" if "method" in options else address
        assert page.evaluate(script, [path, options]) == "TypeError"
    simple = {"method": "POST", "mode": "no-cors", "body": '{"ids": ["1-0"]}'}
    page.evaluate(script, [f"{address}api/s/0/orders/g/mailers/ack", simple])
    assert orders.xpending("orders", "mailers")["pending"] == 6


def test_no_page_of_another_origin_can_frame_it(page: Page, address: str, orders: Any) -> None:
    attack(page, "", f"<iframe src='{address}'></iframe>")
    assert page.frames[1].locator("main").count() == 0


def test_a_foreign_name_for_this_machine_gets_nothing(
    open_page: OpenPage, address: str, orders: Any
) -> None:
    port = address.rstrip("/").rpartition(":")[2]
    with open_page(f"http://{FOREIGN}:{port}/") as page:
        for path in ("/", "/api/s/0/orders/entries"):
            answer = page.goto(path)
            assert answer is not None and answer.status == 403
            assert "lamp" not in page.content()
