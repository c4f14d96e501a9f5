"""The command line: `rillway serve`, `rillway consume`, `rillway archive` and the others.

`serve` must answer its first PING within 150 ms. So this module imports nothing that all
sub-commands would pay for: each imports its own modules, and `serve` uses no argument parser.

The server's code is `rillway.app`; see docs/architecture/packaging.md.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rillway import __version__

FAILURE = 1
USAGE_ERROR = 2

# The packages of the extra rillway[archive].
ARCHIVE_PACKAGES = {"deltalake", "pyarrow", "rich"}
HELP = {"-h", "--help"}

SERVE_USAGE = """\
Usage: rillway serve [FILE] [--directive value ...]

Start a server. FILE has redis.conf's syntax; - is standard input. Directives on the command line
override variables (RILLWAY_PORT=7000), which override FILE. --directive=value is the same, and -p
is --port.

  rillway serve -p 7000 --maxclients=500
  rillway serve /etc/rillway.conf --loglevel verbose

--port 0 takes a free port, which the log names. redis-cli CONFIG GET '*' lists the directives of a
running server."""


def application(module: str) -> Any:
    """Import a module of the server's code, which has a private name in the user's environment."""
    return importlib.import_module(f"rillway.app.{module}")


def serve(arguments: list[str]) -> int | None:
    """Run the server until SHUTDOWN or a signal. `--help` shows how to start one."""
    if arguments[:1] == ["-h"] or "--help" in arguments:
        print(SERVE_USAGE)
        return 0
    gc.disable()  # imports leave no garbage; the server switches it on again
    from rillway.command_line.output import has_colour

    status: int = application("server.main").main(arguments, has_colour=has_colour(sys.stdout))
    return status


def check(arguments: list[str]) -> int:
    """Inspect and repair data files."""
    from rillway.command_line.check import make_parser
    from rillway.command_line.output import paint

    options = make_parser().parse_args(arguments)
    stream_paint = partial(paint, stream=sys.stdout)
    status: int = application("server.check.command").main(options, stream_paint)
    return status


def run(package: str, arguments: list[str]) -> int:
    """Run a sub-command that is a package of its own. --help imports its parser alone.

    Names what to install if a package is missing, unless the arguments are wrong.
    """
    if not HELP.isdisjoint(arguments):
        parse(package, arguments)
    try:
        command = importlib.import_module(f"rillway.{package}.command")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ARCHIVE_PACKAGES:
            raise
        parse(package, arguments)
        print(f"rillway: {missing} is missing: pip install 'rillway[archive]'", file=sys.stderr)
        return FAILURE
    status: int = command.main(arguments)
    return status


def parse(package: str, arguments: list[str]) -> None:
    """Show the help of a sub-command, or what is wrong with its arguments, and exit."""
    importlib.import_module(f"rillway.{package}.arguments").parse_options(arguments)


def completion(arguments: list[str]) -> int:
    """Print a script that completes the arguments of `rillway` in a shell."""
    from rillway.command_line.completion import main as completion_main

    summaries = {name: summary for name, (_, summary) in SUBCOMMANDS.items()}
    return completion_main(arguments, summaries, directives)


def directives() -> dict[str, Sequence[str]]:
    """Return the options of `serve`, with their values if these are few."""
    known = application("commands.config.configuration").DIRECTIVES
    return {name: found.kind.choices for name, found in known.items() if not found.hidden}


SUBCOMMANDS: dict[str, tuple[Callable[[list[str]], int | None], str]] = {
    "serve": (serve, "start a server: rillway serve --help"),
    "cluster": (
        partial(run, "cluster"),
        "a cluster on this machine, one core each: rillway cluster --help",
    ),
    "restart": (
        partial(run, "restart"),
        "restart a primary under Sentinel: rillway restart --help",
    ),
    "check": (check, "inspect and repair data files: rillway check --help"),
    "backup": (
        partial(run, "backup"),
        "a consistent copy of a running server: rillway backup --help",
    ),
    "restore": (
        partial(run, "restore"),
        "write or check a back-up: rillway restore --help",
    ),
    "top": (partial(run, "top"), "watch a server in the terminal: rillway top --help"),
    "consume": (
        partial(run, "consumer"),
        "run a command for each entry of a stream: rillway consume --help",
    ),
    "archive": (
        partial(run, "pipeline.archive"),
        "move streams to a table of Parquet files: rillway archive --help",
    ),
    "query": (
        partial(run, "pipeline.query"),
        "a range of entries, from archive and memory: rillway query --help",
    ),
    "sql": (
        partial(run, "pipeline.relations"),
        "SQL over streams, from archive and memory: rillway sql --help",
    ),
    "replay": (
        partial(run, "pipeline.replay"),
        "add archived entries to a stream again: rillway replay --help",
    ),
    "dead-letters": (
        partial(run, "pipeline.dead_letters"),
        "move entries that were delivered too often: rillway dead-letters --help",
    ),
    "policy": (
        partial(run, "pipeline.policy"),
        "what the server removes and delivers again by itself: rillway policy --help",
    ),
    "latency": (
        partial(run, "pipeline.latency"),
        "pending and total times of entries: rillway latency --help",
    ),
    "lag": (
        partial(run, "pipeline.lag"),
        "how far groups are behind, and for how long: rillway lag --help",
    ),
    "why": (
        partial(run, "pipeline.why"),
        "why a group is slow, and what to do: rillway why --help",
    ),
    "console": (
        partial(run, "console"),
        "watch a server in the browser: rillway console --help",
    ),
    "demo": (
        partial(run, "demo"),
        "a queue of jobs with workers that crash, live: rillway demo --help",
    ),
    "completion": (completion, "complete words in bash, zsh or fish: rillway completion --help"),
}


def usage() -> str:
    lines = [f"  {name:<14}{summary}" for name, (_, summary) in SUBCOMMANDS.items()]
    lines.append(f"  {'help':<14}show this text, or a sub-command's: rillway help serve")
    lines.append(f"  {'version':<14}show the version (--version)")
    return "Usage: rillway SUBCOMMAND [ARGUMENT ...]\n\n" + "\n".join(lines)


def unknown(name: str) -> str:
    """Return the message about an unknown sub-command: the nearest name, or the list."""
    from rillway.command_line.parser import did_you_mean

    suggestion = did_you_mean(name, SUBCOMMANDS)
    return f"there is no sub-command '{name}'." + (suggestion or f"\n\n{usage()}")


def as_program(arguments: list[str]) -> int | None:
    """Run the program `rillway`. It ends when a reader closes its output, except for servers."""
    if arguments[:1] == ["serve"] or sys.stdout is None:
        return main(arguments)
    from rillway.command_line.output import flushed, pipe_output

    sys.stdout = pipe_output(sys.stdout)
    return flushed(lambda: main(arguments), sys.stdout)


def main(arguments: list[str] | None = None) -> int | None:
    """Run one sub-command and return the exit status: 2 if it is missing or unknown."""
    if arguments is None:
        return as_program(sys.argv[1:])
    if not arguments:
        print(usage(), file=sys.stderr)
        return USAGE_ERROR
    name, *rest = arguments
    if name == "help" and rest:
        return main([*rest, "--help"])
    if name in ("help", "--help", "-h"):
        print(usage())
        return 0
    if name in ("version", "--version", "-V"):
        print(f"rillway {__version__}")
        return 0
    if name not in SUBCOMMANDS:
        print(f"rillway: {unknown(name)}", file=sys.stderr)
        return USAGE_ERROR
    run, _ = SUBCOMMANDS[name]
    return run(rest)


if __name__ == "__main__":
    sys.exit(main())
