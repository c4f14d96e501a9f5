"""What it costs a server to be scraped once a second, as a monitoring system does.

Rillway is scraped at its own endpoint, Redis by the requests of redis_exporter. The rows of rates
are shares: the rate of a server that is scraped, of the rate of one that is not and, here, has no
`metrics-port`. The stall is what others feel while 10,000 streams with two groups are scraped.
"""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from benchmarks.cases.groups import consuming, fill_group
from benchmarks.cases.xadd import load as adding
from benchmarks.comparison import Case, Contender, Figures, Scale, Session
from benchmarks.figures import Figure, Row, figure_of_delays
from benchmarks.load.load import Load
from benchmarks.load.probes import delays_during
from benchmarks.servers import Server, free_port, pack

STREAMS = 10_000
# So that each run is scraped a few times.
LEAST_SECONDS = 3.0
STALL = "stall/scrape"

Scrape = Callable[[], None]


@contextmanager
def _serving(
    contender: Contender, streams: int, *directives: str
) -> Iterator[tuple[Server, Scrape]]:
    """A server, and what scrapes it; it is to have this number of streams `s:...`."""
    port = free_port()
    if contender.is_ours:
        directives = ("--metrics-port", str(port), *directives)
    with contender.start(*directives) as server:

        def scrape() -> None:
            if contender.is_ours:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read()
            else:
                _export(server, streams)

        yield server, scrape


def _export(server: Server, streams: int) -> None:
    """Ask what redis_exporter asks, stream after stream."""
    server.call("INFO", "ALL")
    for number in range(streams):
        for words in ("STREAM", "GROUPS"):
            server.call("XINFO", words, f"s:{number}")
        for group in ("g", "h"):
            server.call("XINFO", "CONSUMERS", f"s:{number}", group)


@contextmanager
def _each_second(scrape: Scrape) -> Iterator[None]:
    is_over = threading.Event()

    def go_on() -> None:
        while not is_over.wait(1.0):
            scrape()

    scraper = threading.Thread(target=go_on)
    scraper.start()
    try:
        yield
    finally:
        is_over.set()
        scraper.join()


@contextmanager
def _share(
    name: str, made: Callable[[Scale], Load], contender: Contender, scale: Scale
) -> Iterator[Session]:
    with _serving(contender, 0) as (scraped, scrape), contender.start() as plain:
        loads = {}
        for server in (scraped, plain):
            fill_group(server, scale)
            loads[server] = made(scale)
            loads[server].learn(server)

        def run(server: Server) -> Figure:
            server.settle()
            return loads[server].run(server, max(scale.seconds, LEAST_SECONDS))

        def measure() -> Figures:
            without = run(plain)
            with _each_second(scrape):
                figure = run(scraped)
                more = run(scraped)
            without_scrapes = without.value + run(plain).value
            share = (figure.value + more.value) / without_scrapes
            return {name: replace(figure, value=share)}

        yield Session(measure)


@contextmanager
def _stall(contender: Contender, _: Scale) -> Iterator[Session]:
    limit = ("--metrics-max-streams", str(STREAMS)) if contender.is_ours else ()
    with _serving(contender, STREAMS, *limit) as (server, scrape):
        for number in range(STREAMS):
            key = f"s:{number}"
            groups = [pack("XGROUP", "CREATE", key, group, "0") for group in ("g", "h")]
            server.pipeline([pack("XADD", key, "*", "f", "v"), *groups])

        def measure() -> Figures:
            server.settle()
            delays_ms, seconds = delays_during(server.port, scrape)
            return {
                f"{STALL}-p99.9": figure_of_delays(delays_ms),
                f"{STALL}-takes": Figure(seconds * 1000),
            }

        yield Session(measure)


def _case(name: str, made: Callable[[Scale], Load]) -> Case:
    row = Row(f"scraped/{name}", "of the rate unscraped")
    return Case(row.name, (row,), partial(_share, row.name, made), most_pairs=3)


CASES: list[Case] = [
    _case("xadd-small-p16-c50", partial(adding, "small", 50, 16)),
    *(_case(f"count-{count}-consumers-10", partial(consuming, count, 10)) for count in (1, 100)),
    Case(
        STALL,
        tuple(Row(f"{STALL}-{what}", "ms", lower_is_better=True) for what in ("p99.9", "takes")),
        _stall,
        has_warm_up=False,
        most_pairs=2,
    ),
]
