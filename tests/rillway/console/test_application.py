"""Routes and what answers have in common."""

from __future__ import annotations

from starlette.types import Message

from rillway.console.application import STATIC, create
from rillway.console.pages import environment
from tests.rillway.console.conftest import ORIGIN, Browser


async def test_static_files_are_served_and_nothing_beside_them(browser: Browser) -> None:
    assert (await browser.get("/static/live.js")).headers["content-type"].startswith("text/java")
    for path in (
        "/static/../api.py",
        "/static/%2e%2e/api.py",
        "/static/%2E%2E%2Fapi.py",
        "/static/",
    ):
        assert (await browser.get(path)).status_code == 404


async def test_a_defect_says_nothing_of_the_inside(browser: Browser) -> None:
    browser.console.sessions = None  # type: ignore[assignment]
    browser.console.audience = None  # type: ignore[assignment,method-assign]
    answer = await browser.get("/slow")
    assert answer.status_code == 500
    assert "its log says where" in answer.text and "Traceback" not in answer.text
    assert "content-security-policy" in answer.headers


async def test_no_number_is_too_long_for_a_path(browser: Browser) -> None:
    assert (await browser.get(f"/s/{'1' * 5000}/orders")).status_code == 404


async def test_a_client_that_leaves_in_the_middle_of_a_body_is_no_defect(browser: Browser) -> None:
    async def left() -> Message:
        return {"type": "http.disconnect"}

    async def sent(_: Message) -> None:
        return None

    headers = {
        "Host": "127.0.0.1:8001", "Origin": ORIGIN,
        "Content-Type": "application/x-www-form-urlencoded",
    }  # fmt: skip
    scope = {
        "type": "http", "method": "POST", "path": "/theme", "raw_path": b"/theme",
        "query_string": b"", "scheme": "http",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    await create(browser.console)(scope, left, sent)  # raises what uvicorn would log


def test_scripts_write_no_html() -> None:
    for path in STATIC.glob("*.js"):
        text = path.read_text()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert word not in text, path


def test_templates_escape() -> None:
    assert environment.autoescape is True
    for name in environment.list_templates():
        source, *_ = environment.loader.get_source(environment, name)  # type: ignore[union-attr]
        assert "|safe" not in source.replace(" ", ""), name


def test_the_licence_of_what_is_vendored_is_beside_it() -> None:
    assert "MIT" in (STATIC / "uplot/LICENSE").read_text()
    assert "uPlot (v1.6.32)" in (STATIC / "uplot/uPlot.iife.min.js").read_text()[:200]
