"""redis-cli as a person uses it: one command, a script, a terminal, and each of its modes.

What is compared is what redis-cli prints. Where it needs to know more of the server than RESP (the
hints and help of a terminal, `--stat`, `--bigkeys`), that knowledge comes from COMMAND DOCS, INFO,
SCAN and MEMORY USAGE, so these tests show that they are as redis-cli expects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

import commands.catalogue  # noqa: F401  (declares every command)
from commands.core.host import REDIS_VERSION
from commands.core.registry import COMMANDS
from commands.documentation import row_of
from tests.support.programs.redis_tools import find_tool, run_tool, tool_environment
from tests.support.programs.servers import RunningServer
from tests.support.programs.terminal import Terminal
from tests.support.resp import encode_command
from tests.support.waiting import until

pytestmark = pytest.mark.integration

Cli: TypeAlias = Callable[..., str]
OpenCli: TypeAlias = Callable[..., Terminal]
StartRillway: TypeAlias = Callable[..., RunningServer]

MASS_INSERTED = 10_000
ANSWER_SECONDS = 60.0


@pytest.fixture
def cli(server: RunningServer) -> Cli:
    """Runs redis-cli to its end: what it printed, without the last newline."""

    def run(*arguments: str | int, typed: str | bytes = b"") -> str:
        ran = run_tool("redis-cli", "-p", server.port, *arguments, typed=typed)
        return (ran.stdout + ran.stderr).removesuffix("\n")

    return run


@pytest.fixture
def open_cli(server: RunningServer) -> Iterator[OpenCli]:
    """Opens redis-cli on a terminal; it is closed with the test."""
    opened: list[Terminal] = []

    def open_one(*arguments: str, port: int = server.port) -> Terminal:
        argv = [find_tool("redis-cli"), "-p", str(port), *arguments]
        opened.append(Terminal(argv, environment=tool_environment()))
        return opened[-1]

    yield open_one
    for terminal in opened:
        terminal.close()


def prompt(server: RunningServer, state: str = "") -> str:
    return f"127.0.0.1:{server.port}{state}> "


def enter(terminal: Terminal, line: str, next_prompt: str) -> str:
    """Types a line; what is printed up to the next prompt.

    redis-cli throws away what is typed while it does not ask, so the prompt has to be waited for.
    """
    terminal.type(f"{line}\r")
    terminal.wait_for("\n")
    return terminal.wait_for(next_prompt)


def hint(command: str) -> str:
    """How redis-cli shows a command's declared syntax."""
    syntax = row_of(COMMANDS[command.encode()]).syntax
    return syntax.replace("<", "").replace(">", "").replace(" | ", "|")


# -- one command ---------------------------------------------------------------------------------


def test_a_single_command_prints_its_reply(cli: Cli) -> None:
    assert cli("PING") == "PONG"
    assert cli("XADD", "s", "1-1", "f", "v") == "1-1"
    assert cli("XLEN", "s") == "1"
    assert cli("XRANGE", "s", "-", "+") == "1-1\nf\nv"
    assert cli("GET", "nothing") == ""
    assert cli("GET", "s").startswith("WRONGTYPE Operation against a key")


def test_a_reply_is_laid_out_as_on_a_terminal_when_asked_for(cli: Cli) -> None:
    cli("XADD", "s", "1-1", "f", "v\n")
    assert cli("--no-raw", "XRANGE", "s", "-", "+") == (
        '1) 1) "1-1"\n   2) 1) "f"\n      2) "v\\n"'
    )


def test_csv_quotes_every_value_on_one_line(cli: Cli) -> None:
    cli("XADD", "s", "1-1", "f", 'a "b"')
    assert cli("--csv", "XRANGE", "s", "-", "+") == r'"1-1","f","a \"b\""'


def test_json_shows_streams_as_a_map_in_resp3(cli: Cli) -> None:
    cli("XADD", "s", "1-1", "f", "v")
    printed = cli("-3", "--json", "XREAD", "STREAMS", "s", "0")
    assert json.loads(printed) == {"s": [["1-1", ["f", "v"]]]}
    assert json.loads(cli("--json", "XINFO", "STREAM", "s"))["last-generated-id"] == "1-1"


def test_a_session_in_resp3_shows_maps_sets_and_nulls(cli: Cli) -> None:
    assert '3# "proto" => (integer) 3' in cli("-3", "--no-raw", "HELLO")
    assert cli("-3", "--no-raw", "GET", "nothing") == "(nil)"
    assert "1~ write" in cli("-3", "--no-raw", "COMMAND", "INFO", "xack")


def test_a_database_is_chosen_by_number_and_by_uri(cli: Cli, server: RunningServer) -> None:
    assert cli("-n", 3, "SET", "k", "three") == "OK"
    assert cli("GET", "k") == ""
    assert cli("-n", 3, "GET", "k") == "three"
    printed = run_tool("redis-cli", "-u", f"redis://127.0.0.1:{server.port}/3", "GET", "k").stdout
    assert printed == "three\n"


def test_an_error_sets_the_exit_status_when_asked_for(server: RunningServer) -> None:
    failed = run_tool("redis-cli", "-p", server.port, "-e", "XADD", "s", "bad", "f", "v")
    assert failed.returncode == 1
    assert "Invalid stream ID specified as stream command argument" in failed.stderr
    assert run_tool("redis-cli", "-p", server.port, "-e", "PING").returncode == 0


def test_quoted_arguments_may_hold_any_byte(cli: Cli) -> None:
    assert cli("--quoted-input", "XADD", '"\\x00key"', "1-1", '"a\\nb"', '"\\xff"') == "1-1"
    assert cli("--no-raw", "--quoted-input", "XRANGE", '"\\x00key"', "-", "+") == (
        '1) 1) "1-1"\n   2) 1) "a\\nb"\n      2) "\\xff"'
    )


def test_a_command_is_repeated_at_an_interval(cli: Cli) -> None:
    assert cli("-r", 3, "-i", "0.01", "INCR", "n") == "1\n2\n3"


def test_an_argument_comes_from_standard_input(cli: Cli) -> None:
    assert cli("-x", "SET", "k", typed="first\nsecond\n") == "OK"
    assert cli("GET", "k") == "first\nsecond\n"
    assert cli("-X", "HERE", "SET", "HERE", "v", typed="named") == "OK"
    assert cli("GET", "named") == "v"


def test_a_script_on_standard_input_is_run_line_by_line(cli: Cli) -> None:
    script = "XADD s 1-1 f v\nXADD s 1-1 f v\n\n3 INCR n\nBOGUS 1\nMULTI\nXLEN s\nEXEC\n"
    assert cli(typed=script).split("\n") == [
        "1-1",
        "ERR The ID specified in XADD is equal or smaller than the target stream top item",
        "",
        "1",
        "2",
        "3",
        "ERR unknown command 'BOGUS', with args beginning with: '1' ",
        "",
        "OK",
        "QUEUED",
        "1",
    ]


def test_a_reply_that_takes_its_time_is_waited_for(cli: Cli) -> None:
    assert cli("XREAD", "BLOCK", "20", "STREAMS", "s", "$") == ""
    assert cli("-3", "--json", "XREAD", "BLOCK", "20", "STREAMS", "s", "$") == "null"


def test_a_unix_socket_serves_as_well(run_rillway: StartRillway, tmp_path: Path) -> None:
    path = tmp_path / "rillway.sock"
    run_rillway("--unixsocket", str(path))
    assert run_tool("redis-cli", "-s", str(path), "PING").stdout == "PONG\n"


# -- passwords -----------------------------------------------------------------------------------


@pytest.fixture
def guarded(run_rillway: StartRillway) -> RunningServer:
    """A server with the password `secret`."""
    guarded = run_rillway()
    with guarded.connect() as client:
        assert client.send("CONFIG", "SET", "requirepass", "secret") == b"+OK\r\n"
    return guarded


def test_a_password_is_sent_first(guarded: RunningServer) -> None:
    def run(*arguments: str, **environment: str) -> str:
        ran = run_tool("redis-cli", "-p", guarded.port, *arguments, environment=environment)
        return ran.stdout + ran.stderr

    assert run("PING") == "NOAUTH Authentication required.\n\n"
    warning = "Warning: Using a password with '-a' or '-u' option"
    assert run("-a", "secret", "PING").startswith(("PONG\n" + warning, warning))
    assert run("-a", "secret", "--no-auth-warning", "PING") == "PONG\n"
    assert run("-a", "secret", "--user", "default", "--no-auth-warning", "PING") == "PONG\n"
    assert run("-a", "secret", "--no-auth-warning", "-3", "PING") == "PONG\n"
    assert run("PING", REDISCLI_AUTH="secret") == "PONG\n"
    assert "AUTH failed: WRONGPASS" in run("-a", "wrong", "--no-auth-warning", "PING")


# -- the terminal --------------------------------------------------------------------------------


def test_a_terminal_hints_at_the_arguments_of_our_own_commands(
    open_cli: OpenCli, server: RunningServer
) -> None:
    terminal = open_cli()
    terminal.wait_for(prompt(server))
    terminal.type("xadd ")
    terminal.wait_for(f"xadd {hint('xadd')}")
    terminal.type("s ")
    terminal.wait_for(f"xadd s {hint('xadd').removeprefix('key ')}")
    terminal.type("\x15xreadgroup GROUP g a ")
    terminal.wait_for(f"xreadgroup {hint('xreadgroup').replace('group consumer', 'g a')}")
    terminal.type("\x15xgroup create ")
    terminal.wait_for("xgroup create key group id|$ [MKSTREAM] [ENTRIESREAD entries-read]")


def test_the_tabulator_completes_the_names_of_commands(
    open_cli: OpenCli, server: RunningServer
) -> None:
    terminal = open_cli()
    terminal.wait_for(prompt(server))
    terminal.type("XREADG\t")
    terminal.wait_for("XREADGROUP")
    terminal.type("\x15xinfo str\t")
    terminal.wait_for("XINFO STREAM")


def test_help_explains_a_command(open_cli: OpenCli, server: RunningServer) -> None:
    terminal = open_cli()
    terminal.wait_for(prompt(server))
    printed = enter(terminal, "help xadd", prompt(server))
    assert f"XADD {hint('xadd')}" in printed
    assert all(part in printed for part in ("summary: ", "since: 5.0.0", "group: stream"))
    printed = enter(terminal, "help @stream", prompt(server))
    assert "XAUTOCLAIM" in printed and "XTRIM" in printed


def test_the_prompt_shows_the_transaction_and_the_database(
    open_cli: OpenCli, server: RunningServer
) -> None:
    terminal = open_cli()
    terminal.wait_for(prompt(server))
    assert "OK" in enter(terminal, "multi", prompt(server, "(TX)"))
    assert "QUEUED" in enter(terminal, "select 3", "(TX)> ")
    assert "1) OK" in enter(terminal, "exec", prompt(server, "[3]"))


def test_a_transaction_that_a_watch_spoils_is_shown_as_nil(
    open_cli: OpenCli, server: RunningServer, cli: Cli
) -> None:
    terminal = open_cli()
    terminal.wait_for(prompt(server))
    enter(terminal, "watch s", prompt(server))
    cli("XADD", "s", "1-1", "f", "v")
    enter(terminal, "multi", prompt(server, "(TX)"))
    assert "(nil)" in enter(terminal, "exec", prompt(server))


def test_an_invalidation_is_shown_between_replies(
    open_cli: OpenCli, server: RunningServer, cli: Cli
) -> None:
    terminal = open_cli("-3")
    terminal.wait_for(prompt(server))
    enter(terminal, "client tracking on", prompt(server))
    enter(terminal, "xlen s", prompt(server))
    cli("XADD", "s", "1-1", "f", "v")
    printed = enter(terminal, "ping", prompt(server))
    assert "-> invalidate: 's'" in printed and "PONG" in printed


def test_a_terminal_reconnects_after_a_restart(
    open_cli: OpenCli, run_rillway: StartRillway
) -> None:
    first = run_rillway()
    terminal = open_cli(port=first.port)
    terminal.wait_for(prompt(first))
    first.stop()
    enter(terminal, "ping", "not connected> ")
    run_rillway("--port", str(first.port))
    assert "PONG" in enter(terminal, "ping", prompt(first))


# -- messages ------------------------------------------------------------------------------------


def test_monitor_prints_what_others_send(open_cli: OpenCli, cli: Cli) -> None:
    terminal = open_cli("MONITOR")
    terminal.wait_for("OK")
    cli("XADD", "s", "1-1", "f", 'a "b"\n')
    printed = terminal.wait_for('"XADD" "s" "1-1" "f" "a \\"b\\"\\n"')
    line = printed.split("\n")[-1]
    assert re.match(r'\d+\.\d{6} \[0 127\.0\.0\.1:\d+\] "XADD"', line), printed


@pytest.mark.parametrize("protocol", ["-2", "-3"])
def test_subscribe_prints_what_others_publish(open_cli: OpenCli, cli: Cli, protocol: str) -> None:
    terminal = open_cli(protocol, "--csv", "SUBSCRIBE", "news", "weather")
    until(lambda: cli("PUBLISH", "weather", "rain") == "1", "a subscriber")
    terminal.wait_for('"weather","rain"')


# -- looking at a server -------------------------------------------------------------------------


def test_stat_prints_a_line_for_each_interval(open_cli: OpenCli, cli: Cli) -> None:
    cli("XADD", "s", "1-1", "f", "v")
    terminal = open_cli("--stat", "-i", "0.02")
    printed = terminal.wait_for("(+1)")
    assert "keys       mem      clients blocked requests            connections" in printed
    line = printed.split("\n")[-2]
    assert re.match(r"1 +\d+\.\d+M +\d+ +0 +\d+", line), printed


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("--latency",), "(3 samples)"),
        (("--latency-history", "-i", "0.05"), "seconds range"),
        (("--latency-dist", "-i", "0.05"), ".-*#123456789ABCDEFGHIJKLMNOPQ?"),
    ],
)
def test_latencies_are_measured_as_they_come(
    open_cli: OpenCli, arguments: tuple[str, ...], shown: str
) -> None:
    open_cli(*arguments).wait_for(shown)


def test_latency_without_a_terminal_prints_one_line_of_numbers(cli: Cli) -> None:
    assert re.fullmatch(r"\d+ \d+ \d+\.\d+ \d+", cli("--latency", "-i", "0.05", "--raw"))


def test_bigkeys_finds_the_longest_of_each_type(cli: Cli) -> None:
    for ms in range(1, 4):
        cli("XADD", "long", f"{ms}-1", "f", "v")
    cli("XADD", "short", "1-1", "f", "v")
    cli("SET", "text", "12345")
    printed = cli("--bigkeys")
    assert "Sampled 3 keys in the keyspace!" in printed
    assert "Biggest stream found '\"long\"' has 3 entries" in printed
    assert "Biggest string found '\"text\"' has 5 bytes" in printed
    assert "2 streams with 4 entries" in printed


def test_memkeys_finds_the_largest_of_each_type(cli: Cli) -> None:
    cli("XADD", "small", "1-1", "f", "v")
    cli("XADD", "large", "1-1", "f", "v" * 5000)
    cli("SET", "text", "x" * 1000)
    printed = cli("--memkeys", "--memkeys-samples", "0")
    found = re.search(r"Biggest stream found '\"large\"' has (\d+) bytes", printed)
    assert found is not None and int(found[1]) > 5000, printed
    assert re.search(r"Biggest string found '\"text\"' has 1\d\d\d bytes", printed)


def test_scan_lists_every_key_once(cli: Cli) -> None:
    keys = [f"stream:{number}" for number in range(2_000)]
    cli("MSET", *[word for key in keys for word in (key, "v")], "other", "v")
    assert sorted(cli("--scan", "--pattern", "stream:*").split()) == sorted(keys)
    assert cli("--scan", "--pattern", "oth?r") == "other"
    assert cli("--no-raw", "--scan", "--quoted-pattern", '"oth\\x65r"') == '"other"'


def test_hot_keys_need_a_policy_that_counts_accesses(server: RunningServer, cli: Cli) -> None:
    cli("SET", "k", "v")
    ran = run_tool("redis-cli", "-p", server.port, "--hotkeys")
    assert ran.returncode == 1
    assert "ERR An LFU maxmemory policy is not selected" in ran.stderr


def test_lolwut_draws_and_names_the_version(cli: Cli) -> None:
    assert cli("LOLWUT").rstrip("\n").endswith(f"Redis ver. {REDIS_VERSION}")


# -- mass insertion ------------------------------------------------------------------------------


def test_a_pipe_inserts_ten_thousand_entries_and_waits_for_the_last(cli: Cli) -> None:
    requests = b"".join(
        encode_command(["XADD", "s", "*", "number", number]) for number in range(MASS_INSERTED)
    )
    printed = cli("--pipe", typed=requests)
    assert "All data transferred. Waiting for the last reply..." in printed
    assert f"errors: 0, replies: {MASS_INSERTED}" in printed
    assert cli("XLEN", "s") == str(MASS_INSERTED)
    last = json.loads(cli("--json", "XREVRANGE", "s", "+", "-", "COUNT", "1"))
    assert last[0][1] == ["number", str(MASS_INSERTED - 1)]


def test_a_pipe_counts_the_errors(cli: Cli) -> None:
    lines = "XADD s 1-1 f v\r\nXADD s 1-1 f v\r\nBOGUS\r\nSET k v\r\n"
    printed = cli("--pipe", typed=lines)
    assert "ERR The ID specified in XADD is equal or smaller" in printed
    assert "errors: 2, replies: 4" in printed


# -- the end -------------------------------------------------------------------------------------


def test_shutdown_ends_the_server(run_rillway: StartRillway) -> None:
    victim = run_rillway()
    ran = run_tool("redis-cli", "-p", victim.port, "SHUTDOWN")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert victim.process.wait(ANSWER_SECONDS) == 0
