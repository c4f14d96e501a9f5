"""`rillway why`: what holds the entries of one group.

Works with any server from Redis 7.0 on; what a delivery policy holds back is known where the server
has policies. Prints a line for each finding, and what to do; or that there are none.

Exits with 0, also with findings; 1 if it cannot go on; 2 for a bad argument.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from rillway.pipeline.ranges.discovery import StreamMissing
from rillway.pipeline.why.arguments import parse_options
from rillway.pipeline.why.findings import Finding, PendingOne, findings, first_new
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError
from rillway.pipeline.wire.sampling import group_sampler, sample_round
from rillway.top.text import safe

# Pending entries that are looked at, the oldest.
LOOKED_AT = 100


def main(arguments: list[str]) -> int:
    """Sample the group twice, and print what is found. Returns the exit status."""
    options = parse_options(arguments)
    try:
        with connect(options.url) as connection:
            found = look(connection, options.stream, options.group, options.every)
    except (ConnectionLost, OSError, ServerError, StreamMissing) as error:
        print(f"rillway why: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if options.json:
        print(json.dumps(as_json(found)))
    else:
        print("\n".join(lines(found)))
    return 0


def look(connection: Connection, stream: str, group: str, every_s: float) -> list[Finding]:
    """Return the findings on a group. Raises ServerError if it is missing, ConnectionLost."""
    pending = oldest_pending(connection, stream, group)
    sampler = group_sampler([stream])
    for round_number in range(2):
        if round_number:
            time.sleep(every_s)
        sample_round(connection, sampler)
    figures = sampler.streams.get(stream.encode())
    groups = figures.groups if figures is not None else ()
    known = next((one for one in groups or () if one.name == group.encode()), None)
    if figures is None or known is None:  # it was there a moment ago
        raise ServerError(f"NOGROUP there is no group {group} of {stream} any more")
    has_new = known.lag is None and bool(connection.call(*first_new(stream, known)))
    return findings(figures, known, pending, has_new=has_new)


def oldest_pending(connection: Connection, stream: str, group: str) -> list[PendingOne]:
    """Return the oldest pending entries. Raises ServerError."""
    reply = connection.call("XPENDING", stream, group, "-", "+", LOOKED_AT)
    return [
        PendingOne(entry_id.decode(), consumer, idle_ms, deliveries)
        for entry_id, consumer, idle_ms, deliveries in reply
    ]


def lines(found: Sequence[Finding]) -> list[str]:
    if not found:
        return ["nothing holds this group"]
    return [line for one in found for line in (safe(one.text), f"    {one.advice}")]


def as_json(found: Sequence[Finding]) -> dict[str, Any]:
    return {"findings": [one.as_json() for one in found]}
