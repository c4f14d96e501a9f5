"""The cases of `make micro`, run once and interpreted."""

from __future__ import annotations

import pytest

from benchmarks import micro
from server.inprocess.server import InProcessServer

CASES = dict([*micro.stream_cases(), *micro.other_cases()])


@pytest.mark.parametrize("name", CASES)
def test_no_request_of_a_case_is_answered_with_an_error(name: str) -> None:
    case = CASES[name]
    client = InProcessServer().connect()
    for cycle in (case.prepare, *case.cycles) * 2:
        assert not client.feed(cycle).startswith(b"-")
    assert not [line for line in client.feed(case.cycles[-1]).split(b"\r\n") if line[:1] == b"-"]


def test_a_case_has_as_many_requests_as_it_is_divided_by() -> None:
    for name, case in CASES.items():
        if name.startswith("eval"):
            continue  # the commands of a script count, too
        server = InProcessServer()
        client = server.connect()
        client.feed(case.prepare)
        before = server.instance.stats.commands_processed
        for cycle in case.cycles:
            client.feed(cycle)
        assert server.instance.stats.commands_processed - before == case.requests, name


def test_the_least_time_is_of_the_action_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr(micro, "REPETITIONS", 3)
    assert micro.least(lambda: steps.append("prepare"), lambda: steps.append("action")) < 2**62
    assert steps == ["prepare", "action"] * 3


@pytest.mark.parametrize("name", micro.LOADING)
def test_a_file_that_is_loaded_has_its_requests(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(micro, "REPETITIONS", 1)
    assert micro.measure(name).keys() == {name}
