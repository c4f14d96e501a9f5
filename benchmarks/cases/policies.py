"""Cases of retention, delays and deadlines: what Rillway does by itself, beside what is done by
hand on a Redis.

| case | Rillway | Redis |
| --- | --- | --- |
| policies/group | a group with a policy of which nothing falls due | a plain group |
| policies/delayed | XADD DELAY | a sorted set, and a script that moves what is due |
| policies/due | entries fall due, and a reader is given them again | XAUTOCLAIM |
| policies/retention | RETAIN-MS | one XTRIM MINID |
| policies/keys | reading with KEY-FIELD, a key an entry | a plain group, without order |

The stalls have the 99.9th percentile of the waits of others, and how long it took until all was
done. A million delayed entries appear, and a million pending entries fall due, at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from benchmarks.cases.groups import consuming, fill_group
from benchmarks.cases.stalls import felt, stall_rows
from benchmarks.comparison import Case, Contender, Figures, Scale, Session, Setting
from benchmarks.figures import Figure, Row
from benchmarks.load.entries import deliver, fill
from benchmarks.rates import rate
from benchmarks.servers import Server, ServerError, Word, pack
from rillway.net.polling import poll

BATCH = 1_000
READ = 100
DEADLINE_SECONDS = 300.0
# Until all are scheduled; then they are due at once.
LEAD_MS = 60_000
NOTHING_DUE = ("ACK-WAIT", 600_000, "BACKOFF", 1_000, "MAX-PENDING", 100_000)
# docs/how-to/delayed-work.md
MOVE = """
local due = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, 100)
for _, member in ipairs(due) do
    redis.call('XADD', KEYS[2], '*', 'task', 'remind', 'order', member)
    redis.call('ZREM', KEYS[1], member)
end
return #due
"""
KEYED_READ = 10
BY_KEY = ("ACK-WAIT", 600_000, "KEY-FIELD", "customer")
KEYS = Row("policies/keys-count-10", "entries/s")
KEY_BYTES = Row("policies/keys-bytes", "B", lower_is_better=True)
BYTES = Row("policies/delayed-bytes", "B", lower_is_better=True)


def _prepare_group(server: Server, scale: Scale) -> None:
    fill_group(server, scale)
    if server.program.is_rillway:
        server.call("XGROUP", "CONFIG", "s", "g", *NOTHING_DUE)


def _repeat(server: Server, reply: int, *words: Word) -> None:
    """Send a request over and over until it has this reply. Raises ServerError."""
    if not poll(lambda: bool(server.call(*words) == reply), DEADLINE_SECONDS, pause_s=0.0):
        raise ServerError(f"{words[0]!r} does not come to an end")


# -- delays ----------------------------------------------------------------------------------------


def _schedule(server: Server, due_ms: int, count: int) -> None:
    for start in range(0, count, BATCH):
        numbers = range(start, min(start + BATCH, count))
        if server.program.is_rillway:
            head = ("XADD", "s", "AT", due_ms, "*", "task", "remind", "order")
            server.pipeline([pack(*head, number) for number in numbers])
        else:
            server.pipeline([pack("ZADD", "later", due_ms, f"order-{n}") for n in numbers])


def _all_appear(server: Server, count: int, due_ms: int) -> None:
    """Wait until all that are due have appeared."""
    if server.program.is_rillway:
        _repeat(server, count, "XLEN", "s")
    else:
        _repeat(server, 0, "EVAL", MOVE, 2, "later", "s", due_ms)


@contextmanager
def _delayed(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    count = scale.entries

    def measure() -> Figures:
        with contender.start(alone=False) as server:
            before = server.resident_bytes()
            due_ms = round(time.time() * 1000) + LEAD_MS * count // 1_000_000
            _schedule(server, due_ms, count)
            size = Figure((server.resident_bytes() - before) / count)
            server.settle()
            work = partial(_all_appear, server, count, due_ms)
            figures = felt(name, server, work, due_ms / 1000)
            return {**figures, BYTES.name: size}

    yield Session(measure)


# -- deadlines -------------------------------------------------------------------------------------


def _read_again(server: Server, count: int) -> None:
    """Have all entries delivered once more."""
    if server.program.is_rillway:
        words: tuple[object, ...] = ("XREADGROUP", "GROUP", "g", "heir", "COUNT", READ)
        request = pack(*map(str, (*words, "STREAMS", "s", ">")))
        for _ in range(count // READ):
            if not server.raw_reply(request).startswith(b"*1"):
                raise ServerError("an entry does not fall due")
        return
    cursor = "0-0"
    while True:
        reply = server.call("XAUTOCLAIM", "s", "g", "heir", 0, cursor, "COUNT", READ)
        cursor = reply[0].decode()
        if cursor == "0-0":
            return


@contextmanager
def _due(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    count = scale.entries
    directives = ("--policy-grace-ms", "0") if contender.program.is_rillway else ()

    def measure() -> Figures:
        with contender.start(*directives, alone=False) as server:
            fill(server, count)
            deliver(server, count)
            if server.program.is_rillway:
                server.call("XGROUP", "CONFIG", "s", "g", "ACK-WAIT", 1)
            server.settle()
            return felt(name, server, partial(_read_again, server, count))

    yield Session(measure)


# -- retention -------------------------------------------------------------------------------------


def _remove_old(server: Server) -> None:
    """Have everything removed that is older than the year 2020."""
    if server.program.is_rillway:
        age_ms = round(time.time() * 1000) - 1_577_836_800_000
        server.call("XCFGSET", "s", "RETAIN-MS", age_ms)
        _repeat(server, 1, "XLEN", "s")
    else:
        server.call("XTRIM", "s", "MINID", 1_577_836_800_000)


@contextmanager
def _retention(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    def measure() -> Figures:
        with contender.start(alone=False) as server:
            fill(server, scale.large)  # their IDs are of 2001
            server.call("XADD", "s", round(time.time() * 1000), "f", "v")
            server.settle()
            return felt(name, server, partial(_remove_old, server))

    yield Session(measure)


# -- order by key ----------------------------------------------------------------------------------


def _consume(server: Server, count: int, *, acknowledges: bool) -> None:
    """Read all entries, by ten consumers, and acknowledge them if asked to."""
    for start in range(0, count, KEYED_READ):
        consumer = b"c%d" % (start // KEYED_READ % 10)
        words = ("XREADGROUP", "GROUP", "g", consumer, "COUNT", KEYED_READ, "STREAMS", "s", ">")
        entries = server.call(*words)[0][1]
        if acknowledges:
            server.call("XACK", "s", "g", *(entry_id for entry_id, _ in entries))


def _create_keyed_group(server: Server) -> None:
    server.call("XGROUP", "CREATE", "s", "g", "0")
    if server.program.is_rillway:
        server.call("XGROUP", "CONFIG", "s", "g", *BY_KEY)


@contextmanager
def _keys(contender: Contender, scale: Scale) -> Iterator[Session]:
    count = scale.entries // 10

    def measure() -> Figures:
        with contender.start() as server:
            for start in range(0, count, BATCH):
                numbers = range(start, start + BATCH)
                server.pipeline([pack("XADD", "s", "*", "customer", n, "n", 1) for n in numbers])
            _create_keyed_group(server)
            before = server.call("MEMORY", "USAGE", "s", "SAMPLES", 0)
            _consume(server, count, acknowledges=False)
            size = Figure((server.call("MEMORY", "USAGE", "s", "SAMPLES", 0) - before) / count)
            server.call("XGROUP", "DESTROY", "s", "g")
            _create_keyed_group(server)
            begin = time.perf_counter()
            _consume(server, count, acknowledges=True)
            done = Figure(count / (time.perf_counter() - begin))
            return {KEYS.name: done, KEY_BYTES.name: size}

    yield Session(measure)


_STALLS = {"delayed": _delayed, "due": _due, "retention": _retention}

CASES: list[Case] = [
    rate(
        "policies/group-count-10-consumers-10",
        partial(consuming, 10, 10),
        setting=Setting("a group with a policy", prepare=_prepare_group),
        unit="entries/s",
    ),
    *(
        Case(
            f"policies/{name}",
            stall_rows(f"policies/{name}") + ((BYTES,) if name == "delayed" else ()),
            partial(opener, f"policies/{name}"),
            has_warm_up=False,
            most_pairs=1,
        )
        for name, opener in _STALLS.items()
    ),
    Case("policies/keys", (KEYS, KEY_BYTES), _keys, has_warm_up=False, most_pairs=1),
]
