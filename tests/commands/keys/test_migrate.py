"""Which requests wait while MIGRATE sends the key `a`.

MIGRATE: what is sent, and what is refused before that.
"""

from __future__ import annotations

import pytest

from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.gates import GATE_MIGRATING
from commands.core.registry import COMMANDS
from commands.core.services import MigrationOrder, Services
from commands.keys.migrate import MovingKeys
from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import NOW_MS, Talk


@pytest.fixture
def client() -> Talk:
    talk = Talk(InProcessServer(now_ms=NOW_MS))
    talk.all("SET a 1", "SET b 2")
    instance = talk.server.instance
    instance.feature(MovingKeys).names.add(b"a")
    instance.set_gate(GATE_MIGRATING, is_shut=True)
    return talk


@pytest.mark.parametrize(
    "request_text",
    [
        "GET a",
        "MGET a b",
        "SET b 3",
        "COPY b c",
        "XADD b:s * f v",
        "PUBLISH a message",
        "EVAL_RO return{redis.call('get','a')} 0",
    ],
)
def test_reads_and_writes_to_others_do_not_wait(client: Talk, request_text: str) -> None:
    assert client.raw(request_text) != b""


@pytest.mark.parametrize(
    "request_text",
    [
        "SET a 3",
        "DEL b a",
        "RENAME b a",
        "COPY b a REPLACE",
        "SORT b STORE a",
        "FLUSHALL",
        "SWAPDB 0 1",
        "EVAL return{redis.call('set','b','1')} 1 b",
        "MIGRATE host 1 a 0 1",
        "XREADGROUP GROUP g c STREAMS a >",
    ],
)
def test_what_may_write_the_key_waits(client: Talk, request_text: str) -> None:
    assert client.raw(request_text) == b""
    instance = client.server.instance
    assert client.client.state.postponed is not None
    instance.feature(MovingKeys).names.clear()
    instance.set_gate(GATE_MIGRATING, is_shut=False)


def test_a_transaction_waits_if_one_of_its_requests_would(client: Talk) -> None:
    client.all("MULTI", "SET b 3", "GET a")
    assert client.do("EXEC") == [b"OK", b"1"]
    client.do("MULTI")
    assert client.raw("SET a 3") == b""


class Migration:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.orders: list[MigrationOrder] = []

    def start(self, caller: Client, block: Block, order: MigrationOrder) -> None:
        self.orders.append(order)


@pytest.fixture
def caller() -> Talk:
    talk = Talk(InProcessServer(now_ms=NOW_MS))
    talk.all("SET a 1", "SET b 2")
    return talk


@pytest.fixture
def migration(caller: Talk) -> Migration:
    migration = caller.server.instance.feature(Services).migration = Migration()
    return migration


def test_keys_that_are_there_are_sent_and_the_client_waits(
    caller: Talk, migration: Migration
) -> None:
    request = ("MIGRATE", "host", 7000, "", 3, 250, "COPY", "replace", "AUTH2", "ada", "secret")
    assert caller.client.execute(*request, "KEYS", "a", "none", "b") == b""
    (order,) = migration.orders
    assert order == MigrationOrder(
        "host",
        7000,
        3,
        250,
        [b"a", b"b"],
        copies=True,
        replaces=True,
        credentials=(b"ada", b"secret"),
    )


@pytest.mark.parametrize("timeout_ms", [0, -5])
def test_without_a_time_it_is_a_second(caller: Talk, migration: Migration, timeout_ms: int) -> None:
    assert caller.raw(f"MIGRATE host 7000 a 0 {timeout_ms} AUTH secret") == b""
    (order,) = migration.orders
    assert (order.timeout_ms, order.keys, order.credentials) == (1000, [b"a"], (b"secret",))


@pytest.mark.parametrize("port", ["x", "-1", "65536", "9" * 5000])
def test_a_port_that_is_none_is_0_to_which_nothing_connects(
    caller: Talk, migration: Migration, port: str
) -> None:
    assert caller.raw(f"MIGRATE host {port} a 0 100") == b""
    (order,) = migration.orders
    assert order.port == 0


@pytest.mark.parametrize(
    ("request_text", "error"),
    [
        ("MIGRATE host 7000 a x 100", "ERR value is not an integer or out of range"),
        ("MIGRATE host 7000 a 0 x", "ERR value is not an integer or out of range"),
        ("MIGRATE host 7000 a 0 100 NOW", "ERR syntax error"),
        ("MIGRATE host 7000 a 0 100 AUTH", "ERR syntax error"),
        ("MIGRATE host 7000 a 0 100 AUTH2 ada", "ERR syntax error"),
        (
            "MIGRATE host 7000 a 0 100 KEYS b",
            "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string",
        ),
        ("MIGRATE host 7000 a 0", "ERR wrong number of arguments for 'migrate' command"),
    ],
)
def test_bad_requests_are_refused(
    caller: Talk, migration: Migration, request_text: str, error: str
) -> None:
    assert caller.error(request_text) == error
    assert not migration.orders


def test_without_keys_there_is_nothing_to_do(caller: Talk, migration: Migration) -> None:
    assert caller.do("MIGRATE host 7000 none 0 100") == b"NOKEY"
    assert caller.client.execute("MIGRATE", "host", 7000, "", 0, 100) == b"+NOKEY\r\n"
    assert caller.client.execute("MIGRATE", "host", 7000, "", 0, 100, "KEYS") == b"+NOKEY\r\n"
    assert not migration.orders


def test_it_runs_in_no_transaction_and_in_no_script(caller: Talk, migration: Migration) -> None:
    caller.all("MULTI", "MIGRATE host 7000 a 0 100")
    (reply,) = caller.do("EXEC")
    assert str(reply) == "ERR MIGRATE cannot run in a transaction or a script"
    call = "return redis.pcall('migrate', 'host', '7000', 'a', '0', '100')"
    assert caller.client.execute("EVAL", call, 0).startswith(b"-ERR MIGRATE cannot run in")
    assert not migration.orders


@pytest.mark.parametrize(
    ("words", "positions"),
    [
        (["MIGRATE", "host", "7000", "a", "0", "100", "REPLACE"], [3]),
        (["MIGRATE", "host", "7000", "", "0", "100", "KEYS", "a", "b"], [7, 8]),
        (["MIGRATE", "host", "7000", "", "0", "100", "COPY", "keys", "a"], [8]),
        (["MIGRATE", "host", "7000", "", "0", "100"], []),
    ],
)
def test_its_keys_are_found(words: list[str], positions: list[int]) -> None:
    argv = [word.encode() for word in words]
    assert COMMANDS[b"migrate"].key_positions(argv) == positions
