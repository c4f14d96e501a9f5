"""The format of dead letters: an entry that could not be handled, and its origin.

A dead letter has the entry's own fields, unchanged, followed by those named here. A server with
delivery policies, `rillway consume`, `rillway.consumer.Consumer` and `rillway dead-letters` write
it, and the last one reads it to send entries back: with their own fields, and how often they have
been dead letters, so that an entry that fails again and again shows.

The cause is one word: `deadline`, the last delivery was not acknowledged in time; `failed`, its
consumer gave it back; `fatal`, a consumer or a person said that no other can handle it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

STREAM, GROUP, CONSUMER = b"rillway-stream", b"rillway-group", b"rillway-consumer"
ID, DELIVERIES = b"rillway-id", b"rillway-deliveries"
DELIVERED, CAUSE, ERROR = b"rillway-delivered", b"rillway-cause", b"rillway-error"
HOPS = b"rillway-hops"
NAMES = (STREAM, GROUP, CONSUMER, ID, DELIVERIES, DELIVERED, CAUSE, ERROR, HOPS)

Cause: TypeAlias = Literal["deadline", "failed", "fatal", "expired"]


def dead_letter(
    fields: Sequence[bytes],
    *,
    stream: str,
    group: str,
    consumer: bytes,
    entry_id: str,
    deliveries: int,
    delivered_ms: int | None,
    cause: Cause,
    error: str,
) -> list[bytes]:
    """Return the flat fields of a dead letter; `fields` are the entry's own.

    `consumer` is empty, and `delivered_ms` (Unix time) None, for an entry that was given back. If
    the entry has been a dead letter before, its earlier origin is left out, and its hops go on.
    """
    delivered = "" if delivered_ms is None else str(delivered_ms)
    # Names of files and JSON may bring lone surrogates into the texts of errors.
    error_bytes = error.encode(errors="backslashreplace")
    values = (
        stream.encode(), group.encode(), consumer, entry_id.encode(),
        str(deliveries).encode(), delivered.encode(), cause.encode(), error_bytes,
        b"%d" % (_hops(fields) + 1),
    )  # fmt: skip
    origin = [word for pair in zip(NAMES, values, strict=True) for word in pair]
    return own_fields(fields) + origin


def _hops(fields: Sequence[bytes]) -> int:
    """Return how often an entry was a dead letter before."""
    hops = dict(zip(fields[::2], fields[1::2], strict=True)).get(HOPS, b"")
    return int(hops) if hops.isdigit() and len(hops) < 19 else 0


def returning_fields(fields: Sequence[bytes]) -> list[bytes]:
    """Return the flat fields with which a dead letter goes back; [] if it has none of its own."""
    own = own_fields(fields)
    return own and [*own, HOPS, b"%d" % max(1, _hops(fields))]


def own_fields(fields: Sequence[bytes]) -> list[bytes]:
    """Return flat fields without those that a dead letter adds."""
    pairs = zip(fields[::2], fields[1::2], strict=True)
    return [word for name, value in pairs if name not in NAMES for word in (name, value)]
