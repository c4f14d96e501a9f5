"""The ledger of a replay: a string key with its progress, updated together with each write.

It is named after the target stream, so that two replays into one stream find each other, and holds
the source, the parameters, and the last ID that was replayed. Each chunk of entries is one
transaction with the ledger's next value, and only runs if the ledger has not changed meanwhile
(wire/watched_key.py). In a cluster both keys are in one slot. While the slot moves, nothing is
written; then the replay continues on the new node.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from rillway.pipeline.archive.identity.epochs import FIRST
from rillway.pipeline.archive.limits import ALL
from rillway.pipeline.wire.cluster import beside
from rillway.pipeline.wire.connection import Connection, Reply, ServerError
from rillway.pipeline.wire.facts import NO_SUCH_KEY, as_map
from rillway.pipeline.wire.ids import MIN_ID, format_id, parse_id
from rillway.pipeline.wire.watched_key import WatchedKey

PREFIX = "__replay:"


class ReplayRefused(Exception):
    """The replay would corrupt the target stream; the text says how, and what to do."""


WORDS = {
    "table": "the archive",
    "stream": "--stream",
    "first": "--from",
    "keeps_ids": "--keep-ids",
    "marks_origin": "--origin",
    "epochs": "--epochs",
}


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """The parameters of a replay, which must be the same when it is run again."""

    table: str  # the archive's own ID
    stream: str
    first: int
    keeps_ids: bool
    marks_origin: bool
    epochs: str = ALL

    def differences(self, other: ReplayPlan) -> list[str]:
        """Return the parameters that differ, by the names of their options."""
        mine, theirs = asdict(self), asdict(other)
        return [word for name, word in WORDS.items() if mine[name] != theirs[name]]


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """The progress of a replay.

    `at`, `epoch`: the last archived ID that was replayed; `rows`: the number of entries;
    `last_written`: the last ID written to the target stream.
    """

    at: int = MIN_ID
    rows: int = 0
    last_written: int = MIN_ID
    epoch: int = FIRST


def key_of(connection: Connection, into: str) -> str:
    """Return the ledger's key; in a cluster it is in the stream's slot."""
    is_single = connection.slot(into) is None
    return f"{PREFIX}{{{into}}}" if is_single else beside(PREFIX, into)


def encode(plan: ReplayPlan, progress: ReplayProgress) -> bytes:
    content = {
        "table": plan.table,
        "stream": plan.stream,
        "from": format_id(plan.first),
        "ids": "keep" if plan.keeps_ids else "new",
        "origin": plan.marks_origin,
        "epochs": plan.epochs,
        "epoch": progress.epoch,
        "at": format_id(progress.at),
        "rows": progress.rows,
    }
    if plan.keeps_ids:
        content["last"] = format_id(progress.last_written)
    return json.dumps(content, sort_keys=True).encode()


def decode(text: bytes) -> tuple[ReplayPlan, ReplayProgress]:
    """Parse a ledger. Raises ReplayRefused if the key holds something else."""
    try:
        content = json.loads(text)
        keeps_ids = content["ids"] == "keep"
        plan = ReplayPlan(
            content["table"],
            content["stream"],
            parse_id(content["from"]),
            keeps_ids,
            content["origin"],
            content["epochs"],
        )
        last = parse_id(content.get("last", "0-0"))
        epoch = int(content["epoch"])
        return plan, ReplayProgress(parse_id(content["at"]), int(content["rows"]), last, epoch)
    except (ValueError, KeyError, TypeError):
        raise ReplayRefused("the replay's ledger was not written by a replay") from None


class Ledger:
    """The ledger of one replay, under WATCH from each read until the next write.

    With kept IDs the target stream is watched as well: it must contain nothing but replayed
    entries. `groups`: the consumer groups of the target.
    """

    def __init__(
        self, connection: Connection, into: str, plan: ReplayPlan, *, appends: bool
    ) -> None:
        """`appends`: the target may have other entries. Raises ReplayRefused, ServerError."""
        self.key = key_of(connection, into)
        self._into = into
        self._plan = plan
        self.progress = ReplayProgress()
        self.groups: list[str] = []
        self._has_begun = False
        self._last_id = MIN_ID  # of the target, 0 if it is missing
        self._key = WatchedKey(
            connection,
            self.key,
            ReplayRefused(f"another client writes to {into}, or replays into it"),
            others=[into] if plan.keeps_ids else [],
            reads=[("XINFO", "STREAM", into), ("XINFO", "GROUPS", into)],
            seen=self._saw,
        )
        self._has_begun = True
        if self._key.value is not None:
            self._go_on(self._key.value)
        elif self._last_id != MIN_ID and (plan.keeps_ids or not appends):
            hint = "" if plan.keeps_ids else ", or --append to write after its entries"
            raise ReplayRefused(
                f"{into} exists, but no replay created it: use another stream{hint}"
            )

    def _go_on(self, stored: bytes) -> None:
        before, self.progress = decode(stored)
        different = self._plan.differences(before)
        again = f"delete {self._into} and {self.key} to start again"
        if different:
            raise ReplayRefused(
                f"{self._into} was started by another replay, with another {', '.join(different)}: "
                f"use another stream, or {again}"
            )
        if self._last_id == MIN_ID and self.progress.rows:
            raise ReplayRefused(f"{self._into} was deleted after it was replayed into: {again}")
        self._check_end()

    def write(
        self, requests: bytes | memoryview, rows: int, epoch: int, at: int, last_written: int
    ) -> None:
        """Add a chunk and record it, atomically. Raises ReplayRefused.

        `epoch`, `at`: the position of its last entry in the archive; `last_written`: its last ID in
        the target, if IDs are kept.
        """
        reached = ReplayProgress(at, self.progress.rows + rows, last_written, epoch)
        try:
            replies = self._key.transact([requests], rows, encode(self._plan, reached))
            for reply in replies:
                if isinstance(reply, ServerError):
                    raise reply
        except ServerError as error:
            raise ReplayRefused(f"the server refused an entry: {error}") from None
        self.progress = reached

    def finish(self) -> None:
        """Receive outstanding replies."""
        self._key.catch_up()
        self._key.close()

    def _saw(self, replies: list[Reply]) -> None:
        stream, groups = replies
        self._last_id, self.groups = MIN_ID, []
        if not isinstance(stream, ServerError) and not isinstance(groups, ServerError):
            self._last_id = parse_id(as_map(stream)[b"last-generated-id"])
            self.groups = [as_map(group)[b"name"].decode(errors="replace") for group in groups]
        elif NO_SUCH_KEY not in str(stream):
            raise ReplayRefused(f"{self._into}: {stream}")
        if self._has_begun:
            self._check_end()

    def _check_end(self) -> None:
        if self._plan.keeps_ids and self._last_id != self.progress.last_written:
            raise ReplayRefused(
                f"{self._into} ends at {format_id(self._last_id)} and not at "
                f"{format_id(self.progress.last_written)}, where the replay stopped: another "
                "client has written to it"
            )
