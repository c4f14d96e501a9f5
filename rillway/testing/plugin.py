"""The pytest plugin: fixtures `rillway_server`, `rillway_client`, `rillway_async_client`.

`rillway_fake_server` and its two clients are the same inside of the test's process, new for each
test; `rillway_cluster` and its two are a Redis Cluster of three processes.

pytest finds it by its entry point. It does nothing until a test requests a server. A project's own
fixture of one of these names overrides it.

With pytest-xdist every worker is a pytest session of its own and so has a server of its own.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import pytest

from rillway.testing.directives import Value, parse_lines
from rillway.testing.fake_server import FakeServer
from rillway.testing.process import RillwayServer, ServerFailed

if TYPE_CHECKING:
    import redis
    import redis.asyncio

    from rillway.testing.processes import RillwayCluster

ScopeName = Literal["session", "module", "function"]

SCOPES: tuple[ScopeName, ...] = ("session", "module", "function")
REPORTED_CHARACTERS = 10_000

# What our fixtures run, what of it tests have used since it was emptied, and the length of each
# server's log when the test began.
RUNNING: pytest.StashKey[list[RillwayServer | RillwayCluster]] = pytest.StashKey()
NOT_EMPTY: pytest.StashKey[set[RillwayServer | RillwayCluster]] = pytest.StashKey()
LOGGED = pytest.StashKey[dict[RillwayServer, int]]()


# -- options --------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rillway", "Rillway, a Redis Streams server for the tests")
    group.addoption(
        "--rillway-scope",
        choices=SCOPES,
        help="how long a server lives (ini: rillway_scope; default: session)",
    )
    group.addoption(
        "--rillway-directive",
        action="append",
        default=[],
        metavar="'NAME VALUE'",
        help="a directive of the server's configuration; may be given several times, and goes "
        "before the ini's rillway_directives",
    )
    parser.addini("rillway_scope", "session (default), module or function", default=SCOPES[0])
    parser.addini(
        "rillway_directives", "lines of the server's configuration", type="linelist", default=[]
    )
    parser.addini(
        "rillway_flush", "empty the databases before each test", type="bool", default=True
    )
    parser.addini("rillway_decode_responses", "the clients return text", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    running: list[RillwayServer | RillwayCluster] = []
    config.stash[RUNNING] = running
    config.stash[NOT_EMPTY] = set()
    if config.getini("rillway_scope") not in SCOPES:
        raise pytest.UsageError(f"rillway_scope must be one of: {', '.join(SCOPES)}")
    try:
        configured_directives(config)
    except ValueError as error:
        raise pytest.UsageError(f"rillway_directives: {error}") from error


def configured_scope(fixture_name: str, config: pytest.Config) -> ScopeName:
    scope: ScopeName = config.getoption("rillway_scope") or config.getini("rillway_scope")
    return scope


def configured_directives(config: pytest.Config) -> dict[str, Value]:
    lines = [*config.getini("rillway_directives"), *config.getoption("rillway_directive")]
    return parse_lines(lines)


# -- fixtures -------------------------------------------------------------------------------------


@pytest.fixture(scope=configured_scope)
def rillway_directives(pytestconfig: pytest.Config) -> dict[str, Value]:
    """The server's directives. Override it in a module that needs other ones."""
    return configured_directives(pytestconfig)


@pytest.fixture(scope=configured_scope)
def rillway_server(
    pytestconfig: pytest.Config,
    rillway_directives: dict[str, Value],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RillwayServer]:
    """A running server, empty at the start of each test: url, host, port, restart(), flush()."""
    server = RillwayServer(rillway_directives, folder=tmp_path_factory.mktemp("rillway"))
    with in_use(server, pytestconfig):
        yield server


@contextlib.contextmanager
def in_use(server: RillwayServer | RillwayCluster, config: pytest.Config) -> Iterator[None]:
    """Runs a server in the block: it is emptied before each test, and its output is reported."""
    try:
        server.start()
    except ServerFailed as failure:
        pytest.fail(str(failure), pytrace=False)
    running = config.stash[RUNNING]
    running.append(server)
    yield
    running.remove(server)
    server.stop()


@pytest.fixture
def rillway_client(
    rillway_server: RillwayServer, pytestconfig: pytest.Config
) -> Iterator[redis.Redis]:
    """A redis-py client of the server."""
    import redis

    decode: Any = pytestconfig.getini("rillway_decode_responses")
    with redis.Redis.from_url(rillway_server.url, decode_responses=decode) as client:
        yield client


@pytest.fixture
def rillway_async_client(
    request: pytest.FixtureRequest, rillway_server: RillwayServer
) -> redis.asyncio.Redis:
    """A redis-py asyncio client of the server, for any plugin that runs coroutines.

    It is closed at the end of the test function, in the loop and the task that have used it,
    because the loop may be closed before fixtures are torn down.
    """
    import redis.asyncio

    decode: Any = request.config.getini("rillway_decode_responses")
    client = redis.asyncio.Redis.from_url(rillway_server.url, decode_responses=decode)
    close_after(request, client)
    return client


@pytest.fixture(scope=configured_scope)
def rillway_cluster(
    pytestconfig: pytest.Config,
    rillway_directives: dict[str, Value],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RillwayCluster]:
    """A Redis Cluster of three primaries, empty at the start of each test: url, servers, client().

    Define it in a module that needs another: `rillway.testing.cluster(replicas=1)`.
    """
    from rillway.testing.processes import RillwayCluster

    folder = tmp_path_factory.mktemp("rillway-cluster")
    cluster = RillwayCluster(rillway_directives, folder=folder)
    with in_use(cluster, pytestconfig):
        yield cluster


@pytest.fixture
def rillway_cluster_client(
    rillway_cluster: RillwayCluster, pytestconfig: pytest.Config
) -> Iterator[redis.RedisCluster]:
    """A redis-py client of the cluster."""
    decode: Any = pytestconfig.getini("rillway_decode_responses")
    with rillway_cluster.client(decode_responses=decode) as client:
        yield client


@pytest.fixture
def rillway_cluster_async_client(
    request: pytest.FixtureRequest, rillway_cluster: RillwayCluster
) -> redis.asyncio.RedisCluster:
    """A redis-py asyncio client of the cluster, closed as the other one."""
    decode: Any = request.config.getini("rillway_decode_responses")
    client = rillway_cluster.async_client(decode_responses=decode)
    close_after(request, client)
    return client


@pytest.fixture
def rillway_fake_server(rillway_directives: dict[str, Value]) -> Iterator[FakeServer]:
    """A server in this process, of this test alone."""
    with FakeServer(**rillway_directives) as server:
        yield server


@pytest.fixture
def rillway_fake_client(
    rillway_fake_server: FakeServer, pytestconfig: pytest.Config
) -> Iterator[redis.Redis]:
    """A redis-py client of the server in this process."""
    decode: Any = pytestconfig.getini("rillway_decode_responses")
    with rillway_fake_server.client(decode_responses=decode) as client:
        yield client


@pytest.fixture
def rillway_fake_async_client(
    request: pytest.FixtureRequest, rillway_fake_server: FakeServer
) -> redis.asyncio.Redis:
    """A redis-py asyncio client of the server in this process, closed as the other one."""
    decode: Any = request.config.getini("rillway_decode_responses")
    client = rillway_fake_server.async_client(decode_responses=decode)
    close_after(request, client)
    return client


def close_after(
    request: pytest.FixtureRequest, client: redis.asyncio.Redis | redis.asyncio.RedisCluster
) -> None:
    """Have the test function close the client, if it is a coroutine."""
    if inspect.iscoroutinefunction(request.function):
        request.node.obj = closing(request.function, client)


def closing(function: Any, client: redis.asyncio.Redis | redis.asyncio.RedisCluster) -> Any:
    """Wraps a coroutine function, and closes the client's connections after it."""

    @functools.wraps(function)
    async def run(*arguments: Any, **named: Any) -> Any:
        try:
            return await function(*arguments, **named)
        finally:
            await client.aclose()

    return run


# -- between tests --------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Empties the test's servers before its fixtures run, so that the fixtures' data stays."""
    used = used_by(item)
    if item.config.getini("rillway_flush"):
        for server in {*used, *item.config.stash[NOT_EMPTY]}:
            renew(server)
    item.config.stash[NOT_EMPTY].clear()
    item.stash[LOGGED] = {server: len(server.log) for server in processes(used)}


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    item.config.stash[NOT_EMPTY].update(used_by(item))


def used_by(item: pytest.Item) -> list[RillwayServer | RillwayCluster]:
    """The running servers that a test has named, or got by `request.getfixturevalue` so far."""
    names = getattr(getattr(item, "_request", None), "fixturenames", ())
    return [
        server
        for server in item.config.stash[RUNNING]
        if ("rillway_server" if isinstance(server, RillwayServer) else "rillway_cluster") in names
    ]


def processes(servers: Iterable[RillwayServer | RillwayCluster]) -> Iterator[RillwayServer]:
    """The servers, those of clusters among them."""
    for server in servers:
        if isinstance(server, RillwayServer):
            yield server
        else:
            yield from server.servers


def renew(server: RillwayServer | RillwayCluster) -> None:
    """Makes the server empty and responsive, whatever the last test has done to it.

    Raises ServerFailed if it does not start again.
    """
    try:
        server.flush()
    except ServerFailed:
        # Stopped, paused, with another password: that must not affect the next test.
        server.restart()
        server.flush()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        logged = item.stash.get(LOGGED, {})
        for server in processes(used_by(item)):
            printed = server.log[logged.get(server, 0) :]
            if printed or "rillway_server" in getattr(item, "fixturenames", ()):
                title = f"Rillway on port {server.port} ({server.state}) printed"
                report.sections.append((title, printed[-REPORTED_CHARACTERS:] or "nothing"))
    return report
