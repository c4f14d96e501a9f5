"""The HTTP API, over a server in this process."""

from __future__ import annotations

from typing import Any

import pytest

from rillway.console.console import Kind
from server.inprocess.server import InProcessClient, InProcessServer
from tests.rillway.console.conftest import Browser, Open

GROUP = "/api/s/0/orders/g/mailers"


async def get(browser: Browser, path: str) -> Any:
    answer = await browser.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def error(browser: Browser, path: str) -> tuple[int, str]:
    answer = await browser.get(path)
    return answer.status_code, answer.json()["error"]["code"]


def pending_ids(client: InProcessClient) -> list[str]:
    reply = client.execute("XPENDING", "orders", "mailers", "-", "+", 100).decode()
    return [line for line in reply.split("\r\n") if line.endswith("-0")]


# -- why -------------------------------------------------------------------------------------------


async def test_what_holds_a_group_is_said_with_advice(
    browser: Browser, orders: InProcessClient, server: InProcessServer
) -> None:
    assert await get(browser, f"{GROUP}/why") == {"findings": []}
    orders.execute("XCLAIM", "orders", "mailers", "anna", 0, "1-0", "RETRYCOUNT", 9, "JUSTID")
    (found,) = (await get(browser, f"{GROUP}/why"))["findings"]
    assert found["text"] == "1-0 was delivered 9 times and never acknowledged"
    assert found["consumer"] == "anna" and "dead-letters" in found["advice"]
    assert "was delivered 9 times" in (await browser.get("/s/0/orders/g/mailers")).text
    assert await error(browser, "/api/s/0/orders/g/none/why") == (404, "NOGROUP")


# -- reading ---------------------------------------------------------------------------------------


async def test_entries_come_by_the_page_the_newest_first(
    browser: Browser, orders: InProcessClient
) -> None:
    page = await get(browser, "/api/s/0/orders/entries?limit=4")
    assert [one["id"] for one in page["entries"]] == ["10-0", "9-0", "8-0", "7-0"]
    assert page["entries"][0]["fields"] == [["item", "lamp 10"], ["n", "10"]]
    assert page["next"] == "7-0"
    page = await get(browser, "/api/s/0/orders/entries?limit=4&before=3-0")
    assert [one["id"] for one in page["entries"]] == ["2-0", "1-0"] and page["next"] is None
    page = await get(browser, "/api/s/0/orders/entries?limit=2&after=3-0")
    assert [one["id"] for one in page["entries"]] == ["4-0", "5-0"]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("from=3-0&to=4-0", ["4-0", "3-0"]),
        ("find=LAMP+7", ["7-0"]),
        ("find=lamp+1&from=2", ["10-0"]),
        ("from=2020-01-01", []),
        ("to=-1h&limit=1", ["10-0"]),
    ],
)
async def test_a_range_and_a_text_choose_entries(
    browser: Browser, orders: InProcessClient, query: str, ids: list[str]
) -> None:
    page = await get(browser, f"/api/s/0/orders/entries?{query}")
    assert [one["id"] for one in page["entries"]] == ids


@pytest.mark.parametrize(
    "query",
    [
        "limit=x",
        "limit=501",
        f"limit={'1' * 5000}",
        "before=x",
        "after=1-",
        "from=yesterday",
        "to=1-2-3",
        "after=-1-1",
    ],
)
async def test_a_wrong_parameter_is_named(browser: Browser, query: str) -> None:
    answer = await browser.get(f"/api/s/0/orders/entries?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]["text"].startswith(query.partition("=")[0])


async def test_names_that_are_no_text_are_base64_and_paths_are_bytes(
    browser: Browser, client: InProcessClient
) -> None:
    client.execute("XADD", b"\xff/ %2F", "1-0", b"\xfe", "x" * 3000)
    page = await get(browser, "/api/s/0/%FF%2F%20%252F/entries")
    [[name, value]] = page["entries"][0]["fields"]
    assert name == {"base64": "/g=="} and value == "x" * 2048 and page["entries"][0]["truncated"]


async def test_groups_consumers_and_pending_entries(
    browser: Browser, orders: InProcessClient
) -> None:
    [group] = (await get(browser, "/api/s/0/orders/groups"))["groups"]
    assert (group["name"], group["lag"], group["pending"]) == ("mailers", 4, 6)
    group = await get(browser, GROUP)
    assert [(one["name"], one["pending"]) for one in group["consumers"]] == [
        ("anna", 4),
        ("carla", 2),
    ]
    assert (group["due"], group["policy"], group["waits_for"]) == (None, {}, {})
    page = await get(browser, f"{GROUP}/pending?limit=4&after=1-0")
    assert [one["id"] for one in page["pending"]] == ["2-0", "3-0", "4-0", "5-0"]
    assert page["next"] == "5-0"
    page = await get(browser, f"{GROUP}/pending?consumer=carla")
    assert [(one["id"], one["consumer"], one["deliveries"]) for one in page["pending"]] == [
        ("5-0", "carla", 1),
        ("6-0", "carla", 1),
    ]


async def test_streams_are_filtered_sorted_and_paged(
    browser: Browser, client: InProcessClient, orders: InProcessClient
) -> None:
    for name, length in (("mail", 3), ("audit", 1), ("orders2", 20)):
        for _ in range(length):
            client.execute("XADD", name, "*", "a", "b")
    watch = (await browser.console.audience(browser.console.session(None), 0)).watch  # type: ignore[arg-type]
    while len(watch.sampler.streams) < 4:
        await watch._step()
    page = await get(browser, "/api/streams?sort=-length&limit=2")
    assert [one["name"] for one in page["items"]] == ["orders2", "orders"]
    assert page["total"] == 4 and page["next"] == "orders"
    page = await get(browser, "/api/streams?sort=-length&limit=2&after=orders")
    assert [one["name"] for one in page["items"]] == ["mail", "audit"] and page["next"] is None
    page = await get(browser, "/api/streams?match=ORD&sort=name")
    assert [one["name"] for one in page["items"]] == ["orders", "orders2"]
    assert await error(browser, "/api/streams?sort=colour") == (400, "BAD")


async def test_figures_of_the_server(browser: Browser, orders: InProcessClient) -> None:
    server = await get(browser, "/api/server")
    assert server["product"] == "Rillway" and server["age_ms"] >= 0
    for name in ("slow", "memory", "clients", "replication"):
        assert (await get(browser, f"/api/{name}"))["age_ms"] >= 0


async def test_history_has_a_span(browser: Browser, orders: InProcessClient) -> None:
    history = await get(browser, f"{GROUP}/history?span=1h")
    assert set(history) == {"t", "lag", "pending", "age"}
    assert await error(browser, f"{GROUP}/history?span=1y") == (400, "BAD")


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/api/nothing", 404, "NOTFOUND"),
        ("/api/s/0/nothing/groups", 404, "ERR"),
        ("/api/s/0/orders/g/nothing", 404, "NOGROUP"),
        ("/api/s/0/orders/g/nothing/pending", 404, "NOGROUP"),
        ("/api/s/0/text/entries", 409, "WRONGTYPE"),
        ("/api/s/16/orders/entries", 400, "ERR"),
        ("/events?view=nothing", 400, "BAD"),
        ("/events?view=stream&since=x", 400, "BAD"),
    ],
)
async def test_errors_have_a_code(
    browser: Browser, orders: InProcessClient, path: str, status: int, code: str
) -> None:
    orders.execute("SET", "text", "x")
    assert await error(browser, path) == (status, code)


async def test_a_server_that_is_gone_is_reported(browser: Browser, orders: InProcessClient) -> None:
    browser.console.link.is_lost = True  # type: ignore[attr-defined]
    assert await error(browser, "/api/s/0/orders/entries") == (502, "UNREACHABLE")


# -- writing ---------------------------------------------------------------------------------------


async def test_an_entry_is_added_as_it_was_given(browser: Browser, client: InProcessClient) -> None:
    fields = [["<b>", "</script>"], [{"base64": "/w=="}, ""]]
    answer = await browser.write("/api/s/0/new/entries", {"fields": fields})
    assert answer.json()["done"] == 1
    assert client.execute("XRANGE", "new", "-", "+").endswith(
        b"*4\r\n$3\r\n<b>\r\n$9\r\n</script>\r\n$1\r\n\xff\r\n$0\r\n\r\n"
    )


async def test_acknowledged_are_those_that_were_pending(
    browser: Browser, orders: InProcessClient
) -> None:
    orders.execute("XACK", "orders", "mailers", "2-0")  # the consumer was faster
    answer = await browser.write(f"{GROUP}/ack", {"ids": ["1-0", "2-0", "1-0", "99-0"]})
    assert answer.json() == {"done": 1, "gone": ["2-0", "99-0"]}
    assert pending_ids(orders) == ["3-0", "4-0", "5-0", "6-0"]


async def test_claimed_are_those_that_were_not_delivered_since(
    browser: Browser, orders: InProcessClient
) -> None:
    orders.server.advance(60_000)
    orders.execute("XCLAIM", "orders", "mailers", "bert", 0, "5-0")
    body = {"ids": ["5-0", "6-0"], "consumer": "anna", "min_idle_ms": 50_000}
    answer = await browser.write(f"{GROUP}/claim", body)
    assert answer.json() == {"done": 1, "gone": ["5-0"]}
    page = await get(browser, f"{GROUP}/pending?consumer=anna&after=5-0")
    assert [(one["id"], one["deliveries"]) for one in page["pending"]] == [("6-0", 1)]


@pytest.mark.parametrize("path", ["/api/s/0/orders/entries", "/api/s/0/orders/redrive"])
async def test_a_console_that_is_read_only_has_no_routes_that_write(
    open_console: Open, orders: InProcessClient, path: str
) -> None:
    async with open_console(is_read_only=True) as browser:
        answer = await browser.write(path, {"fields": [["a", "b"]], "ids": ["1-0"]})
        assert answer.status_code in (404, 405)
        assert (await browser.write(f"{GROUP}/ack", {"ids": ["1-0"]})).status_code == 404
    assert len(pending_ids(orders)) == 6


async def test_without_a_login_there_is_nothing(open_console: Open) -> None:
    async with open_console(Kind.PASSWORD, password="geheim") as browser:
        for path in ("/api/server", "/events?view=overview", "/api/s/0/orders/entries"):
            assert await error(browser, path) == (401, "LOGIN")


async def test_the_rights_of_the_user_decide(open_console: Open, orders: InProcessClient) -> None:
    orders.execute("CONFIG", "SET", "requirepass", "admin")
    rules = ("on", ">look", "~orders", "+@read", "+info", "+time", "+select", "-@dangerous")
    orders.execute("ACL", "SETUSER", "viewer", *rules)
    async with open_console(Kind.ACL) as browser:
        secret = await browser.console.log_in("viewer", "look")
        browser.cookies.set("rillway-session", secret or "")
        assert len((await get(browser, "/api/s/0/orders/entries"))["entries"]) == 10
        assert await error(browser, "/api/s/0/other/entries") == (403, "NOPERM")
        answer = await browser.write(f"{GROUP}/ack", {"ids": ["1-0"]})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "NOPERM")
    assert len(pending_ids(orders)) == 6
