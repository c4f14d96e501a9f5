"""benchmarks/soak/: each abuse and the others against a real Rillway, for a moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.servers import rillway_program
from benchmarks.soak import abuses, measurement
from benchmarks.soak.__main__ import line
from benchmarks.soak.abuses import Outcome, Target
from benchmarks.soak.measurement import Measured, failures_of, measure
from benchmarks.soak.others import Delay, Heard
from benchmarks.soak.rows import ROWS, Row

pytestmark = pytest.mark.integration

SCALE = 0.002


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "BEFORE_SECONDS", 0.01)
    monkeypatch.setattr(measurement, "AFTER_SECONDS", 0.01)
    monkeypatch.setattr(measurement, "LEAST_SECONDS", 0.3)
    monkeypatch.setattr(abuses, "HOLD_SECONDS", 0.1)


def measured(row: Row, folder: Path) -> Measured:
    return measure(rillway_program(interpreted=True), row.abuse, SCALE, folder)


# The others in `make soak`, which .ci/run has as well.
QUICK = ("unread-replies", "slow-requests")


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=() if row.name in QUICK else pytest.mark.thorough, id=row.name)
        for row in ROWS
    ],
)
def test_the_server_and_its_others_survive_each_abuse(row: Row, tmp_path: Path) -> None:
    found = measured(row, tmp_path)
    assert found.failures == []
    assert found.requests > 0
    assert 0 < found.p50 <= found.p99 <= found.p999 <= found.longest
    assert found.before.resident <= found.peak.resident
    assert line(row.name, found).startswith(row.name)


def test_what_an_abuse_finds_wrong_is_a_failure(tmp_path: Path) -> None:
    def abuse(target: Target) -> Outcome:
        abuses.Caller(target.port).call("DEL", "soak:stream")
        return Outcome(["it was not closed"])

    found = measured(Row("bad", abuse), tmp_path)
    assert found.failures[0] == "it was not closed"
    assert "NOGROUP" in found.failures[1]


def test_requests_without_a_reply_are_a_failure() -> None:
    assert failures_of(Heard([Delay(0.0, 1.0)], [], 0)) == []
    assert failures_of(Heard([], [], 2)) == ["2 requests of the others were not answered"]
