"""The command line: `rillway serve`, `rillway consume`, `rillway archive` and the others.

`serve` must answer its first PING within 150 ms. So this module imports nothing that all
sub-commands would pay for: each imports its own modules, and `serve` uses no argument parser.

The server's code is `rillway.app`; see docs/architecture/packaging.md.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from rillway import __version__

FAILURE = 1
USAGE_ERROR = 2

# The packages of the extra rillway[archive].
ARCHIVE_PACKAGES = {"deltalake", "pyarrow", "rich"}

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
    """A module of the server's code, which has a private name in the user's environment."""
    return importlib.import_module(f"rillway.app.{module}")


def serve(arguments: list[str]) -> int | None:
    """Run the server until SHUTDOWN or a signal. `--help` shows how to start one."""
    if arguments[:1] == ["-h"] or "--help" in arguments:
        print(SERVE_USAGE)
        return 0
    gc.disable()  # imports leave no garbage; the server switches it on again
    from rillway.command_line.colour import has_colour

    status: int = application("server.main").main(arguments, has_colour=has_colour(sys.stdout))
    return status


def cluster(arguments: list[str]) -> int:
    """Start, watch, extend and stop a cluster on this machine."""
    from rillway.cluster.command import main as cluster_main

    return cluster_main(arguments)


def check(arguments: list[str]) -> int:
    """Inspect and repair data files."""
    from rillway.command_line.check import make_parser
    from rillway.command_line.colour import paint

    options = make_parser().parse_args(arguments)
    stream_paint = partial(paint, stream=sys.stdout)
    status: int = application("server.check.command").main(options, stream_paint)
    return status


def demo(arguments: list[str]) -> int:
    """A queue of jobs with workers that crash, live; or a year of real departures."""
    from rillway.demo.command import main as demo_main

    return demo_main(arguments)


def consume(arguments: list[str]) -> int:
    """Run a command for each entry of a stream."""
    from rillway.consumer.command import main as consume_main

    return consume_main(arguments)


def top(arguments: list[str]) -> int:
    """Streams, groups and consumers of a server, live in the terminal."""
    from rillway.top.command import main as top_main

    return top_main(arguments)


def console(arguments: list[str]) -> int:
    """Serve pages that show the streams of a server."""
    from rillway.console.command import main as console_main

    return console_main(arguments)


def run_pipeline(room: str, arguments: list[str]) -> int:
    """Run a command of the data pipeline. Names the package to install if one is missing.

    Arguments are parsed before that, so --help works, and mistakes are reported.
    """
    try:
        command = importlib.import_module(f"rillway.pipeline.{room}.command")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ARCHIVE_PACKAGES:
            raise
        importlib.import_module(f"rillway.pipeline.{room}.arguments").parse_options(arguments)
        print(f"rillway: {package} is missing: pip install 'rillway[archive]'", file=sys.stderr)
        return FAILURE
    status: int = command.main(arguments)
    return status


def completion(arguments: list[str]) -> int:
    """Print a script that completes the arguments of `rillway` in a shell."""
    from rillway.command_line.completion import main as completion_main

    known = application("commands.config.configuration").DIRECTIVES
    shown = {name: found for name, found in known.items() if not found.hidden}
    directives = {name: found.kind.choices for name, found in shown.items()}
    summaries = {name: summary for name, (_, summary) in SUBCOMMANDS.items()}
    return completion_main(arguments, summaries, directives)


SUBCOMMANDS: dict[str, tuple[Callable[[list[str]], int | None], str]] = {
    "serve": (serve, "start a server: rillway serve --help"),
    "cluster": (cluster, "a cluster on this machine, one core each: rillway cluster --help"),
    "check": (check, "inspect and repair data files: rillway check --help"),
    "top": (top, "watch a server in the terminal: rillway top --help"),
    "consume": (consume, "run a command for each entry of a stream: rillway consume --help"),
    "archive": (
        partial(run_pipeline, "archive"),
        "move streams to a table of Parquet files: rillway archive --help",
    ),
    "query": (
        partial(run_pipeline, "query"),
        "a range of entries, from archive and memory: rillway query --help",
    ),
    "replay": (
        partial(run_pipeline, "replay"),
        "add archived entries to a stream again: rillway replay --help",
    ),
    "dead-letters": (
        partial(run_pipeline, "dead_letters"),
        "move entries that were delivered too often: rillway dead-letters --help",
    ),
    "latency": (
        partial(run_pipeline, "latency"),
        "how long entries are pending, and take in all: rillway latency --help",
    ),
    "lag": (
        partial(run_pipeline, "lag"),
        "how far groups are behind, and for how long: rillway lag --help",
    ),
    "console": (console, "a page in the browser that shows it all: rillway console --help"),
    "demo": (demo, "a queue of jobs with workers that crash, live: rillway demo --help"),
    "completion": (completion, "complete words in bash, zsh or fish: rillway completion --help"),
}


def usage() -> str:
    lines = [f"  {name:<14}{summary}" for name, (_, summary) in SUBCOMMANDS.items()]
    lines.append(f"  {'help':<14}show this text, or a sub-command's: rillway help serve")
    lines.append(f"  {'version':<14}show the version (--version)")
    return "Usage: rillway SUBCOMMAND [ARGUMENT ...]\n\n" + "\n".join(lines)


def unknown(name: str) -> str:
    """What is said of a sub-command that does not exist: the nearest one, or the list."""
    from rillway.command_line.suggestions import did_you_mean

    suggestion = did_you_mean(name, SUBCOMMANDS)
    return f"there is no sub-command '{name}'." + (suggestion or f"\n\n{usage()}")


def as_program(arguments: list[str]) -> int | None:
    """What the program `rillway` does. A reader that closes its output ends it, but no server."""
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
