"""Which Host headers the endpoint answers where it asks for no login.

A page in a browser can read what has the page's own name as its host. Such a name may lead to this
machine, whatever it led to before (DNS rebinding). So names are refused, except those that only
this machine and its network give to it. An address in the header is one that the browser was told
to connect to: then it is not the page's own host, and the page cannot read the answer.
"""

from __future__ import annotations

import socket
from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit


def is_own_host(header: str, bound: Collection[str], name: str | None = None) -> bool:
    """Return True for addresses, the names of this machine, and those in `metrics-bind`.

    `name`: this machine's, by default what the system says.
    """
    host = host_name(header)
    try:
        ip_address(host)
    except ValueError:
        names = {"localhost", (name or socket.gethostname()).lower()}
        names |= {word.removeprefix("-").lower() for word in bound}
        return host != "" and host in names
    return True


def host_name(header: str) -> str:
    """The name or address in a Host header, in lower case; empty if there is none."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""
