"""Archives that no longer exist although streams have their markers; and `rillway archive forget`.

A folder that is not mounted, or was deleted, looks like one that never had an archive. A new
archive there would contain only the rest of each stream, and the old markers would hold up trims
for ever. The markers, and the recorded locations of their archives, show the difference.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rillway.command_line.output import name_target
from rillway.pipeline.archive.files.opening import is_table, place_of
from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.ranges.discovery import find_streams, kinds_of
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.ids import format_id
from rillway.pipeline.wire.places import archive_of, place_key, read_markers
from rillway.pipeline.wire.urls import public_url
from rillway.plurals import count_of


def check_not_lost(connection: Connection, store: Store, streams: Sequence[str]) -> None:
    """Raise ArchiveError if streams show that a new archive had, or may have had, a predecessor."""
    there = [name for name, kind in kinds_of(connection, streams).items() if kind == "stream"]
    markers = read_markers(connection, there)
    lost = [one for one in markers if one.place is not None and one.place.uri == store.uri]
    unknown = [one for one in markers if one.place is None]
    for found in (lost, unknown):
        if not found:
            continue
        names = sorted({one.stream for one in found})
        what = names[0]
        if len(names) > 1:
            what += f" and {count_of(len(names) - 1, 'other stream')}"
        where = "there"
        remedy = (
            "Mount or restore the folder; or `rillway archive forget --to "
            f"{store} --url {public_url(connection.url)}` gives it up"
        )
        if found is unknown:
            where = "to an unknown location"
            remedy = f"Check --to; or XGROUP DESTROY {names[0]} {found[0].group} gives it up"
        raise ArchiveError(
            f"{store}: there is no archive, and {what} was archived {where} up to "
            f"{format_id(found[0].end)}. {remedy}, and --new-archive begins another one beside it"
        )


def in_other_database(table: ArchiveTable, connection: Connection, stream: str) -> str:
    """Return a sentence if a missing stream was archived from another database; else empty.

    Raises ArchiveError.
    """
    state = table.state(stream)
    source = None if state is None else state.source
    if source is None or source.database == connection.database:
        return ""
    return (
        f"{stream}: was archived from database {source.database}, and is not in database "
        f"{connection.database} at {public_url(connection.url)}"
    )


def forget_main(options: argparse.Namespace) -> int:
    """Remove an archive's markers from the streams of a server."""
    store = place_of(options.to, options.storage_options)
    own = ArchiveTable.open(store).group if is_table(store) else None
    name_target("archive", options.url)
    with connect(options.url) as connection:
        streams = options.stream or find_streams(connection, (), "*")
        found = [
            one
            for one in read_markers(connection, streams)
            if archive_of(one.group) == own or (one.place and one.place.uri == store.uri)
        ]
        requests: list[tuple[str, ...]] = [
            ("XGROUP", "DESTROY", one.stream, one.group) for one in found
        ]
        if not options.stream:
            archives = {archive for one in found if (archive := archive_of(one.group))}
            requests += [("DEL", place_key(archive)) for archive in sorted(archives)]
        for reply in connection.call_all(requests):
            if isinstance(reply, ServerError):
                raise reply
    names = {one.stream for one in found}
    if found:
        streams = count_of(len(names), "stream")
        print(f"{store}: {count_of(len(found), 'group')} removed from {streams}")
    else:
        print(f"{store}: no stream has a group of an archive there")
    return 0
