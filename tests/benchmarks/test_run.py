"""The options of a run, and one run that measures a little."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import machine, run
from benchmarks.cases.latency import seeds_lines


def test_a_quick_run_has_three_pairs_and_a_full_one_five() -> None:
    assert run.scale_of(run.options_of([])).pairs == 5
    assert run.scale_of(run.options_of(["--quick"])).pairs == 3
    assert run.scale_of(run.options_of(["--quick", "--pairs", "7"])).pairs == 7


@pytest.mark.parametrize(
    ("arguments", "complete"),
    [
        ([], True),
        (["--pairs", "9"], True),
        (["--json", "x.json"], True),
        (["--pairs", "4"], False),
        (["--quick"], False),
        (["--only", "xadd"], False),
    ],
)
def test_results_are_written_by_a_full_run_only(arguments: list[str], complete: bool) -> None:
    assert run.is_complete(run.options_of(arguments)) is complete


def test_only_may_be_repeated() -> None:
    assert run.options_of(["--only", "xadd", "--only", "ping"]).only == ["xadd", "ping"]


@pytest.mark.parametrize("arguments", [["--pairs", "0"], ["--pairs", "x"], ["--fast"]])
def test_bad_options_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        run.options_of(arguments)
    assert raised.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_an_unknown_case_and_a_missing_redis_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--only", "nothing-like-it"]) == 2
    assert "nothing-like-it" in capsys.readouterr().err
    assert run.main(["--against", "/nowhere/redis-server"]) == 2
    assert "/nowhere/redis-server" in capsys.readouterr().err


def test_cases_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--list", "--only", "fan-out/1"]) == 0
    assert "fan-out/100-readers" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("allowed", "cores"), [([5], (5, 5)), ([1, 0], (0, 1)), ([7, 3, 4], (3, 4))]
)
def test_servers_and_load_have_a_core_each_if_there_are_two(
    allowed: list[int], cores: tuple[int, int]
) -> None:
    chosen = machine.choose_cores(allowed)
    assert (chosen.server, chosen.load) == cores
    assert chosen.are_apart == (len(allowed) > 1)


def test_delays_are_printed_as_the_seeds_print_them() -> None:
    delays_ms = [0.5] * 74 + [1.5] * 25 + [4.0]
    assert list(seeds_lines(delays_ms)) == [
        "Processed between 0 and 1 ms -> 74.00%",
        "Processed between 1 and 2 ms -> 25.00%",
        "Processed between 4 and 5 ms -> 1.00%",
    ]


@pytest.mark.integration
def test_a_small_run_measures_both_servers_and_writes_all_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "figures.json"
    page = run.FOLDER / "RESULTS.md"
    before = page.read_bytes() if page.exists() else None
    arguments = ["--quick", "--pairs", "1", "--json", str(written)]
    for case in ("xadd/small-p16-c50", "start/first-pong"):
        arguments += ["--only", case]
    assert run.main(arguments) == 0
    results = json.loads(written.read_text())["results"]
    assert [result["case"] for result in results] == ["xadd/small-p16-c50", "start/first-pong"]
    assert all(result["rillway"] > 0 and result["redis"] > 0 for result in results)
    assert results[0]["ceiling"] > 0
    assert "xadd/small-p16-c50" in capsys.readouterr().out
    assert (page.read_bytes() if page.exists() else None) == before
