"""CLIENT ID, SETNAME, GETNAME, SETINFO, REPLY, NO-EVICT, NO-TOUCH, HELP."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer


@pytest.fixture
def client() -> InProcessClient:
    return InProcessServer().connect()


def test_ids_grow_and_are_not_used_again() -> None:
    server = InProcessServer()
    first, second = server.connect(), server.connect()
    assert first.execute("CLIENT", "ID") == b":1\r\n"
    assert second.execute("client", "id") == b":2\r\n"
    second.disconnect()
    assert server.connect().execute("CLIENT", "ID") == b":3\r\n"


def test_a_connection_has_no_name_until_it_gets_one(client: InProcessClient) -> None:
    assert client.execute("CLIENT", "GETNAME") == b"$-1\r\n"
    assert client.execute("CLIENT", "SETNAME", "worker-1") == b"+OK\r\n"
    assert client.execute("CLIENT", "GETNAME") == b"$8\r\nworker-1\r\n"
    client.execute("CLIENT", "SETNAME", "")
    assert client.execute("CLIENT", "GETNAME") == b"$-1\r\n"


@pytest.mark.parametrize("name", [b"a b", b"a\n", b"\x7f", b"\xc3\xa4", b"\x00"])
def test_a_name_that_would_break_a_line_is_refused(client: InProcessClient, name: bytes) -> None:
    assert client.execute("CLIENT", "SETNAME", name) == (
        b"-ERR Client names cannot contain spaces, newlines or special characters.\r\n"
    )
    assert client.state.name == b""


def test_setinfo_remembers_the_library(client: InProcessClient) -> None:
    assert client.execute("CLIENT", "SETINFO", "LIB-NAME", "redis-py(x)") == b"+OK\r\n"
    assert client.execute("CLIENT", "SETINFO", "lib-ver", "8.1.0") == b"+OK\r\n"
    assert b" lib-name=redis-py(x) lib-ver=8.1.0 " in client.execute("CLIENT", "INFO")


def test_setinfo_repeats_a_bad_option_as_it_was_written(client: InProcessClient) -> None:
    assert client.execute("CLIENT", "SETINFO", "Lib-Foo", "x") == (
        b"-ERR Unrecognized option 'Lib-Foo'\r\n"
    )
    assert client.execute("CLIENT", "SETINFO", "Lib-Name", "a b") == (
        b"-ERR Lib-Name cannot contain spaces, newlines or special characters.\r\n"
    )
    assert client.execute("CLIENT", "SETINFO", "LIB-NAME") == (
        b"-ERR wrong number of arguments for 'client|setinfo' command\r\n"
    )


# -- CLIENT REPLY --------------------------------------------------------------------------------


def test_reply_off_silences_everything_until_reply_on(client: InProcessClient) -> None:
    assert client.execute("CLIENT", "REPLY", "OFF") == b""
    assert client.execute("PING") == b""
    assert client.execute("NOPE") == b""
    assert client.execute("CLIENT", "REPLY", "what") == b""
    assert client.execute("CLIENT", "REPLY", "SKIP") == b""
    assert client.execute("PING") == b""
    assert client.execute("CLIENT", "REPLY", "ON") == b"+OK\r\n"
    assert client.execute("PING") == b"+PONG\r\n"


def test_reply_off_still_runs_the_commands(client: InProcessClient) -> None:
    client.pipeline(("CLIENT", "REPLY", "OFF"), ("SET", "k", "v"), ("CLIENT", "REPLY", "ON"))
    assert client.execute("GET", "k") == b"$1\r\nv\r\n"


@pytest.mark.parametrize("mode", [b"OFF", b"SKIP"])
@pytest.mark.parametrize("broken", [b"*x\r\n", b"*1\r\n+x\r\n", b'PING "x\r\n'])
def test_a_client_without_replies_gets_no_protocol_error(
    client: InProcessClient, mode: bytes, broken: bytes
) -> None:
    assert client.feed(b"CLIENT REPLY " + mode + b"\r\n" + broken) == b""
    assert client.closed


SKIP = ("CLIENT", "REPLY", "SKIP")


@pytest.mark.parametrize(
    ("requests", "received"),
    [
        ([SKIP, ("PING",), ("ECHO", "1")], b"$1\r\n1\r\n"),
        ([SKIP, ("NOPE",), ("ECHO", "1")], b"$1\r\n1\r\n"),
        ([SKIP, SKIP, ("PING",), ("ECHO", "1")], b"$1\r\n1\r\n"),
        ([SKIP, ("CLIENT", "REPLY", "ON"), ("ECHO", "1")], b"+OK\r\n$1\r\n1\r\n"),
        ([SKIP, ("CLIENT", "REPLY", "what"), ("ECHO", "1")], b"$1\r\n1\r\n"),
        ([("MULTI",), SKIP, ("PING",), ("EXEC",), ("ECHO", "1"), ("ECHO", "2")],
         b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+PONG\r\n$1\r\n2\r\n"),
    ],
)  # fmt: skip
def test_reply_skip_leaves_out_the_next_reply(
    client: InProcessClient, requests: list[tuple[str, ...]], received: bytes
) -> None:
    assert client.pipeline(*requests) == received


def test_reply_skip_leaves_out_the_reply_of_a_wait() -> None:
    server = InProcessServer()
    client, producer = server.connect(), server.connect()
    client.pipeline(("CLIENT", "REPLY", "SKIP"), ("XREAD", "BLOCK", "0", "STREAMS", "s", "$"))
    producer.execute("XADD", "s", "1-1", "f", "v")
    assert client.received() == b""
    assert client.execute("PING") == b"+PONG\r\n"


def test_reply_wants_one_of_three_words(client: InProcessClient) -> None:
    assert client.execute("CLIENT", "REPLY", "MAYBE") == b"-ERR syntax error\r\n"
    assert client.execute("CLIENT", "REPLY", "ON") == b"+OK\r\n"


# -- NO-EVICT, NO-TOUCH --------------------------------------------------------------------------


@pytest.mark.parametrize(("option", "flag"), [("NO-EVICT", b"e"), ("NO-TOUCH", b"T")])
def test_no_evict_and_no_touch_are_switches_that_client_list_shows(
    client: InProcessClient, option: str, flag: bytes
) -> None:
    assert client.execute("CLIENT", option, "on") == b"+OK\r\n"
    assert b" flags=%b " % flag in client.execute("CLIENT", "INFO")
    assert client.execute("CLIENT", option, "OFF") == b"+OK\r\n"
    assert b" flags=N " in client.execute("CLIENT", "INFO")
    assert client.execute("CLIENT", option, "MAYBE") == b"-ERR syntax error\r\n"


def test_no_touch_reads_without_ending_the_idle_time() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("SET", "k", "v")
    value = server.instance.databases[0].values[b"k"]
    client.execute("CLIENT", "NO-TOUCH", "ON")
    server.advance(5000)
    client.execute("GET", "k")
    assert server.now_ms - value.access_ms == 5000
    client.execute("CLIENT", "NO-TOUCH", "OFF")
    client.execute("GET", "k")
    assert value.access_ms == server.now_ms


# -- the container -------------------------------------------------------------------------------


def test_an_unknown_subcommand_is_a_plain_error(client: InProcessClient) -> None:
    # Today's redis-py asks this of every server and goes on if it is refused.
    assert client.execute("CLIENT", "MAINT_NOTIFICATIONS", "ON") == (
        b"-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.\r\n"
    )
    assert client.execute("CLIENT") == b"-ERR wrong number of arguments for 'client' command\r\n"


def test_help_names_every_subcommand(client: InProcessClient) -> None:
    from commands.core.registry import COMMANDS

    text = client.execute("CLIENT", "HELP")
    assert text.startswith(b"*")
    assert b"\r\n+CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n" in text
    assert text.endswith(b"+HELP\r\n+    Print this help.\r\n")
    for name in COMMANDS[b"client"].subcommands:
        assert b"\r\n+%b" % name.upper() in text, name
