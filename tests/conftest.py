"""What the whole test run shares: the real servers, and the profiles of hypothesis.

A test that names `rillway_server` or `redis_server` gets a process that lives for the session. A
server that is missing or broken is a failure, never a skip. When such a test fails, what the
servers printed is part of the report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, settings

from protocol.request import IS_COMPILED
from server.inprocess.server import InProcessClient, InProcessServer
from server.requests.dispatch import Dispatcher
from tests.doubles.lent_request import lending
from tests.doubles.lost_writes import checked
from tests.support import distribution
from tests.support.examples import PROFILES
from tests.support.programs.servers import (
    WITHOUT_SDK,
    RunningServer,
    ServerFailed,
    start_redis,
    start_rillway,
)

pytest_plugins = ("tests.support.forked_run",)

StartRillway: TypeAlias = Callable[..., RunningServer]

REPORTED_CHARACTERS = 4_000
RUNNING: list[RunningServer] = []

# Programs that tests start inherit it; this process has its path already.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [*filter(None, [os.environ.get("PYTHONPATH")]), str(WITHOUT_SDK)]
)

# The same examples in every run, so that a failure in one place is a failure in all; with a seed of
# its own (RILLWAY_SEED), a long run looks at sequences that no other run has seen.
for name, count in PROFILES.items():
    settings.register_profile(
        name,
        max_examples=count,
        deadline=None,
        database=None,
        derandomize="RILLWAY_SEED" not in os.environ,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("thorough")


@pytest.fixture(scope="session", autouse=True)
def _requests_are_lent() -> None:
    """No handler may read a request after it has returned; compiled, it would read the next one."""
    if not IS_COMPILED:
        pytest.MonkeyPatch().setattr(Dispatcher, "execute", lending(Dispatcher.execute))


@pytest.fixture(scope="session", autouse=True)
def _no_write_is_lost() -> None:
    """A handler that changes a value says so; otherwise no file and no replica gets the change."""
    pytest.MonkeyPatch().setattr(InProcessClient, "execute", checked(InProcessClient.execute))


@pytest.fixture
def server() -> InProcessServer:
    """A server in this process, without sockets."""
    return InProcessServer()


@pytest.fixture
def client(server: InProcessServer) -> InProcessClient:
    """A client of `server`."""
    return server.connect()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A real redis-server, shared by the session: flush before you rely on its being empty."""
    yield from running(lambda: start_redis(tmp_path_factory.mktemp("redis")))


@pytest.fixture(scope="session")
def rillway_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Rillway with its default configuration, shared by the session."""
    yield from running(lambda: start_rillway(tmp_path_factory.mktemp("rillway")))


@pytest.fixture
def run_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartRillway]:
    """Starts further redis-servers with directives of their own; they end with the test."""
    yield from starting(lambda *words: start_redis(tmp_path_factory.mktemp("redis"), *words))


@pytest.fixture
def run_rillway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartRillway]:
    """Starts further Rillways with directives of their own; they end with the test."""
    yield from starting(lambda *words: start_rillway(tmp_path_factory.mktemp("rillway"), *words))


def starting(start: StartRillway) -> Iterator[StartRillway]:
    started: list[RunningServer] = []

    def run(*directives: str) -> RunningServer:
        started.append(start(*directives))
        RUNNING.append(started[-1])
        return started[-1]

    yield run
    for server in started:  # all at once: a redis-server takes a tenth of a second to see it
        server.process.terminate()
    for server in started:
        server.stop()
        RUNNING.remove(server)


def running(start: Callable[[], RunningServer]) -> Iterator[RunningServer]:
    """The server while it is wanted; a failure if it does not start."""
    try:
        server = start()
    except ServerFailed as failure:
        pytest.fail(str(failure), pytrace=False)
    RUNNING.append(server)
    yield server
    RUNNING.remove(server)
    server.stop()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: distribution.place(item.nodeid))
    left_out = set()
    if config.getoption("--hypothesis-profile") == "quick":
        left_out.add("thorough")
    if IS_COMPILED:
        left_out.add("interpreted")
    deselected = [item for item in items if any(map(item.get_closest_marker, left_out))]
    if gone := set(deselected):
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=deselected)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for server in RUNNING:
            printed = server.output()[-REPORTED_CHARACTERS:]
            report.sections.append((f"{server.name} on port {server.port} printed", printed))
    return report
