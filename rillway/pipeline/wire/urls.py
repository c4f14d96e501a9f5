"""URLs of servers as redis-py takes them: checked, shown without passwords, with other options."""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl, urlencode, urlsplit

DEFAULT_URL = "redis://127.0.0.1:6379"
TIMEOUT_SECONDS = 60.0


def public_url(url: str) -> str:
    """Return the URL without its password, for messages and plans."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if at and ":" in user:
        user = user.partition(":")[0] + ":***"
    # urlunsplit would leave out the slashes of unix:///path.
    return f"{parts.scheme}://{user}{at}{host}{parts.path}"


def with_database(url: str, number: int | None) -> str:
    """Return the URL with another database; None keeps it as it is."""
    return url if number is None else _with_option(url, "db", str(number))


def with_timeout(url: str, seconds: float) -> str:
    """Return the URL with a timeout for replies, unless its own is shorter."""
    own = dict(parse_qsl(urlsplit(url).query)).get("socket_timeout")
    return _with_option(url, "socket_timeout", str(min(seconds, float(own or TIMEOUT_SECONDS))))


def _with_option(url: str, name: str, value: str) -> str:
    parts = urlsplit(url)
    options = [pair for pair in parse_qsl(parts.query) if pair[0] != name]
    query = urlencode([*options, (name, value)])
    return f"{parts.scheme}://{parts.netloc}{parts.path}?{query}"


# The options of a URL that name a file or a folder.
FILE_OPTIONS = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")
UNKNOWN_OPTION = re.compile(r"unexpected keyword argument '(\w+)'")


def check_url(url: str) -> None:
    """Check a URL. Raises ValueError if redis-py refuses it, or a file that it names is missing."""
    import redis  # imported here, so that --help does not wait for it

    pool = redis.Redis.from_url(url).connection_pool
    try:
        pool.make_connection()  # does not connect yet
    except (TypeError, redis.RedisError) as error:
        unknown = UNKNOWN_OPTION.search(str(error))
        raise ValueError(
            f"a URL {urlsplit(url).scheme}:// has no option {unknown[1]}" if unknown else str(error)
        ) from None
    for name in FILE_OPTIONS:
        path = pool.connection_kwargs.get(name)
        if path and not os.access(path, os.R_OK):
            raise ValueError(f"{name}={path}: there is no such file, or it may not be read")
