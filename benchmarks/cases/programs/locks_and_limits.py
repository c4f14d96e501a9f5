"""redis-py's lock, and the strategies of `limits`: fixed window and moving window."""

from __future__ import annotations

from functools import partial

from limits import RateLimitItemPerHour
from limits.storage import RedisStorage
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter, RateLimiter
from redis import Redis

from benchmarks.cases.programs.job import Measurement, main

USERS = 100
LOCK_SECONDS = 10


def lock(measurement: Measurement) -> None:
    """A job takes a lock and gives it back."""
    client = Redis(port=measurement.port)
    taken = 0
    measurement.begin()
    for number in range(measurement.jobs):
        with measurement.job():
            held = client.lock(f"lock:{number % USERS}", timeout=LOCK_SECONDS)
            taken += held.acquire(blocking=False)
            held.release()
    measurement.end(lambda: taken)


def limit(strategy: type[RateLimiter], measurement: Measurement) -> None:
    """A job is a hit that is allowed, of one of a hundred users."""
    limiter = strategy(RedisStorage(measurement.url))
    rate = RateLimitItemPerHour(measurement.jobs)
    allowed = 0
    measurement.begin()
    for number in range(measurement.jobs):
        with measurement.job():
            allowed += limiter.hit(rate, f"user:{number % USERS}")
    measurement.end(lambda: allowed)


if __name__ == "__main__":
    main(
        {
            "lock": lock,
            "fixed-window": partial(limit, FixedWindowRateLimiter),
            "moving-window": partial(limit, MovingWindowRateLimiter),
        }
    )
