"""The ledger of a replay: a string key with its progress, set together with what was written.

It is named after the stream that is written to, so that two replays into one stream find each
other, and holds what is replayed, how, and up to which ID. Each chunk of entries is one transaction
with the ledger's next value, and is only run if the ledger has not changed since
(client/watched_key.py). In a cluster both are in one slot: while that moves nothing is written, and
then the replay goes on at the node that has it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TypeVar

from rillway.pipeline.archive.identity.epochs import ALL, CURRENT, FIRST
from rillway.pipeline.client.cluster import beside, following, is_redirection
from rillway.pipeline.client.connection import Connection, Reply, ServerError
from rillway.pipeline.client.facts import as_map
from rillway.pipeline.client.ids import MIN_ID, format_id, parse_id
from rillway.pipeline.client.watched_key import WatchedKey

T = TypeVar("T")

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
            # Earlier releases knew no epochs.
            content.get("epochs", CURRENT if keeps_ids else ALL),
        )
        last = parse_id(content.get("last", "0-0"))
        epoch = int(content.get("epoch", FIRST))
        return plan, Progress(parse_id(content["at"]), int(content["rows"]), last, epoch)
    except (ValueError, KeyError, TypeError):
        raise ReplayRefused("the replay's ledger holds something that no replay wrote") from None


@dataclass(frozen=True, slots=True)
class Watched:
    """The state of the server when the watch began."""

    ledger: bytes | None
    last_id: int  # of the stream that is written to, 0 if it is missing
    groups: list[str]


class Ledger:
    """The ledger of one replay, watched from when it is looked at until the next chunk is written.

    With kept IDs the stream is watched as well: it must hold what was replayed and nothing else.
    """

    def __init__(self, connection: Connection, into: str, plan: Plan, *, appends: bool) -> None:
        """`appends`: others may have written to the stream. Raises ReplayRefused, ServerError."""
        self.key = key_of(connection, into)
        self._connection = connection
        self._into = into
        self._plan = plan
        self.progress = Progress()
        # The server on which the key is watched, until the next chunk is written.
        self._node: Connection | None = None
        self._watched: Watched | None = None
        self._stored: bytes | None = None
        found = self._following(self._found)
        self._stored = found.ledger
        self.groups = found.groups
        if found.ledger is not None:
            self._go_on(found)
        elif found.last_id != MIN_ID and (plan.keeps_ids or not appends):
            hint = "" if plan.keeps_ids else ", or --append to write after what is there"
            raise ReplayRefused(f"{into} exists, and no replay made it: use another stream{hint}")

    def _following(self, action: Callable[[], T]) -> T:
        """Do it where the ledger is, which is watched there."""

        def attempt(node: Connection) -> T:
            try:
                if self._node is not node:
                    self._watch(node)
                return action()
            except ServerError:
                node.reopen()  # there may be more replies to come
                self._node = None
                raise

        return following(self._connection, self._into, attempt)

    def _watch(self, node: Connection) -> None:
        self._key = WatchedKey(
            node,
            self.key,
            others=[self._into] if self._plan.keeps_ids else [],
            looks=[("XINFO", "STREAM", self._into), ("XINFO", "GROUPS", self._into)],
        )
        self._node = node
        self._watched = self._understood(self._key.value, self._key.seen)

    def _found(self) -> Watched:
        """What is there since the last chunk was written."""
        if self._watched is None:
            self._watched = self._understood(*self._key.look())
        return self._watched

    def _go_on(self, found: Watched) -> None:
        assert found.ledger is not None
        before, self.progress = decode(found.ledger)
        different = self._plan.differences(before)
        again = f"delete {self._into} and {self.key} to begin again"
        if different:
            raise ReplayRefused(
                f"{self._into} was begun by another replay, with another {', '.join(different)}: "
                f"use another stream, or {again}"
            )
        if found.last_id == MIN_ID and self.progress.rows:
            raise ReplayRefused(f"{self._into} was deleted after it was replayed into: {again}")
        self._check_unchanged(found)

    def write(
        self, requests: bytes | memoryview, rows: int, epoch: int, at: int, last_written: int
    ) -> None:
        """Add a chunk and record it, or do neither. Raises ReplayRefused.

        `epoch`, `at`: of its last entry in the archive; `last_written`: the last ID that the chunk
        has in the stream, with kept IDs.
        """
        reached = Progress(at, self.progress.rows + rows, last_written, epoch)
        value = encode(self._plan, reached)
        self._following(lambda: self._transact(requests, rows, value))
        self.progress, self._stored = reached, value

    def _transact(self, requests: bytes | memoryview, rows: int, value: bytes) -> None:
        self._check_unchanged(self._found())
        try:
            done = self._key.transact([requests], rows, value)
            for reply in done or ():
                if isinstance(reply, ServerError):
                    raise reply
        except ServerError as error:
            if is_redirection(error):
                raise
            raise ReplayRefused(f"the server refused an entry: {error}") from None
        if done is None:
            raise ReplayRefused(f"another client writes to {self._into}, or replays into it")
        self._watched = None

    def finish(self) -> None:
        """Receive what is still on its way."""
        self._following(self._found)

    def _check_unchanged(self, found: Watched) -> None:
        if found.ledger != self._stored:
            raise ReplayRefused(f"another replay writes to {self._into}")
        if self._plan.keeps_ids and found.last_id != self.progress.last_written:
            raise ReplayRefused(
                f"{self._into} ends at {format_id(found.last_id)} and not at "
                f"{format_id(self.progress.last_written)}, where the replay had come: another "
                "client has written to it"
            )

    def _understood(self, ledger: bytes | None, seen: list[Reply]) -> Watched:
        stream, groups = seen
        if isinstance(stream, ServerError) or isinstance(groups, ServerError):
            if is_redirection(stream):
                raise stream
            if "no such key" not in str(stream):
                raise ReplayRefused(f"{self._into}: {stream}")
            return Watched(ledger, MIN_ID, [])
        last_id = parse_id(as_map(stream)[b"last-generated-id"])
        names = [as_map(group)[b"name"].decode(errors="replace") for group in groups]
        return Watched(ledger, last_id, names)
