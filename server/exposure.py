"""Whether a server is open to everyone who reaches it, for a line in its log at the start.

Protected mode turns strangers away as long as no password is set. The image switches it off, as the
redis image does: a container's network decides who gets that far. Whoever publishes the port should
know what that means.
"""

from __future__ import annotations

from commands.config.configuration import Configuration

WARNING = (
    "No password is set and protected-mode is off: everyone who reaches {} may read and change all"
    " data. Set requirepass (in a container RILLWAY_REQUIREPASS), or keep others from reaching it."
)


def exposure_warning(config: Configuration, listeners: list[tuple[str, str, int]]) -> str | None:
    """What to log; None if a password is asked for, or nobody from outside gets here."""
    if config.requirepass or config.protected_mode:
        return None
    places = [
        f"port {port} on {address}"
        for kind, address, port in listeners
        if kind == "tcp" and not _is_loopback(address)
    ]
    return WARNING.format(" or ".join(places)) if places else None


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address in ("::1", "localhost")
