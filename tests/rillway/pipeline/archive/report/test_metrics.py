"""The file for Prometheus."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rillway.pipeline.archive.identity.recognition import OtherSource
from rillway.pipeline.archive.report import metrics
from rillway.pipeline.archive.report.metrics import MetricsFile
from rillway.pipeline.archive.report.rounds import Round, RoundOutcome, StreamReport
from tests.rillway.pipeline.archive.report.test_rounds import a_round


def samples(path: Path) -> dict[str, float]:
    lines = path.read_text().splitlines()
    pairs = [line.rpartition(" ") for line in lines if not line.startswith("#")]
    return {name.removeprefix("rillway_archive_"): float(value) for name, _, value in pairs}


def test_counters_go_on_and_gauges_are_of_the_last_round(tmp_path: Path) -> None:
    path = tmp_path / "archive.prom"
    file = MetricsFile(path)
    file.add(a_round())
    file.add(a_round())
    # As after a start.
    MetricsFile(path).add(Round(1_700_000_100_000, 0.5, {"write": 0.25}, error="no connection"))
    found = samples(path)
    assert found["rounds_total"] == 3 and found["failed_rounds_total"] == 1
    assert found["entries_total"] == 18 and found["conflicts_total"] == 2
    assert found['phase_seconds_total{phase="write"}'] == 3.25
    assert found["last_round_timestamp_seconds"] == 1_700_000_100
    assert found["last_success_timestamp_seconds"] == 1_700_000_000.123
    assert found["streams"] == 0
    assert [one.name for one in tmp_path.iterdir()] == ["archive.prom"]


def test_streams_have_series_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "archive.prom"
    MetricsFile(path).add(a_round())
    found = samples(path)
    assert found['stream_end_timestamp_seconds{stream="orders"}'] == 0.009
    assert found['stream_lag_entries{stream="orders"}'] == 1
    assert found['stream_epoch{stream="orders"}'] == 2
    assert found['stream_held_up_seconds{stream="orders",group="billing",reason="pending"}'] == 5
    assert found['stream_left_out{stream="jobs",reason="OtherSource"}'] == 1
    assert (found["streams"], found["streams_left_out"], found["streams_omitted"]) == (3, 1, 0)


def test_too_many_streams_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MAX_STREAMS", 2)
    reports = {name: StreamReport(name) for name in "abc"}
    MetricsFile(tmp_path / "m.prom").add(Round(1, 1.0, {}, RoundOutcome(reports)))
    found = samples(tmp_path / "m.prom")
    assert found["streams_omitted"] == 1
    assert 'stream_memory_entries{stream="c"}' not in found


def test_a_file_of_something_else_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "m.prom"
    path.write_bytes(b"\xff\x00 entries_total x\n")
    MetricsFile(path).add(a_round())
    assert samples(path)["entries_total"] == 9


def test_promtool_finds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.prom"
    name = 'a "b" \\c\nd'
    outcome = RoundOutcome({name: StreamReport(name, epoch=1)}, {name: OtherSource("x")})
    MetricsFile(path).add(a_round())
    MetricsFile(path).add(Round(1, 1.0, {"write": 1.0}, outcome))
    assert shutil.which("promtool"), "promtool is missing: apt-get install prometheus"
    done = subprocess.run(
        ["promtool", "check", "metrics"],
        input=path.read_text(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
