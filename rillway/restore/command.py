"""`rillway restore`: writes the files of a back-up, or checks it."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path

from rillway.backup import catalogue
from rillway.backup.command import ERRORS, INTERRUPTED, sentence
from rillway.backup.manifest import APPEND_ONLY, CHECKED, Backup, Node
from rillway.backup.store import Store, content_of, open_store
from rillway.restore.arguments import parse_options
from rillway.restore.checking import check
from rillway.restore.moments import restore_moment
from rillway.restore.restoring import (
    NODES,
    folders,
    nodes_file,
    prepare,
    wanted_files,
    write,
    write_files,
)


def main(arguments: list[str]) -> int:
    """Restore or check; returns the exit status."""
    options = parse_options(arguments)
    try:
        store = open_store(options.source, options.storage_options)
        name, backup = catalogue.find(store)
        prefix = f"{name}/" if name else ""
        if options.check:
            return _check(store, prefix, backup)
        _restore(store, prefix, backup, options)
    except ERRORS as error:
        print(f"rillway restore: {sentence(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _restore(store: Store, prefix: str, backup: Backup, options: argparse.Namespace) -> None:
    target: Path = options.dir.absolute()
    prepare(target)
    try:
        for node, folder in folders(backup, target):
            folder.mkdir(mode=0o700, exist_ok=True)
            if options.to is None:
                write_files(store, prefix, wanted_files(node), folder)
            else:
                restore_moment(store, prefix, node, folder, options.to)
    except BaseException:
        for path in target.iterdir():
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise
    for number, (node, folder) in enumerate(folders(backup, target), 1):
        if node.slots:
            write(folder / NODES, [nodes_file(node, number)])
        when = node.time_ms if options.to is None else options.to // 1000 * 1000
        print(f"{folder}: {node.address} as of {catalogue.as_text(when)}. Start it:")
        words = ["rillway", "serve", "--dir", str(folder), *_options(node)]
        print(f"  {shlex.join(words)}")
    if backup.is_cluster:
        print("Then introduce the nodes to each other: redis-cli -p PORT CLUSTER MEET HOST PORT")
    if any(node.kind != APPEND_ONLY for node in backup.nodes):
        print(
            "With --appendonly yes as well, Rillway begins an append-only file from the snapshot. "
            "redis-server would start empty: switch it on later, with CONFIG SET."
        )


def _options(node: Node) -> list[str]:
    acl = ["--aclfile", node.acl_file] if node.acl_file else []
    cluster = ["--cluster-enabled", "yes"] if node.slots else []
    return [*node.files_options, *acl, *cluster]


def _check(store: Store, prefix: str, backup: Backup) -> int:
    findings, digests = check(store, prefix, backup)
    path = f"{prefix}{CHECKED}"
    with suppress(ValueError, KeyError, TypeError, AttributeError, OSError):
        for node, digest in json.loads(content_of(store, path))["digests"].items():
            if digests.get(node, digest) != digest:
                findings.append(f"{node}: the digest of the data is not that of the last check")
    record = {"time_ms": time.time_ns() // 1_000_000, "findings": findings, "digests": digests}
    for finding in findings:
        print(finding)
    try:
        store.put(path, json.dumps(record, indent=1).encode())
    except OSError as error:
        print(f"rillway restore: the check is not remembered: {sentence(error)}", file=sys.stderr)
    if findings:
        return 1
    keys = sum(count for node in backup.nodes for count, _ in node.databases.values())
    pieces = sum(1 for _ in backup.pieces)
    print(f"{backup.name}: sound: {pieces:,} files, {keys:,} keys")
    return 0
