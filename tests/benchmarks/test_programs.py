"""Programs that are measured: how a job is timed, and that all jobs must be done."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import machine
from benchmarks.cases.programs import running
from benchmarks.cases.programs.cases import CASES, PROGRAMS
from benchmarks.cases.programs.job import Arrivals, Measurement
from benchmarks.comparison import FULL, QUICK, Contender
from benchmarks.figures import Figure, Result, Row, Target, is_met
from benchmarks.servers import ROOT, Server, ServerError, rillway_program

JOBS = 20


def reporting(*reports: dict[str, object]) -> list[str]:
    """A program that reports that it is ready, waits, reports, and ends."""
    printed = [json.dumps(report) for report in reports]
    code = f"print('{{}}', flush=True); input(); print(*{printed!r}, sep='\\n')"
    return [sys.executable, "-c", code]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    cores = machine.choose_cores(list(os.sched_getaffinity(0)))
    contender = Contender(rillway_program(interpreted=True), cores, is_ours=True)
    with contender.start(alone=False) as started:
        yield started


# -- inside of a program ---------------------------------------------------------------------------


def test_a_slot_of_a_worker_takes_a_job_when_it_is_through_with_the_one_before() -> None:
    measurement = Measurement(port=1, jobs=5)
    measurement.note_starts([0.0, 0.5, 2.0, 3.0, 3.5], slots=2)
    assert measurement.times_s == [2.0, 2.5, 1.5]


def test_no_more_jobs_are_outstanding_than_asked_for_and_all_are_awaited() -> None:
    measurement = Measurement(port=1, jobs=5)
    outstanding: list[int] = []
    most = []

    def send(number: int) -> int:
        outstanding.append(number)
        most.append(len(outstanding))
        return number

    measurement.windowed(2, send, outstanding.remove)
    assert (max(most), outstanding, len(measurement.times_s)) == (2, [], 5)


def test_tasks_share_the_jobs_and_wait_for_their_handlers() -> None:
    measurement = Measurement(port=1, jobs=7)
    sent = []

    async def run() -> int:
        arrivals = Arrivals()

        async def do(number: int) -> None:
            arrived = arrivals.expect(number)
            sent.append(number)
            asyncio.get_running_loop().call_soon(arrivals.note, number)
            await arrived

        await measurement.by_tasks(3, do)
        return arrivals.count

    assert asyncio.run(run()) == 7
    assert sorted(sent) == list(range(7))
    assert len(measurement.times_s) == 7


def test_a_measurement_begins_when_it_is_told_to_and_reports_what_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    measurement = Measurement(port=1, jobs=3)
    measurement.begin()
    with measurement.job():
        pass
    measurement.end(lambda: 3)
    ready, report = map(json.loads, capsys.readouterr().out.splitlines())
    assert ready == {"ready": True}
    assert report["done"] == 3
    assert report["seconds"] * 1000 >= report["p99_ms"] > 0


# -- the cases -------------------------------------------------------------------------------------


def test_each_case_has_a_rate_a_percentile_and_processor_time() -> None:
    for case in CASES:
        assert [row.name for row in case.rows] == [
            case.name + suffix for suffix in ("", "-p99", "-cpu")
        ]


def test_jobs_come_in_hundreds_and_a_quick_run_has_fewer() -> None:
    for program in PROGRAMS:
        assert program.jobs(FULL) % 100 == program.jobs(QUICK) % 100 == 0
        assert 100 <= program.jobs(QUICK) < program.jobs(FULL)


def test_a_rate_counts_where_the_core_of_a_server_was_busy() -> None:
    target = Target(0.95, least_busy=0.8)
    row = Row("programs/any", bounds=(target,))

    def found(ours: Figure, theirs: Figure) -> bool | None:
        return is_met(target, Result(row, [ours], [theirs]))

    assert row.targets == (target,)
    assert found(Figure(100, 0.7), Figure(100, 0.8)) is True
    assert found(Figure(90, 0.8), Figure(100, 0.4)) is False
    assert found(Figure(90, 0.7), Figure(100, 0.7)) is None


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.script)
def test_a_program_has_a_script_that_knows_its_cases(program: object) -> None:
    assert isinstance(program, type(PROGRAMS[0]))
    folder = ROOT / "benchmarks/cases/programs"
    is_node = program.script.endswith(".mjs")
    path = folder / "node" / program.script if is_node else folder / f"{program.script}.py"
    text = path.read_text()
    for case in program.cases:
        assert f'"{case}"' in text or f"{case}()" in text or f"  {case}," in text, case


# -- running one -----------------------------------------------------------------------------------


@pytest.mark.integration
@pytest.mark.parametrize("case", ["send", "work"])
def test_a_program_is_measured_and_its_commands_are_counted(server: Server, case: str) -> None:
    found = running.measured(server, "rq_jobs", case, JOBS)
    assert found.rate.value > 0
    assert found.p99_ms.value > 0
    assert found.cpu_us.value > 0
    assert found.rate.server_busy is not None
    (commands,) = found.cpu_us.lines
    assert ("rpush 1.00" in commands) == (case == "send")
    assert ("hincrbyfloat 1.00" in commands) == (case == "work")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("program", "error"),
    [
        (reporting({"done": 19, "seconds": 1, "p99_ms": 1}), "19 of 20 jobs are done"),
        ([sys.executable, "-c", "raise SystemExit('out of order')"], "out of order"),
    ],
)
def test_a_program_that_does_not_do_all_jobs_is_no_figure(
    server: Server, monkeypatch: pytest.MonkeyPatch, program: list[str], error: str
) -> None:
    monkeypatch.setattr(running, "command_of", lambda _: [*program])
    with pytest.raises(ServerError, match=error):
        running.measured(server, "any", "any", JOBS)


@pytest.mark.integration
def test_a_request_that_is_refused_is_no_figure(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "refused.py"
    script.write_text(
        "import sys, redis\n"
        "print('{}', flush=True)\n"
        "input()\n"
        "client = redis.Redis(port=int(sys.argv[2]))\n"
        "client.set('key', 1)\n"
        "try: client.lpush('key', 1)\n"
        "except redis.ResponseError: pass\n"
        'print(\'{"done": 20, "seconds": 1, "p99_ms": 1}\', flush=True)\n'
    )
    monkeypatch.setattr(running, "command_of", lambda _: [sys.executable, str(script)])
    with pytest.raises(ServerError, match="WRONGTYPE"):
        running.measured(server, "any", "any", JOBS)
