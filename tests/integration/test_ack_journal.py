"""A journal of acknowledgements, through redis-py and redis-cli: plain words, and plain entries."""

from __future__ import annotations

import time

import pytest
import redis

from tests.support.programs.redis_tools import run_tool
from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_py_turns_a_journal_on_and_reads_it(server: RunningServer, protocol: int) -> None:
    with redis.Redis(port=server.port, protocol=protocol, decode_responses=True) as client:
        entry_id = client.xadd("orders", {"item": "7"})
        client.xgroup_create("orders", "mailers", "0")
        words = ("XCFGSET", "orders", "ACK-JOURNAL", "orders:acks", "ACK-JOURNAL-MAXLEN", 1000)
        assert client.execute_command(*words) in (True, "OK")
        client.xreadgroup("mailers", "anna", {"orders": ">"})
        assert client.xack("orders", "mailers", entry_id) == 1
        [(journal_id, fields)] = client.xrange("orders:acks")
        delivered, acked = int(fields.pop("delivered")), int(fields.pop("acked"))
        assert delivered <= acked == int(journal_id.partition("-")[0])
        assert acked <= time.time() * 1000
        assert fields == {
            "stream": "orders",
            "group": "mailers",
            "consumer": "anna",
            "id": entry_id,
            "deliveries": "1",
        }
        words = client.execute_command("XINFO", "POLICY", "orders")
        policy = (
            words if isinstance(words, dict) else dict(zip(words[::2], words[1::2], strict=True))
        )
        assert (policy["ack-journal"], policy["ack-journal-maxlen"]) == ("orders:acks", 1000)
        assert "ack-journal" not in client.xinfo_stream("orders")
        assert client.xcfgset("orders", idmp_duration=300) in (True, "OK")
        with pytest.raises(redis.ResponseError, match="ACK-JOURNAL must name another key"):
            client.execute_command("XCFGSET", "orders", "ACK-JOURNAL", "orders")
        client.execute_command("XCFGSET", "orders", "ACK-JOURNAL", "")
        assert not client.execute_command("XINFO", "POLICY", "orders")


def test_redis_cli_turns_a_journal_on(server: RunningServer) -> None:
    def cli(*words: str) -> str:
        return run_tool("redis-cli", "-p", server.port, *words).stdout.strip()

    cli("XADD", "orders", "1-0", "item", "7")
    assert cli("XCFGSET", "orders", "ACK-JOURNAL", "orders:acks") == "OK"
    assert "ack-journal\norders:acks" in cli("XINFO", "POLICY", "orders")
    cli("SET", "text", "v")
    assert cli("XCFGSET", "orders", "ACK-JOURNAL", "text").startswith("WRONGTYPE ")
    assert cli("XCFGSET", "orders", "ACK-JOURNAL", "") == "OK"
