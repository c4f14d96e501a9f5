"""The unit of a stream's IDs, which is fixed when its first entries are archived."""

from __future__ import annotations

from collections.abc import Mapping

from rillway.pipeline.archive.identity.epochs import StreamRecord
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import SAMPLED_IDS, may_be_nanoseconds, parse_id, recognised


def units_of(
    connection: Connection,
    records: Mapping[str, StreamRecord],
    lasts: Mapping[str, int],
    asked: str | None,
    now_ms: int,
) -> dict[str, str | None]:
    """Return the unit of each stream: the recorded one, else `asked`, else inferred from the IDs.

    `lasts`: the last ID of each stream. The unit of a stream that never had an entry is None.
    Raises ServerError.
    """
    units = {name: records[name].unit if name in records else None for name in lasts}
    new = {name: last for name, last in lasts.items() if units[name] is None and last}
    if asked is not None:
        return units | dict.fromkeys(new, asked)
    return units | live_units(connection, new, now_ms)


def live_units(
    connection: Connection, lasts: Mapping[str, int], now_ms: int
) -> dict[str, str | None]:
    """Infer units from the newest IDs in memory. Raises ServerError."""
    unclear = [name for name, last in lasts.items() if may_be_nanoseconds(last, now_ms)]
    pages = connection.call_all(
        [("XREVRANGE", name, "+", "-", "COUNT", SAMPLED_IDS) for name in unclear]
    )
    newest = {name: [last] for name, last in lasts.items()}
    for name, page in zip(unclear, pages, strict=True):
        if isinstance(page, list):
            newest[name] += [parse_id(entry[0]) for entry in page]
    return {name: recognised(ids, now_ms) for name, ids in newest.items()}
