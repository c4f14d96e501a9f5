"""What the demos share: the options that say which server, and keys that are theirs."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import redis

from rillway.command_line.arguments import port, server_url
from rillway.command_line.parser import Parser
from rillway.demo.service import Service


class DemoFailed(Exception):
    """The run could not be finished; the message says why."""


def add_server_options(parser: Parser, keys: Sequence[str]) -> None:
    """`keys`: those that --overwrite deletes."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--url", type=server_url, help="use this server, instead of starting one (redis://...)"
    )
    where.add_argument(
        "--port",
        type=port,
        default=0,
        help="port of the server started (default: a free one)",
    )
    parser.add_argument(
        "--directory", type=Path, help="where the server started runs (default: a temporary folder)"
    )
    parser.add_argument(
        "--keep-server", action="store_true", help="leave the server started running at the end"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help=f"delete the keys {', '.join(keys)} first"
    )


def parse_server_options(parser: Parser, arguments: list[str]) -> argparse.Namespace:
    options = parser.parse_args(arguments)
    if options.keep_server and options.directory is None:
        parser.error("--keep-server needs --directory, where the server keeps running")
    return options


@contextmanager
def open_server(options: argparse.Namespace) -> Iterator[str]:
    """The URL of the server to use: a given one, or one started for this run.

    Raises ServerFailed.
    """
    if options.url is not None:
        yield options.url
        return
    with tempfile.TemporaryDirectory(prefix="rillway-demo-") as temporary:
        service = Service(options.directory or Path(temporary), options.port)
        try:
            yield service.url
        finally:
            if options.keep_server:
                print(f"\nThe server is still running: redis-cli -p {service.port}")
                print(f"Stop it: kill {service.process.pid}", flush=True)
            else:
                service.stop()


def clear_keys(client: redis.Redis, keys: Sequence[str], overwrite: bool) -> None:
    """Delete a demo's keys, if that is allowed.

    Raises DemoFailed if they exist and may not be deleted.
    """
    if overwrite:
        client.delete(*keys)
    elif client.exists(*keys):
        raise DemoFailed(
            f"of the keys {', '.join(keys)} there are some on this server; --overwrite deletes them"
        )
