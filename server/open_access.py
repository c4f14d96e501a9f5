"""A warning for the log if the server accepts anyone who can connect, without a password.

Protected mode refuses connections from other machines as long as no password is set. The container
image switches it off, as the redis image does, because a container's network limits who can
connect. Users who publish the port should know that this opens the data to all.
"""

from __future__ import annotations

from commands.config.configuration import Configuration

WARNING = (
    "No password is set and protected-mode is off: everyone who reaches {} may read and change all"
    " data. Set requirepass (in a container RILLWAY_REQUIREPASS), or keep others from reaching it."
)

METRICS_WARNING = (
    "Without metrics-user, everyone who reaches port {} on {} may read the metrics, which name"
    " keys, groups and consumers."
)


def exposure_warning(
    config: Configuration, listeners: list[tuple[str, str, int]], *, requires_login: bool
) -> str | None:
    """The warning; None if clients must log in, or no other machine can connect."""
    if requires_login or config.protected_mode:
        return None
    places = [
        f"port {port} on {address}"
        for kind, address, port in listeners
        if (kind == "tcp" or (kind == "tls" and config.tls_auth_clients == "no"))
        and not _is_loopback(address)
    ]
    return WARNING.format(" or ".join(places)) if places else None


def metrics_warning(config: Configuration, addresses: list[str]) -> str | None:
    """A warning if other machines may read the metrics, in which the names of keys are."""
    exposed = [address for address in addresses if not _is_loopback(address)]
    if config.metrics_user or not exposed:
        return None
    return METRICS_WARNING.format(config.metrics_port, " and ".join(exposed))


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address in ("::1", "localhost")
