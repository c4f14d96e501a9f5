"""What the server says it is. Clients steer by the Redis version (INFO, HELLO)."""

from __future__ import annotations

REDIS_VERSION = "8.10.0"
RILLWAY_VERSION = "0.1.0"  # the same as in pyproject.toml; a test compares them
