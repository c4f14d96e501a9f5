"""The arguments of `rillway cluster`."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path
from typing import NoReturn

from rillway.command_line.arguments import from_one, from_zero, interval, whole_number
from rillway.command_line.parser import Parser, did_you_mean

DEFAULT_FOLDER = Path("rillway-cluster")
DEFAULT_PORT = 7000
BUS_PORT_OFFSET = 10_000
MAX_PORT = 65_535 - BUS_PORT_OFFSET


def parse_options(arguments: list[str]) -> tuple[str, argparse.Namespace]:
    """Return the job and its arguments; exits with status 2 if they are wrong.

    `options.options`: the words after `--`, for `rillway serve` on each node.
    """
    parser = make_parser()
    job, *rest = arguments or [""]
    if job not in JOBS:
        if job and not job.startswith("-"):
            parser.error(f"there is no job '{job}'.{did_you_mean(job, JOBS)}")
        parser.parse_args(arguments)
        parser.error(f"expected one of: {', '.join(JOBS)}")
    place = rest.index("--") if "--" in rest else len(rest)
    options = JOBS[job]().parse_args(rest[:place])
    options.options = rest[place + 1 :]
    if options.options and job != "start":
        parser.error("only start takes options of the nodes")
    return job, options


def make_parser() -> Parser:
    return Parser(
        "cluster",
        "A Redis Cluster on this machine, a process for each core. Options: rillway cluster start "
        "--help, and so on.",
        usage="rillway cluster start --nodes N [OPTION ...] [-- DIRECTIVES]\n"
        "       rillway cluster remove [OPTION ...] NODE\n"
        "       rillway cluster upgrade [OPTION ...] --to COMMAND\n"
        "       rillway cluster status|top|add|restart|stop [OPTION ...]",
    )


class StartParser(Parser):
    """A parser that explains where options of the nodes belong."""

    def _instead_of(self, name: str) -> str:
        return super()._instead_of(name) or f" Options of the nodes follow --: -- {name}"

    def error(self, message: str) -> NoReturn:
        """Suggest --nodes for a number alone."""
        found = re.fullmatch(r"unrecognized arguments: (\d+)", message)
        super().error(f"{message}. Did you mean --nodes {found[1]}?" if found else message)


def start_parser() -> Parser:
    parser = StartParser(
        "cluster start",
        "Create a cluster, or restart its nodes that do not run. It returns when all slots are "
        "served; the nodes run in the background.",
        usage="rillway cluster start --nodes N [OPTION ...] [-- DIRECTIVES]",
        epilog="The words after -- are passed to rillway serve on all nodes: a file, "
        "--appendfsync always, --requirepass. Each node has an append-only file. Fewer than three "
        "primaries spread the keys as well, but no replica takes over when one fails: that needs "
        "a majority. On a folder that has a cluster, --nodes and --port may be left out.",
    )
    parser.add_argument(
        "--nodes", type=from_one, metavar="N", help="the primaries of a new cluster"
    )
    parser.add_argument(
        "--replicas",
        type=from_zero,
        metavar="R",
        help="the replicas of each primary, each a process as well (default: 0)",
    )
    parser.add_argument(
        "--port",
        type=whole_number(1, MAX_PORT),
        metavar="PORT",
        help=f"the port of the first node; the others use the ports after it, and the cluster bus "
        f"of each its port plus 10,000 (default: {DEFAULT_PORT})",
    )
    return _with_folder(parser)


def status_parser() -> Parser:
    parser = Parser(
        "cluster status",
        "The address, role, process and slots of each node. Exit status: 0 if all nodes run and "
        "all slots are served, else 1.",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    return _with_folder(parser)


def top_parser() -> Parser:
    parser = Parser(
        "cluster top",
        "Nodes, slots, links, lags of replicas and rates, live. Exit status: 0 if the last sample "
        "showed a sound cluster, else 1.",
    )
    parser.add_argument(
        "--every",
        type=interval,
        default=1.0,
        metavar="TIME",
        help="time between two samples (default: 1s)",
    )
    parser.add_argument(
        "--once", action="store_true", help="print one sample (the default without a terminal)"
    )
    parser.add_argument(
        "--json", action="store_true", help="print an object for each sample, until Ctrl-C"
    )
    return _with_folder(parser)


def add_parser() -> Parser:
    return _with_folder(
        Parser(
            "cluster add",
            "Start one more primary, with as many replicas as the others were given, and move "
            "its share of the slots to it, while clients continue. After an interruption, run it "
            "again: it continues where it stopped.",
        )
    )


def remove_parser() -> Parser:
    parser = Parser(
        "cluster remove",
        "Move the slots of a primary to the others, while clients continue, and stop it with its "
        "replicas; or stop a replica. After an interruption, run it again: it continues where it "
        "stopped.",
    )
    parser.add_argument(
        "node", metavar="NODE", help="its port, its address or its ID, as status shows them"
    )
    return _with_folder(parser)


def restart_parser() -> Parser:
    return _with_folder(
        Parser(
            "cluster restart",
            "Restart all nodes one by one, replicas first; a primary hands its slots to a replica "
            "before. Each node is checked before the next: all agree, replicas are synchronised, a "
            "write reaches them. After an interruption, run it again: it goes on where it stopped.",
        )
    )


def upgrade_parser() -> Parser:
    parser = Parser(
        "cluster upgrade",
        "Restart all nodes one by one, as restart does, by another Rillway, which starts them from "
        "now on.",
    )
    parser.add_argument(
        "--to",
        type=shlex.split,
        required=True,
        metavar="COMMAND",
        help="the command of the other Rillway: /opt/rillway-2/bin/rillway",
    )
    return _with_folder(parser)


def stop_parser() -> Parser:
    return _with_folder(
        Parser("cluster stop", "Stop all nodes cleanly. Their files stay for the next start.")
    )


def _with_folder(parser: Parser) -> Parser:
    parser.add_argument(
        "--dir",
        type=Path,
        default=DEFAULT_FOLDER,
        metavar="D",
        help="the folder of the cluster (default: %(default)s)",
    )
    return parser


JOBS = {
    "start": start_parser,
    "status": status_parser,
    "top": top_parser,
    "add": add_parser,
    "remove": remove_parser,
    "restart": restart_parser,
    "upgrade": upgrade_parser,
    "stop": stop_parser,
}
