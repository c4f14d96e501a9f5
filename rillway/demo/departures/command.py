"""`rillway demo departures`: ten consumers, two crashes, and every departure accounted for."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Sequence

import redis

from rillway.demo.arguments import DEPARTURE_KEYS, parse_options
from rillway.demo.departures import report
from rillway.demo.departures.audit import Evidence, audit, read_ledger
from rillway.demo.departures.consumer import Assignment, run_consumer
from rillway.demo.departures.data_set import (
    Departure,
    count_by_carrier,
    data_file,
    read_departures,
)
from rillway.demo.departures.producer import Producer
from rillway.demo.departures.progress import DemoProgress, make_progress
from rillway.demo.departures.tally import Counters
from rillway.demo.service import (
    DemoFailed,
    clear_keys,
    open_server,
    walk,
)
from rillway.net.polling import poll
from rillway.plurals import count_of

STREAM, LEDGER = DEPARTURE_KEYS
GROUP = "counters"

NAMES = tuple(f"consumer-{number:02}" for number in range(1, 11))
CRASHING = ("consumer-04", "consumer-07")
CLAIMING = "consumer-10"

READY_SECONDS = 30.0
# The run is aborted if nothing was acknowledged for this long.
STALL_SECONDS = 30.0
JOIN_SECONDS = 10.0


class Consumers:
    """The ten consumer processes and their counters."""

    def __init__(self, url: str, crashes_from_ms: int) -> None:
        # A new interpreter for each: they must share nothing with the producer but the server.
        context = multiprocessing.get_context("spawn")
        self.stop_event = context.Event()
        self.tallies = {name: Counters.create() for name in NAMES}
        self.crashed: list[str] = []
        self.processes = {}
        for name, tally in self.tallies.items():
            assignment = Assignment(
                url=url,
                stream=STREAM,
                group=GROUP,
                ledger=LEDGER,
                name=name,
                crashes_from_ms=crashes_from_ms if name in CRASHING else None,
                claims=name == CLAIMING,
            )
            self.processes[name] = context.Process(
                target=run_consumer, args=(assignment, tally, self.stop_event), daemon=True
            )

    @property
    def acknowledged(self) -> int:
        return sum(tally.acknowledged for tally in self.tallies.values())

    def start(self) -> None:
        """Start all and wait until each is connected."""
        for process in self.processes.values():
            process.start()
        if not poll(self.are_ready, READY_SECONDS):
            raise DemoFailed("not all consumers could connect")

    def are_ready(self) -> bool:
        """Return True if each is connected. Raises DemoFailed if one has ended."""
        self.note_crashes()
        return all(tally.ready for tally in self.tallies.values())

    def note_crashes(self) -> list[str]:
        """The consumers that were found to have crashed since the last call.

        Raises DemoFailed if one ended in an unexpected way.
        """
        found = []
        for name, process in self.processes.items():
            if process.exitcode is None or name in self.crashed:
                continue
            if name not in CRASHING or process.exitcode != -signal.SIGKILL:
                raise DemoFailed(f"{name} ended by itself, with exit status {process.exitcode}")
            found.append(name)
        self.crashed += found
        return found

    def stop(self) -> None:
        """Let each finish what it is doing; end the ones that do not."""
        self.stop_event.set()
        for process in self.processes.values():
            if process.pid is not None:
                process.join(JOIN_SECONDS)
                process.kill()


def run(client: redis.Redis, url: str, departures: Sequence[Departure], rate: int) -> bool:
    """The whole demo against the server at `url`. Returns whether every check passed."""
    client.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
    crew = Consumers(url, crashes_from_ms=departures[len(departures) // 2].scheduled_ms)
    producer = Producer(client, STREAM, departures)
    progress = make_progress(url, len(departures))
    try:
        crew.start()
        started = time.monotonic()
        for sent in producer.run(rate):
            watch(crew, progress, sent)
        wait_for_the_rest(crew, progress, client, len(departures))
        seconds = time.monotonic() - started
    finally:
        crew.stop()
        progress.close()
    evidence = gather(client, crew, producer)
    return show(evidence, producer.seconds, seconds)


def watch(crew: Consumers, progress: DemoProgress, sent: int) -> None:
    progress.update(sent, crew.acknowledged)
    for name in crew.note_crashes():
        left = crew.tallies[name].unacknowledged
        holding = count_of(left, "departure")
        progress.note(f"{name} was killed, holding {holding} that it never acknowledged")


def wait_for_the_rest(
    crew: Consumers, progress: DemoProgress, client: redis.Redis, total: int
) -> None:
    """Wait until the group has no pending and no unread entries; or until progress stops."""
    last_acknowledged, last_move = -1, time.monotonic()
    while True:
        watch(crew, progress, total)
        group = client.xinfo_groups(STREAM)[0]
        if group["pending"] == 0 and group["lag"] == 0:
            return
        if crew.acknowledged != last_acknowledged:
            last_acknowledged, last_move = crew.acknowledged, time.monotonic()
        if time.monotonic() - last_move > STALL_SECONDS:
            progress.note(f"nothing was acknowledged for {STALL_SECONDS:.0f} seconds: giving up")
            return
        time.sleep(0.1)


def gather(client: redis.Redis, crew: Consumers, producer: Producer) -> Evidence:
    """Read all data to compare from the server."""
    print(f"\nReading back the stream and the ledger ({LEDGER}) ...", flush=True)
    return Evidence(
        departures=producer.departures,
        sent_ids=producer.sent,
        tallies=crew.tallies,
        crashed=sorted(crew.crashed),
        expected_crashes=len(CRASHING),
        stored=dict(walk(client, STREAM)),
        ledger=read_ledger(client, LEDGER),
        stream=client.xinfo_stream(STREAM),
        group=client.xinfo_groups(STREAM)[0],
        consumers=client.xinfo_consumers(STREAM, GROUP),
        pending=client.xpending(STREAM, GROUP),
    )


def show(evidence: Evidence, sending_seconds: float, seconds: float) -> bool:
    """Print the report. Returns whether every check passed."""
    total = len(evidence.departures)
    print("\nConsumers (entries)\n")
    print(report.consumer_table(evidence.tallies, evidence.crashed))
    print("\nDepartures by carrier\n")
    expected = count_by_carrier(evidence.departures)
    print(report.carrier_table(expected, evidence.ledger.by_carrier))
    print("\nLatency, from XADD to the consumer\n")
    for line in report.latency_lines(evidence.tallies):
        print(line)
    print("\nThroughput\n")
    print(f"  sent                        {total / sending_seconds:>10,.0f} departures a second")
    print(f"  sent, read and acknowledged {total / seconds:>10,.0f} departures a second")
    print(f"  processed twice             {evidence.ledger.repeated:>10,} departures")
    checks = audit(evidence)
    print("\nChecks\n")
    for line in report.check_lines(checks):
        print(line)
    failed = sum(not check.passed for check in checks)
    if failed:
        print(f"\n{failed} of {len(checks)} checks FAILED", flush=True)
    else:
        print(f"\nAll {total:,} departures were acknowledged exactly once.", flush=True)
    return failed == 0


def main(arguments: list[str]) -> int:
    """Run the demo and return the exit status."""
    options = parse_options(["departures", *arguments])
    data_file()  # raises DataSetMissing before a server is started
    with open_server(options) as url, redis.Redis.from_url(url) as client:
        clear_keys(client, DEPARTURE_KEYS, options.overwrite)
        print("Reading the data set ...", flush=True)
        departures = read_departures()[: options.departures]
        print(f"{len(departures):,} departures go to {url}", flush=True)
        return 0 if run(client, url, departures, options.rate) else 1
