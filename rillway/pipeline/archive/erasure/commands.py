"""`rillway archive erase`: removes entries for ever.

Asks on a terminal; prints the number of entries, and what it cannot reach. With `--dry-run` nothing
is changed. It may be interrupted at any time, and run again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyarrow.fs import FileType

from rillway.command_line.output import name_target
from rillway.pipeline.archive.erasure.eraser import Eraser, Hooks
from rillway.pipeline.archive.erasure.journal import Entries, count, counts
from rillway.pipeline.archive.erasure.selection import Selection
from rillway.pipeline.archive.iceberg.follower import check_installed, open_mirror
from rillway.pipeline.archive.identity.recognition import Refused
from rillway.pipeline.archive.limits import MIRROR_FOLDER
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.cli.progress import OncePerMinute, Progress
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.wire.capabilities import Capabilities
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.ids import MIN_ID, parse_id
from rillway.plurals import count_of


def erase_main(options: argparse.Namespace) -> int:
    """Erase entries. Returns the exit status. Raises ArchiveError, ServerError, OSError."""
    table = ArchiveTable.open(options.to, options.storage_options)
    streams = options.stream or table.streams()
    if unknown := sorted(set(streams) - set(table.streams())):
        raise ArchiveError(f"{table.store}: has no stream {', '.join(unknown)}")
    _check_able(table, options)
    eraser = Eraser(options.url, table, streams, selection_of(options), options.refs or "")
    try:
        if options.dry_run or sys.stdin.isatty():
            planned = eraser.planned()
            if options.dry_run:
                print(json.dumps({"entries": count(planned)}) if options.json else told(planned))
                return 0
            if count(planned) and not _agreed(planned):
                print("rillway archive: nothing was erased", file=sys.stderr)
                return 1
        return _erase(eraser, options)
    except (DataLost, Refused) as error:
        raise ArchiveError(str(error)) from None


def selection_of(options: argparse.Namespace) -> Selection:
    """Return what to erase. Raises ArchiveError, OSError."""
    if options.where is not None:
        return Selection(where=options.where)
    if options.ids is not None:
        ids = read_ids(options.ids)
        return Selection(min(ids, default=MIN_ID), max(ids, default=MIN_ID), frozenset(ids))
    return Selection(options.from_id, options.to_id)


def read_ids(path: Path) -> list[int]:
    """Return the IDs in a file, one in a line. Raises ArchiveError, OSError."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ArchiveError(f"{path}: not a text of IDs") from None
    found = []
    for number, line in enumerate(lines, start=1):
        if text := line.strip():
            try:
                found.append(parse_id(text))
            except ValueError as error:
                raise ArchiveError(f"{path}: line {number}: {error}") from None
    return found


def _check_able(table: ArchiveTable, options: argparse.Namespace) -> None:
    """Raise ArchiveError before anything is erased, if a step would fail."""
    store = table.store
    if options.iceberg is not None:
        check_installed()
    elif store.filesystem.get_file_info(MIRROR_FOLDER).type != FileType.NotFound:
        raise ArchiveError(
            f"{store}: has a mirror for Iceberg, which shows erased entries too: --iceberg URI "
            "names its catalogue"
        )
    certificate: Path | None = options.certificate
    if certificate is not None and not certificate.absolute().parent.is_dir():
        raise ArchiveError(f"{certificate}: there is no such folder")
    if certificate is not None and certificate.is_dir():
        raise ArchiveError(f"{certificate}: a folder, and a certificate is a file")
    if options.refs is not None:
        with connect(options.url) as connection:
            if not Capabilities(connection).has_command("XDELEX"):
                raise ArchiveError(
                    "--refs needs a server with XDELEX, which Rillway and Redis 8.2 have; without "
                    "--refs entries are deleted by XDEL, and groups keep the IDs of pending ones"
                )


def told(entries: Entries) -> str:
    """Return how many entries there are, in words."""
    found = counts(entries)
    each = [f"{name}: {count_of(number, 'entry')}" for name, number in found.items()]
    return "\n".join([*sorted(each), f"{count_of(sum(found.values()), 'entry')} to erase"])


def _agreed(planned: Entries) -> bool:
    print(told(planned), file=sys.stderr)
    print(
        "Erase them from memory and archive, for ever? [y/N] ", end="", file=sys.stderr, flush=True
    )
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _erase(eraser: Eraser, options: argparse.Namespace) -> int:
    """Erase, and print what was done. Returns the exit status."""
    name_target("archive erase", options.url)
    store, said = eraser.table.store, OncePerMinute()
    with Progress("erasing", unit="row") as progress:

        def waits(text: str) -> None:
            if said.allows("wait"):
                progress.note(f"waiting: {text}")

        eraser.hooks = Hooks(waits=waits, advanced=progress.advance)
        if options.iceberg is not None:
            mirror = open_mirror(store, options.iceberg, options.iceberg_table)
            eraser.hooks.mirrored = mirror.renew
        done = eraser.run(options.certificate)
    content = done.certificate
    if options.json:
        print(json.dumps(content))
    else:
        print(summary(content))
    for text in content["not_reached"]:
        print(f"rillway archive: not reached: {text}", file=sys.stderr)
    if done.left:
        print(
            f"rillway archive: {count_of(done.left, 'entry')} left, as a group has not "
            "acknowledged them: run it again",
            file=sys.stderr,
        )
    return 1 if done.left else 0


def summary(content: Mapping[str, Any]) -> str:
    """Return what was erased, in one line."""
    if not content["entries"] and not content["files"]:
        return "nothing to erase"
    new = sum(len(change["after"]) for change in content["files"])
    return (
        f"{count_of(content['entries'], 'entry')} erased; "
        f"{count_of(len(content['files']), 'file')} replaced by {new:,}"
    )
