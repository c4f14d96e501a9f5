"""Whether the server is ready to serve, for load balancers and orchestrators."""

from __future__ import annotations

from commands.core.instance import Instance


def unreadiness(instance: Instance) -> str | None:
    """Why the server is not ready; None if it is."""
    config, replication = instance.config, instance.replication
    if instance.shutdown_at_ms:
        return "the server is shutting down"
    if instance.persistence.loading:
        return "the data is being loaded"
    if replication.is_replica and not (replication.is_link_up or config.replica_serve_stale_data):
        return "the link to the primary is down, and replica-serve-stale-data is no"
    if instance.write_refusal is not None:
        return "a file cannot be written: see INFO persistence and the log"
    return None
