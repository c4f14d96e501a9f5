"""What `rillway.testing` offers to scripts and unittest."""

from __future__ import annotations

import unittest
from typing import ClassVar

import pytest
import redis

import rillway.testing

pytestmark = pytest.mark.integration


def test_a_server_runs_inside_the_block_and_only_there() -> None:
    with rillway.testing.server(maxclients=12, stream_node_max_entries=10) as server:
        with redis.Redis.from_url(server.url) as client:
            assert int(client.config_get("maxclients")["maxclients"]) == 12
        assert server.running
    assert not server.running


async def test_the_asynchronous_form_is_the_same_with_async_with() -> None:
    async with (
        rillway.testing.server(requirepass="secret") as server,
        redis.asyncio.Redis.from_url(server.url) as client,
    ):
        assert await client.ping()
    assert not server.running


def test_it_serves_a_unittest_class() -> None:
    class Case(unittest.TestCase):
        server: ClassVar[rillway.testing.RillwayServer]

        @classmethod
        def setUpClass(cls) -> None:
            cls.server = cls.enterClassContext(rillway.testing.server())

        def test_it(self) -> None:
            with redis.Redis.from_url(self.server.url) as client:
                assert client.ping()

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    assert result.testsRun == 1
    assert result.wasSuccessful()
    assert not Case.server.running


def test_a_directive_that_belongs_to_the_harness_is_refused_before_anything_starts() -> None:
    with pytest.raises(ValueError, match="logfile"):
        rillway.testing.server(logfile="mine.log")
