"""What a request must bring, and what each answer says to the browser."""

from __future__ import annotations

import pytest

from rillway.console.access.security import host_name
from tests.rillway.console.conftest import ORIGIN, Browser, Open


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("127.0.0.1:8001", "127.0.0.1"), ("LOCALHOST", "localhost"), ("[::1]:8001", "::1"),
        ("evil.example:8001", "evil.example"), ("", ""), ("[", ""), ("127.0.0.1@evil", "evil"),
    ],
)  # fmt: skip
def test_the_name_in_a_host_header(host: str, name: str) -> None:
    assert host_name(host) == name


@pytest.mark.parametrize("path", ["/", "/api/server", "/events?view=overview", "/static/live.js"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:8001", "127.0.0.1.evil.example"])
async def test_a_foreign_host_gets_nothing(browser: Browser, path: str, host: str) -> None:
    answer = await browser.get(path, headers={"Host": host})
    assert answer.status_code == 403
    assert answer.text == "unknown Host: see --allow-host\n"


async def test_other_names_are_allowed_if_they_are_named(open_console: Open) -> None:
    async with open_console(hosts=("console.example",)) as browser:
        answer = await browser.get("/slow", headers={"Host": "console.example:8001"})
        assert answer.status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/nothing", "/api/server", "/api/nothing", "/static/keys.js"]
)
async def test_every_answer_has_the_policy(browser: Browser, path: str) -> None:
    headers = (await browser.get(path)).headers
    policy = headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "trusted-types 'none'"} <= set(policy)
    assert "require-trusted-types-for 'script'" in policy and "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


REFUSED = {
    "no token": {"X_Rillway_Token": ""},
    "a wrong token": {"X_Rillway_Token": "x" * 43},
    "another origin": {"Origin": "http://evil.example"},
    "another port": {"Origin": "http://127.0.0.1:8002"},
    "another scheme": {"Origin": "https://127.0.0.1:8001", "Sec_Fetch_Site": "cross-site"},
    "an opaque origin": {"Origin": "null"},
    "another site": {"Sec_Fetch_Site": "cross-site"},
    "the same site": {"Sec_Fetch_Site": "same-site"},
    "a form": {"Content_Type": "application/x-www-form-urlencoded"},
    "plain text": {"Content_Type": "text/plain"},
}


@pytest.mark.parametrize("headers", REFUSED.values(), ids=REFUSED)
async def test_a_write_that_no_page_of_ours_sent_is_refused(
    browser: Browser, headers: dict[str, str]
) -> None:
    answer = await browser.write("/api/s/0/orders/entries", {"fields": [["a", "b"]]}, **headers)
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "TOKEN"
    assert (await browser.get("/api/s/0/orders/entries")).json()["entries"] == []


async def test_a_write_without_an_origin_is_refused(browser: Browser) -> None:
    token = browser.console.session(None)
    assert token is not None
    headers = {"X-Rillway-Token": token.token}
    answer = await browser.post(
        "/api/s/0/orders/entries", json={"fields": [["a", "b"]]}, headers=headers
    )
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": ORIGIN}, 303),
        ({"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}, 303),
        # A proxy ends TLS.
        ({"Origin": ORIGIN.replace("http", "https"), "Sec-Fetch-Site": "same-origin"}, 303),
        ({"Origin": ORIGIN.replace("http", "https")}, 403),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"}, 403),
        ({}, 403),
    ],
)
async def test_a_form_comes_from_a_page_of_ours(
    browser: Browser, headers: dict[str, str], status: int
) -> None:
    answer = await browser.post("/theme", data={"theme": "dark", "to": "/slow"}, headers=headers)
    assert answer.status_code == status
