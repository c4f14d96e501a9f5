"""The ledger of a replay: a string key with its progress, set together with what was written.

It is named after the stream that is written to, so that two replays into one stream find each
other, and holds what is replayed, how, and up to which ID. Each chunk of entries is one transaction
with the ledger's next value, and is only run if the ledger has not changed since
(wire/watched_key.py). In a cluster both are in one slot: while that moves nothing is written, and
then the replay goes on at the node that has it.
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
    """The replay would corrupt what is there; the text says how, and what can be done."""


WORDS = {
    "table": "the archive",
    "stream": "--stream",
    "first": "--from",
    "keeps_ids": "--keep-ids",
    "marks_origin": "--origin",
    "epochs": "--epochs",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """The parameters of a replay, which must be the same when it is run again."""

    table: str  # the archive's own ID
    stream: str
    first: int
    keeps_ids: bool
    marks_origin: bool
    epochs: str = ALL

    def differences(self, other: Plan) -> list[str]:
        """Return the parameters that differ, in words of the command line."""
        mine, theirs = asdict(self), asdict(other)
        return [word for name, word in WORDS.items() if mine[name] != theirs[name]]


@dataclass(frozen=True, slots=True)
class Progress:
    """`at`: the last ID of the archive that is replayed, in `epoch`; `rows`: how many;
    `last_written`: the last ID in the stream that was written."""

    at: int = MIN_ID
    rows: int = 0
    last_written: int = MIN_ID
    epoch: int = FIRST


def key_of(connection: Connection, into: str) -> str:
    """In a cluster, a key in the stream's slot."""
    is_single = connection.slot(into) is None
    return f"{PREFIX}{{{into}}}" if is_single else beside(PREFIX, into)


def encode(plan: Plan, progress: Progress) -> bytes:
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


def decode(text: bytes) -> tuple[Plan, Progress]:
    """Raises ReplayRefused for a key that holds something else."""
    try:
        content = json.loads(text)
        keeps_ids = content["ids"] == "keep"
        plan = Plan(
            content["table"],
            content["stream"],
            parse_id(content["from"]),
            keeps_ids,
            content["origin"],
            content["epochs"],
        )
        last = parse_id(content.get("last", "0-0"))
        epoch = int(content["epoch"])
        return plan, Progress(parse_id(content["at"]), int(content["rows"]), last, epoch)
    except (ValueError, KeyError, TypeError):
        raise ReplayRefused("the replay's ledger holds something that no replay wrote") from None


class Ledger:
    """The ledger of one replay, watched from when it is looked at until the next chunk is written.

    With kept IDs the stream is watched as well: it must hold what was replayed and nothing else.
    `groups`: those that the stream has.
    """

    def __init__(self, connection: Connection, into: str, plan: Plan, *, appends: bool) -> None:
        """`appends`: others may have written to the stream. Raises ReplayRefused, ServerError."""
        self.key = key_of(connection, into)
        self._into = into
        self._plan = plan
        self.progress = Progress()
        self.groups: list[str] = []
        self._has_begun = False
        self._last_id = MIN_ID  # of the stream that is written to, 0 if it is missing
        self._key = WatchedKey(
            connection,
            self.key,
            ReplayRefused(f"another client writes to {into}, or replays into it"),
            others=[into] if plan.keeps_ids else [],
            looks=[("XINFO", "STREAM", into), ("XINFO", "GROUPS", into)],
            seen=self._saw,
        )
        self._has_begun = True
        if self._key.value is not None:
            self._go_on(self._key.value)
        elif self._last_id != MIN_ID and (plan.keeps_ids or not appends):
            hint = "" if plan.keeps_ids else ", or --append to write after what is there"
            raise ReplayRefused(f"{into} exists, and no replay made it: use another stream{hint}")

    def _go_on(self, stored: bytes) -> None:
        before, self.progress = decode(stored)
        different = self._plan.differences(before)
        again = f"delete {self._into} and {self.key} to begin again"
        if different:
            raise ReplayRefused(
                f"{self._into} was begun by another replay, with another {', '.join(different)}: "
                f"use another stream, or {again}"
            )
        if self._last_id == MIN_ID and self.progress.rows:
            raise ReplayRefused(f"{self._into} was deleted after it was replayed into: {again}")
        self._check_end()

    def write(
        self, requests: bytes | memoryview, rows: int, epoch: int, at: int, last_written: int
    ) -> None:
        """Add a chunk and record it, or do neither. Raises ReplayRefused.

        `epoch`, `at`: of its last entry in the archive; `last_written`: the last ID that the chunk
        has in the stream, with kept IDs.
        """
        reached = Progress(at, self.progress.rows + rows, last_written, epoch)
        try:
            replies = self._key.transact([requests], rows, encode(self._plan, reached))
            for reply in replies:
                if isinstance(reply, ServerError):
                    raise reply
        except ServerError as error:
            raise ReplayRefused(f"the server refused an entry: {error}") from None
        self.progress = reached

    def finish(self) -> None:
        """Receive what is still on its way."""
        self._key.look()
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
                f"{format_id(self.progress.last_written)}, where the replay had come: another "
                "client has written to it"
            )
