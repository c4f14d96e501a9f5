"""Restores the content of a snapshot into an instance's databases.

The values are stored without notifications or propagation. The caller decides whether expired keys
are kept: the base of an append-only file keeps them, because later requests may change their time
to live (PERSIST), and a replica keeps them until its primary removes them. Keys that are dropped
are reported, because the replicas of a primary still hold them.

Streams keep their nodes in the file's form. Compressing nodes that are not compressed there takes
time, so a background task does it (`squeeze_nodes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from commands.core.instance import Instance
from commands.scripting.evaluation import Scripting
from commands.streams.idempotence import IdempotenceWatch
from protocol.errors import ReplyError
from storage.keyspace.database import Database
from storage.nodes.listpack_node import ListpackNode
from storage.snapshot.reader import SnapshotItem, SnapshotReader, StringBatch
from storage.stream import Stream

# About 0.3 ms.
SQUEEZED_AT_ONCE = 20


class UnfitContent(Exception):
    """The content at `offset` does not fit into this instance."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"{reason} (at offset {offset})")
        self.offset = offset
        self.reason = reason


def no_database(instance: Instance, index: int, offset: int) -> UnfitContent:
    """The error for content at `offset` in a database that does not exist."""
    if instance.is_cluster:
        return UnfitContent(offset, f"database {index}: a node of a cluster has database 0 only")
    count = len(instance.databases)
    reason = f"database {index}, but the directive databases is {count}: start with --databases"
    return UnfitContent(offset, f"{reason} {index + 1} or more")


class SnapshotRestore:
    """Restores one snapshot. The counts are of keys."""

    def __init__(
        self,
        instance: Instance,
        reader: SnapshotReader,
        *,
        now_ms: int,
        keeps_expired: bool,
        replaces: bool = False,
        databases: list[Database] | None = None,
        note_expired: Callable[[int, bytes], object] | None = None,
    ) -> None:
        """`replaces`: an existing key is replaced; otherwise it is an error.

        `databases`: the target, if not the instance's own. `note_expired(db_index, key)` is called
        for each key that is dropped.
        """
        self.loaded = self.expired = 0
        self.nodes: list[tuple[Stream, ListpackNode]] = []  # with their streams
        self._instance = instance
        self._reader = reader
        self._now_ms = now_ms
        self._keeps_expired = keeps_expired
        self._replaces = replaces
        self._databases = instance.databases if databases is None else databases
        self._note_expired = note_expired

    def steps(self) -> Iterator[int]:
        """Restore everything; yields often: the position up to which the buffer is read.

        Raises CorruptSnapshot, UnsupportedValue (see SnapshotReader) and UnfitContent.
        """
        for part in self._reader.batches():
            if isinstance(part, StringBatch):
                self._store_strings(part)
            else:
                self._store(part)
            yield self._reader.end
        if self._databases is self._instance.databases:
            self._load_libraries()

    def _load_libraries(self) -> None:
        """Load the functions, which precede the first database; they replace those of one name."""
        for code in self._reader.libraries:
            libraries = self._instance.feature(Scripting).libraries
            try:
                libraries.load(code, replaces=True, is_timed=False)
            except ReplyError as error:
                reason = error.text.decode("latin-1")
                raise UnfitContent(self._reader.end, f"a library is refused: {reason}") from None

    def _store(self, item: SnapshotItem) -> None:
        expires_ms = item.expires_ms
        if expires_ms is not None and expires_ms < self._now_ms and not self._keeps_expired:
            self.expired += 1
            if self._note_expired is not None:
                self._note_expired(item.db_index, item.key)
            return
        db = self._database(item.db_index, item.offset)
        if item.key in db:
            if not self._replaces:
                raise UnfitContent(
                    item.offset, f"key {item.key!r} of database {item.db_index} comes twice"
                )
            db.persist(item.key)
        db.set(item.key, item.value)
        if expires_ms is not None:
            db.expire_at(item.key, max(0, expires_ms))
        value = item.value
        if isinstance(value, Stream):
            nodes = [node for node in value.iter_nodes() if isinstance(node, ListpackNode)]
            self.nodes += [(value, node) for node in nodes]
            if value.idempotence is not None:
                self._instance.feature(IdempotenceWatch).watch(value.idempotence)
        self.loaded += 1

    def _store_strings(self, batch: StringBatch) -> None:
        db = self._database(batch.db_index, batch.offsets[0])
        if db.add_all(batch.keys, batch.values):
            self.loaded += len(batch.keys)
            return
        for key, value, offset in zip(batch.keys, batch.values, batch.offsets, strict=True):
            self._store(SnapshotItem(batch.db_index, key, value, None, None, offset))

    def _database(self, index: int, offset: int) -> Database:
        if index >= len(self._databases):
            raise no_database(self._instance, index, offset)
        return self._databases[index]


def loaded_lines(restore: SnapshotRestore, aux: dict[bytes, bytes], now_ms: int) -> Iterator[str]:
    """The log lines about a snapshot that was loaded; `aux`: what its file says of itself."""
    for name, maker in ((b"redis-ver", ""), (b"valkey-ver", "Valkey ")):
        if name in aux:
            yield f"Loading RDB produced by {maker}version {aux[name].decode('latin-1')}"
    if aux.get(b"ctime", b"").isdigit():
        yield f"RDB age {max(0, now_ms // 1000 - int(aux[b'ctime']))} seconds"
    if aux.get(b"used-mem", b"").isdigit():
        yield f"RDB memory usage when created {int(aux[b'used-mem']) / (1 << 20):.2f} Mb"
    yield f"Done loading RDB, keys loaded: {restore.loaded}, keys expired: {restore.expired}."


def squeeze_nodes(nodes: list[tuple[Stream, ListpackNode]]) -> Iterator[None]:
    """A background task: compress the nodes that were not read since they were loaded."""
    while nodes:
        for stream, node in nodes[-SQUEEZED_AT_ONCE:]:
            stream.squeeze(node)
        del nodes[-SQUEEZED_AT_ONCE:]
        yield
