"""server/metrics/scrapes.py: one scrape at a time."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from server.metrics import scrapes
from server.metrics.scrapes import PAGE_US, Scrapes


class Bench:
    """Scrapes of a server, by a manual clock."""

    def __init__(self) -> None:
        self.server = InProcessServer()
        self.now_us = 5_000_000
        self.scheduled = 0
        self.taken: list[bytes | None] = []
        self.scrapes = Scrapes(
            self.server.instance, self.schedule, lambda: self.now_us, lambda: 1_700_000_000_000
        )

    def schedule(self) -> None:
        self.scheduled += 1

    def ask(self) -> None:
        self.scrapes.ask(lambda page: self.taken.append(None if page is None else b"".join(page)))

    def work(self) -> None:
        self.server.instance.background_work.finish()


def test_a_page_is_collected_in_the_background() -> None:
    bench = Bench()
    bench.ask()
    assert (bench.taken, bench.scheduled) == ([], 1)
    bench.work()
    assert b"rillway_metrics_scrapes_total 1\n" in (bench.taken[0] or b"")


def test_all_who_ask_meanwhile_get_the_same_page() -> None:
    bench = Bench()
    bench.ask()
    bench.server.instance.background_work.step()
    bench.ask()
    bench.work()
    assert bench.taken[0] == bench.taken[1]
    assert bench.scheduled == 1


def test_a_page_serves_for_a_second() -> None:
    bench = Bench()
    bench.ask()
    bench.work()
    bench.now_us += PAGE_US - 1
    bench.ask()
    assert bench.taken[0] == bench.taken[1]
    bench.now_us += 1
    bench.ask()
    bench.work()
    assert b"rillway_metrics_scrapes_total 2\n" in (bench.taken[2] or b"")


def test_who_asks_gets_none_if_collecting_fails_and_the_next_scrape_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench()
    with monkeypatch.context() as broken:
        broken.setattr(scrapes, "Collection", lambda *_: None)
        bench.ask()
        bench.work()
    assert bench.taken == [None]
    assert "failed" in bench.server.log_lines[-1][1]
    bench.ask()
    bench.work()
    assert bench.taken[1]


def test_who_asks_gets_none_if_the_server_ends() -> None:
    bench = Bench()
    bench.ask()
    bench.server.instance.background_work.step()
    bench.server.instance.background_work.clear()
    assert bench.taken == [None]
