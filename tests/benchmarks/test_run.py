"""The options of a run, and one run that measures a little."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import machine, run, servers
from benchmarks.cases.latency import seeds_lines
from benchmarks.comparison import FULL, QUICK, Case, Contender, Scale, Session, compare
from benchmarks.figures import Figure, Result, Row
from benchmarks.servers import Program, ServerError
from tests.support.waiting import until


def test_a_quick_run_has_three_pairs_and_a_full_one_five() -> None:
    assert run.scale_of(run.options_of([])).pairs == 5
    assert run.scale_of(run.options_of(["--quick"])).pairs == 3
    assert run.scale_of(run.options_of(["--quick", "--pairs", "7"])).pairs == 7


def test_the_jobs_of_programs_are_scaled() -> None:
    assert run.scale_of(run.options_of(["--scale", "0.2"])).jobs == FULL.jobs // 5


def test_the_compiled_server_is_measured_unless_the_sources_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "COMPILED", tmp_path)
    with pytest.raises(ServerError, match="make compiled"):
        servers.rillway_program()
    module = tmp_path / "rillway/app/server/requests/dispatch.so"
    module.parent.mkdir(parents=True)
    module.touch()
    compiled = servers.rillway_program()
    assert (compiled.name, compiled.environment["PYTHONPATH"]) == ("Rillway", str(tmp_path))
    assert "-P" in compiled.command
    interpreted = servers.rillway_program(interpreted=True)
    assert (interpreted.name, interpreted.modules) == ("Rillway interpreted", None)


@pytest.mark.parametrize(
    "arguments",
    [["--pairs", "0"], ["--pairs", "x"], ["--compiled"]],
)
def test_bad_options_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        run.options_of(arguments)
    assert raised.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_an_unknown_case_and_a_missing_redis_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--only", "nothing-like-it"]) == 2
    assert "nothing-like-it" in capsys.readouterr().err
    assert run.main(["--interpreted", "--against", "/nowhere/redis-server"]) == 2
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
    arguments = ["--interpreted", "--quick", "--pairs", "1", "--json", str(written)]
    for case in ("xadd/small-p16-c50", "start/first-pong"):
        arguments += ["--only", case]
    assert run.main(arguments) == 0
    results = json.loads(written.read_text())["results"]
    assert [result["case"] for result in results] == ["xadd/small-p16-c50", "start/first-pong"]
    assert all(result["rillway"] > 0 and result["redis"] > 0 for result in results)
    assert all(figure["later"] < 0.5 for figure in results[0]["pairs"]["redis"])
    assert "xadd/small-p16-c50" in capsys.readouterr().out


def started_run(path: Path, *cases: str) -> subprocess.Popen[str]:
    """A run of some cases in a process of its own."""
    command = [sys.executable, "benchmarks/run.py", "--interpreted", "--quick", "--pairs", "1"]
    command += ["--json", str(path)]
    command += [word for case in cases for word in ("--only", case)]
    environment = os.environ | {"PYTHONPATH": "."}
    return subprocess.Popen(
        command,
        cwd=servers.ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        # A shell has its programs in the background ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def children_of(pid: int) -> set[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return {int(child) for child in listed.split()}


@pytest.mark.integration
@pytest.mark.parametrize(
    "kind", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)]
)
def test_a_run_that_is_interrupted_keeps_what_it_had(tmp_path: Path, kind: signal.Signals) -> None:
    written = tmp_path / "figures.json"
    cases = ("xadd/small-p16-c50", "xread/", "ping/", "start/first-pong")
    process = started_run(written, *cases)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("xadd/small-p16-c50 "):
            break
    children = children_of(process.pid)
    process.send_signal(kind)
    assert process.wait(timeout=20) == run.INTERRUPTED
    process.stdout.close()
    assert not [child for child in children if Path(f"/proc/{child}").exists()]
    results = json.loads(written.read_text())["results"]
    assert [result["case"] for result in results] == ["xadd/small-p16-c50"]


def servers_of(pid: int) -> set[int]:
    """Those of its children that became a server."""
    found = set()
    for child in children_of(pid):
        with contextlib.suppress(OSError):
            if b"--port" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
                found.add(child)
    return found


@pytest.mark.integration
def test_a_run_that_is_killed_leaves_no_server_behind(tmp_path: Path) -> None:
    process = started_run(tmp_path / "figures.json", "ping/p1-c50")
    assert process.stdout is not None
    while not (servers := servers_of(process.pid)):
        assert process.poll() is None
    process.kill()
    process.communicate()
    until(lambda: not any(Path(f"/proc/{server}").exists() for server in servers))


def test_a_case_that_fails_is_noted_and_the_others_go_on(tmp_path: Path) -> None:
    @contextmanager
    def broken(_contender: Contender, _scale: Scale) -> Iterator[Session]:
        raise ServerError("it is gone")
        yield

    @contextmanager
    def whole(contender: Contender, _scale: Scale) -> Iterator[Session]:
        yield Session(lambda: {"ping/p1-c50": Figure(6.0 if contender.is_ours else 3.0)})

    cases = [
        Case("xadd/broken", (Row("xadd/broken"),), broken),
        Case("ping/p1-c50", (Row("ping/p1-c50"),), whole),
    ]
    cores = machine.choose_cores(list(os.sched_getaffinity(0)))
    program = Program("any", ("any",), (1,))
    contenders = [Contender(program, cores, True), Contender(program, cores, False)]
    path = tmp_path / "figures.json"
    made = run.Record({}, path)
    assert run.measure(cases, contenders, QUICK, made) == 1
    assert made.failures == {"xadd/broken": "ServerError: it is gone"}
    (result,) = json.loads(path.read_text())["results"]
    assert (result["case"], result["ratio"]["median"]) == ("ping/p1-c50", 2.0)


def test_all_but_snapshots_of_redis_and_tls_is_measured_beside_valkey() -> None:
    @contextmanager
    def opened(contender: Contender, _scale: Scale) -> Iterator[Session]:
        speed = 6.0 if contender.is_ours else 4.0 if contender.is_valkey else 3.0
        yield Session(lambda: {"ping/p1-c50": Figure(speed)})

    def measured(**properties: bool) -> Result:
        case = Case("ping/p1-c50", (Row("ping/p1-c50"),), opened, **properties)  # type: ignore[arg-type]
        (result,) = compare(case, contenders, QUICK)
        return result

    cores = machine.choose_cores(list(os.sched_getaffinity(0)))
    program = Program("any", ("any",), (1,))
    contenders = [
        Contender(program, cores, True),
        Contender(program, cores, False),
        Contender(program, cores, False, is_valkey=True),
    ]
    found = measured()
    assert found.ratio is not None and found.ratio.median == 2.0
    assert found.valkey_ratio is not None and found.valkey_ratio.median == 1.5
    for other in (measured(is_of_redis=True), measured(is_encrypted=True)):
        assert (other.their_value, other.valkey_value, other.valkey_ratio) == (3.0, None, None)


def test_headlines_alone_are_measured_beside_an_older_redis() -> None:
    @contextmanager
    def opened(contender: Contender, _scale: Scale) -> Iterator[Session]:
        speed = 6.0 if contender.is_ours else 4.0 if contender.is_older else 3.0
        yield Session(lambda: dict.fromkeys(("set/p64-c50", "ping/p1-c50"), Figure(speed)))

    def case(name: str) -> Case:
        return Case(name, tuple(Row(one) for one in ("set/p64-c50", "ping/p1-c50")), opened)

    cores = machine.choose_cores(list(os.sched_getaffinity(0)))
    program = Program("any", ("any",), (1,))
    contenders = [
        Contender(program, cores, True),
        Contender(program, cores, False),
        Contender(program, cores, False, is_older=True),
    ]
    headline, _ = compare(case("set/p64-c50"), contenders, QUICK)
    other, _ = compare(case("ping/p1-c50"), contenders, QUICK)
    assert headline.ratio is not None and headline.ratio.median == 2.0
    assert headline.older_ratio is not None and headline.older_ratio.median == 1.5
    assert (len(other.ours), other.older, other.older_ratio) == (3, [], None)
