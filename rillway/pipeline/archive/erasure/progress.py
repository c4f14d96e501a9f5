"""The account of an erasure, and its certificate.

An account is a file `_rillway/erasing-<16 hexadecimal digits>.json` from before the commit to the
end: the next run finds there what a killed one has done, and finishes it. It and the certificate
name files and hashes, and nothing of what was in them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rillway.pipeline.archive.erasure.rewriting import Rewritten
from rillway.pipeline.archive.files.store import ArchiveError, Store, reason_of, sync
from rillway.pipeline.archive.identity.state_files import FOLDER
from rillway.pipeline.archive.table import ArchiveTable

PREFIX, SUFFIX = "erasing-", ".json"
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that had erased rows. `before`: its SHA-256; `after`: those of the files that replace
    it, by path.
    """

    path: str
    before: str
    after: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Account:
    """What one run has done. `journal`: its number, None without new entries."""

    began: str
    kind: str
    refs: str = ""
    journal: int | None = None
    files: list[FileChange] = field(default_factory=list)
    number: int = 0

    @property
    def path(self) -> str:
        return f"{FOLDER}/{PREFIX}{self.number:016x}{SUFFIX}"

    def write(self, store: Store) -> None:
        """Write the file, atomically in a folder. Raises OSError."""
        content = json.dumps(asdict(self)).encode()
        new = self.path if store.folder is None else f"{self.path}.new"
        store.write(new, content)
        if new != self.path:
            store.filesystem.move(new, self.path)
            store.settle(self.path)

    def is_committed(self, table: ArchiveTable) -> bool:
        """Return True if the run got as far as its commit."""
        if self.journal is not None:
            return any(self.journal in record.erasures for record in table.records.values())
        named = {file.path for file in table.files()}
        return named.isdisjoint(change.path for change in self.files)


def file_changes(store: Store, rewritten: Iterable[Rewritten]) -> list[FileChange]:
    """Return rewritten files with their hashes. Raises OSError."""
    return [
        FileChange(
            one.old.path,
            file_hash(store, one.old.path),
            {file.path: file_hash(store, file.path) for file in one.new},
        )
        for one in rewritten
    ]


def file_hash(store: Store, path: str) -> str:
    """Return the SHA-256 of a file. Raises OSError."""
    digest = hashlib.sha256()
    with store.filesystem.open_input_stream(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def account_paths(store: Store) -> list[str]:
    """Return the accounts of runs that have not ended. Raises OSError."""
    paths = [info.path for info in store.listed(FOLDER)]
    return [
        path for path in paths if path.startswith(f"{FOLDER}/{PREFIX}") and path.endswith(SUFFIX)
    ]


def read_accounts(store: Store) -> list[Account]:
    """Return the accounts of runs that have not ended. Raises ArchiveError, OSError."""
    return [_read(store, path) for path in account_paths(store)]


def _read(store: Store, path: str) -> Account:
    try:
        with store.filesystem.open_input_stream(path) as file:
            content: dict[str, Any] = json.loads(file.read())
        content["files"] = [FileChange(**one) for one in content["files"]]
        return Account(**content)
    except (ValueError, KeyError, TypeError) as error:
        raise ArchiveError(
            f"{store}: {path}, the account of an erasure: {reason_of(error)}"
        ) from None


def certificate(
    table: ArchiveTable,
    entries: Mapping[str, int],
    accounts: Sequence[Account],
    ended: str,
    unreached: Collection[str],
) -> dict[str, Any]:
    """Return what was erased, without anything of its content. `entries`: by stream."""
    return {
        "archive": str(table.store),
        "table": table.id,
        "began": min(account.began for account in accounts),
        "ended": ended,
        "what": sorted({account.kind for account in accounts}),
        "references": sorted({account.refs for account in accounts} - {""}),
        "entries": sum(entries.values()),
        "streams": dict(sorted(entries.items())),
        "files": [asdict(change) for account in accounts for change in account.files],
        "version": table.version,
        "not_reached": list(unreached),
    }


def write_certificate(path: Path, content: Mapping[str, Any]) -> None:
    """Write a certificate, replacing an older one in one step. Raises OSError."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    sync(new)
    new.replace(path)
    sync(path.absolute().parent)
