"""`rillway completion bash|zsh|fish`: prints a script for the shell, made from the parsers."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence

from rillway.command_line.parser import Parser
from rillway.command_line.shells import SHELLS, Command, Option


def make_parser() -> Parser:
    parser = Parser(
        "completion",
        "Print a script that completes sub-commands, options and their values. In bash: "
        "source <(rillway completion bash)",
    )
    parser.add_argument("shell", choices=tuple(SHELLS))
    return parser


def main(
    arguments: list[str],
    summaries: Mapping[str, str],
    directives: Callable[[], Mapping[str, Sequence[str]]],
) -> int:
    """Print the script. `directives` returns the options of `serve`, with their values."""
    shell = make_parser().parse_args(arguments).shell
    print(SHELLS[shell](commands(summaries, directives())))
    return 0


# The modules with `make_parser` of each sub-command; `serve` has none.
PARSERS = {
    "cluster": "rillway.cluster.arguments",
    "restart": "rillway.restart.arguments",
    "check": "rillway.command_line.check",
    "backup": "rillway.backup.arguments",
    "restore": "rillway.restore.arguments",
    "top": "rillway.top.arguments",
    "consume": "rillway.consumer.arguments",
    "archive": "rillway.pipeline.archive.arguments",
    "query": "rillway.pipeline.query.arguments",
    "sql": "rillway.pipeline.relations.arguments",
    "replay": "rillway.pipeline.replay.arguments",
    "dead-letters": "rillway.pipeline.dead_letters.arguments",
    "latency": "rillway.pipeline.latency.arguments",
    "lag": "rillway.pipeline.lag.arguments",
    "why": "rillway.pipeline.why.arguments",
    "policy": "rillway.pipeline.policy.arguments",
    "console": "rillway.console.arguments",
    "demo": "rillway.demo.arguments",
    "completion": "rillway.command_line.completion",
}
FILES = ("check", "serve")  # take files besides options
HELP_COLUMNS = 72


def commands(
    summaries: Mapping[str, str], directives: Mapping[str, Sequence[str]]
) -> list[Command]:
    """Return everything to complete. `summaries`: those of the sub-commands, by name."""
    found = [
        Command("help", "show the help of a sub-command", words=tuple(summaries)),
        Command("version", "show the version"),
        serve(summaries["serve"], directives),
    ]
    parsers = {name: importlib.import_module(module) for name, module in PARSERS.items()}
    made = {name: module.make_parser() for name, module in parsers.items()}
    for name in ("archive", "cluster", "console", "demo"):
        made |= {f"{name} {job}": make() for job, make in parsers[name].JOBS.items()}
    for name, parser in made.items():
        inner = [other.partition(" ")[2] for other in made if other.startswith(f"{name} ")]
        summary = summaries.get(name, parser.description or "").partition(": ")[0]
        found.append(of_parser(name, summary, parser, inner))
    return found


def serve(summary: str, directives: Mapping[str, Sequence[str]]) -> Command:
    """Describe `rillway serve`, which has no parser: its options are the directives."""
    options = [Option(("--help",), "show how a server is started", None)]
    for name, values in directives.items():
        names = ("--port", "-p") if name == "port" else (f"--{name}",)
        options.append(Option(names, "", tuple(values)))
    return Command("serve", summary.partition(": ")[0], tuple(options), takes_files=True)


def of_parser(name: str, summary: str, parser: Parser, jobs: Iterable[str]) -> Command:
    """Describe a sub-command by the options of its parser."""
    options, words = [], list(jobs)
    for action in parser.arguments:
        values = tuple(action.choices or ())
        if not action.option_strings:
            words += values
            continue
        text = (action.help or "") % vars(action)
        short = textwrap.shorten(text.partition(";")[0], HELP_COLUMNS, placeholder=" ...")
        takes = None if action.nargs == 0 else values
        options.append(Option(tuple(action.option_strings), short, takes))
    return Command(name, summary, tuple(options), tuple(words), name in FILES)
