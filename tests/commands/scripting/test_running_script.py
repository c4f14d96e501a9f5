"""The client of a script's commands."""

from __future__ import annotations

from server.inprocess.server import InProcessClient, InProcessServer


def test_the_client_of_a_script_is_invisible_to_others(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("EVAL", "return redis.call('set', 'k', 1)", 0)
    assert client.execute("CLIENT", "LIST").count(b"id=") == 1


def test_with_noloop_a_caller_gets_no_invalidations_of_its_own_script(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("HELLO", 3)
    client.execute("CLIENT", "TRACKING", "ON", "NOLOOP")
    client.execute("GET", "k")
    assert client.execute("EVAL", "return redis.call('set', 'k', 1)", 0) == b"+OK\r\n"
    assert client.received() == b""


def test_each_script_starts_in_resp2(client: InProcessClient) -> None:
    client.execute("EVAL", "redis.setresp(3)", 0)
    assert client.execute("EVAL", "return type(redis.call('get', 'k'))", 0) == b"$7\r\nboolean\r\n"
