"""Runs the examples of a page of the documentation, in order, as its reader would.

A page has a folder, a shell, a Python and a server of its own, with its defaults, unless the page
starts one itself. Port 6379 of the page stands for a free one, and so do the others in PORTS.

    ```console     `$ command` and `> command of redis-cli`, each with the output it is to have
    ```python      runs in one namespace with the other blocks of the page
    ```text etc.   is not run

An HTML comment just before a block, which no reader sees, says what else there is to know:

    <!-- not run: reason -->      left out; the reason is for those who read the source
    <!-- thorough: reason -->     run each night, because it takes long
    <!-- file: NAME -->           written to a file in the shell's folder instead of being run
    <!-- output -->               what the Python block before has printed
    <!-- numbers vary -->         every number in the output stands for any number, with any unit of
                                  its kind, in a column of any width
    <!-- fails -->                the last command exits with another status than 0

In output, `...` stands for anything, on a line of its own for any lines; an ID with a time stands
for any other. A command without output in the page may print what it likes, but no error.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rillway.testing.warm import WarmProcess
from tests.support.duckdb_extensions import install_extensions
from tests.support.programs.ports import free_port
from tests.support.programs.redis_cli import split_line
from tests.support.programs.servers import PROGRAM_PATH, begin_rillway

ROOT = Path(__file__).parents[2]
PORTS = ("6379", "6380", "7000", "7001", "7002", "9121", "26379")
TIMEOUT_SECONDS = 180
COLUMNS = 100
DONE = "\x1e"
MARKS = {
    "not run", "thorough", "file", "output", "numbers vary", "fails",
}  # fmt: skip
RUN_LANGUAGES = {"console", "python"}
OTHER_LANGUAGES = {"text", "ini", "json", "yaml", "sql", "toml", "bash", "dockerfile", "{graphviz}"}
OTHER_LANGUAGES |= {"javascript", "go", "java", "{toctree}", "{eval-rst}"}

BLOCK = re.compile(
    r"(?P<marks>(?:^<!-- [^\n]* -->\n)*)^```(?P<language>\S*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
MARK = re.compile(r"<!-- ([a-z ]+?)(?:: (.*))? -->")
SERVER = re.compile(r"(rillway serve|redis-server)\b(?!.*&$)")
# What bash prints about killed jobs, redis-cli about commands that took half a second or longer,
# and a consumer about a server that a busy machine has slowed down.
NOISE = re.compile(
    r"^(\S+: line \d+: +\d+ (Killed|Terminated).*|\(\d+\.\d+s\)|.*: no answer in \d+\.\d+ s)\n",
    re.MULTILINE,
)
ID = re.compile(r"\b1\d{12}-\d+\b")
# A number in an escaped line, perhaps with its unit; not the count of a repetition.
VARYING = re.compile(r"(?<![{\\])\d[\d,]*(\\\.\d+)?(?:ms\b|[smhkMG]\b)?(?![}\d])")

# Both before the real ones on the page's PATH, so that they find the page's server.
WRAPPERS = {
    "redis-cli": 'exec "{redis_cli}" -p "$PAGE_PORT" "$@"',
    "rillway": """case "$1 $2" in
    serve*|check*|cluster*|restore*|"console user"|-*) exec "{python}" -m rillway "$@" ;;
    "archive "[a-z]*) words=2 ;;
    *) words=1 ;;
esac
name=$1; shift
if [ $words = 2 ]; then set -- "$1" --url "redis://127.0.0.1:$PAGE_PORT" "${{@:2}}"
else set -- --url "redis://127.0.0.1:$PAGE_PORT" "$@"; fi
exec "{python}" -m rillway "$name" "$@\"""",
}
# Reads names of files, and runs each in the same namespace.
PYTHON_LOOP = f"""
import sys, traceback
namespace = {{"__name__": "__main__"}}
for line in sys.stdin:
    status = 0
    try:
        exec(compile(open(line.strip()).read(), line.strip(), "exec"), namespace)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    print(end=f"{DONE}{{status}}{DONE}\\n", flush=True)
"""


class Failed(AssertionError):
    """A snippet does not do what its page shows."""


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    marks: dict[str, str]
    line: int

    @property
    def is_run(self) -> bool:
        return (self.language in RUN_LANGUAGES and "not run" not in self.marks) or (
            "file" in self.marks or "output" in self.marks
        )


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page. Raises Failed for a language or a mark that is unknown."""
    for found in BLOCK.finditer(page):
        line = page.count("\n", 0, found.start("language")) + 1
        marks = {name: why or "" for name, why in MARK.findall(found["marks"])}
        if found["language"] not in RUN_LANGUAGES | OTHER_LANGUAGES or set(marks) - MARKS:
            raise Failed(f"line {line}: ```{found['language']} {sorted(marks)}: unknown")
        if any(not marks[name] for name in ("not run", "thorough", "file") if name in marks):
            raise Failed(f"line {line}: a mark needs its reason, or its file")
        yield Block(found["language"], found["text"], marks, line)


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Command and output, for each command of a console block."""
    command, output = "", ""
    for line in text.splitlines():
        if command.endswith("\\"):
            command += "\n" + line
        elif line.startswith(("$ ", "> ")):
            if command:
                yield command, output
            prompt, command, output = line[0], line[2:], ""
            if prompt == ">":  # without the list of all commands, which redis-cli has for a prompt
                words = [os.fsdecode(word) for word in split_line(command)]
                command = shlex.join(["redis-cli", *words])
        elif not command:
            raise Failed(f"no prompt before {line!r}")
        else:
            output += line + "\n"
    if command:
        yield command, output


def matches(expected: str, actual: str, *, numbers_vary: bool = False) -> bool:
    """Whether output is as the page shows it."""
    pattern = ""
    for line in expected.strip("\n").splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*"
            continue
        line = re.escape(line.rstrip()).replace(r"\.\.\.", ".*").replace(r"\-", "-")
        line = ID.sub(lambda _: r"\d{13}-\d+", line)
        if numbers_vary:
            line = re.sub(r"(\\ ){2,}", lambda _: "[ ]+", line)
            line = re.sub(VARYING, lambda _: r"[\d,.]+(?:ms|[smhkMG])?", line)
        pattern += line + r"[ ]*\n"
    return re.fullmatch(pattern, actual.strip("\n").rstrip() + "\n") is not None


class Session:
    """A program that runs what it is sent and says when it is done."""

    def __init__(self, arguments: list[str], folder: Path, environment: dict[str, str]) -> None:
        # A terminal, so that redis-cli prints as it does for a person.
        self._output, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            arguments, cwd=folder, env=environment, text=True, start_new_session=True,
            stdin=subprocess.PIPE, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)

    def run(self, request: str) -> tuple[int, str]:
        """Exit status and output."""
        assert self._process.stdin is not None
        self._process.stdin.write(request + "\n")
        self._process.stdin.flush()
        deadline, printed = time.monotonic() + TIMEOUT_SECONDS, b""
        while (found := re.search(rb"\x1e(\d+)\x1e\r?\n", printed)) is None:
            ready, _, _ = select.select([self._output], [], [], deadline - time.monotonic())
            if not ready:
                raise Failed(f"takes longer than {TIMEOUT_SECONDS} s; so far: {printed.decode()}")
            printed += os.read(self._output, 65536)
        text = printed[: found.start()].decode(errors="replace").replace("\r", "")
        return int(found[1]), text

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._output)


class Page:
    """The examples of a page, and what they run in. Call `end` when done."""

    def __init__(self, text: str, folder: Path, *, thorough: bool) -> None:
        self._folder = folder
        self._ports = {port: str(free_port()) for port in PORTS}
        self._thorough = thorough
        self._blocks = list(blocks(text))
        self._environment = self._make_environment()
        self._sessions: dict[str, Session] = {}
        self._server: WarmProcess | None = None
        self._written = 0
        self._printed = ""

    def run(self) -> None:
        """Raises Failed."""
        try:
            wanted = [block for block in self._blocks if self._is_wanted(block)]
            if not any(SERVER.match(line) for block in wanted for line in _commands_of(block)):
                self._serve_defaults()
            for block in wanted:
                self._run_block(block)
        finally:
            for session in self._sessions.values():
                session.end()
            if self._server is not None:
                self._server.kill()
                self._server.wait()

    def _is_wanted(self, block: Block) -> bool:
        return block.is_run and (self._thorough or "thorough" not in block.marks)

    def _run_block(self, block: Block) -> None:
        text = self._with_ports(block.text)
        try:
            if "file" in block.marks:
                (self._shell_folder() / block.marks["file"]).write_text(text)
            elif "output" in block.marks:
                self._compare(block, block.text, self._printed)
            elif block.language == "python":
                status, self._printed = self._python(text)
                if status:
                    raise Failed(self._printed)
            else:
                self._run_console(block, text)
        except Failed as failed:
            raise Failed(f"line {block.line}: {failed}") from None

    def _run_console(self, block: Block, text: str) -> None:
        found = list(commands(text))
        for number, (command, expected) in enumerate(found, 1):
            if SERVER.match(command):
                self._serve(command)
                continue
            status, printed = self._shell(command)
            printed = NOISE.sub("", printed)
            fails = "fails" in block.marks and number == len(found)
            if (status != 0) != fails:
                raise Failed(f"{command}\nexit status {status}\n{printed}")
            if expected:
                self._compare(block, self._without_ports(expected), printed, command)
            elif printed.startswith("(error)"):
                raise Failed(f"{command}\n{printed}")

    def _compare(self, block: Block, expected: str, printed: str, command: str = "") -> None:
        printed = self._without_ports(printed)
        if not matches(expected, printed, numbers_vary="numbers vary" in block.marks):
            raise Failed(f"{command}\n-- in the page:\n{expected}\n-- printed:\n{printed}")

    # -- programs ---------------------------------------------------------------------------------

    def _serve(self, command: str) -> None:
        """Runs a server beside the rest, and waits until it answers."""
        log = self._file("log", "")
        port = self._port_of(command)
        self._shell(f"RILLWAY_PORT={port} {command} >{log} 2>&1 &")
        self._wait_for(port, log, command)

    def _serve_defaults(self) -> None:
        log = self._file("log", "")
        port = self._environment["PAGE_PORT"]
        self._server = begin_rillway(log, "--port", port, "--dir", str(self._folder))
        self._wait_for(int(port), log, "rillway serve")

    def _wait_for(self, port: int, log: Path, command: str) -> None:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not answers(port):
            if time.monotonic() > deadline or "Could not start" in log.read_text():
                raise Failed(f"{command}: no answer on port {port}: {log.read_text()}")
            time.sleep(0.02)

    def _port_of(self, command: str) -> int:
        """Where a server is going to listen: by its options, its file, or by default."""
        texts = [command, *(path.read_text() for path in self._folder.glob("*.conf"))]
        if ".conf" not in command:
            del texts[1:]
        found = [port for text in texts for port in re.findall(r"(?m)(?:--|^)port (\d+)", text)]
        return int(found[0] if found else self._environment["PAGE_PORT"])

    def _shell(self, command: str) -> tuple[int, str]:
        shell = self._session("bash", ["bash", "--norc", "--noprofile"])
        file = self._file("sh", command)
        return shell.run(f". {file} </dev/null; printf '{DONE}%d{DONE}\\n' $?")

    def _shell_folder(self) -> Path:
        """Where the page has gone to with `cd`."""
        return Path(self._shell("pwd")[1].strip())

    def _python(self, text: str) -> tuple[int, str]:
        python = self._session("python", [sys.executable, "-u", "-c", PYTHON_LOOP])
        return python.run(str(self._file("py", text)))

    def _session(self, name: str, arguments: list[str]) -> Session:
        if name not in self._sessions:
            self._sessions[name] = Session(arguments, self._folder, self._environment)
        return self._sessions[name]

    def _file(self, suffix: str, text: str) -> Path:
        self._written += 1
        file = self._folder / ".snippets" / f"{self._written}.{suffix}"
        file.write_text(text + "\n")
        return file

    # -- what they find ---------------------------------------------------------------------------

    def _make_environment(self) -> dict[str, str]:
        wrappers = self._folder / ".snippets"
        wrappers.mkdir()
        redis_cli = shutil.which("redis-cli") or ""
        for name, text in WRAPPERS.items():
            script = text.format(python=sys.executable, redis_cli=redis_cli)
            shell = "/bin/bash" if name == "rillway" else "/bin/sh"
            (wrappers / name).write_text(f"#!{shell}\n{script}\n")
            (wrappers / name).chmod(0o755)
        port = self._ports["6379"]
        binaries = Path(sys.executable).parent
        return {
            **{name: os.environ[name] for name in ("LANG", "JAVA_HOME") if name in os.environ},
            "HOME": str(self._make_home()),
            "PATH": f"{wrappers}:{binaries}:{os.environ['PATH']}",
            "PAGE_PORT": port,
            "PYTHONPATH": PROGRAM_PATH,
            "TERM": "dumb",
        }

    def _make_home(self) -> Path:
        """Of a reader who has installed what examples use, if it comes otherwise than by pip."""
        home = self._folder / ".home"
        install_extensions(home / ".duckdb/extensions")
        return home

    def _with_ports(self, text: str) -> str:
        return re.sub(rf"\b({'|'.join(PORTS)})\b", lambda found: self._ports[found[1]], text)

    def _without_ports(self, text: str) -> str:
        back = {ours: theirs for theirs, ours in self._ports.items()}
        return re.sub(rf"\b({'|'.join(back)})\b", lambda found: back[found[1]], text)


def _commands_of(block: Block) -> list[str]:
    if block.language != "console" or "file" in block.marks:
        return []
    return [command for command, _ in commands(block.text)]


def answers(port: int) -> bool:
    """Whether a server is ready there; a password is no hindrance."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as server:
        server.sendall(b"PING\r\n")
        return server.recv(64).startswith((b"+PONG", b"-NOAUTH"))
    return False
