"""`rillway console`: a page in the browser for the streams of any Redis server.

Exits with 0 after SIGTERM or SIGINT, 1 if it cannot go on, 2 for a bad argument.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import sys

from rillway.command_line.output import name_target
from rillway.console.arguments import parse_options, user_parser
from rillway.pipeline.wire.urls import public_url

MISSING = "rillway: {} is missing: pip install 'rillway[console]'"
# The packages of the extra rillway[console].
PACKAGES = {"jinja2", "starlette", "uvicorn"}
DEFAULT_PORT = 8001
USAGE_ERROR = 2
STOP_SECONDS = 2


def main(arguments: list[str]) -> int:
    """Serve until a signal. Returns the exit status."""
    if arguments[:1] == ["user"]:
        return change_user(arguments[1:])
    options = parse_options(arguments)
    try:
        return asyncio.run(serve(options))
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PACKAGES:
            raise
        print(MISSING.format(package), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


def change_user(arguments: list[str]) -> int:
    """Add, change or remove a user in a file (`rillway console user`). Returns the exit status."""
    from rillway.console.access.users import Role, make_user, read_users, write_users

    parser = user_parser()
    options = parser.parse_args(arguments)
    if options.remove == (options.role is not None):
        parser.error("expected a role, or --remove")
    try:
        users = read_users(options.users) if options.users.exists() else {}
        if options.remove:
            if users.pop(options.name, None) is None:
                return failed(f"{options.users}: there is no user {options.name}")
        else:
            password = sys.stdin.readline().rstrip("\n")
            if not password:
                return failed("standard input has no password in its first line")
            role = Role[options.role.upper()]
            users[options.name] = make_user(options.name, role, password)
        write_users(options.users, users)
    except (OSError, ValueError) as error:
        return failed(f"{options.users}: {error}")
    return 0


async def serve(options: argparse.Namespace) -> int:
    import redis
    import uvicorn

    from rillway.console.access.audit import AuditFile
    from rillway.console.application import create
    from rillway.console.console import Console, ConsoleSettings, Kind, kind_of

    settings = ConsoleSettings(
        url=options.url,
        password=options.password,
        users=options.users,
        proxies=options.trusted_proxy,
        audit=None if options.audit is None else AuditFile(options.audit),
        is_read_only=options.read_only,
        is_tls=options.tls_cert is not None,
        hosts=(*options.allow_host, options.bind),
        dead_letters=dict(options.dead_letters),
    )
    try:
        kind = await kind_of(settings)
    except (redis.RedisError, OSError) as error:
        return failed(f"{public_url(options.url)}: {error}")
    if (why := exposure(options, is_login=kind is not Kind.OPEN)) is not None:
        return failed(why, USAGE_ERROR)
    config = uvicorn.Config(
        create(Console(settings, kind)),
        ssl_certfile=options.tls_cert,
        ssl_keyfile=options.tls_key,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        h11_max_incomplete_event_size=1 << 16,
    )
    try:
        config.load()
    except OSError as error:
        return failed(f"{options.tls_cert}, {options.tls_key}: {error}")
    try:
        opened = listening_socket(options.bind, options.port)
    except OSError as error:
        return failed(f"{options.bind}:{options.port}: {error}")
    if not options.read_only:
        name_target("console", options.url)
    scheme = "http" if options.tls_cert is None else "https"
    host = f"[{options.bind}]" if ":" in options.bind else options.bind
    print(f"{scheme}://{host}:{opened.getsockname()[1]}/", flush=True)
    # uvicorn raises the signal again after an orderly end.
    signal.signal(signal.SIGTERM, lambda *_: None)
    await uvicorn.Server(config).serve(sockets=[opened])
    return 0


def listening_socket(address: str, port: int) -> socket.socket:
    """Return a listening socket. Raises OSError."""
    (family, *_), *_ = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    opened.bind((address, port))
    opened.listen()  # before the address is printed: a reader may connect at once
    return opened


def exposure(options: argparse.Namespace, *, is_login: bool) -> str | None:
    """Return why the console must not be reachable from other machines; None if it may be."""
    from rillway.console.access.security import is_loopback

    if options.insecure or is_loopback(options.bind):
        return None
    if options.tls_cert is None:
        return (
            f"{options.bind} is no loopback address: give --tls-cert and --tls-key, or --insecure"
        )
    if not is_login:
        return (
            f"{options.bind} is no loopback address: give --users or --password-file, or --insecure"
        )
    return None


def failed(text: str, status: int = 1) -> int:
    print(f"rillway console: {text}", file=sys.stderr)
    return status
