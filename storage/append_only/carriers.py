"""Carriers: Rillway's own requests wrapped in ECHO, which every Redis loads and replicates safely.

    ECHO "rillway\\0" "1" <the request in RESP>          (one bulk string)

A Redis does not start with an append-only file that has an unknown command in it, and a replica
drops the whole transaction that has one. ECHO changes nothing anywhere. So Rillway's own requests
are propagated in a marked ECHO, the same bytes to the file and to replicas. A client's ECHO is not
propagated, so carriers cannot be forged.

Leaves out: which requests are carried, and how they are run
(commands/core/registry.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from storage.append_only.reader import DamagedFile, RequestFile, TornFile
from storage.append_only.requests import encode_request

MARK = b"rillway\0"
VERSION = b"1"

Argv = list[bytes]


class UnknownCarrier(Exception):
    """A carrier that this version cannot read; the text has the reason."""


def wrap(request: Sequence[bytes]) -> Argv:
    """The ECHO that carries a request."""
    return [b"ECHO", MARK + VERSION + encode_request(request)]


def is_carrier(argv: Argv) -> bool:
    """Return True if an ECHO carries a request."""
    return len(argv) == 2 and argv[1].startswith(MARK)


def unwrap(argv: Argv) -> Argv | None:
    """The request that an ECHO carries; None if it is no carrier. Raises UnknownCarrier."""
    if not is_carrier(argv):
        return None
    content = argv[1].removeprefix(MARK)
    if not content.startswith(VERSION + b"*"):
        raise UnknownCarrier(f"Rillway's own state in a form that is unknown here: {content[:8]!r}")
    try:
        batches = list(RequestFile(content.removeprefix(VERSION)).batches())
    except (DamagedFile, TornFile):
        batches = []
    if len(batches) != 1 or len(batches[0].requests) != 1:
        raise UnknownCarrier(f"Rillway's own state is damaged: {content[:64]!r}")
    return list(batches[0].requests[0])
