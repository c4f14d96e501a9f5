"""SAVE, BGSAVE, LASTSAVE and BGREWRITEAOF: their replies.

SHUTDOWN.
"""

from __future__ import annotations

import errno

import pytest

from server.inprocess.server import InProcessClient, InProcessServer

SAVING = b"-ERR Background save already in progress\r\n"
SAVE_STARTED = b"+Background saving started\r\n"
SAVE_SCHEDULED = b"+Background saving scheduled\r\n"
REWRITE_STARTED = b"+Background append only file rewriting started\r\n"
REWRITE_SCHEDULED = b"+Background append only file rewriting scheduled\r\n"
SYNTAX = b"-ERR syntax error\r\n"


@pytest.mark.parametrize(
    "words", [("BGSAVE", "x"), ("BGSAVE", "SCHEDULE", "x"), ("BGSAVE", "SCHEDULE", "SCHEDULE")]
)
def test_bgsave_knows_one_word(client: InProcessClient, words: tuple[str, ...]) -> None:
    assert client.execute(*words) == SYNTAX


@pytest.mark.parametrize("name", ["save", "lastsave", "bgrewriteaof"])
def test_the_others_know_none(client: InProcessClient, name: str) -> None:
    expected = f"-ERR wrong number of arguments for '{name}' command\r\n".encode()
    assert client.execute(name, "x") == expected


def test_only_one_child_saves_at_a_time(server: InProcessServer, client: InProcessClient) -> None:
    server.children.is_held = True
    assert client.execute("BGSAVE") == SAVE_STARTED
    assert client.execute("BGSAVE") == SAVING
    assert client.execute("bgsave", "schedule") == SAVING
    assert client.execute("SAVE") == SAVING
    assert client.execute("BGREWRITEAOF") == REWRITE_SCHEDULED


def test_while_a_child_rewrites_a_snapshot_waits_or_is_made_at_once(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.children.is_held = True
    assert client.execute("BGREWRITEAOF") == REWRITE_STARTED
    assert client.execute("BGREWRITEAOF") == (
        b"-ERR Background append only file rewriting already in progress\r\n"
    )
    assert client.execute("BGSAVE") == (
        b"-ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE"
        b" in order to schedule a BGSAVE whenever possible.\r\n"
    )
    assert client.execute("BGSAVE", "SCHEDULE") == SAVE_SCHEDULED
    assert client.execute("SAVE") == b"+OK\r\n"


def test_in_a_transaction_both_wait_for_its_end(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.pipeline(("MULTI",), ("BGSAVE",), ("BGREWRITEAOF",))
    assert client.execute("EXEC") == b"*2\r\n" + SAVE_SCHEDULED + REWRITE_SCHEDULED
    for _ in range(4):
        server.advance(100)
    state = server.instance.persistence
    assert (state.saves, state.rewrites) == (1, 1)


def test_save_is_not_queued(client: InProcessClient) -> None:
    client.execute("MULTI")
    assert client.execute("SAVE") == b"-ERR Command not allowed inside a transaction\r\n"


def test_lastsave_is_the_start_until_there_was_a_snapshot(
    server: InProcessServer, client: InProcessClient
) -> None:
    assert client.execute("LASTSAVE") == b":1700000000\r\n"
    server.advance(5000)
    assert client.execute("LASTSAVE") == b":1700000000\r\n"
    client.execute("SAVE")
    assert client.execute("LASTSAVE") == b":1700000005\r\n"
    server.advance(5000)
    client.execute("BGSAVE")
    server.advance(2000)
    assert client.execute("LASTSAVE") == b":1700000012\r\n"


def test_all_but_lastsave_are_refused_while_data_is_loaded(
    server: InProcessServer, client: InProcessClient
) -> None:
    server.instance.set_loading(True)
    for name in ("SAVE", "BGSAVE", "BGREWRITEAOF"):
        assert client.execute(name).startswith(b"-LOADING ")
    assert client.execute("LASTSAVE") == b":1700000000\r\n"


def test_resetstat_forgets_what_was_counted(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("BGSAVE")
    client.execute("CONFIG", "RESETSTAT")
    found = client.execute("INFO", "persistence", "stats")
    for line in (b"rdb_saves:0\r\n", b"total_forks:0\r\n", b"rdb_bgsave_in_progress:1\r\n"):
        assert line in found


@pytest.mark.parametrize("options", [(), ("NOSAVE",), ("now", "force"), ("NOSAVE", "NOW", "FORCE")])
def test_shutdown_stops_the_server_without_a_reply(options: tuple[str, ...]) -> None:
    server = InProcessServer()
    client = server.connect()
    assert client.pipeline(("SHUTDOWN", *options), ("SET", "k", "v")) == b""
    assert server.shutdown_requested
    assert client.closed
    assert len(server.instance.databases[0]) == 0


@pytest.mark.parametrize(
    "options",
    [("FOO",), ("SAVE", "NOSAVE"), ("ABORT", "NOW"), ("NOW", "FORCE", "x")],
)
def test_options_that_do_not_fit_are_a_syntax_error(options: tuple[str, ...]) -> None:
    server = InProcessServer()
    assert server.connect().execute("SHUTDOWN", *options) == b"-ERR syntax error\r\n"
    assert not server.shutdown_requested


def test_there_is_never_a_shutdown_to_abort(client: InProcessClient) -> None:
    assert client.execute("SHUTDOWN", "ABORT") == b"-ERR No shutdown in progress.\r\n"
    assert client.execute("SHUTDOWN", "ABORT", "abort") == b"-ERR No shutdown in progress.\r\n"


def test_what_the_disk_does_not_take_is_an_error_and_the_server_goes_on() -> None:
    server = InProcessServer()
    server.files.fail("create", errno.ENOSPC)
    client = server.connect()
    assert client.execute("SHUTDOWN", "SAVE") == b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n"
    assert not server.shutdown_requested
    assert client.execute("PING") == b"+PONG\r\n"
    assert client.execute("SHUTDOWN", "SAVE", "FORCE") == b""
    assert server.shutdown_requested


def test_shutdown_is_not_queued_in_a_transaction() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("MULTI")
    reply = client.execute("SHUTDOWN")
    assert reply == b"-ERR Command not allowed inside a transaction\r\n"
    assert not server.shutdown_requested
