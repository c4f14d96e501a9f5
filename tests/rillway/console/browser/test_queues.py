"""Queues of job frameworks, as a viewer works on them."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.rillway.queues.keys import ALL

pytestmark = [pytest.mark.browser, pytest.mark.integration]


@pytest.fixture
def queues(data: Any) -> Any:
    """A server with the keys of all frameworks."""
    for request in [one for keys in ALL.values() for one in keys]:
        data.execute_command(*request)
    return data


def confirm(page: Page, button: str, question: str) -> None:
    page.get_by_role("button", name=button).click()
    dialog = page.locator("dialog#confirm")
    expect(dialog).to_contain_text(question)
    dialog.get_by_role("button", name="Confirm").click()


def test_failed_jobs_of_a_queue_are_found_and_tried_again(page: Page, queues: Any) -> None:
    page.goto("/queues")
    row = page.locator("tr[data-key='bullmq/mail']")
    expect(row.locator("[data-cell=failed]")).to_have_text("2")
    row.get_by_role("link").click()
    page.get_by_role("link", name="failed").click()
    page.locator("tr[data-key='1'] [data-pick]").check()
    page.locator("tr[data-key='7'] [data-pick]").check()
    queues.zrem("bull:mail:failed", "7")  # somebody else was quicker
    confirm(page, "Retry…", "Run again: 2 jobs of queue mail?")
    expect(page.locator("#notice")).to_contain_text("1 job will run again; 1 was left")
    assert queues.lrange("bull:mail:wait", 0, 0) == [b"1"]
    expect(page.locator("[data-text=failed]").first).to_have_text("0")


def test_waiting_jobs_are_removed_and_moved_to_the_front(page: Page, queues: Any) -> None:
    page.goto("/q/0/rq/default")
    page.locator("tr[data-key='w2'] [data-pick]").check()
    confirm(page, "To the front…", "Move to the front: 1 job of queue default?")
    expect(page.locator("#notice")).to_contain_text("1 job moved to the front.")
    assert queues.lrange("rq:queue:default", 0, -1) == [b"w2", b"w1"]
    page.reload()
    page.locator("tr[data-key='w1'] [data-pick]").check()
    confirm(page, "Remove…", "Remove: 1 job of queue default?")
    expect(page.locator("#notice")).to_contain_text("1 job removed.")
    assert queues.exists("rq:job:w1") == 0


def test_the_pages_of_queues_are_reached_by_the_keyboard(page: Page, queues: Any) -> None:
    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    expect(page.locator("tr[data-key]")).to_have_count(14)
