"""Back-ups of servers without sockets: their files in a folder, copied as a real server's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import hiredis

from rillway.backup.copying import Target
from rillway.backup.manifest import Backup, Node
from rillway.backup.nodes import ONLY, Place
from rillway.backup.source import Moment, open_all
from rillway.backup.store import FolderStore
from rillway.backup.work import files_node
from server.inprocess.memory_files import MemoryFiles
from server.inprocess.server import InProcessServer

FOLDER = "appendonlydir"
NAME = "20261124T140300.000Z"
NUMBERS = count()


class SourceDouble:
    """What a manifest says of the server."""

    version, role = "Rillway", "primary"


def facts_of(server: InProcessServer) -> dict[str, Any]:
    """The reply to BACKUP FILES."""
    reader = hiredis.Reader()
    reader.feed(server.connect().execute("BACKUP", "FILES"))
    words: Any = reader.gets()
    return {key.decode(): value for key, value in zip(words[::2], words[1::2], strict=True)}


@contextmanager
def opened(server: InProcessServer, folder: Path) -> Iterator[Moment]:
    """The files of a server, written to a folder, as they are opened for a back-up."""
    place = folder / f"server-{next(NUMBERS)}"
    for path, content in server.files.snapshot().items():
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    facts = facts_of(server)
    facts["folder"] = str(place / FOLDER).encode()
    facts["kept-folder"] = str(place / FOLDER / "kept").encode()
    moment = Moment(facts)
    open_all(moment)
    try:
        yield moment
    finally:
        moment.close()


def backed_up(server: InProcessServer, store: FolderStore, folder: Path, name: str = NAME) -> Node:
    """Copy a server's files to a back-up of a name, with its manifest."""
    with opened(server, folder) as moment:
        source: Any = SourceDouble()
        node = files_node(Place(ONLY, "redis://a"), source, moment, Target(store, name, ONLY))
    store.put(f"{name}/backup.json", Backup(name, 0, 0, "0", [node]).dump())
    return node


def started(folder: Path, now_ms: int = 1_700_000_000_000) -> InProcessServer:
    """A server that starts from restored files."""
    files = MemoryFiles()
    files.make_directory(FOLDER)
    for path in (folder / FOLDER).iterdir():
        files.put(f"{FOLDER}/{path.name}", path.read_bytes())
    return InProcessServer.on_files(files, appendonly="yes", now_ms=now_ms)
