"""Queues are looked for while somebody looks at them."""

from __future__ import annotations

from rillway.console.data.queues import KEPT_S, QueueWatch
from tests.rillway.console.conftest import Browser


async def test_nothing_is_asked_when_nobody_looks(browser: Browser) -> None:
    now = [0.0]
    session = browser.console.session(None)
    assert session is not None
    watch = QueueWatch(session.link, 0, lambda: now[0])
    await watch.ready()
    now[0] = KEPT_S + 1
    assert watch._task is not None
    await watch._task
    watch.touch()
    assert not watch._task.done()
    await watch.close()
