"""benchmarks/growth: exponents, which rows are reported, and that no command is forgotten."""

from __future__ import annotations

import shlex
from fnmatch import fnmatchcase

import pytest

import commands.catalogue  # noqa: F401  (declares every command)
from benchmarks.growth.growth import Row, exponent, rounds
from benchmarks.growth.requests import LEFT_OUT, ROWS, SEED, lines
from commands.core.registry import COMMANDS

SIZES = [1000, 2000, 4000, 8000]


@pytest.mark.parametrize(
    ("times", "power"),
    [([5.0] * 4, 0.0), ([10.0, 20.0, 40.0, 80.0], 1.0), ([1.0, 4.0, 16.0, 64.0], 2.0)],
)
def test_an_exponent_is_the_power_of_the_size(times: list[float], power: float) -> None:
    assert exponent(SIZES, times) == pytest.approx(power)


def test_a_time_that_falls_has_no_exponent() -> None:
    assert exponent(SIZES, [9.0, 8.0, 7.0, 6.0]) == 0


@pytest.mark.parametrize(
    ("ours", "redis", "is_defect"),
    [
        ([10.0, 20.0, 40.0, 80.0], [5.0, 5.0, 5.0, 5.0], True),
        ([10.0, 20.0, 40.0, 80.0], [5.0, 10.0, 20.0, 40.0], False),  # slower, but no steeper
        ([1.0, 2.0, 4.0, 8.0], [1.0, 1.0, 1.0, 1.0], False),  # a few microseconds
        ([10.0, 20.0, 40.0, 80.0], [90.0, 90.0, 90.0, 90.0], False),  # faster all the same
        ([5e3, 1e4, 2e4, 4e4], [2.5e3, 5e3, 1e4, 2e4], True),  # no steeper, but all wait
    ],
)
def test_rows_are_reported_that_are_steeper_or_hold_others_up(
    ours: list[float | None], redis: list[float | None], is_defect: bool
) -> None:
    assert Row("", ours, redis).is_defect(SIZES) is is_defect


def test_a_request_that_redis_refuses_is_compared_with_nothing() -> None:
    assert not Row("", [1.0, 10.0, 100.0, 9e9], [None] * 4).is_defect(SIZES)


def test_of_two_measurements_the_lesser_counts() -> None:
    row = Row("", [1.0, 9.0, None, 2.0], [1.0, 1.0, 1.0, 1.0])
    row.keep_least(Row("", [2.0, 3.0, 1.0, None], [2.0, 0.5, 1.0, 1.0]))
    assert (row.ours, row.redis) == ([1.0, 3.0, None, None], [1.0, 0.5, 1.0, 1.0])


def test_rounds_have_numbers_of_their_own() -> None:
    assert rounds('EVAL "return $i" 0 ; PING', 7, 2) == [
        b"*3\r\n$4\r\nEVAL\r\n$8\r\nreturn 7\r\n$1\r\n0\r\n", b"*1\r\n$4\r\nPING\r\n",
        b"*3\r\n$4\r\nEVAL\r\n$8\r\nreturn 8\r\n$1\r\n0\r\n", b"*1\r\n$4\r\nPING\r\n",
    ]  # fmt: skip


def test_every_command_of_redis_has_a_row_or_a_reason() -> None:
    requests = [
        [word.lower() for word in shlex.split(part)]
        for line in lines(SEED) + lines(ROWS)
        for part in line.split(" ; ")
    ]
    named = {request[0] for request in requests}
    named |= {"|".join(request[:2]) for request in requests}
    patterns = " ".join(LEFT_OUT.values()).split()
    missing = {
        name
        for name in all_commands() - named
        if not any(fnmatchcase(name, pattern) for pattern in patterns)
    }
    assert missing == set()


def all_commands() -> set[str]:
    names = set()
    for name, command in COMMANDS.items():
        subs = [f"{name.decode()}|{sub.decode()}" for sub in command.subcommands]
        names.update(subs or [name.decode()])
    return names
