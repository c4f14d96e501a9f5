"""Files of what the archive knows of each stream, beside the log, that commits name.

A commit names one by a transaction of 63 random bits, `rillway:orders:state`; the file is
`_rillway/stream=orders/state-<the bits in hexadecimal>.json`. It never changes and is on the disk
before the commit. Two archivers write two files, and the log names one. deltalake's vacuum leaves
folders alone that begin with an underscore, so old ones are removed here.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, unquote

from pyarrow.fs import FileSelector, FileType

from rillway.pipeline.archive.identity.epochs import StreamState, from_json, to_json
from rillway.pipeline.archive.store import Store

FOLDER = "_rillway"
STREAM_PREFIX = "stream="
BITS = 63
BUFFER_BYTES = 1 << 16


class StateUnreadable(Exception):
    """A file that the log names is missing or holds something else; the text says which."""


def path_of(stream: str, number: int) -> str:
    return f"{FOLDER}/{STREAM_PREFIX}{quote(stream, safe='')}/state-{number:016x}.json"


def write_state(store: Store, stream: str, state: StreamState) -> int:
    """The number by which a commit names it. Raises OSError."""
    number = secrets.randbits(BITS)
    path = path_of(stream, number)
    store.make_parent(path)
    # deltalake's own streams take no buffers of Arrow, which one without a buffer would hand over.
    with store.filesystem.open_output_stream(path, buffer_size=BUFFER_BYTES) as file:
        file.write(json.dumps(to_json(state), sort_keys=True).encode())
    store.settle(path)
    return number


def read_state(store: Store, stream: str, number: int) -> StreamState:
    """Raises StateUnreadable."""
    path = path_of(stream, number)
    try:
        with store.filesystem.open_input_stream(path) as file:
            return from_json(json.loads(file.read()))
    except (OSError, AttributeError, ValueError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StateUnreadable(f"{store}: {path}, which the log names: {reason}") from None


def remove_old(store: Store, named: Callable[[str], int | None], older_than_hours: int) -> int:
    """Delete files that the log does not name and that are older; how many there were."""
    files = store.filesystem.get_file_info(
        FileSelector(FOLDER, allow_not_found=True, recursive=True)
    )
    before = datetime.now(UTC) - timedelta(hours=older_than_hours)
    removed = 0
    for file in files:
        folder = file.path.split("/")[-2]
        if file.type != FileType.File or not folder.startswith(STREAM_PREFIX):
            continue
        stream = unquote(folder.removeprefix(STREAM_PREFIX))
        number = named(stream)
        is_named = number is not None and file.path.endswith(path_of(stream, number))
        if not is_named and file.mtime is not None and file.mtime < before:
            store.filesystem.delete_file(file.path)
            removed += 1
    return removed
