"""`rillway completion bash|zsh|fish`: prints a script for the shell, made from the parsers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rillway.command_line.described import commands
from rillway.command_line.parser import Parser
from rillway.command_line.shells import SHELLS


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
    directives: Mapping[str, Sequence[str]],
) -> int:
    """Print the script. `directives`: those of `serve`, with their values where these are few."""
    shell = make_parser().parse_args(arguments).shell
    print(SHELLS[shell](commands(summaries, directives)))
    return 0
