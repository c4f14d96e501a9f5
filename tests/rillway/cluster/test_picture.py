"""Lines and JSON of `rillway cluster top`; the command itself is in test_command.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from rillway.cluster.folder import ClusterFolder
from rillway.cluster.picture import Figures, Reading, Sample, rates, sample_as_json, table
from tests.rillway.cluster.test_status import SOUND

SAMPLE = Sample(
    SOUND,
    {
        "127.0.0.1:7000": Figures(2, 2, True, None, 1204.4, 2048.0, 512.0, 50, 13_000_000),
        "127.0.0.1:7001": Figures(1, 2, False, 4096, None, None, None, 1, 12_000_000),
        "10.0.0.1:79": Figures(),
    },
)


def test_the_table_has_a_line_for_each_node() -> None:
    heading, _, primary, replica, other, state = table(SAMPLE).splitlines()
    assert heading.split() == [
        *("node", "role", "process", "slots", "links", "lag", "requests/s", "in/s", "out/s"),
        *("clients", "memory"),
    ]
    assert primary.split() == [
        *("127.0.0.1:7000", "primary", "pid", "11", "8,193", "2/2", "-"),
        *("1,204", "2.0k", "512", "50", "12.4M"),
    ]
    assert replica.split()[-8:] == ["1/2", "link", "down", "-", "-", "-", "1", "11.4M"]
    assert other.split()[-7:] == ["-"] * 7
    assert state == "cluster: ok, 16,384 of 16,384 slots served, 2 primaries"


def test_the_json_has_the_figures_of_each_node(tmp_path: Path) -> None:
    document = sample_as_json(ClusterFolder(tmp_path), SAMPLE)
    assert document["state"] == "ok"
    assert document["nodes"][1] | {"links": 1, "lag_bytes": 4096} == document["nodes"][1]
    assert document["nodes"][2]["requests_per_s"] is None


@pytest.mark.parametrize(("run_id", "expected"), [("a", 50.0), ("b", None)])
def test_rates_are_of_one_process(run_id: str, expected: float | None) -> None:
    fields = ("total_commands_processed", "total_net_input_bytes", "total_net_output_bytes")
    before = Reading(10.0, {"run_id": "a", **dict.fromkeys(fields, 100)}, 0, 0)
    now = Reading(12.0, {"run_id": run_id, **dict.fromkeys(fields, 200)}, 0, 0)
    assert rates(before, now)["requests_per_s"] == expected
