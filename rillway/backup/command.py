"""`rillway backup`: copies servers, names the back-up, and removes old ones."""

from __future__ import annotations

import json
import sys

from rillway.backup import catalogue
from rillway.backup.arguments import parse_options
from rillway.backup.manifest import Backup, BackupError
from rillway.backup.store import Store, open_store
from rillway.backup.work import Work, now_ms
from rillway.pipeline.wire.connection import ConnectionLost
from rillway.text import size

INTERRUPTED = 130  # as shells report it
ERRORS = (BackupError, ConnectionLost, OSError)


def main(arguments: list[str]) -> int:
    """Make a back-up; returns the exit status."""
    options = parse_options(arguments)
    try:
        store = open_store(options.to, options.storage_options)
        backup, new_bytes = Work(store, options).run()
        removed = catalogue.remove_old(store, options.keep, now_ms()) if options.keep else []
    except ERRORS as error:
        print(f"rillway backup: {sentence(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    _report(store, backup, new_bytes, removed, as_json=options.json)
    return 0


def sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error).partition("\n")[0]  # an object store's error has its causes below


def _report(
    store: Store, backup: Backup, new_bytes: int, removed: list[str], *, as_json: bool
) -> None:
    place = f"{store.place}/{backup.name}"
    total = sum(piece.bytes for _, _, piece in backup.pieces)
    if as_json:
        facts = json.loads(backup.dump())
        facts |= {"place": place, "bytes": total, "new_bytes": new_bytes, "removed": removed}
        print(json.dumps(facts, indent=2))
        return
    for node in backup.nodes:
        keys = sum(count for count, _ in node.databases.values())
        when = catalogue.as_text(node.time_ms)
        print(
            f"{node.address}: {node.kind} of {when}, {keys:,} keys,"
            f" offset {node.replication_offset}"
        )
    print(f"{place}: {size(total)}, of these {size(new_bytes)} new")
    for name in removed:
        print(f"removed {name}")
