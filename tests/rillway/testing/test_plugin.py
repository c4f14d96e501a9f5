"""The pytest plugin, in small projects that a pytest of their own runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from rillway.testing.warm import IMPORT_ROOT
from tests.support.programs.processes import wait_until_gone

pytestmark = pytest.mark.integration
pytest_plugins = ["pytester"]

PLUGIN = "rillway.testing.plugin"
# Named here although an installed Rillway has it as an entry point: that must be no conflict.
OPTIONS = [
    *("-p", PLUGIN),
    *("-p", "no:cacheprovider"),
    *("-o", "asyncio_default_fixture_loop_scope=function"),
]
DEADLINE_SECONDS = 60.0


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project whose pytest can import this Rillway; its tests may write to `seen`."""
    monkeypatch.setenv("PYTHONPATH", str(IMPORT_ROOT))
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def note(pytestconfig, request):
            def note(*words):
                with (pytestconfig.rootpath / "seen").open("a") as file:
                    print(*words, file=file)
            return note
        """
    )
    return pytester


@pytest.fixture
def apart(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The same, for a pytest in a process of its own, which uses what is compiled already."""
    monkeypatch.delenv("PYTHONPYCACHEPREFIX")
    return project


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_inprocess(*OPTIONS, *options)


def seen(project: pytest.Pytester) -> list[list[str]]:
    """What the tests of the project noted, as words."""
    return [line.split() for line in (project.path / "seen").read_text().splitlines()]


# -- what a test finds ----------------------------------------------------------------------------


def test_a_test_finds_an_empty_server_whatever_the_one_before_has_done_to_it(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.fixture
        def an_entry(rillway_client):
            rillway_client.xadd("seeded", {"a": "b"})

        def test_its_url_says_where_it_is(rillway_server):
            assert rillway_server.host == "127.0.0.1"
            assert rillway_server.url == f"redis://127.0.0.1:{rillway_server.port}/0"

        def test_writing(rillway_client):
            rillway_client.xadd("s", {"f": "v"})
            rillway_client.move("s", 3)

        def test_what_another_test_wrote_is_gone(rillway_client):
            assert rillway_client.info("keyspace") == {}

        def test_what_a_fixture_wrote_is_there(an_entry, rillway_client):
            assert rillway_client.keys() == [b"seeded"]

        def test_flushing(an_entry, rillway_server, rillway_client):
            rillway_server.flush()
            assert rillway_client.dbsize() == 0

        def test_stopping_it(rillway_server):
            rillway_server.stop()

        def test_changing_the_password(rillway_client):
            assert rillway_client.ping()
            rillway_client.config_set("requirepass", "secret")

        def test_restarting_it(rillway_server, rillway_client):
            before = rillway_client.info("server")
            rillway_server.restart()
            after = rillway_client.info("server")
            assert after["run_id"] != before["run_id"]
            assert after["tcp_port"] == before["tcp_port"] == rillway_server.port
        """
    )
    run(project).assert_outcomes(passed=8)


def test_the_asynchronous_client_leaves_no_connection_behind(apart: pytest.Pytester) -> None:
    apart.makepyfile(
        """
        import asyncio, pytest

        USED = []

        class TestInAClass:
            @pytest.mark.parametrize("name", ["s", "t"])
            @pytest.mark.asyncio
            async def test_it(self, rillway_async_client, name):
                USED.append(rillway_async_client)
                assert await rillway_async_client.dbsize() == 0
                adds = (rillway_async_client.xadd(name, {"f": n}) for n in range(3))
                await asyncio.gather(*adds)
                assert await rillway_async_client.xlen(name) == 3

        def test_what_they_left():
            pools = [client.connection_pool for client in USED]
            connections = [c for pool in pools for c in pool._available_connections]
            assert len(connections) == 6
            assert not any(connection.is_connected for connection in connections)

        def test_without_a_plugin(rillway_async_client):
            async def use():
                async with rillway_async_client as client:
                    assert await client.dbsize() == 0
            asyncio.run(use())
        """
    )
    # In a process of its own, where a connection that is open when its loop is closed is an error.
    apart.runpytest_subprocess(*OPTIONS, "-W", "error").assert_outcomes(passed=4)


def test_a_server_in_the_process_is_new_for_each_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("number", range(3))
        def test_it_is_empty(rillway_fake_server, rillway_fake_client, number):
            assert rillway_fake_client.dbsize() == 0
            rillway_fake_client.set("key", number)
            with rillway_fake_server.client(decode_responses=True) as other:
                assert other.get("key") == str(number)
            assert other.config_get("maxclients") == {"maxclients": "50"}

        async def test_a_coroutine_shares_it(rillway_fake_client, rillway_fake_async_client):
            rillway_fake_client.set("key", "value")
            assert await rillway_fake_async_client.get("key") == "value"
        """
    )
    project.makeini(
        """
        [pytest]
        asyncio_mode = auto
        rillway_decode_responses = true
        rillway_directives = maxclients 50
        """
    )
    run(project).assert_outcomes(passed=4)


def test_a_server_is_emptied_only_for_tests_that_may_use_it(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import redis

        PORTS = []

        def test_writing(rillway_server, rillway_client):
            PORTS.append(rillway_server.port)
            rillway_client.set("k", 1)

        def test_asking_for_it(request):
            assert request.getfixturevalue("rillway_client").incr("k") == 1

        def test_something_else():
            with redis.Redis(port=PORTS[0]) as client:
                assert client.incr("k") == 1

        def test_one_more_thing():
            with redis.Redis(port=PORTS[0]) as client:
                assert client.incr("k") == 2
        """
    )
    run(project).assert_outcomes(passed=4)


def test_a_cluster_is_empty_and_whole_for_each_test(apart: pytest.Pytester) -> None:
    apart.makepyfile(
        """
        import pytest, rillway.testing

        def test_writing_to_all_nodes(rillway_cluster, rillway_cluster_client):
            assert len(rillway_cluster.servers) == 3
            for number in range(50):
                rillway_cluster_client.xadd(f"s:{number}", {"f": "v"})
            assert rillway_cluster_client.dbsize(target_nodes="primaries") == 50

        def test_what_another_test_wrote_is_gone(rillway_cluster_client):
            assert rillway_cluster_client.dbsize(target_nodes="primaries") == 0
            assert rillway_cluster_client.config_get("maxclients") == {"maxclients": "50"}

        def test_stopping_a_node(rillway_cluster):
            rillway_cluster.servers[1].stop()

        @pytest.mark.asyncio
        async def test_a_coroutine_finds_it_whole(rillway_cluster_async_client):
            for number in range(20):
                await rillway_cluster_async_client.set(f"key:{number}", number)

        class TestAnotherOne:
            @pytest.fixture
            def rillway_cluster(self):
                with rillway.testing.cluster(primaries=1) as cluster:
                    yield cluster

            def test_it_is_used(self, rillway_cluster_client):
                assert len(rillway_cluster_client.get_nodes()) == 1

        def test_failing(rillway_cluster):
            rillway_cluster.servers[2].restart()
            assert False
        """
    )
    options = ("--rillway-directive", "maxclients 50", "-o", "rillway_decode_responses=true")
    result = apart.runpytest_subprocess(*OPTIONS, *options)
    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["*- Rillway on port * (running) printed -*"])
    assert result.stdout.str().count("Rillway on port") == 1


# -- scopes and workers ---------------------------------------------------------------------------

TWO_TESTS = """
    import os, pytest

    @pytest.mark.parametrize("number", range(2))
    def test(number, rillway_server, rillway_client, note):
        worker = os.environ.get("PYTEST_XDIST_WORKER", "-")
        note(worker, rillway_server.port, rillway_client.info("server")["run_id"])
        assert rillway_client.incr("runs") == 1
"""


@pytest.mark.parametrize(("scope", "servers"), [("session", 1), ("module", 2), ("function", 4)])
def test_the_scope_says_how_many_servers_there_are(
    project: pytest.Pytester, scope: str, servers: int
) -> None:
    project.makepyfile(test_one=TWO_TESTS, test_two=TWO_TESTS)
    run(project, "--rillway-scope", scope).assert_outcomes(passed=4)
    assert len({run_id for _, _, run_id in seen(project)}) == servers


@pytest.mark.thorough
def test_under_xdist_each_worker_has_a_server_of_its_own(apart: pytest.Pytester) -> None:
    apart.makepyfile(test_one=TWO_TESTS, test_two=TWO_TESTS)
    run(apart, "-n", "2").assert_outcomes(passed=4)
    assert {worker for worker, _, _ in seen(apart)} == {"gw0", "gw1"}
    for column in (1, 2):
        assert len({(words[0], words[column]) for words in seen(apart)}) == 2
        assert len({words[column] for words in seen(apart)}) == 2


# -- configuration --------------------------------------------------------------------------------


def test_directives_come_from_the_ini_the_command_line_and_an_overridden_fixture(
    project: pytest.Pytester,
) -> None:
    project.makeini(
        """
        [pytest]
        rillway_scope = module
        rillway_decode_responses = true
        rillway_directives =
            stream-node-max-entries 10
            maxclients 77
        """
    )
    project.makepyfile(
        test_ini="""
        def test_both(rillway_client):
            assert rillway_client.config_get("stream-node-max-entries", "maxclients") == {
                "stream-node-max-entries": "20", "maxclients": "77"
            }
        """,
        test_override="""
        import pytest

        @pytest.fixture(scope="module")
        def rillway_directives(rillway_directives):
            return {**rillway_directives, "requirepass": "sec ret"}

        def test_both(rillway_server, rillway_client):
            assert ":sec%20ret@" in rillway_server.url
            assert rillway_client.config_get("maxclients") == {"maxclients": "77"}
        """,
    )
    options = ["--rillway-directive", "stream-node-max-entries 20"]
    run(project, *options).assert_outcomes(passed=2)


def test_a_project_may_keep_its_data_between_tests(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nrillway_flush = false\n")
    project.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("runs", [1, 2])
        def test(rillway_client, runs):
            assert rillway_client.incr("runs") == runs
        """
    )
    run(project).assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("rillway_scope=class", "*rillway_scope must be one of: session, module, function"),
        ("rillway_directives=maxclients", "*expected a name and a value*"),
    ],
)
def test_a_bad_option_is_a_usage_error(
    project: pytest.Pytester, option: str, expected: str
) -> None:
    result = run(project, "-o", option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(expected)


# -- failures -------------------------------------------------------------------------------------


def test_the_report_of_a_failing_test_has_what_the_server_printed_meanwhile(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        """
        import pytest

        def test_first(rillway_server):
            rillway_server.restart()

        def test_failing(rillway_server, rillway_client):
            rillway_client.shutdown(nosave=True)
            assert rillway_client.ping(), "this fails"

        def test_failing_quietly(rillway_server):
            assert False, "and this"

        def test_without_the_server():
            assert False, "and this one, too"
        """
    )
    result = run(project)
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*_ test_failing _*",
            "*- Rillway on port * printed -*",
            "*User requested shutdown*",
            "*_ test_failing_quietly _*",
            "*- Rillway on port * (running) printed -*",
            "nothing",
            "*_ test_without_the_server _*",
        ]
    )
    assert result.stdout.str().count("Rillway on port") == 2


def test_a_server_that_does_not_start_is_an_error_with_its_own_words(
    project: pytest.Pytester,
) -> None:
    project.makeini("[pytest]\nrillway_directives = maxclients many\n")
    project.makepyfile("def test(rillway_server): pass")
    result = run(project)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*did not start (exit status 1)*", "*'maxclients'*"])
    assert "Traceback" not in result.stdout.str()


def test_nothing_is_left_running_when_pytest_is_killed(apart: pytest.Pytester) -> None:
    apart.makepyfile(
        """
        import multiprocessing, time

        def test(rillway_client, note):
            # A fork holds all that the test process holds; it must not keep the server alive.
            fork = multiprocessing.get_context("fork").Process(target=time.sleep, args=[60])
            fork.start()
            note(fork.pid, rillway_client.info("server")["process_id"])
            time.sleep(60)
        """
    )
    tests = subprocess.Popen([sys.executable, "-m", "pytest", *OPTIONS], stdout=subprocess.DEVNULL)
    noted = apart.path / "seen"
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (noted.exists() and noted.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        assert tests.poll() is None
        time.sleep(0.02)
    fork, server = map(int, seen(apart)[0])
    try:
        os.kill(server, 0)
        tests.kill()
        tests.wait()
        assert wait_until_gone(server, deadline_seconds=5)
    finally:
        os.kill(fork, signal.SIGKILL)


# -- beside others --------------------------------------------------------------------------------


def test_a_project_that_has_a_fixture_of_that_name_keeps_its_own(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.fixture(scope="session")
        def rillway_server():
            return "mine"

        def test_passing(rillway_server):
            assert rillway_server == "mine"

        def test_failing(rillway_server):
            assert rillway_server == "yours"
        """
    )
    result = run(project)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.no_fnmatch_line("*Rillway on port*")


def test_the_plugin_imports_little_because_every_pytest_run_pays_for_it() -> None:
    program = (
        "import sys, pytest\n"
        "before = set(sys.modules)\n"
        f"import {PLUGIN}\n"
        "print(*set(sys.modules) - before)"
    )
    output = subprocess.run(
        [sys.executable, "-c", program],
        cwd=IMPORT_ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    loaded = {name.partition(".")[0] for name in output.stdout.split()}
    assert "rillway" in loaded
    assert loaded <= {"rillway", "urllib", "ipaddress", "socket", "_socket", "selectors", "array"}
