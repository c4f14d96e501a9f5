"""A project of somebody else's, with Rillway installed from its wheel: the fixtures are just there.

Nothing names the plugin here: pytest finds it by the wheel's entry point.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.packaging.test_wheel import Environment, environment, wheel

pytestmark = [pytest.mark.packaging, pytest.mark.thorough]

__all__ = ["environment", "wheel"]  # fixtures, built once more for this module

PROJECT = {
    "pytest.ini": """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
rillway_directives = stream-node-max-entries 10
""",
    "test_orders.py": """
from pathlib import Path

import rillway


def test_the_installed_package_is_tested(pytestconfig):
    assert "site-packages" in Path(rillway.__file__).parts
    assert not Path(rillway.__file__).is_relative_to(pytestconfig.rootpath)


def test_orders_are_kept(rillway_client):
    for n in range(25):
        rillway_client.xadd("orders", {"n": n})
    rillway_client.xtrim("orders", maxlen=5, approximate=True)
    # Only whole nodes are dropped, and the directive makes them small.
    assert rillway_client.xlen("orders") == 5


async def test_orders_are_consumed(rillway_server, rillway_async_client):
    from rillway.consumer import Consumer

    assert await rillway_async_client.xlen("orders") == 0
    await rillway_async_client.xadd("orders", {"n": 1})
    consumer = Consumer(rillway_server.url, stream="orders", group="g", name="c")

    async def handle(entry):
        assert entry.fields == {b"n": b"1"}
        consumer.stop()

    await consumer.run(handle)
    assert consumer.counts.acknowledged == 1
""",
    "test_script.py": """
import redis

import rillway.testing


def test_a_script_has_a_server_too():
    with rillway.testing.server() as server:
        assert redis.Redis.from_url(server.url).ping()
""",
    # What the project calls its own modules is no business of the server's.
    "server.py": "raise AssertionError('the project has a module of this name')",
    "conftest.py": "import sys; assert 'redis' not in sys.modules",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, text in PROJECT.items():
        (folder / name).write_text(text)
    return folder


def run_pytest(environment: Environment, project: Path, *options: str) -> str:
    """The output of a run that must succeed."""
    # Neither the checkout nor a setting of the run around this one is for the project.
    unwanted = ("PYTEST_", "PYTHON", "RILLWAY_")
    variables = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
    run = subprocess.run(
        [environment.bin / "python", "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=project,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_a_project_has_the_fixtures_by_installing_the_wheel(
    environment: Environment, project: Path
) -> None:
    output = run_pytest(environment, project, "-n", "2")
    assert re.search(r"\b4 passed\b", output), output
