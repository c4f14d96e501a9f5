"""redis-cli and redis-benchmark as programs. That they are missing is a failure, never a skip."""

from __future__ import annotations

import os
import shutil
import subprocess

RUN_SECONDS = 30.0
INSTALL_TOOLS = (
    "{name} is not installed, and these tests show that it works with Rillway. "
    "On Debian or Ubuntu: apt-get install redis-tools (or run `make test`, which does it)."
)
# The settings and the history of the person who runs the tests are theirs.
ENVIRONMENT = {"REDISCLI_HISTFILE": "/dev/null", "REDISCLI_RCFILE": "/dev/null"}
UNSET = ("REDISCLI_AUTH", "FAKETTY", "NO_COLOR")


class ToolMissing(Exception):
    """The program is not on this machine; the text says how to install it."""


def find_tool(name: str) -> str:
    """The path of the program. Raises ToolMissing."""
    path = shutil.which(name)
    if path is None:
        raise ToolMissing(INSTALL_TOOLS.format(name=name))
    return path


def run_tool(
    name: str,
    *arguments: str | int,
    typed: str | bytes = b"",
    seconds: float = RUN_SECONDS,
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs it to its end with `typed` as its input; what it printed, as text.

    Raises ToolMissing, and subprocess.TimeoutExpired when it takes longer than `seconds`.
    """
    argv = [find_tool(name), *map(str, arguments)]
    data = typed.encode() if isinstance(typed, str) else typed
    ran = subprocess.run(
        argv, input=data, capture_output=True, timeout=seconds, env=tool_environment(environment)
    )
    out, err = (text.decode(errors="replace") for text in (ran.stdout, ran.stderr))
    return subprocess.CompletedProcess(argv, ran.returncode, out, err)


def tool_environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """This process's environment without what would change how the tools behave."""
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    return {**kept, **ENVIRONMENT, **(more or {})}
