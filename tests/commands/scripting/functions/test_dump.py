"""FUNCTION DUMP and RESTORE: all or nothing."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer
from storage.snapshot.function_payload import dump_libraries

OURS = "#!lua name=ours\nredis.register_function('f', function() return 1 end)"
# As redis-server 7.0.15 dumps it.
THEIRS = (
    b"\xf59#!lua name=zz\nredis.register_function('a',function() end)\n\x00\x92\x87\x91\xc2{\xcc"
    b"\xe8\x1a"
)


def test_a_dump_is_restored_elsewhere(client: InProcessClient) -> None:
    client.execute("FUNCTION", "LOAD", OURS)
    payload = client.execute("FUNCTION", "DUMP").split(b"\r\n", 1)[1][:-2]
    other = InProcessServer().connect()
    assert other.execute("FUNCTION", "RESTORE", payload) == b"+OK\r\n"
    assert other.execute("FCALL", "f", 0) == b":1\r\n"


@pytest.mark.parametrize(("policy", "remaining"), [("APPEND", 2), ("REPLACE", 2), ("FLUSH", 1)])
def test_policies_decide_which_libraries_remain(
    client: InProcessClient, policy: str, remaining: int
) -> None:
    client.execute("FUNCTION", "LOAD", OURS)
    assert client.execute("FUNCTION", "RESTORE", THEIRS, policy) == b"+OK\r\n"
    assert client.execute("FUNCTION", "LIST").count(b"library_name") == remaining
    assert client.execute("FCALL", "a", 0) == b"$-1\r\n"


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (b"x", b"-ERR DUMP payload version or checksum are wrong\r\n"),
        (THEIRS[:-1] + b"x", b"-ERR DUMP payload version or checksum are wrong\r\n"),
        (THEIRS, b"-ERR Library zz already exists\r\n"),
        (dump_libraries([b"x"], compress=False), b"-ERR Missing library metadata\r\n"),
    ],
)
def test_a_payload_that_cannot_be_restored_changes_nothing(
    client: InProcessClient, payload: bytes, error: bytes
) -> None:
    client.execute("FUNCTION", "RESTORE", THEIRS)
    before = client.execute("FUNCTION", "LIST", "WITHCODE")
    assert client.execute("FUNCTION", "RESTORE", payload) == error
    assert client.execute("FUNCTION", "LIST", "WITHCODE") == before


def test_functions_must_not_collide_with_those_of_other_libraries(client: InProcessClient) -> None:
    client.execute(
        "FUNCTION", "LOAD", "#!lua name=yy\nredis.register_function('a', function() end)"
    )
    expected = b"-ERR Function a already exists\r\n"
    assert client.execute("FUNCTION", "RESTORE", THEIRS, "REPLACE") == expected
    assert client.execute("FUNCTION", "RESTORE", THEIRS, "FLUSH") == b"+OK\r\n"


def test_the_payload_of_a_value_is_refused(client: InProcessClient) -> None:
    client.execute("SET", "k", "v")
    payload = client.execute("DUMP", "k").split(b"\r\n", 1)[1][:-2]
    expected = b"-ERR given type is not a function\r\n"
    assert client.execute("FUNCTION", "RESTORE", payload) == expected
