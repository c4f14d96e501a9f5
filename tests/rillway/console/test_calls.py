"""Requests of viewers with wrong bodies; a defect is none of their errors."""

from __future__ import annotations

import pytest

from rillway.console.calls import BODY_BYTES, as_api_error
from server.inprocess.server import InProcessClient
from tests.rillway.console.conftest import ORIGIN, Browser
from tests.rillway.console.test_api import GROUP, pending_ids

BAD_BODIES: dict[str, tuple[str, object]] = {
    "no ids": ("ack", {}),
    "no list": ("ack", {"ids": "1-0"}),
    "none": ("ack", {"ids": []}),
    "too many": ("ack", {"ids": ["1-0"] * 1001}),
    "no ID": ("ack", {"ids": ["x"]}),
    "an option": ("claim", {"ids": ["1-0", "FORCE"], "consumer": "a"}),
    "no consumer": ("claim", {"ids": ["1-0"]}),
    "an empty consumer": ("claim", {"ids": ["1-0"], "consumer": ""}),
    "a wrong time": ("claim", {"ids": ["1-0"], "consumer": "a", "min_idle_ms": -1}),
    "no object": ("ack", ["1-0"]),
}


@pytest.mark.parametrize(("action", "body"), BAD_BODIES.values(), ids=BAD_BODIES)
async def test_a_wrong_body_is_refused(
    browser: Browser, orders: InProcessClient, action: str, body: object
) -> None:
    answer = await browser.write(f"{GROUP}/{action}", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD")
    assert len(pending_ids(orders)) == 6


async def test_half_a_character_is_refused(browser: Browser) -> None:
    session = browser.console.session(None)
    assert session is not None
    headers = {"Content-Type": "application/json", "Origin": ORIGIN}
    headers |= {"X-Rillway-Token": session.token}
    body = rb'{"ids": ["\ud800"]}'
    answer = await browser.post(f"{GROUP}/ack", content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD")


@pytest.mark.parametrize("fields", [None, [], [["a"]], [["a", 1]], "ab", [["a", "b"]] * 1001])
async def test_fields_are_pairs(browser: Browser, fields: object) -> None:
    answer = await browser.write("/api/s/0/new/entries", {"fields": fields})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD")


async def test_a_body_has_a_limit(browser: Browser) -> None:
    body = {"fields": [["a", "x" * BODY_BYTES]]}
    assert (await browser.write("/api/s/0/new/entries", body)).status_code == 400


def test_a_defect_is_not_taken_for_an_error_of_the_server() -> None:
    with pytest.raises(ZeroDivisionError):
        as_api_error(ZeroDivisionError())
