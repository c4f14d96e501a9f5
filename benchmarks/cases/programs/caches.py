"""django-redis as Django's cache: values of 1 KiB are set, read, and read a hundred at a time."""

from __future__ import annotations

import random

import django
from django.conf import settings

from benchmarks.cases.programs.job import Measurement, main

VALUE_BYTES = 1024
KEYS = 1_000
AT_A_TIME = 100


def _cache(measurement: Measurement):  # type: ignore[no-untyped-def]  # of Django, untyped
    backend = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": measurement.url}
    settings.configure(CACHES={"default": backend})
    django.setup()
    from django.core.cache import cache

    return cache


VALUE = random.Random(1).randbytes(VALUE_BYTES)


def set_values(measurement: Measurement) -> None:
    cache = _cache(measurement)
    cache.set("key", VALUE)
    measurement.begin()
    for number in range(measurement.jobs):
        with measurement.job():
            cache.set(f"key:{number % KEYS}", VALUE, timeout=600)
    measurement.end(lambda: measurement.jobs if cache.get("key:0") == VALUE else 0)


def get_values(measurement: Measurement) -> None:
    cache = _cache(measurement)
    for number in range(KEYS):
        cache.set(f"key:{number}", VALUE)
    found = 0
    measurement.begin()
    for number in range(measurement.jobs):
        with measurement.job():
            found += cache.get(f"key:{number % KEYS}") == VALUE
    measurement.end(lambda: found)


def get_many(measurement: Measurement) -> None:
    """A job is a value; the time is that of a hundred."""
    cache = _cache(measurement)
    names = [f"key:{number}" for number in range(AT_A_TIME)]
    cache.set_many(dict.fromkeys(names, VALUE))
    found = 0
    measurement.begin()
    for _ in range(measurement.jobs // AT_A_TIME):
        with measurement.job():
            found += sum(value == VALUE for value in cache.get_many(names).values())
    measurement.end(lambda: found)


if __name__ == "__main__":
    main({"set": set_values, "get": get_values, "get-many": get_many})
