"""One back-up: the files of all nodes are opened, copied, and listed in a manifest, which is last.

A back-up that fails is removed; one that is interrupted stays without its manifest.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from rillway import __version__
from rillway.backup import catalogue
from rillway.backup.copying import Target, copy_files, write_file
from rillway.backup.manifest import (
    APPEND_ONLY,
    BEGUN,
    MANIFEST,
    SNAPSHOT,
    Backup,
    BackupError,
    Generation,
    Node,
)
from rillway.backup.nodes import Place, places
from rillway.backup.snapshot import count_keys, receive_snapshot
from rillway.backup.source import Moment, OpenFile, Source
from rillway.backup.store import FolderStore, Store
from rillway.pipeline.wire.urls import public_url

SNAPSHOT_NAME, ACL_NAME = "dump.rdb", "users.acl"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Work:
    """One back-up under way."""

    def __init__(self, store: Store, options: argparse.Namespace) -> None:
        self._store = store
        self._options = options
        self._begun_at_ms = now_ms()
        self._name = catalogue.name_at(self._begun_at_ms)
        self._earlier: Backup | None = None
        if options.incremental:
            with suppress(BackupError):  # it is damaged: all is copied
                self._earlier = catalogue.newest(store)
        self._new_bytes = 0

    def run(self) -> tuple[Backup, int]:
        """Make it; returns it with the bytes that were written. What fails is removed again."""
        options, store = self._options, self._store
        found = places(options.url, is_cluster=options.cluster)
        if store.names(self._name):
            raise BackupError(f"{store.place}/{self._name} is there already")
        store.make(self._name)
        begun = {"began_ms": self._begun_at_ms, "url": public_url(options.url)}
        # It fails if another one began in the same millisecond, which is left as it is.
        store.write(f"{self._name}/{BEGUN}", [json.dumps(begun).encode()])
        try:
            nodes = self._nodes(found)
            if options.cluster and places(options.url, is_cluster=True) != found:
                raise BackupError("slots were moved meanwhile: back up again")
            backup = Backup(
                *(self._name, self._begun_at_ms, now_ms(), __version__, nodes, options.cluster)
            )
            store.settle(self._name)
            store.put(f"{self._name}/{MANIFEST}", backup.dump())
        except BaseException:
            with suppress(OSError):
                store.remove(self._name)
            raise
        return backup, self._new_bytes

    def _nodes(self, found: list[Place]) -> list[Node]:
        """Open the files of all nodes, so that their moments are near each other; then copy."""
        with ExitStack() as stack:
            opened = []
            for place in found:
                source = Source(place.url)
                stack.callback(source.close)
                moment = None if self._options.snapshot else source.open_files()
                if moment is not None:
                    stack.callback(moment.close)
                opened.append((place, source, moment))
            return [self._copied(*each) for each in opened]

    def _copied(self, place: Place, source: Source, moment: Moment | None) -> Node:
        target = Target(self._store, self._name, place.name)
        if self._earlier is not None:
            target.earlier_backup = self._earlier.name
            same = (node for node in self._earlier.nodes if node.name == place.name)
            target.earlier = next(same, None)
        if moment is not None:
            node = files_node(place, source, moment, target)
        else:
            node = self._of_snapshot(place, source, target)
        self._new_bytes += target.new_bytes
        return node

    def _of_snapshot(self, place: Place, source: Source, target: Target) -> Node:
        is_folder = isinstance(self._store, FolderStore)
        parent = Path(self._store.place, self._name) if is_folder else None
        with tempfile.TemporaryDirectory(prefix="receiving-", dir=parent) as folder:
            path = Path(folder, SNAPSHOT_NAME)
            path.touch(mode=0o600)
            before_ms = now_ms()
            replication_id, offset = receive_snapshot(place.url, path)
            databases = count_keys(path)
            with path.open("rb") as file:
                size_bytes = os.fstat(file.fileno()).st_size
                opened = OpenFile(SNAPSHOT_NAME, str(path), file.fileno(), size_bytes, True)
                files = copy_files(Moment({}, [opened]), target)
                target.new_bytes = size_bytes  # although it is linked
        acl = source.acl_lines()
        if acl:
            files.append(write_file(ACL_NAME, acl, target))
        return Node(
            **_common(place, source),
            kind=SNAPSHOT,
            time_ms=before_ms,
            replication_id=replication_id,
            replication_offset=offset,
            databases=databases,
            file_name=SNAPSHOT_NAME,
            acl_file=ACL_NAME if acl else "",
            files=files,
        )


def _common(place: Place, source: Source) -> dict[str, Any]:
    return {
        "name": place.name,
        "address": public_url(place.url),
        "server": source.version,
        "role": source.role,
        "slots": [list(each) for each in place.slots],
    }


def files_node(place: Place, source: Source, moment: Moment, target: Target) -> Node:
    facts = moment.facts
    file_name = facts["file-name"].decode("utf-8", "surrogateescape")
    acl_name = os.path.basename(facts["acl-file"].decode("utf-8", "surrogateescape"))
    files = copy_files(moment, target)
    listed = f"{moment.folder}/{file_name}.manifest"
    files.append(write_file(listed, facts["manifest"], target))
    return Node(
        **_common(place, source),
        kind=APPEND_ONLY,
        time_ms=facts["time-ms"],
        replication_id=facts["replication-id"].decode(),
        replication_offset=facts["replication-offset"],
        databases={str(index): [keys, timed] for index, keys, timed in facts["databases"]},
        file_name=file_name,
        folder=moment.folder,
        manifest=listed,
        acl_file=acl_name if any(file.path == acl_name for file in files) else "",
        files=files,
        kept=[Generation(until, text, tuple(paths)) for until, text, paths in moment.kept],
    )
