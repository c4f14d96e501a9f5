"""Sub-commands with their options and values, as data: what a shell can complete."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rillway.command_line.parser import Parser

# Where the parsers of sub-commands and of their jobs are made, by `make_parser`; `serve` has none.
PARSERS = {
    "cluster": "rillway.cluster.arguments",
    "check": "rillway.command_line.check",
    "top": "rillway.top.command",
    "consume": "rillway.consumer.command",
    "archive": "rillway.pipeline.archive.arguments",
    "query": "rillway.pipeline.query.arguments",
    "replay": "rillway.pipeline.replay.arguments",
    "dead-letters": "rillway.pipeline.dead_letters.command",
    "latency": "rillway.pipeline.latency.arguments",
    "lag": "rillway.pipeline.lag.command",
    "console": "rillway.console.command",
    "demo": "rillway.demo.jobs.command",
    "demo departures": "rillway.demo.departures.command",
    "completion": "rillway.command_line.completion",
}
FILES = ("check", "serve")  # take files, beside options
HELP_COLUMNS = 72


@dataclass(frozen=True)
class Option:
    """An option. `values`: what it takes; empty for anything, None for nothing."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...] | None


@dataclass(frozen=True)
class Command:
    """A sub-command, or a job of one (`archive compact`)."""

    name: str
    summary: str
    options: tuple[Option, ...] = ()
    words: tuple[str, ...] = ()  # that may follow it: jobs, or the name of a shell
    takes_files: bool = False


def commands(
    summaries: Mapping[str, str], directives: Mapping[str, Sequence[str]]
) -> list[Command]:
    """All that can be completed. `summaries`: of the sub-commands, by name."""
    found = [
        Command("help", "show the help of a sub-command", words=tuple(summaries)),
        Command("version", "show the version"),
        serve(summaries["serve"], directives),
    ]
    parsers = {name: importlib.import_module(module) for name, module in PARSERS.items()}
    made = {name: module.make_parser() for name, module in parsers.items()}
    for name in ("archive", "cluster"):
        made |= {f"{name} {job}": make() for job, make in parsers[name].JOBS.items()}
    for name, parser in made.items():
        inner = [other.partition(" ")[2] for other in made if other.startswith(f"{name} ")]
        summary = summaries.get(name, parser.description or "").partition(": ")[0]
        found.append(of_parser(name, summary, parser, inner))
    return found


def serve(summary: str, directives: Mapping[str, Sequence[str]]) -> Command:
    """`rillway serve`, which has no parser: its options are the directives."""
    options = [Option(("--help",), "show how a server is started", None)]
    for name, values in directives.items():
        names = ("--port", "-p") if name == "port" else (f"--{name}",)
        options.append(Option(names, "", tuple(values)))
    return Command("serve", summary.partition(": ")[0], tuple(options), takes_files=True)


def of_parser(name: str, summary: str, parser: Parser, jobs: Iterable[str]) -> Command:
    """A sub-command with the options of its parser."""
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
