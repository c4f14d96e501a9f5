"""Erases entries, in steps that may be interrupted anywhere and are finished by the next run.

The leases of the streams are held, so no archiver reads them meanwhile. Before the commit nothing
has changed: a run that ends there leaves files that nothing names. From the commit on the journal
says what is erased, and the account what is left to do: memory, old versions of the log and of the
state, replaced files, the mirror. Each of these steps can be repeated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rillway.pipeline.archive.erasure.journal import (
    Entries,
    Journal,
    all_erased,
    count,
    counts,
    erased,
    new_number,
    on_line,
    path_of,
    read_journal,
    united,
    write_journal,
)
from rillway.pipeline.archive.erasure.memory import ACKED, delete, needed
from rillway.pipeline.archive.erasure.progress import (
    Account,
    FileChange,
    certificate,
    file_changes,
    file_hash,
    read_accounts,
    write_certificate,
)
from rillway.pipeline.archive.erasure.rewriting import Rewritten, records_without, remove, rewrite
from rillway.pipeline.archive.erasure.selection import Selection, Selector
from rillway.pipeline.archive.erasure.targets import Targets
from rillway.pipeline.archive.erasure.traces import (
    clean_log,
    clean_states,
    damaged_files,
    remove_files,
    unnamed,
    unused,
)
from rillway.pipeline.archive.foreign.changes import Changes
from rillway.pipeline.archive.identity.lost import in_other_database
from rillway.pipeline.archive.identity.recognition import (
    Recognised,
    Refused,
    Rules,
    recognise_all,
)
from rillway.pipeline.archive.lease import LIFETIME_MS, Leases, lease_key
from rillway.pipeline.archive.table import (
    MAX_COMMIT_ATTEMPTS,
    ArchiveError,
    ArchiveTable,
    CommitConflict,
)
from rillway.pipeline.archive.upkeep.compaction import compact_others
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.connection import Connection, NodeAway
from rillway.plurals import count_of

POLL_SECONDS = 0.1
MAX_LOOKS = 5
ALL_OF_THEM = "an erasure"


@dataclass(slots=True)
class Hooks:
    """Callbacks of a run. `reached` is called after each step; an exception in it acts as a crash.

    `waits`: called with the reason while an archiver has a lease; `mirrored`: brings the mirror up
    to date.
    """

    reached: Callable[[str], None] = lambda step: None
    waits: Callable[[str], None] = lambda text: None
    advanced: Callable[[int], None] = lambda rows: None
    mirrored: Callable[[], object] | None = None


@dataclass(slots=True)
class Erased:
    """The outcome. `left`: the entries that groups still need (`--refs acked`)."""

    certificate: dict[str, Any]
    left: int = 0


@dataclass(slots=True)
class Eraser:
    """Erases the selected entries of streams from an archive and a server.

    `refs`: one of memory.REFS, or empty.
    """

    url: str
    table: ArchiveTable
    streams: Sequence[str]
    selection: Selection
    refs: str = ""
    hooks: Hooks = field(default_factory=Hooks)
    lease_ms: int = LIFETIME_MS

    # -- what there is ----------------------------------------------------------------------------

    def planned(self) -> Entries:
        """Return what a run would erase. Raises ArchiveError, Refused, DataLost, ServerError."""
        with connect(self.url) as connection:
            # Memory first: an entry that is archived and trimmed meanwhile is found as a row.
            live = self._live(connection)
            self.table.refresh()
            found = united(live, self._selector.rows(self.streams))
            found, _ = self._without_needed(connection, found, live)
        pending = [one for one in read_accounts(self.table.store) if one.is_committed(self.table)]
        return united(found, self._journaled(pending))

    @property
    def _selector(self) -> Selector:
        return Selector(self.table, self.selection)

    def _live(self, connection: Connection) -> Entries:
        return self._selector.live(connection, self._recognised(connection))

    def _recognised(self, connection: Connection) -> dict[str, Recognised]:
        """Recognise the streams that are in memory. Raises ArchiveError, Refused, ServerError."""
        for look in range(MAX_LOOKS):
            found = recognise_all(connection, self.table, self.streams, Rules(), 0)
            refused = [one for one in found.values() if isinstance(one, Refused)]
            if refused and look == MAX_LOOKS - 1:
                raise refused[0]
            if not refused:
                break
            # An archiver may have committed between the two looks.
            self.table.refresh()
        there = {name: one for name, one in found.items() if isinstance(one, Recognised)}
        for name in found.keys() - there.keys():
            if text := in_other_database(self.table, connection, name):
                raise ArchiveError(text)
        return there

    def _without_needed(
        self, connection: Connection, found: Entries, live: Entries
    ) -> tuple[Entries, int]:
        """Leave out what groups have not acknowledged, if so wished; return also its number."""
        if self.refs != ACKED:
            return found, 0
        kept: dict[str, dict[int, frozenset[int]]] = {}
        left = 0
        for stream, epochs in found.items():
            there = frozenset().union(*live.get(stream, {}).values())
            is_needed = needed(connection, stream, there)
            left += len(is_needed)
            kept[stream] = {epoch: ids - is_needed for epoch, ids in epochs.items()}
        return kept, left

    def _journaled(self, accounts: Sequence[Account]) -> Entries:
        journals = [one.journal for one in accounts if one.journal is not None]
        return united(*(read_journal(self.table.store, number).entries for number in journals))

    # -- a run ------------------------------------------------------------------------------------

    def run(self, certificate_file: Path | None = None) -> Erased:
        """Erase. Raises ArchiveError, Refused, DataLost, ServerError, ConnectionLost, OSError."""
        with self._leases() as leases, connect(self.url) as connection:
            self.table.refresh()
            # What other programs have deleted is recorded before the log is cleaned.
            Changes(self.table).check()
            pending = self._pending()
            live = self._live(connection)
            found = united(live, self._selector.rows(self.streams))
            found, left = self._without_needed(connection, found, live)
            self.hooks.reached("selected")
            account = self._committed(found, leases)
            accounts = [*pending, account]
            entries = united(found, self._journaled(pending))
            if count(entries) or account.files or pending:
                self._delete(connection, entries)
                unreached = self._clean(accounts)
            else:
                unreached = self._unused()
            content = self._certified(accounts, entries, unreached, certificate_file)
            for one in accounts:
                self.table.store.remove(one.path)
            self.hooks.reached("ended")
            return Erased(content, left)

    @contextmanager
    def _leases(self) -> Iterator[Leases]:
        """Hold the leases of the streams, and exclude other erasures; wait until all are free."""
        group = self.table.group
        keys = {name: lease_key(group, name) for name in self.streams}
        keys[ALL_OF_THEM] = f"{group}:erase"
        while True:
            with Leases(self.url, keys, "{}", self.lease_ms) as leases:
                if not leases.taken:
                    yield leases
                    return
                taken = list(leases.taken.values())
            for error in taken:
                if isinstance(error, NodeAway):
                    raise error
            self.hooks.waits(str(taken[0]))
            time.sleep(POLL_SECONDS)

    def _pending(self) -> list[Account]:
        """Return the accounts of killed runs; delete those that have changed nothing."""
        kept = []
        for account in read_accounts(self.table.store):
            if account.is_committed(self.table):
                kept.append(account)
                continue
            named = {file.path for file in self.table.files()}
            new = [path for change in account.files for path in change.after if path not in named]
            journal = [] if account.journal is None else [path_of(account.journal)]
            self.table.store.remove(*new, *journal, account.path)
        return kept

    def _all_erased(self, found: Entries) -> Entries:
        """Return the entries to remove: new ones, and those that were erased before."""
        return united(found, all_erased(self.table.store, self.table.records))

    def _committed(self, found: Entries, leases: Leases) -> Account:
        """Commit the erasure, unless there is nothing to commit; return its account.

        Raises ArchiveError, OSError.
        """
        account = Account(_now(), self.selection.kind, self.refs, number=new_number())
        for _ in range(MAX_COMMIT_ATTEMPTS):
            # Only files of others may repeat rows, and a new file is an own one.
            compact_others(self.table)
            targets = Targets(self._all_erased(found))
            rewritten = list(rewrite(self.table, targets, self.hooks.advanced))
            self.hooks.reached("written")
            new = self._not_journaled(found)
            if not rewritten and not count(new):
                return account
            self._note(account, new, rewritten)
            if self._try_commit(account, targets, new, rewritten, leases):
                return account
            remove(self.table, rewritten)
        raise ArchiveError(f"{self.table.store}: gave up, because others kept committing")

    def _note(self, account: Account, new: Entries, rewritten: Sequence[Rewritten]) -> None:
        """Write the account and the journal of new entries. Raises ArchiveError, OSError."""
        store = self.table.store
        is_first = account.journal is None and count(new) > 0
        account.journal = new_number() if is_first else account.journal
        account.files = file_changes(store, rewritten)
        account.write(store)
        self.hooks.reached("noted")
        if is_first and account.journal is not None:
            write_journal(store, account.journal, Journal(new, self.refs))
            self.hooks.reached("journaled")

    def _try_commit(
        self,
        account: Account,
        targets: Targets,
        new: Entries,
        rewritten: Sequence[Rewritten],
        leases: Leases,
    ) -> bool:
        """Commit new files and records; False if another commit was first. Raises ArchiveError."""
        table = self.table
        changed = records_without(table, targets.entries, rewritten)
        if account.journal is not None:
            for name in new:
                record = changed.get(name) or table.records[name]
                changed[name] = replace(record, erasures=(*record.erasures, account.journal))
        number = table.write_state(changed, None)
        self.hooks.reached("stated")
        for error in leases.check(self.streams).values():
            raise ArchiveError(str(error))
        files = [file for one in rewritten for file in one.new]
        try:
            table.expire([one.old for one in rewritten], files, number, "erase")
        except CommitConflict:
            table.refresh()
            # Or the reply to a put was lost, and its retry conflicted with itself.
            if table.state_number != number and not table.names_any(files):
                return False
        self.hooks.reached("committed")
        return True

    def _not_journaled(self, found: Entries) -> Entries:
        store, record = self.table.store, self.table.record
        new: dict[str, dict[int, frozenset[int]]] = {}
        for stream, epochs in found.items():
            before = erased(store, stream, record(stream))
            left = {epoch: ids - before.get(epoch, frozenset()) for epoch, ids in epochs.items()}
            if any(left.values()):
                new[stream] = left
        return new

    # -- after the commit -------------------------------------------------------------------------

    def _delete(self, connection: Connection, entries: Entries) -> None:
        """Delete the entries from memory; not those of other epochs under the same IDs."""
        for stream, one in self._recognised(connection).items():
            present = one.state.present.number
            ids = on_line(entries.get(stream, {}), one.state.epochs, present)
            facts = one.seen.facts
            there = [each for each in ids if facts.first_id <= each <= facts.last_id]
            delete(connection, stream, there, self.refs)
        self.hooks.reached("deleted")

    def _clean(self, accounts: Sequence[Account]) -> list[str]:
        """Delete older versions of everything; return what is out of reach, in sentences."""
        table, store = self.table, self.table.store
        table.refresh()
        replaced = {change.path for one in accounts for change in one.files}
        targets = Targets(self._all_erased({}))
        paths, unreadable = unnamed(table, targets, replaced)
        last = accounts[-1]
        last.files += [
            FileChange(path, file_hash(store, path)) for path in paths if path not in replaced
        ]
        last.write(store)
        remove_files(store, paths)
        self.hooks.reached("vacuumed")
        clean_log(table, self.hooks.reached)
        self.hooks.reached("cleaned")
        clean_states(table)
        self.hooks.reached("forgotten")
        if self.hooks.mirrored is not None:
            self.hooks.mirrored()
            self.hooks.reached("mirrored")
        return self._unreached(unreadable)

    def _unreached(self, unreadable: Sequence[str]) -> list[str]:
        """Return what may still have erased entries."""
        found = [
            "back-ups and other copies of the archive and of the server",
            "the server's append-only file, and its replicas', until the next BGREWRITEAOF; "
            "snapshots until the next BGSAVE",
            "what other programs have read from the stream or from the archive",
        ]
        if self.table.store.folder is None:
            found.append("versions of deleted objects, if the bucket keeps them")
        if number := damaged_files(self.table.store):
            found.append(f"_rillway/damaged: {number:,} files that a repair has set aside")
        found += [f"{path}: not finished by its archiver, and unreadable" for path in unreadable]
        return found + self._unused(unreadable)

    def _unused(self, unreadable: Sequence[str] = ()) -> list[str]:
        """Return in a sentence what may have entries that no longer count as archived."""
        number = len({info.path for info in unused(self.table)}.difference(unreadable))
        if not number:
            return []
        return [
            f"{count_of(number, 'file')} no longer in use: their rows are in other files, have "
            "expired or were deleted by another program; `rillway archive upkeep` deletes them "
            "after 7 days"
        ]

    def _certified(
        self,
        accounts: Sequence[Account],
        entries: Entries,
        unreached: Sequence[str],
        path: Path | None,
    ) -> dict[str, Any]:
        content = certificate(self.table, counts(entries), accounts, _now(), unreached)
        if path is not None:
            write_certificate(path, content)
        self.hooks.reached("certified")
        return content


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
