"""The versions that the server reports in INFO and HELLO; clients enable features by Redis's."""

from __future__ import annotations

REDIS_VERSION = "8.10.0"
# From 8.4.0 on, redis-cli moves slots by CLUSTER MIGRATION, which Rillway does not have.
CLUSTER_VERSION = "8.2.0"
RILLWAY_VERSION = "0.1.0"  # the same as in pyproject.toml; a test compares them


def reported(is_cluster: bool) -> str:
    """The version of Redis that clients are told."""
    return CLUSTER_VERSION if is_cluster else REDIS_VERSION
