"""SCRIPT and its sub-commands."""

from __future__ import annotations

from server.inprocess.server import InProcessClient

SHA = b"e0e1f9fabfc9d4800c877a703b823ac0578ff8db"


def test_a_loaded_script_stays_until_the_flush(client: InProcessClient) -> None:
    assert client.execute("SCRIPT", "LOAD", "return 1") == b"$40\r\n%b\r\n" % SHA
    assert client.execute("SCRIPT", "EXISTS", SHA, "x") == b"*2\r\n:1\r\n:0\r\n"
    assert client.execute("EVALSHA", SHA, 0) == b":1\r\n"
    assert client.execute("SCRIPT", "FLUSH", "ASYNC") == b"+OK\r\n"
    assert client.execute("SCRIPT", "EXISTS", SHA) == b"*1\r\n:0\r\n"
    assert client.execute("EVALSHA", SHA, 0).startswith(b"-NOSCRIPT ")


def test_a_flush_replaces_the_interpreter(client: InProcessClient) -> None:
    number = ("EVAL", "return tostring(math.random())", 0)
    first = client.execute(*number)
    assert client.execute(*number) != first
    client.execute("SCRIPT", "FLUSH")
    assert client.execute(*number) == first


def test_there_is_no_debugger(client: InProcessClient) -> None:
    assert client.execute("SCRIPT", "DEBUG", "no") == b"+OK\r\n"
    assert client.execute("SCRIPT", "DEBUG", "yes").startswith(b"-ERR SCRIPT DEBUG is not")
    assert client.execute("SCRIPT", "DEBUG", "x") == b"-ERR Use SCRIPT DEBUG YES/SYNC/NO\r\n"


def test_script_kill_needs_a_running_script(client: InProcessClient) -> None:
    expected = b"-NOTBUSY No scripts in execution right now.\r\n"
    assert client.execute("SCRIPT", "KILL") == expected


def test_a_script_that_is_not_lua_is_not_loaded(client: InProcessClient) -> None:
    reply = client.execute("SCRIPT", "LOAD", "x x")
    assert reply == (
        b"-ERR Error compiling script (new function): user_script:1: '=' expected near 'x'\r\n"
    )
    assert client.execute("SCRIPT", "FLUSH", "now").startswith(b"-ERR SCRIPT FLUSH only support")


def test_help(client: InProcessClient) -> None:
    assert b"LOAD <script>" in client.execute("SCRIPT", "HELP")
