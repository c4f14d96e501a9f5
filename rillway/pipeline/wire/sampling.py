"""Drives a sampler over a connection, for `rillway lag`, `rillway top` and Spark's format."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.facts import NO_SUCH_KEY
from rillway.queues.finder import Finder
from rillway.sampler import Sampler
from rillway.sampler.trend import GroupSample, group_samples

# The share of the server's time for a single round, which should end soon.
ROUND_SHARE = 0.1


def take_step(connection: Connection, sampler: Sampler) -> bool:
    """Send the next batch of requests; return False if none is due. Raises ConnectionLost."""
    requests = sampler.plan(time.monotonic())
    if requests:
        sampler.accept(connection.call_all(requests), time.monotonic())
    return bool(requests)


def sample_round(connection: Connection, sampler: Sampler) -> None:
    """Sample all figures once. Raises ConnectionLost."""
    sampler.begin_round()
    while not sampler.round_done:
        if not take_step(connection, sampler):
            time.sleep(sampler.wait_s(time.monotonic()))


def find_queues(connection: Connection, finder: Finder, wait: Callable[[float], bool]) -> bool:
    """Find and measure all queues once. Return False if `wait` returned True: stop.

    Raises ConnectionLost.
    """
    while not finder.is_complete:
        requests = finder.plan(time.monotonic())
        if requests:
            finder.accept(connection.call_all(requests), time.monotonic())
        elif wait(finder.wait_s(time.monotonic())):
            return False
    return True


def sample_groups(connection: Connection, sampler: Sampler) -> list[GroupSample]:
    """Sample all groups of the sampler's streams; a missing stream has none.

    Raises ConnectionLost, and ServerError for a named key that holds something else.
    """
    sample_round(connection, sampler)
    for name, error in sampler.errors.items():
        if NO_SUCH_KEY not in error:
            raise ServerError(f"{error} ({name.decode(errors='backslashreplace')})")
    return list(group_samples(sampler.streams[name] for name in sorted(sampler.streams)))


def group_sampler(streams: Iterable[str] | None, match: str | None = None) -> Sampler:
    """Return a sampler of groups and all their consumers only."""
    return Sampler(
        streams=None if streams is None else [name.encode() for name in streams],
        match=None if match is None else match.encode(),
        share=ROUND_SHARE,
        server_facts=False,
        memory=False,
        every_consumer=True,
    )
