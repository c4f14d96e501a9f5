"""A plugin that runs tests in several processes, which are forked when all are collected: --jobs N.

Tests are imported and collected once. Each process takes one unit after the other
(distribution.py). With --spare one more process, of lower priority, takes units from the end, where
those are that wait for nothing: it has the cores while all others wait. A process sends its reports
to the first process, which prints and runs no tests. If a process dies, the test that it ran has
failed; another process is forked for the rest of its unit.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from _pytest.assertion import rewrite

from tests.support import distribution
from tests.support.programs import ports

Unit: TypeAlias = list[pytest.Item]
# A report of a failure is sent as pytest serializes it.
Sent: TypeAlias = pytest.TestReport | dict[str, Any]
SPARE_NICENESS = 10
# Plugins that print or write a report at the end: only the first process does.
REPORTERS = ("terminalreporter", "junitxml", "lfplugin", "nfplugin", "stepwiseplugin")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--jobs", type=int, default=1, help="processes that share the tests")
    parser.addoption("--spare", action="store_true", help="one more, while all others wait")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Look for no garbage while tests are imported and collected: all of it stays."""
    rewrite_first(session.config)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def rewrite_first(config: pytest.Config) -> None:
    """Rewrite new modules of tests in several processes: pytest does in one what it imports.

    In a fresh clone that takes longer than all else in a collection.
    """
    roots = (Path(word.partition("::")[0]) for word in config.args)
    files = (path for root in roots for path in root.absolute().rglob("test_*.py"))
    new = [path for path in files if not _rewritten(path).exists()]
    jobs = min(config.option.jobs, len(new))
    if jobs < 2 or sys.dont_write_bytecode:
        return
    processes = []
    for number in range(jobs):
        if pid := os.fork():
            processes.append(pid)
            continue
        try:
            state = config.stash[rewrite.assertstate_key]
            for path in new[number::jobs]:
                rewrite.try_makedirs(_rewritten(path).parent)
                source, code = rewrite._rewrite_test(path, config)
                rewrite._write_pyc(state, code, source, _rewritten(path))
        finally:
            os._exit(0)  # what fails is shown when it is imported
    for pid in processes:
        os.waitpid(pid, 0)


def _rewritten(path: Path) -> Path:
    return rewrite.get_cache_dir(path) / (path.stem + rewrite.PYC_TAIL)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    options = session.config.option
    broken = session.testsfailed and not options.continue_on_collection_errors
    if options.jobs < 2 or options.collectonly or broken or not session.items:
        return None  # pytest's own loop
    ForkedRun(session, options.jobs, spare=options.spare).run()
    return True


def units(items: list[pytest.Item]) -> list[Unit]:
    """What each process takes at a time, in the order of the items that come first."""
    found: dict[str, Unit] = {}
    for item in items:
        found.setdefault(distribution.unit_of(item.nodeid), []).append(item)
    return list(found.values())


@dataclass
class Worker:
    """A forked process, as the first process sees it."""

    pid: int
    pipe: Connection
    slot: int
    left: Unit = field(default_factory=list)  # tests of its unit, the one that runs included


class ForkedRun:
    """The first process: hands out units and passes on reports."""

    def __init__(self, session: pytest.Session, jobs: int, *, spare: bool) -> None:
        self.session = session
        self.hook = session.config.hook
        self.units = units(session.items)
        self.numbers = deque(range(len(self.units)))
        self.spare = jobs if spare else None  # its slot
        self.jobs = min(jobs + spare, len(self.units))
        self.workers: dict[Connection, Worker] = {}

    def run(self) -> None:
        """Return when all tests have been run; in a forked process, when those of it have."""
        terminal = self.session.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.showfspath = False  # tests of several files are run at a time
        gc.collect()
        gc.freeze()  # a collection in a process neither looks at nor copies what all share
        try:
            for slot in range(self.jobs):
                self._fork(slot)
            while self.workers:
                for pipe in wait([*self.workers]):
                    assert isinstance(pipe, Connection)
                    self._receive(self.workers[pipe])
        except _ForkedProcessEnds:
            pass
        finally:  # those that are left end after the test that they run
            for pipe in self.workers:
                pipe.close()
            for worker in self.workers.values():
                os.waitpid(worker.pid, 0)

    def _fork(self, slot: int, first: Unit | None = None) -> None:
        """Begin a process; in that one, run its tests and raise _ForkedProcessEnds."""
        ours, theirs = Pipe()
        if pid := os.fork():
            theirs.close()
            self.workers[ours] = Worker(pid, ours, slot, [*(first or [])])
            return
        for pipe in (ours, *self.workers):
            pipe.close()
        self.workers.clear()
        if slot == self.spare:
            os.nice(SPARE_NICENESS)
        ports.take_share(slot, self.jobs)
        ForkedProcess(self.session, theirs, self.units).run(slot, first)
        raise _ForkedProcessEnds

    def _receive(self, worker: Worker) -> None:
        try:
            kind, content = worker.pipe.recv()
        except (EOFError, ConnectionError):
            self._on_end(worker)
        else:
            getattr(self, f"_on_{kind}")(worker, content)

    def _on_next(self, worker: Worker, _: None) -> None:
        take = self.numbers.pop if worker.slot == self.spare else self.numbers.popleft
        number = take() if self.numbers else None
        worker.left = [] if number is None else [*self.units[number]]
        worker.pipe.send(number)

    def _on_test(self, worker: Worker, reports: list[Sent]) -> None:
        test = worker.left.pop(0)
        place = {"nodeid": test.nodeid, "location": test.location}
        self.hook.pytest_runtest_logstart(**place)
        self._on_reports(worker, reports)
        self.hook.pytest_runtest_logfinish(**place)

    def _on_reports(self, worker: Worker, reports: list[Sent]) -> None:
        config = self.session.config
        for sent in reports:
            if isinstance(sent, dict):
                sent = self.hook.pytest_report_from_serializable(config=config, data=sent)
            self._report(sent)

    def _on_warning(self, worker: Worker, said: dict[str, Any]) -> None:
        said["warning_message"] = warnings.WarningMessage(**said["warning_message"])
        self.hook.pytest_warning_recorded.call_historic(kwargs=said)

    def _on_end(self, worker: Worker) -> None:
        del self.workers[worker.pipe]
        worker.pipe.close()
        _, status = os.waitpid(worker.pid, 0)
        if not worker.left:
            return
        test, *left = worker.left
        how = f"its process ended with status {os.waitstatus_to_exitcode(status)}"
        self._report(pytest.TestReport(test.nodeid, test.location, {}, "failed", how, "call"))
        self.hook.pytest_runtest_logfinish(nodeid=test.nodeid, location=test.location)
        self._fork(worker.slot, left)

    def _report(self, report: pytest.TestReport) -> None:
        self.hook.pytest_runtest_logreport(report=report)
        if self.session.shouldfail:
            raise self.session.Failed(self.session.shouldfail)
        if self.session.shouldstop:
            raise self.session.Interrupted(self.session.shouldstop)


class _ForkedProcessEnds(Exception):
    """Ends the loop in a forked process."""


class ForkedProcess:
    """A process that runs units, as long as the first process has some."""

    def __init__(self, session: pytest.Session, pipe: Connection, units: list[Unit]) -> None:
        self.session = session
        self.config = session.config
        self.pipe = pipe
        self.units = units
        self.reports: list[Sent] = []  # of the test that runs

    def run(self, slot: int, first: Unit | None) -> None:
        self._be_a_worker(slot)
        last: pytest.Item | None = None
        unit = first or self._ask()
        while unit:
            # After the last test of a unit fixtures of the session stay.
            for last, following in zip(unit, [*unit[1:], self.session], strict=True):
                self.config.hook.pytest_runtest_protocol(item=last, nextitem=following)
                if self.pipe.poll():  # the first process has ended, or wants no more
                    return
            unit = self._ask()
        if last is not None:
            self._put_away(last)

    def _put_away(self, last: pytest.Item) -> None:
        """End the fixtures of the session; an error is one of the last test."""
        setups = self.session._setupstate
        call = pytest.CallInfo.from_call(lambda: setups.teardown_exact(None), "teardown")
        report = last.ihook.pytest_runtest_makereport(item=last, call=call)
        if report.failed:
            last.ihook.pytest_runtest_logreport(report=report)
            self._send("reports")

    def _ask(self) -> Unit:
        try:
            self.pipe.send(("next", None))
            number = self.pipe.recv()
        except (EOFError, ConnectionError):
            return []
        return [] if number is None else self.units[number]

    def _be_a_worker(self, slot: int) -> None:
        """Share nothing with the other processes that is written to."""
        # After all that tests register: libraries would wait for threads that no fork has.
        atexit.register(os._exit, 0)
        config = self.config
        config.workerinput = {"workerid": f"job{slot}"}  # type: ignore[attr-defined]
        for name in REPORTERS:
            config.pluginmanager.unregister(name=name)
        config.pluginmanager.register(self, "forked_process")
        capture: Any = config.pluginmanager.get_plugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        temporary = config._tmp_path_factory  # type: ignore[attr-defined]
        temporary._basetemp = temporary.getbasetemp() / f"job{slot}-{os.getpid()}"
        temporary._basetemp.mkdir(mode=0o700)

    def pytest_runtest_logfinish(self) -> None:
        self._send("test")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        sent: Sent = report
        if not report.passed:  # what a test raised may have no pickle
            hook = self.config.hook
            sent = hook.pytest_report_to_serializable(config=self.config, report=report)
        self.reports.append(sent)

    def _send(self, kind: str) -> None:
        """In one message: each wakes the first process."""
        self.pipe.send((kind, self.reports))
        self.reports = []

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: Any
    ) -> None:
        if when != "runtest":
            return  # the first process has it already
        names = ("category", "filename", "lineno", "line")
        said: dict[str, Any] = {name: getattr(warning_message, name) for name in names}
        said["message"] = str(warning_message.message)
        words = {"when": when, "nodeid": nodeid, "location": location}
        self.pipe.send(("warning", {"warning_message": said, **words}))
