"""BACKUP FILES: what `rillway backup` asks a server, Rillway's own.

Redis 8.10 has a family of this name that makes a copy in a folder of the server (START, SEAL, LIST,
STATUS, ABORT, CLEANUP); no server with it runs here, and it is not known.
"""

from __future__ import annotations

from collections.abc import Iterable

from commands.core.client import Client
from commands.core.host import RILLWAY_VERSION
from commands.core.registry import (
    ADMIN,
    LOADING,
    NO_ASYNC_LOADING,
    NO_MULTI,
    NOSCRIPT,
    STALE,
    command,
)
from commands.core.services import FilesNow, Services
from commands.documentation import help_reply
from protocol import replies
from protocol.errors import ReplyError
from protocol.request import Request


@command("BACKUP FILES", arity=2, flags=ADMIN | NOSCRIPT | NO_ASYNC_LOADING | NO_MULTI)
def backup_files(client: Client, argv: Request) -> bytes:
    """Map: the moment, and the files that have all data of it, if there is an append-only file.

    Nothing is held for the caller: it opens the files at once, and asks again if a rewrite has
    removed one, or if bytes are pending.
    """
    instance = client.instance
    if instance.persistence.write_error:
        raise ReplyError(b"ERR The append-only file cannot be written")
    try:
        files = instance.feature(Services).persistence.files_now()
    except OSError as error:
        raise ReplyError(b"ERR A file cannot be read: %b" % _encode(str(error))) from None
    state = instance.replication
    sizes = [(db.index, len(db.values), db.expires.count) for db in instance.databases if db.values]
    pairs = {
        b"version": replies.bulk(RILLWAY_VERSION.encode()),
        b"time-ms": replies.integer(instance.now_ms),
        b"replication-id": replies.bulk(state.replication_id.encode()),
        b"replication-offset": replies.integer(state.offset),
        # index, keys, and keys with a time to live
        b"databases": replies.array([_integers(each) for each in sizes]),
    } | _described(files)
    items = [item for key, value in pairs.items() for item in (replies.bulk(key), value)]
    return replies.mapping(items, client.resp)


@command("BACKUP HELP", arity=2, flags=LOADING | STALE)
def backup_help(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2, for the shape."""
    return help_reply(
        b"BACKUP",
        b"FILES",
        b"    The moment, and the files that have all data of it.",
    )


def _described(files: FilesNow) -> dict[bytes, bytes]:
    return {
        b"acl-file": _text(files.acl_file),
        b"folder": _text(files.folder),
        b"file-name": _text(files.file_name),
        b"files": _texts(files.names),
        b"sizes": _integers(files.sizes),
        b"manifest": replies.bulk(files.manifest),
        b"pending-bytes": replies.integer(files.pending_bytes),
        b"kept-folder": _text(files.kept_folder),
        # until when in Unix ms, files, manifest
        b"kept": replies.array(
            [
                replies.array([replies.integer(until_ms), _texts(names), replies.bulk(manifest)])
                for until_ms, names, manifest in files.kept
            ]
        ),
    }


def _integers(values: Iterable[int]) -> bytes:
    return replies.array([replies.integer(value) for value in values])


def _texts(values: Iterable[str]) -> bytes:
    return replies.array([_text(value) for value in values])


def _text(value: str) -> bytes:
    return replies.bulk(_encode(value))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
