"""server/admission.py: admission control. CLIENT PAUSE: tests/commands/connection."""

from __future__ import annotations

from protocol import errors
from server.inprocess import InProcessServer


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
