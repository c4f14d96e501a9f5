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
from server.log_file import LogFile, set_up_log
from server.loop.service import Service
from server.process import detach, supervisor
from server.tls.contexts import TlsError
from server.user_files import InvalidUsers, load_users

# Descriptors beside those of clients: listeners, the log, the loop's own (32 in Redis as well).
RESERVED_FILES = 32
# Where a daemon without `pidfile` writes its process ID, as in Redis.
DAEMON_PIDFILE = "/var/run/redis.pid"


def main(argv: list[str], *, has_colour: bool = False) -> int:
    """Serve until SIGTERM, SIGINT or SHUTDOWN. With `has_colour` standard output shows colours.

    Exit status 1 if the start fails or the last changes could not be saved, 2 for a command line
    that is wrong.
    """
    try:
        config, config_file = load_configuration(argv, os.environ)
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return error.status
    try:
        os.chdir(config.dir)
        log_file = set_up_log(config, has_colour=has_colour)
    except OSError as error:
        print(f"rillway: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    supervised_by = supervisor(config.supervised, os.environ, logging.getLogger("rillway").warning)
    # As in Redis, a supervised server stays the process that its supervisor started.
    if config.daemonize and supervised_by == "no":
        config.pidfile = config.pidfile or DAEMON_PIDFILE
        detach()
    elif supervised_by == "upstart":
        signal.raise_signal(signal.SIGSTOP)  # Upstart waits for it, and goes on with SIGCONT
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the terminal may close; the server stays
    _allow_open_files(config)
    _keep_database_0(config)
    allocator.keep_room_for_replies()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(config, config_file, log_file, supervised_by))


async def _serve(
    config: Configuration, config_file: str | None, log_file: LogFile | None, supervised_by: str
) -> int:
    loop = asyncio.get_running_loop()
    service = Service(config, config_file, loop)
    service.supervisor = supervised_by
    if log_file is not None:
        loop.add_signal_handler(signal.SIGHUP, log_file.reopen)
        _watch_log(loop, log_file)
    try:
        load_users(service.instance)
        await service.start()
    except TlsError as error:
        service.log("warning", str(error))
        service.log("warning", "Failed to configure TLS. Check logs for more info.")
        return 1
    except InvalidUsers as error:
        service.log("warning", str(error))
        return 1
    except OSError as error:
        service.log("warning", f"Could not start: {error.strerror or error}")
        return 1
    service.introduce()
    service.tell_supervisor("STATUS=Redis is loading...")
    if not await service.load():
        await service.leave()
        return 1
    if not service.is_ending:
        service.announce()
        service.announce_readiness()
    await service.run()
    return 1 if service.persistence.has_lost_changes else 0


def _keep_database_0(config: Configuration) -> None:
    """A node of a cluster has one database. Source: Redis 8.2."""
    if config.cluster_enabled and config.databases > 1:
        logging.getLogger("rillway").info(
            f"A node of a cluster has database 0 only: databases is 1 instead of {config.databases}"
        )
        config.databases = 1


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


def _watch_log(loop: asyncio.AbstractEventLoop, log_file: LogFile) -> None:
    """Look once a second whether the log's name leads to another file."""
    log_file.follow_name()
    loop.call_later(1, _watch_log, loop, log_file)
