"""server/metrics/endpoint.py: whether the server is ready."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from server.metrics import endpoint
from server.metrics.endpoint import PAGE_US, Scrapes, is_own_host, unreadiness


@pytest.mark.parametrize(
    "header",
    [
        "127.0.0.1:9121", "127.0.0.1", "[::1]:9121", "[::1]", "localhost:9121", "LOCALHOST",
        "10.0.0.7:9121", "[fe80::1]:9121", "db1:9121", "DB1", "metrics.example:9121",
    ],
)  # fmt: skip
def test_addresses_and_own_names_are_answered(header: str) -> None:
    assert is_own_host(header, ["127.0.0.1", "-metrics.example"], "db1")


@pytest.mark.parametrize(
    "header",
    [
        "", ":9121", "evil.example", "evil.example:9121", "127.0.0.1.evil.example",
        "localhost.evil.example:80", "db1.evil.example", "[::1", "db1@evil.example", "2130706433",
        "0x7f.1", "127.1", "localhost.", "*", "evil.example/127.0.0.1",
    ],
)  # fmt: skip
def test_other_names_are_refused(header: str) -> None:
    assert not is_own_host(header, ["127.0.0.1", "-::1"], "db1")


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
        broken.setattr(endpoint, "Collection", lambda *_: None)
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


def test_a_server_that_serves_is_ready() -> None:
    assert unreadiness(InProcessServer().instance) is None


def test_a_server_is_not_ready_while_it_loads() -> None:
    server = InProcessServer()
    server.instance.set_loading(True)
    assert unreadiness(server.instance) == "the data is being loaded"


def test_a_replica_without_its_primary_is_ready_only_if_it_may_serve_stale_data() -> None:
    server = InProcessServer(replicaof="127.0.0.1 1")
    assert unreadiness(server.instance) is None
    server.connect().execute("CONFIG", "SET", "replica-serve-stale-data", "no")
    assert "link to the primary is down" in str(unreadiness(server.instance))


def test_a_server_that_cannot_write_its_file_is_not_ready() -> None:
    server = InProcessServer(save="3600 1")
    server.instance.persistence.save_succeeded = False
    server.advance(1000)
    assert "a file cannot be written" in str(unreadiness(server.instance))


def test_a_server_that_waits_for_its_replicas_to_end_is_not_ready() -> None:
    server = InProcessServer()
    server.instance.shutdown_at_ms = server.instance.now_ms + 1000
    assert unreadiness(server.instance) == "the server is shutting down"
