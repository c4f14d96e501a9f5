"""Access checks of features that are off by default: DEBUG, protected directives."""

from __future__ import annotations

from commands.core.client import Client


def is_local(client: Client) -> bool:
    """Return True for a client on this machine: a Unix socket, the loopback, or no connection."""
    address = client.address
    return client.connection.unix_socket or not address or address.startswith((b"127.", b"[::1]:"))


def is_allowed(setting: str, client: Client) -> bool:
    """Return True if a directive such as enable-debug-command (yes, no, local) allows `client`."""
    return setting == "yes" or (setting == "local" and is_local(client))
