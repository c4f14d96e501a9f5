"""The arguments of `rillway consume`."""

from __future__ import annotations

import argparse
import importlib.util
import re
import shlex
import shutil

from rillway.command_line.arguments import add_url, duration, from_one, interval
from rillway.command_line.parser import Parser

ENTRY_ID = re.compile(r"\$|\d+(-\d+)?")


def make_parser() -> Parser:
    parser = Parser(
        "consume",
        usage="rillway consume --stream S --group G --consumer C [OPTION ...] -- COMMAND ...",
        description="Run a command for each entry of a stream: the entry is a line of JSON on its "
        "standard input, and is acknowledged if it exits with 0.",
    )
    parser.add_argument("--stream", required=True, help="the key of the stream")
    parser.add_argument("--group", required=True, help="the consumer group; created if missing")
    parser.add_argument(
        "--consumer", required=True, help="a name that no other consumer uses at the same time"
    )
    add_url(parser)
    parser.add_argument(
        "--from",
        dest="start",
        type=entry_id,
        default="0",
        metavar="ID",
        help="where a new group begins: 0 for all present entries (default), $ for new ones only",
    )
    parser.add_argument(
        "--count", type=from_one, default=10, help="entries to read at once (default: %(default)s)"
    )
    parser.add_argument(
        "--block",
        type=duration,
        default="5s",
        metavar="TIME",
        help="how long a read waits for new entries, 0 for ever (default: %(default)s)",
    )
    parser.add_argument(
        "--claim-idle",
        type=interval,
        metavar="TIME",
        help="claim entries that were idle for this long, such as 60s, and retry failed ones",
    )
    parser.add_argument(
        "--max-deliveries",
        type=from_one,
        metavar="N",
        help="move an entry to --dead-letter after N failed deliveries",
    )
    parser.add_argument("--dead-letter", metavar="STREAM", help="the stream for such entries")
    parser.add_argument(
        "--partitions",
        type=from_one,
        metavar="N",
        help="share the N partitions of the stream with the group's other consumers, each in its "
        "order; dead letters go to STREAM:dead:{PARTITION}",
    )
    parser.add_argument(
        "--lease",
        type=interval,
        default="6s",
        metavar="TIME",
        help="with --partitions: a consumer that is dead for this time loses its partitions "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--trace",
        action="store_true",
        help="make a span of OpenTelemetry for each entry, and give the command its TRACEPARENT",
    )
    parser.add_argument("--quiet", action="store_true", help="log errors only")
    return parser


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """The options before `--`, and the command after it. Exits with status 2 on an error."""
    parser = make_parser()
    mark = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:mark])
    options.command = arguments[mark + 1 :]
    if not options.command:
        parser.error("the command is missing: ... -- COMMAND [ARGUMENT ...]")
    if options.trace and importlib.util.find_spec("opentelemetry") is None:
        parser.error("--trace needs OpenTelemetry: pip install 'rillway[otel]'")
    if shutil.which(options.command[0]) is None:
        parser.error(f"there is no command {shlex.quote(options.command[0])}")
    if options.partitions:
        check_partitions(parser, options)
    elif (options.max_deliveries is None) != (options.dead_letter is None):
        parser.error("--max-deliveries and --dead-letter belong together")
    if options.dead_letter == options.stream:
        parser.error("--dead-letter must be another stream")
    return options


def check_partitions(parser: Parser, options: argparse.Namespace) -> None:
    from rillway.client.partitions import MOST_PARTITIONS

    if options.partitions > MOST_PARTITIONS:
        parser.error(f"--partitions is at most {MOST_PARTITIONS}")
    if "{" in options.stream or "}" in options.stream:
        parser.error("--stream has no braces with --partitions: each partition has its own")
    if options.dead_letter is not None:
        parser.error("--dead-letter is not for --partitions: each partition has its own")


def entry_id(text: str) -> str:
    if not ENTRY_ID.fullmatch(text):
        raise argparse.ArgumentTypeError(f"expected 0, $ or an entry's ID; not {text!r}")
    return text
