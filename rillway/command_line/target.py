"""The server that a sub-command writes to: named first, as a variable may have chosen it."""

from __future__ import annotations

import sys

from rillway.pipeline.client.connection import public_url


def name_target(sub_command: str, url: str) -> None:
    """On standard error: standard output may be data."""
    print(f"rillway {sub_command}: writes to {public_url(url)}", file=sys.stderr)
