"""server/requests/admission.py: admission control. CLIENT PAUSE: tests/commands/connection."""

from __future__ import annotations

import pytest

from protocol import errors
from server.inprocess.server import InProcessServer


def test_nothing_but_authentication_runs_before_it() -> None:
    client = InProcessServer(requirepass="secret").connect()
    assert client.execute("GET", "k") == b"-NOAUTH Authentication required.\r\n"
    assert client.execute("NOPE")[:20] == b"-ERR unknown command"
    assert client.execute("AUTH", "secret") == b"+OK\r\n"
    assert client.execute("GET", "k") == b"$-1\r\n"


def test_authentication_in_front_of_a_large_request_lifts_its_limits() -> None:
    client = InProcessServer(requirepass="secret").connect()
    reply = client.pipeline(("AUTH", "secret"), ("ECHO", "x" * 20000))
    assert reply == b"+OK\r\n$20000\r\n" + b"x" * 20000 + b"\r\n"


def test_while_data_is_loaded_only_what_needs_none_runs() -> None:
    server = InProcessServer()
    client = server.connect()
    client.pipeline(("MULTI",), ("SET", "k", "v"))
    server.instance.set_loading(True)
    refused = b"-LOADING Redis is loading the dataset in memory\r\n"
    assert client.execute("EXEC") == b"-EXECABORT Transaction discarded because of: " + refused[1:]
    assert client.execute("GET", "k") == refused
    assert client.execute("PING") == refused
    assert client.execute("INFO", "persistence").startswith(b"$")
    server.instance.set_loading(False)
    assert client.execute("GET", "k") == b"$-1\r\n"


def test_writes_are_refused_while_they_could_not_be_kept() -> None:
    server = InProcessServer()
    client = server.connect()
    client.pipeline(("MULTI",), ("SET", "k", "v"))
    server.instance.refuse_writes(errors.misconf_append_only_file(b"No space left on device"))
    refused = b"-MISCONF Errors writing to the AOF file: No space left on device\r\n"
    assert client.execute("EXEC") == b"-EXECABORT Transaction discarded because of: " + refused[1:]
    assert client.execute("SET", "k", "v") == refused
    assert client.execute("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">") == refused
    assert client.execute("PING") == refused
    assert client.execute("GET", "k") == b"$-1\r\n"
    server.instance.refuse_writes(None)
    assert client.execute("SET", "k", "v") == b"+OK\r\n"


WRITER, READER = "#!lua\nreturn 1", "#!lua flags=no-writes\nreturn 1"
LIBRARY = """#!lua name=lib
redis.register_function('writer', function() return 1 end)
redis.register_function{
  function_name = 'reader', callback = function() return 1 end, flags = {'no-writes'}
}"""


@pytest.mark.parametrize(
    ("writes", "reads"),
    [
        (("EVAL", WRITER, 0), ("EVAL", READER, 0)),
        (("EVALSHA", WRITER, 0), ("EVALSHA", READER, 0)),
        (("FCALL", "writer", 0), ("FCALL", "reader", 0)),
    ],
)
def test_scripts_are_admitted_by_the_flags_that_they_declare(
    writes: tuple[str | int, ...], reads: tuple[str | int, ...]
) -> None:
    server = InProcessServer()
    client, held = server.connect(), server.connect()
    client.execute("FUNCTION", "LOAD", LIBRARY)
    if writes[0] == "EVALSHA":
        shas = [client.execute("SCRIPT", "LOAD", source)[5:45] for source in (WRITER, READER)]
        writes, reads = (("EVALSHA", sha.decode(), 0) for sha in shas)
    client.execute("CLIENT", "PAUSE", 1000, "WRITE")
    assert client.execute(*reads) == b":1\r\n"
    assert client.pipeline(("MULTI",), reads, ("EXEC",)).endswith(b"*1\r\n:1\r\n")
    assert held.execute(*writes) == b""
    server.advance(1000)
    assert held.received() == b":1\r\n"
    client.execute("REPLICAOF", "host", 1)
    assert client.execute(*writes) == errors.READ_ONLY.join((b"-", b"\r\n"))
    assert client.execute(*reads) == b":1\r\n"
    assert client.pipeline(("MULTI",), writes).endswith(errors.READ_ONLY + b"\r\n")


def test_a_script_without_a_shebang_may_write_and_is_held_back() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("CLIENT", "PAUSE", 1000, "WRITE")
    assert client.execute("EVAL", "return 1", 0) == b""
    server.advance(1000)
    assert client.received() == b":1\r\n"
    client.execute("REPLICAOF", "host", 1)
    assert client.execute("EVAL", "return 1", 0) == b":1\r\n"
