"""`rillway top`, on a terminal of its own and without one, beside Rillway and redis-server."""

from __future__ import annotations

import json
import os
import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.urls import with_database
from rillway.top.arguments import parse_options
from rillway.top.command import address, main
from tests.rillway.pipeline.conftest import empty
from tests.support.programs.servers import PROGRAM_PATH, start_rillway
from tests.support.programs.terminal import Terminal

pytestmark = pytest.mark.integration
Capture = pytest.CaptureFixture[str]


@pytest.fixture(params=["rillway", pytest.param("redis", marks=pytest.mark.thorough)])
def link(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """In place of the folder's: what Redis answers is compared in test_feed.py."""
    yield from empty(request.getfixturevalue(f"{request.param}_server"))


@pytest.fixture
def server(link: Connection) -> Connection:
    """orders with a group in which carla has 3 entries pending, and 5 are not read."""
    for number in range(8):
        link.call("XADD", "orders", "*", "item", f"lamp{number}\x1b[31m")
    link.call("XGROUP", "CREATE", "orders", "mailers", "0")
    link.call("XREADGROUP", "GROUP", "mailers", "carla", "COUNT", 3, "STREAMS", "orders", ">")
    link.call("XADD", "z\x1b]0;evil", "*", "n", "1")
    return link


def top(url: str, *arguments: str, rows: int = 24, columns: int = 80) -> Terminal:
    program = [sys.executable, "-m", "rillway", "top", "--url", url, *arguments]
    return Terminal(
        program, rows=rows, columns=columns, environment=os.environ | {"PYTHONPATH": PROGRAM_PATH}
    )


@pytest.fixture
def terminal(server: Connection) -> Iterator[Terminal]:
    with top(server.url, "--dead-after", "1ms") as terminal:
        terminal.wait_until(lambda lines: any("carla" in line for line in lines))
        yield terminal


def has(terminal: Terminal, *texts: str) -> None:
    terminal.wait_until(lambda lines: all(text in "\n".join(lines) for text in texts))


def test_streams_groups_and_a_dead_consumer_are_on_the_screen(terminal: Terminal) -> None:
    has(terminal, "> orders", "z\\x1b]0;evil", "GROUP of orders", "mailers", "carla DEAD")
    assert terminal.drawn[0].startswith("rillway top 127.0.0.1:")
    assert "q quit" in terminal.drawn[-1]


def test_keys_open_sort_filter_and_show(terminal: Terminal) -> None:
    terminal.type("\r")
    has(terminal, "> mailers")
    terminal.type("\r")
    has(terminal, "> carla DEAD")
    terminal.type("\x1b")
    has(terminal, "> mailers")
    terminal.type("\x1b[D4")
    has(terminal, "length▾", "> orders")
    terminal.type("/evil\r")
    has(terminal, "> z\\x1b]0;evil", "filter 'evil'")
    terminal.type("\x1b")
    terminal.wait_until(lambda lines: not any("filter 'evil'" in line for line in lines))
    has(terminal, "length▾", "orders")
    terminal.type("\x1b[He")
    has(terminal, "ENTRY of orders", "item=lamp7\\x1b[31m")
    terminal.type("c")
    has(terminal, "CLIENT, ")
    terminal.type("l?")
    has(terminal, "KEYS")
    terminal.type("?p")
    has(terminal, "PAUSED")
    terminal.type("q")
    terminal.read_to_end()
    assert terminal.process.wait() == 0


def test_it_follows_what_happens(terminal: Terminal, server: Connection) -> None:
    server.call("XGROUP", "CREATECONSUMER", "orders", "mailers", "anna")
    [[first, _], *_] = server.call("XRANGE", "orders", "-", "+")
    server.call("XCLAIM", "orders", "mailers", "anna", 0, first)
    has(terminal, "1 to anna", "+1", "-1")


def test_a_new_size_is_drawn_at_once(terminal: Terminal) -> None:
    terminal.resize(40, 140)
    has(terminal, "LATENCY", "BLOCKED", "FILES", "SLOW")
    terminal.wait_until(lambda lines: "q quit" in lines[39])
    terminal.resize(10, 40)
    terminal.wait_until(lambda lines: "> orders" in "\n".join(lines) and len(lines) == 10)


@pytest.mark.parametrize("how", ["q", signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_as_before_on_every_exit(
    server: Connection, how: str | signal.Signals
) -> None:
    with top(server.url) as terminal:
        before = termios.tcgetattr(terminal.master)[3]
        has(terminal, "> ")
        assert termios.tcgetattr(terminal.master)[3] != before
        if isinstance(how, str):
            terminal.type(how)
        else:
            terminal.process.send_signal(how)
        terminal.read_to_end()
        assert terminal.process.wait() == 0
        assert termios.tcgetattr(terminal.master)[3] == before
        assert terminal.printed.rstrip().endswith(b"\x1b[?25h\x1b[?1049l")


def test_while_it_is_stopped_the_shell_has_its_terminal(server: Connection) -> None:
    with top(server.url) as terminal:
        before = termios.tcgetattr(terminal.master)[3]
        has(terminal, "> orders")
        terminal.process.send_signal(signal.SIGTSTP)
        terminal.wait_until(lambda _: termios.tcgetattr(terminal.master)[3] == before)
        terminal.wait_until(lambda _: terminal.printed.endswith(b"\x1b[?25h\x1b[?1049l"))
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_until(lambda _: termios.tcgetattr(terminal.master)[3] != before)
        terminal.wait_until(lambda lines: "> orders" in "\n".join(lines))


def test_a_killed_server_leaves_the_figures_and_is_found_again(tmp_path: Path) -> None:
    server = start_rillway(tmp_path)
    url = f"redis://127.0.0.1:{server.port}"
    with Connection(url) as link:
        link.call("XADD", "orders", "*", "n", "1")
    with top(url) as terminal:
        has(terminal, "> orders")
        server.kill()
        has(terminal, "no connection since ", "> orders")
        again = start_rillway(tmp_path, "--port", str(server.port))
        try:
            terminal.wait_until(lambda lines: "no connection" not in "\n".join(lines))
        finally:
            again.stop()


def test_the_next_database_is_shown(server: Connection) -> None:
    with Connection(with_database(server.url, 3)) as other:
        other.call("XADD", "elsewhere", "*", "n", "1")
    with top(server.url) as terminal:
        has(terminal, "> orders")
        terminal.type("+-d")
        has(terminal, "db 3", "elsewhere")


def on_terminal(server: Connection, variable: str) -> Terminal:
    program = [sys.executable, "-m", "rillway", "top", "--url", server.url, "--every", "50ms"]
    environment = os.environ | {"PYTHONPATH": PROGRAM_PATH}
    return Terminal(["env", variable, *program], rows=24, columns=80, environment=environment)


def test_a_terminal_that_cannot_place_lines_gets_one_sample(server: Connection) -> None:
    with on_terminal(server, "TERM=dumb") as terminal:
        assert "carla" in terminal.read_to_end()
        assert b"\x1b" not in terminal.printed


def test_without_unicode_it_draws_with_ascii(server: Connection) -> None:
    with on_terminal(server, "PYTHONIOENCODING=ascii") as terminal:
        has(terminal, "in/sv", "> orders")
        assert terminal.printed.isascii()


def test_without_a_terminal_it_prints_once(server: Connection, capsys: Capture) -> None:
    assert main(["--url", server.url, "--dead-after", "1ms", "--every", "50ms"]) == 0
    text = capsys.readouterr().out
    assert "orders" in text and "carla DEAD" in text and "\x1b" not in text


def test_samples_as_json(server: Connection, capsys: Capture) -> None:
    assert main(["--url", server.url, "--once", "--json", "--match", "ord*", "--every", "9ms"]) == 0
    sample = json.loads(capsys.readouterr().out)
    [stream] = sample["streams"]
    assert (stream["name"], stream["length"], stream["pending"]) == ("orders", 8, 3)
    assert stream["in_per_s"] == 0 and sample["server"]["role"] == "primary"
    [group] = stream["groups"]
    assert group["consumers"][0]["name"] == "carla"


def changes(server: Connection) -> list[bytes]:
    lines = server.call("INFO", "persistence").split(b"\r\n")
    return [line for line in lines if line.startswith(b"rdb_changes_since_last_save")]


def test_it_never_writes(server: Connection) -> None:
    before = changes(server)
    assert main(["--url", server.url, "--every", "10ms"]) == 0
    assert changes(server) == before


def test_no_server_is_one_line(capsys: Capture) -> None:
    assert main(["--url", "redis://127.0.0.1:1"]) == 1
    assert capsys.readouterr().err.startswith("rillway top: redis://127.0.0.1:1: ")


def test_a_bare_number_is_no_time_to_be_dead_after(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        parse_options(["--dead-after", "60"])
    assert "such as 60s" in capsys.readouterr().err


def test_addresses_have_no_password() -> None:
    assert address("redis://u:secret@10.0.0.1:6379/3") == "10.0.0.1:6379"
    assert address("unix:///run/redis.sock?db=1") == "/run/redis.sock"
