"""Which groups are over a limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rillway.pipeline.lag.limits import LagUnknown, Limits
from tests.rillway.sampler.test_trend import sample

SAMPLE = replace(sample(0, 5, 0, 5), pending=3, oldest_ms=90_000)


def test_without_limits_nothing_is_over_them() -> None:
    assert not Limits().are_set and Limits().exceeded([SAMPLE]) == []


def test_a_limit_itself_may_be_reached() -> None:
    assert Limits(lag=5, oldest_s=90).exceeded([SAMPLE]) == []
    assert Limits(lag=4, oldest_s=89).exceeded([SAMPLE]) == [
        "s/g: 5 behind, more than 4",
        "s/g: the oldest pending entry is 1 min 30 s old, more than 1 min 29 s",
    ]


def test_where_nothing_is_pending_nothing_is_old() -> None:
    assert Limits(oldest_s=0).exceeded([replace(SAMPLE, pending=0, oldest_ms=None)]) == []


def test_what_is_unknown_cannot_be_checked() -> None:
    with pytest.raises(LagUnknown, match="s/g"):
        Limits(lag=9).exceeded([replace(SAMPLE, lag=None)])
    with pytest.raises(LagUnknown, match="s/g"):
        Limits(oldest_s=9).exceeded([replace(SAMPLE, oldest_ms=None)])
