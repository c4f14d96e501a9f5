"""The versions that the server reports in INFO and HELLO; clients enable features by Redis's."""

from __future__ import annotations

REDIS_VERSION = "8.10.0"
RILLWAY_VERSION = "0.1.0"  # the same as in pyproject.toml; a test compares them
