"""What the hot core does with random input, line by line: `python tests/fuzz/traces.py --seed 1`.

A trace depends on its seed and on nothing else, so modules that have the same traces do the same:
fuzz_compiled.py compares those of the compiled modules with those of the sources.

- cutter: where requests end in random bytes, and their words in every form;
- sizes: what entries would take in a listpack;
- stream: adding, reading by groups, acknowledging, claiming, trimming; at the end the dumped
  stream, which shows where nodes end and what is pending;
- commands: rounds of the command fuzzer; replies, and at the end the append-only files.

A line is printed for each: the kind, the seed and a digest; with --show the trace itself.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from protocol import replies
from protocol.request import IS_COMPILED, Cutter
from protocol.requests import Argv
from server.inprocess.server import InProcessClient, InProcessServer
from storage.redis_format.listpack_elements import (
    FieldSizes,
    backward_length_bytes,
    element_bytes,
    header_bytes,
    int64_bytes,
    text_bytes,
)
from tests.fuzz import fuzz_requests
from tests.fuzz.command_strategies import CLIENTS, FIRST_MS, Clock, Drawing, Leave, Send
from tests.fuzz.fuzz_commands import FuzzedServer
from tests.support.programs.redis_cli import command_line

# An AUX field of snapshots: a number of 8, 16 or 32 bits. And what follows the whole snapshot.
USED_MEMORY = re.compile(rb"\x08used-mem(\xc0.|\xc1..|\xc2....)", re.DOTALL)
CHECKSUM_BYTES = 8
ROUND_STEPS = 60
STREAM_REQUESTS = 120
# Their replies hold what differs by nature: sizes of objects in this process, times, addresses.
VOLATILE = frozenset(b"info memory client latency slowlog debug monitor command lolwut".split())

Trace = Iterator[str]


# -- protocol, storage ---------------------------------------------------------------------------


def cutter_trace(seed: int) -> Trace:
    """Random bytes, some of them whole requests."""
    drawing = fuzz_requests.Drawing(seed)
    cutter = Cutter()
    for _ in range(10):
        cutter.load(drawing.stream())
        while cutter.next():
            words = cutter.words()
            indexes = range(1, cutter.count)
            yield f"{cutter.position} {words} {cutter.whole()!r}"
            yield f"{[cutter.word(i) for i in range(cutter.count)]}"
            yield f"{[(cutter.tail(i), cutter.head(i), cutter.is_byte(i, 42)) for i in indexes]}"
            yield f"{[[cutter.is_word(i, word) for word in words[:3]] for i in indexes]}"
        yield f"stops at {cutter.position}"


def sizes_trace(seed: int) -> Trace:
    """Entries around every bound of the format."""
    chance = random.Random(seed)
    sizes = FieldSizes()
    for _ in range(50):
        names = [value(chance) for _ in range(chance.randrange(4))]
        entry_names = names if chance.random() < 0.7 else [*names, value(chance)]
        words = [word for name in entry_names for word in (name, value(chance))]
        entry = b"*2\r\n$3\r\n0-1\r\n" + b"".join(map(replies.bulk, words))
        sizes.measure(entry, 13, names)
        yield f"{words} {names}: {sizes.are_alike} {sizes.element_bytes} {sizes.text_bytes}"
        yield f"{[element_bytes(word) for word in words]} {header_bytes(1, 2, names)}"
        number = near_power(chance)
        length = abs(number) % 2**32
        yield f"{number}: {int64_bytes(number)} {text_bytes(length)}"
        yield f"{length}: {backward_length_bytes(length)}"


def near_power(chance: random.Random) -> int:
    """A number of 64 bits beside a power of two."""
    number = 2 ** chance.randrange(64) + chance.randrange(-2, 2)
    signed: int = number * chance.choice((1, -1))
    return max(-(2**63), min(2**63 - 1, signed))


def value(chance: random.Random) -> bytes:
    """A number in one of its forms, or a text of a length near a bound."""
    kind = chance.randrange(8)
    if kind < 2:
        return b"%d" % chance.randrange(10_000)
    if kind == 2:
        return b"%d" % (near_power(chance) * chance.choice((1, 1, 2, 10)))
    if kind == 3:
        return b"%d.%02d" % (chance.randrange(-5, 1000), chance.randrange(100))
    if kind == 4:
        return chance.choice(
            (b"", b"-", b"-0", b"00", b"007", b"+1", b" 1", b"1e3", b"\x00", b"\xff")
        )
    length = chance.choice((1, 3, 8, 20, 62, 63, 64, 65, 126, 127, 128, 4094, 4095, 4096, 4097))
    return bytes([chance.randrange(256)]) * length


# -- whole servers -------------------------------------------------------------------------------


def stream_trace(seed: int) -> Trace:
    """One stream in its life, with nodes of every size."""
    chance = random.Random(seed)
    server = InProcessServer(
        stream_node_max_entries=chance.choice(("0", "1", "2", "7", "100")),
        stream_node_max_bytes=chance.choice(("0", "64", "300", "4096")),
        appendonly="yes",
    )
    client = server.connect()
    names = [b"f%d" % number for number in range(chance.randrange(1, 5))]
    client.execute("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
    for _ in range(STREAM_REQUESTS):
        if chance.random() < 0.1:
            server.advance(chance.choice((1, 5, 1000)))
        requests = [stream_request(chance, names) for _ in range(chance.choice((1, 1, 4, 40)))]
        yield from replied(client, requests, chance)
    for words in ("XINFO STREAM s FULL COUNT 0", "DUMP s", "XRANGE s - +"):
        yield f"{words}: {client.execute(*words.split())!r}"
    yield from files(server)


def stream_request(chance: random.Random, names: list[bytes]) -> Argv:
    some_ids = [b"%d-%d" % (FIRST_MS + chance.randrange(8), chance.randrange(60)) for _ in range(8)]
    entry_id = chance.choice((b"0-1", *some_ids))
    consumer = chance.choice((b"alice", b"bob"))
    number = b"%d" % chance.choice((0, 1, 2, 3, 10, 100))
    fields = [word for name in names for word in (name, value(chance))]
    new_id = b"%d-*" % (FIRST_MS + chance.randrange(40))
    request = chance.choices(
        (
            [b"XADD", b"s", b"*", *fields],
            [b"XADD", b"s", b"*", *fields[: 2 * chance.randrange(1, len(names) + 1)], b"odd", b"1"],
            [b"XADD", b"s", b"MAXLEN", chance.choice((b"~", b"=")), number + b"0", b"*", *fields],
            [b"XADD", b"s", chance.choice((entry_id, new_id)), *fields],
            [b"XREADGROUP", b"GROUP", b"g", consumer, b"COUNT", number, b"STREAMS", b"s", b">"],
            [b"XREADGROUP", b"GROUP", b"g", consumer, b"STREAMS", b"s", b"0"],
            [b"XPENDING", b"s", b"g", b"-", b"+", b"100"],
            [b"XAUTOCLAIM", b"s", b"g", consumer, b"1", b"0", b"COUNT", number],
            [b"XACK", b"s", b"g", *some_ids],
            [b"XCLAIM", b"s", b"g", consumer, b"0", entry_id],
            [b"XDEL", b"s", entry_id],
            [b"XTRIM", b"s", b"MINID", b"~", entry_id],
            [b"XRANGE", b"s", entry_id, b"+", b"COUNT", number],
            [b"GET", b"text"],
            [b"SET", b"text", value(chance)],
        ),
        weights=(30, 5, 3, 2, 12, 1, 1, 2, 6, 2, 3, 0.5, 3, 2, 2),
    )[0]
    return list(request)


def commands_trace(seed: int) -> Trace:
    """A round of the command fuzzer, over connections whose bytes come in pieces."""
    drawn = Drawing(seed).round(ROUND_STEPS)
    chance = random.Random(seed)
    server = FuzzedServer(drawn.now_ms, 0, **drawn.directives, appendonly="yes")
    clients = [server.connect() for _ in range(CLIENTS)]
    for step in drawn.steps:
        if isinstance(step, Clock):
            server.advance(max(step.ms, 1 - server.now_ms))
        elif isinstance(step, Leave):
            clients[step.client].disconnect()
        elif isinstance(step, Send):
            if clients[step.client].closed:
                clients[step.client] = server.connect()
            # XADD is propagated under the name that was sent, or in capitals: as it was taken.
            requests = [
                [b"XADD", *request[1:]] if request[0].lower() == b"xadd" else list(request)
                for request in step.requests
                if VOLATILE.isdisjoint(map(bytes.lower, request))
            ]
            yield from replied(clients[step.client], requests, chance)
        for number, client in enumerate(clients):
            if pushed := client.received():
                yield f"{number} receives {pushed!r}"
    yield from files(server)


def replied(client: InProcessClient, requests: list[Argv], chance: random.Random) -> Trace:
    """Send requests, whole or cut somewhere; what came back."""
    data = b"".join(map(replies.command, requests))
    cut = chance.randrange(len(data)) if data and chance.random() < 0.2 else 0
    reply = client.feed(data[:cut]) if cut else b""
    reply += client.feed(data[cut:])
    yield " | ".join(map(command_line, requests))
    yield repr(reply)


def files(server: InProcessServer) -> Trace:
    """What would be on disk, without the memory in use, which compiled objects differ in."""
    for path, data in sorted(server.files.snapshot().items()):
        if data.startswith(b"REDIS") and USED_MEMORY.search(data):
            data = USED_MEMORY.sub(b"", data)[:-CHECKSUM_BYTES]
        yield f"{path}: {data!r}"


# -- the program ---------------------------------------------------------------------------------

KINDS: dict[str, Callable[[int], Trace]] = {
    "cutter": cutter_trace,
    "sizes": sizes_trace,
    "stream": stream_trace,
    "commands": commands_trace,
}


def digest(trace: Trace) -> str:
    hashed = sha256()
    for line in trace:
        hashed.update(line.encode() + b"\n")
    return hashed.hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=1, help="of the first trace; then seed + 1")
    parser.add_argument("--count", type=int, default=sys.maxsize, help="of seeds")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--show", choices=KINDS, help="print the whole traces of one kind")
    options = parser.parse_args()
    print("compiled" if IS_COMPILED else "interpreted", flush=True)
    end = time.monotonic() + options.seconds
    for seed in count(options.seed):
        if seed == options.seed + options.count or time.monotonic() > end:
            return 0
        if options.show:
            for line in KINDS[options.show](seed):
                print(line, flush=True)
            continue
        for kind, trace in KINDS.items():
            print(kind, seed, digest(trace(seed)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
