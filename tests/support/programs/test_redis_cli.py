"""The renderer prints what the real redis-cli prints, and reads lines as it does."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.programs.redis_cli import BadLine, command_line, render, split_line
from tests.support.programs.servers import RunningServer

# One command for each kind and shape of reply that RESP2 has, nested up to the five levels of
# XREAD and with more than nine elements, where the numbers become wider.
LINES = [
    "PING",
    "NOSUCH command",
    'SET text "say \\"hi\\"\\\\\\t\\r\\n\\a\\b\\x00\\xff~"',
    "GET text",
    'SET empty ""',
    "GET empty",
    "GET missing",
    "STRLEN text",
    "XLEN text",
    "MGET text missing empty",
    "XRANGE missing - +",
    "XADD s 1-1 field value",
    "XADD s 1-2 a 1 b 2 c 3 d 4 e 5 f 6",
    *(f"XADD s 2-{number} n {number}" for number in range(1, 11)),
    "XRANGE s - +",
    "XRANGE s - + COUNT 0",
    "XGROUP CREATE s g 0",
    "XPENDING s g",
    "XREADGROUP GROUP g alice COUNT 3 STREAMS s >",
    "XREADGROUP GROUP g bob COUNT 1 STREAMS s 0",
    "XDEL s 1-2",
    "XREADGROUP GROUP g alice STREAMS s 0",
    "XPENDING s g",
    "XREAD COUNT 2 STREAMS s s 0 2-8",
    "XINFO STREAM s",
    "XINFO GROUPS s",
    "XINFO HELP",
    "XAUTOCLAIM s g bob 0 0 COUNT 2",
    "COMMAND INFO XADD NOSUCH",
]


@pytest.fixture
def filled_redis(redis_server: RunningServer) -> RunningServer:
    with redis_server.connect() as client:
        client.send("FLUSHALL")
    return redis_server


def test_a_reply_is_rendered_as_redis_cli_prints_it(filled_redis: RunningServer) -> None:
    typed = "".join(f"{line}\n" for line in LINES)
    program = ["redis-cli", "--no-raw", "-p", str(filled_redis.port)]
    printed = subprocess.run(program, input=typed.encode(), capture_output=True, check=True)
    with filled_redis.connect() as client:
        client.send("FLUSHALL")
        rendered = [render(client.send(*split_line(line))) for line in LINES]
    assert "\n".join(rendered) + "\n" == printed.stdout.decode()


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("  XLEN   s ", [b"XLEN", b"s"]),
        ('SET k "a b\\x41\\n\\q"', [b"SET", b"k", b"a bA\nq"]),
        ("SET k 'it\\'s \\n'", [b"SET", b"k", b"it's \\n"]),
        ("XRANGE s (1-1 +", [b"XRANGE", b"s", b"(1-1", b"+"]),
        ('SET k ""', [b"SET", b"k", b""]),
    ],
)
def test_a_typed_line_is_split_into_arguments(line: str, arguments: list[bytes]) -> None:
    assert split_line(line) == arguments


@pytest.mark.parametrize("line", ['SET k "open', "SET k 'open", 'SET k "closed"early'])
def test_unbalanced_quotes_are_refused(line: str) -> None:
    with pytest.raises(BadLine):
        split_line(line)


@given(st.lists(st.binary(max_size=12), min_size=1))
def test_a_command_line_reads_back_as_the_same_arguments(argv: list[bytes]) -> None:
    assert split_line(command_line(argv)) == argv
