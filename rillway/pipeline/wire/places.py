"""The folders of archives, recorded on the servers whose streams are archived.

A marker, a group of a stream, names its archive, `__archive:<table>:<token>`, but not the folder.
So an archiver records the folder in a key beside its leases, `__archive:<table>:place`. If the
folder was removed, the marker still holds up every trim; this key makes it possible to report that.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rillway.pipeline.wire.connection import Connection, ServerError
from rillway.pipeline.wire.facts import all_group_infos, group_positions
from rillway.pipeline.wire.ids import format_id
from rillway.pipeline.wire.urls import public_url

MARKER = re.compile(r"(__archive:[0-9a-f]{8})(:[0-9a-f]*)?")
LOG_FOLDER = "_delta_log"


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of an archive. `host`: the archiver's machine, on which the folder is."""

    uri: str
    host: str

    @property
    def is_gone(self) -> bool:
        """True if the archive is known not to exist: its folder is on this machine and missing."""
        if ":/" in self.uri or self.host != socket.gethostname():
            return False
        try:
            return not (Path(self.uri) / LOG_FOLDER).is_dir()
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Marker:
    """A group by which an archive marks a stream. `place` is None if the server has no record."""

    stream: str
    group: str
    end: int
    place: Place | None

    def gone_sentence(self, url: str) -> str | None:
        """Return what to do about the marker of a removed archive; None for others."""
        if self.place is None or not self.place.is_gone:
            return None
        return (
            f"{self.stream}: the archive at {self.place.uri} is gone, and its group {self.group} "
            f"still holds up trims at {format_id(self.end)}: `rillway archive forget --to "
            f"{self.place.uri} --url {public_url(url)}` removes it"
        )


def archive_of(group: str) -> str | None:
    """Return the common part of the names of an archive's markers; None for other groups."""
    found = MARKER.fullmatch(group)
    return found[1] if found else None


def place_key(archive: str) -> str:
    return f"{archive}:place"


def record_place(connection: Connection, archive: str, uri: str) -> None:
    """Record the folder of an archive on the server, if the user may write to that key."""
    content = json.dumps({"uri": uri, "host": socket.gethostname()})
    key = place_key(archive)
    if connection.away(key):
        return
    [known] = connection.call_all([("GET", key)])
    if known != content.encode():
        connection.call_all([("SET", key, content)])


def read_places(connection: Connection, archives: Iterable[str]) -> dict[str, Place]:
    """Return the folders of the archives that have recorded one."""
    names = sorted(name for name in set(archives) if not connection.away(place_key(name)))
    found = {}
    replies = connection.call_all([("GET", place_key(name)) for name in names])
    for name, reply in zip(names, replies, strict=True):
        if isinstance(reply, bytes):
            try:
                content = json.loads(reply)
                found[name] = Place(str(content["uri"]), str(content["host"]))
            except (ValueError, KeyError, TypeError):
                continue
    return found


def read_markers(connection: Connection, streams: Sequence[str]) -> list[Marker]:
    """Return the markers of all archives in some streams. Raises ServerError."""
    groups = [
        (stream, name, position)
        for stream, infos in all_group_infos(connection, streams).items()
        for name, position in group_positions(infos).items()
    ]
    archives = {group: archive for _, group, _ in groups if (archive := archive_of(group))}
    places = read_places(connection, archives.values())
    return [
        Marker(stream, group, end, places.get(archives[group]))
        for stream, group, end in groups
        if group in archives
    ]


def gone_sentences(
    connection: Connection, groups: Mapping[str, Iterable[str]]
) -> dict[tuple[str, str], str]:
    """Return what to do about groups of archives that were removed, by stream and group.

    `groups`: the names of the groups to check, by stream.
    """
    wanted = {
        (stream, name)
        for stream, names in groups.items()
        for name in names
        if archive_of(name) and not connection.away(stream)
    }
    if not wanted:
        return {}
    try:
        markers = read_markers(connection, sorted({stream for stream, _ in wanted}))
    except ServerError:  # the key is no longer a stream
        return {}
    return {
        (one.stream, one.group): text
        for one in markers
        if (one.stream, one.group) in wanted and (text := one.gone_sentence(connection.url))
    }
