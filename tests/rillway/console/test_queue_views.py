"""Queues of job frameworks in the console: the API, the pages, who may do what."""

from __future__ import annotations

from typing import Any

import pytest

from rillway.console.queue_views import QueueView
from rillway.console.watch import Watch
from server.inprocess.server import InProcessClient
from tests.rillway.console.conftest import Browser, Open
from tests.rillway.queues.keys import ALL, BULLMQ

QUEUE = "/api/q/0/bullmq/mail"


@pytest.fixture
async def queues(browser: Browser, client: InProcessClient) -> Browser:
    """A console over a server with the keys of all frameworks."""
    for request in [one for keys in ALL.values() for one in keys]:
        client.execute(*(str(one) if isinstance(one, float) else one for one in request))
    (await watch_of(browser)).queues.finder.budget.share = 1
    return browser


async def watch_of(browser: Browser) -> Watch:
    session = browser.console.session(None)
    assert session is not None
    return (await browser.console.audience(session, 0)).watch


async def get(browser: Browser, path: str) -> Any:
    answer = await browser.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_all_queues_are_listed_with_their_figures(queues: Browser) -> None:
    answer = await get(queues, "/api/queues")
    assert answer["complete"] is True
    items = {(one["framework"], one["name"]): one for one in answer["items"]}
    assert len(items) == 14
    mail = items["bullmq", "mail"]
    assert {name: mail[name] for name in ("waiting", "running", "delayed", "failed")} == {
        "waiting": 4, "running": 1, "delayed": 1, "failed": 2,
    }  # fmt: skip
    assert items["huey", "app"]["failed"] is None


async def test_jobs_come_by_state_and_by_the_page(queues: Browser) -> None:
    page = await get(queues, f"{QUEUE}/jobs?limit=3")
    assert [one["id"] for one in page["jobs"]] == ["8", "2", "5"]
    assert page["next"] == 3
    page = await get(queues, f"{QUEUE}/jobs?limit=3&offset=3")
    assert [one["id"] for one in page["jobs"]] == ["6"] and page["next"] is None
    failed = await get(queues, f"{QUEUE}/jobs?state=failed")
    assert [(one["id"], one["name"], one["error"]) for one in failed["jobs"]] == [
        ("1", "boom", "boom"), ("7", "boom", "boom"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{QUEUE}/jobs?state=lost", 400),
        (f"{QUEUE}/jobs?offset=x", 400),
        ("/api/q/0/bullmq/none/jobs", 404),
        ("/api/q/0/none/mail/jobs", 404),
        ("/api/q/0/rq/mail/jobs", 404),
    ],
)
async def test_wrong_parameters_are_refused(queues: Browser, path: str, status: int) -> None:
    assert (await queues.get(path)).status_code == status


async def test_actions_are_done_and_counted(queues: Browser, client: InProcessClient) -> None:
    for action, body, done in [
        ("retry", {"ids": ["1", "99"]}, 1),
        ("front", {"ids": ["5"]}, 1),
        ("remove", {"ids": ["2", "4"]}, 1),
    ]:
        answer = await queues.write(f"{QUEUE}/{action}", body)
        assert (answer.status_code, answer.json()) == (200, {"done": done})
    page = await get(queues, f"{QUEUE}/jobs")
    assert [one["id"] for one in page["jobs"]] == ["5", "8", "1", "6"]


@pytest.mark.parametrize("ids", [None, [], [1], "1", {"a": 1}, ["x"] * 1001])
async def test_ids_must_be_a_list_of_texts(queues: Browser, ids: Any) -> None:
    answer = await queues.write(f"{QUEUE}/retry", {"ids": ids})
    assert answer.status_code == 400


async def test_actions_that_a_framework_does_not_allow_are_refused(queues: Browser) -> None:
    answer = await queues.write("/api/q/0/saq/mail/retry", {"ids": ["f1"]})
    assert (answer.status_code, "shown only" in answer.text) == (409, True)
    answer = await queues.write("/api/q/0/celery/celery/retry", {"ids": ["f1"]})
    assert (answer.status_code, "result_extended" in answer.text) == (400, True)


async def test_a_write_without_the_page_s_token_is_refused(queues: Browser) -> None:
    answer = await queues.post(f"{QUEUE}/retry", json={"ids": ["1"]})
    assert answer.status_code == 403


async def test_a_read_only_console_offers_no_action(
    open_console: Open, client: InProcessClient
) -> None:
    for request in BULLMQ:
        client.execute(*request)  # type: ignore[arg-type]
    async with open_console(is_read_only=True) as browser:
        page = await browser.get("/q/0/bullmq/mail?state=failed")
        assert page.status_code == 200 and "data-action" not in page.text
        answer = await browser.write(f"{QUEUE}/retry", {"ids": ["1"]})
        assert answer.status_code in (404, 405)


async def test_the_pages_show_queues_and_jobs(queues: Browser) -> None:
    page = await queues.get("/queues")
    assert 'href="/q/0/bullmq/mail"' in page.text and "faststream" in page.text
    page = await queues.get("/q/0/celery/mail?state=failed")
    assert "ValueError: boom" in page.text and 'data-action="retry"' in page.text
    page = await queues.get("/q/0/huey/app?state=failed")
    assert "never loaded" in page.text


async def test_names_and_arguments_are_text_and_never_html(
    queues: Browser, client: InProcessClient
) -> None:
    evil = "<img src=x onerror=alert(1)>"
    client.execute("RPUSH", f"rq:queue:{evil}", evil)
    client.execute("HSET", f"rq:job:{evil}", "description", evil, "exc_info", evil)
    watch = await watch_of(queues)
    watch.queues.finder.begin_round()
    for _ in range(200):
        if watch.queues.finder.find("rq", evil.encode()):
            break
        await watch.queues._step()
    for path in ("/queues", "/q/0/rq/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"):
        page = await queues.get(path)
        assert page.status_code == 200
        assert "<img" not in page.text and "&lt;img" in page.text


async def test_a_view_of_a_queue_shows_its_newest_figures(queues: Browser) -> None:
    await get(queues, "/api/queues")
    watch = await watch_of(queues)
    shown = QueueView(framework="bullmq", label=b"mail").show(watch)
    assert (shown["texts"]["waiting"], shown["texts"]["workers"]) == ("4", "–")
