"""`rillway serve [FILE] [--directive value ...]`: sets up the configuration, log and event loop."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import sys

import uvloop

from commands.config.configuration import Configuration
from server import allocator
from server.config_file import ConfigurationError, load_configuration
from server.service import LEVELS, Service

# Descriptors beside those of clients: listeners, the log, the loop's own (32 in Redis as well).
RESERVED_FILES = 32


def main(argv: list[str]) -> int:
    """Serve until SIGTERM, SIGINT or SHUTDOWN. Exit status 1 if the start fails."""
    try:
        config, config_file = load_configuration(argv, os.environ)
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return 1
    try:
        os.chdir(config.dir)
        _set_up_log(config)
    except OSError as error:
        print(f"rillway: {error}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the terminal may close; the server stays
    _allow_open_files(config)
    allocator.keep_room_for_replies()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(config, config_file))


async def _serve(config: Configuration, config_file: str | None) -> int:
    service = Service(config, config_file, asyncio.get_running_loop())
    try:
        await service.start()
    except OSError as error:
        service.log("warning", f"Could not start: {error}")
        return 1
    service.introduce()
    if not await service.load():
        await service.leave()
        return 1
    if not service.is_ending:
        service.announce()
    await service.run()
    return 0


def _allow_open_files(config: Configuration) -> None:
    """Raise the limit of open files to one for each client; lower `maxclients` if refused."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = config.maxclients + RESERVED_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, allowed), hard))
    if allowed < wanted:
        logging.getLogger("rillway").warning(
            f"The system allows {allowed} open files, {wanted} would be needed: maxclients is"
            f" {max(1, allowed - RESERVED_FILES)} instead of {config.maxclients}. Raise it with"
            " ulimit -n."
        )
        config.maxclients = max(1, allowed - RESERVED_FILES)


def _set_up_log(config: Configuration) -> None:
    """Log lines in Redis's format, to standard output or `logfile`."""
    handler: logging.Handler
    if config.logfile:
        handler = logging.FileHandler(config.logfile)
    else:
        handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_LogFormatter())
    logger = logging.getLogger("rillway")
    logger.addHandler(handler)
    logger.setLevel(LEVELS[config.loglevel])
    logger.propagate = False


class _LogFormatter(logging.Formatter):
    marks = {logging.DEBUG: ".", logging.DEBUG + 5: "-", logging.INFO: "*", logging.WARNING: "#"}

    def format(self, record: logging.LogRecord) -> str:
        when = self.formatTime(record, "%d %b %Y %H:%M:%S")
        mark = self.marks.get(record.levelno, "#")
        text = f"{record.process}:M {when}.{int(record.msecs):03d} {mark} {record.getMessage()}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text
