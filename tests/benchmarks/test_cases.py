"""The catalogue, and which cases a run measures; nothing is measured here."""

from __future__ import annotations

import itertools
import re

import pytest

from benchmarks.cases.case import Case
from benchmarks.cases.catalogue import CASES, UnknownCase, chosen
from benchmarks.comparison import has_case
from benchmarks.contenders import FULL, QUICK, Contender, Scale, Setting
from benchmarks.figures import Measure
from benchmarks.machine import Cores
from benchmarks.servers import Program, Server

REDIS = Program("Redis", ("redis-server",), (7, 0, 15))
ROWS = {row.name: row for case in CASES for row in case.rows}


def test_no_name_is_given_twice() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert len(ROWS) == sum(len(case.rows) for case in CASES)


def test_every_row_is_named_after_a_section_and_a_case() -> None:
    assert all(re.fullmatch(r"[a-z-]+/[A-Za-z0-9.-]+", name) for name in ROWS)


def _each(form: str, **choices: tuple[object, ...]) -> list[str]:
    """A name for each combination."""
    names = [form]
    for word, values in choices.items():
        names = [name.replace(f"<{word}>", str(value)) for name in names for value in values]
    return names


@pytest.mark.parametrize(
    "name",
    [
        *_each(
            "xadd/<of>-p<p>-c<c>",
            of=("small", "1KiB", "maxlen"),
            p=(1, 16, 64, 256),
            c=(1, 50, 500),
        ),
        *_each("<read>/count-<n>", read=("xrange", "xrevrange", "xread"), n=(1, 10, 100, 1000)),
        *_each("fan-out/<n>-readers", n=(1, 10, 100, 1000)),
        *_each("group/count-<n>-consumers-<m>", n=(1, 10, 100), m=(1, 10, 100)),
        *_each(
            "pending/<of>-<n>",
            of=("xpending", "xpending-range", "xautoclaim", "xreadgroup-claim"),
            n=("10k", "1M"),
        ),
        *_each(
            "<policy>/<of>",
            policy=("everysec", "always"),
            of=(
                *("xadd-small-p1-c1", "xadd-small-p64-c50", "xadd-1KiB-p64-c50"),
                *("xadd-maxlen-p64-c50", "fan-out-100-readers", "xrange-count-100"),
                *("group-count-1-consumers-10", "group-count-100-consumers-10"),
                *("xautoclaim-1M", "xreadgroup-claim-1M"),
            ),
        ),
        "stall/full-sync-p99.9",
        *_each("<command>/p<p>-c50", command=("ping", "set", "get"), p=(1, 64)),
        *_each(
            "memory/<of>-entry<when>",
            of=("small", "1KiB", "20-fields"),
            when=("", "-pending", "-acknowledged"),
        ),
        *("memory/idle-connection", "memory/blocked-client", "start/first-pong"),
        *("load/requests", "load/snapshot", "latency/seeds-p99.9"),
        *_each("latency/<of>-within-1ms", of=("seeds", "unacknowledged")),
        *_each("xrange/count-<n>-of-10M", n=(10, 1000)),
    ],
)
def test_what_users_ask_about_is_measured(name: str) -> None:
    assert name in ROWS


@pytest.mark.parametrize(
    ("name", "measure", "bound"),
    [
        ("xadd/small-p64-c50", Measure.RATIO, 1.45),
        ("xadd/small-p1-c50", Measure.RATIO, 0.97),
        ("xadd/mixed-p64-c50", Measure.RATIO, 1.0),
        ("group/count-1-consumers-10", Measure.RATIO, 0.9),
        ("group/count-100-consumers-10", Measure.RATIO, 2.0),
        ("xrange/count-1000", Measure.RATIO, 6.0),
        ("fan-out/100-readers", Measure.RATIO, 2.0),
        ("latency/seeds-within-1ms", Measure.RATIO, 1.0),
        ("latency/seeds-within-1ms", Measure.VALUE, 74.11),
        ("latency/seeds-p99.9", Measure.RATIO, 1.0),
        ("memory/small-entry", Measure.RATIO, 0.58),
        ("memory/small-entry-pending", Measure.RATIO, 0.54),
        ("load/requests", Measure.RATIO, 1.3),
        ("start/first-pong", Measure.VALUE, 150.0),
        ("set/p64-c50", Measure.RATIO, 0.9),
        ("get/p64-c50", Measure.RATIO, 0.9),
        ("stall/flushall-p99.9", Measure.VALUE, 10.0),
        ("stall/bgsave-takes", Measure.VALUE, 3000.0),
    ],
)
def test_what_is_promised_has_a_target(name: str, measure: Measure, bound: float) -> None:
    assert (measure, bound) in _bounds(name)


def _bounds(name: str) -> list[tuple[Measure, float]]:
    return [(target.measure, target.bound) for target in ROWS[name].targets]


def test_all_cases_are_measured_if_none_is_named() -> None:
    assert chosen([], is_quick=False) == CASES
    quick = chosen([], is_quick=True)
    assert 0 < len(quick) < len(CASES) / 2


def test_a_case_may_be_named_by_how_it_begins() -> None:
    assert {case.name.partition("/")[0] for case in chosen(["xread", "pi"], False)} == {
        "xread",
        "ping",
    }


def test_a_full_name_means_no_longer_one() -> None:
    (case,) = chosen(["xrange/count-10"], is_quick=True)
    assert case.name == "xrange/count-10"


def test_a_name_that_no_case_has_is_refused() -> None:
    with pytest.raises(UnknownCase, match="xdel"):
        chosen(["ping", "xdel"], is_quick=False)


def test_a_case_is_measured_for_a_redis_that_has_the_command() -> None:
    (claim,) = chosen(["pending/xreadgroup-claim-10k"], is_quick=False)

    def redis(*version: int) -> Contender:
        return Contender(Program("Redis", ("redis-server",), version), Cores(0, 1), is_ours=False)

    assert not has_case(redis(7, 0, 15), claim)
    assert has_case(redis(8, 4, 0), claim)
    ours = Contender(Program("Rillway", ("rillway",), (0, 1)), Cores(0, 1), is_ours=True)
    assert has_case(ours, claim)


def test_a_case_that_takes_long_has_fewer_pairs() -> None:
    (flush,) = chosen(["stall/flushall"], is_quick=False)
    (ping,) = chosen(["ping/p1-c50"], is_quick=False)
    assert (flush.pairs(FULL), ping.pairs(FULL), ping.pairs(QUICK)) == (2, 5, 3)


class _Asked(Contender):
    """Records which setting a case asks for, and starts nothing."""

    def shared(self, setting: Setting, scale: Scale) -> Server:
        raise LookupError(setting)


def _setting_of(case: Case) -> Setting:
    with pytest.raises(LookupError) as raised, case.open(_Asked(REDIS, Cores(0, 1), True), QUICK):
        pass
    (setting,) = raised.value.args
    assert isinstance(setting, Setting)
    return setting


def test_what_takes_long_to_prepare_is_prepared_once() -> None:
    settings = [_setting_of(case) for case in CASES if case.is_shared]
    prepared = [setting for setting, _ in itertools.groupby(settings) if setting.prepare]
    assert len({setting.name for setting in prepared}) == len(prepared) > 5
