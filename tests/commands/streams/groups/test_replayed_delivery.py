"""Deliveries that are replayed from bytes do what XCLAIM does."""

from __future__ import annotations

import random

import pytest

from protocol.request import Request
from server.inprocess.server import InProcessServer, to_argv
from server.persistence.loading.replay import Replay
from storage.append_only.reader import Batch
from storage.append_only.requests import encode_requests

DELIVERY = "XCLAIM s g {c} 0 {id} TIME {ms} RETRYCOUNT 1 FORCE JUSTID LASTID {id}"
# With {id}: entries that are there, that are not, pending ones; with {ms}: past and future.
CLAIMS = [
    *[DELIVERY] * 8,
    *["XCLAIM s g {c} 0 {next} TIME {ms} RETRYCOUNT 1 FORCE JUSTID LASTID {next}"] * 8,
    "XCLAIM s g {c} 0 {next} {next} TIME {ms} RETRYCOUNT 1 FORCE JUSTID LASTID 0-0",
    "XCLAIM s g {c} 0 {id} {id} {id} TIME {ms} RETRYCOUNT 1 FORCE JUSTID LASTID {id}",
    "XCLAIM s g {c} 0 {id} TIME -1 RETRYCOUNT 1 FORCE JUSTID LASTID {id}",
    "XCLAIM s g {c} 0 {id} TIME 99999999999999999999 RETRYCOUNT 1 FORCE JUSTID LASTID {id}",
    "XCLAIM s g {c} 0 {id} TIME {ms} RETRYCOUNT 2 FORCE JUSTID LASTID {id}",
    "XCLAIM s g {c} 0 {id} TIME {ms} RETRYCOUNT 1 FORCE JUSTID LASTID nonsense",
    "XCLAIM s g {c} 0 007-1 TIME {ms} RETRYCOUNT 1 FORCE JUSTID LASTID {id}",
    "XCLAIM s h {c} 0 {id} TIME {ms} RETRYCOUNT 1 FORCE JUSTID LASTID {id}",
    "XCLAIM t g {c} 0 {id} TIME {ms} RETRYCOUNT 1 FORCE JUSTID LASTID {id}",
    "XCLAIM text g {c} 0 {id} TIME {ms} RETRYCOUNT 1 FORCE JUSTID LASTID {id}",
    "xclaim s g {c} 0 {id} time {ms} retrycount 1 force justid lastid {id}",
    "XGROUP SETID s g {id} ENTRIESREAD 3",
    "XGROUP DELCONSUMER s g {c}",
    "XACK s g {id} {id}",
    "XDEL s {id}",
    "SET text x",
]


@pytest.mark.parametrize("seed", range(40))
def test_a_delivery_from_bytes_is_what_xclaim_does(seed: int) -> None:
    rng = random.Random(seed)
    position = 0
    lines = ["XGROUP CREATE s g 0 MKSTREAM", *[f"XADD s {n}-0 f v" for n in range(1, 60)]]
    for _ in range(60):
        position = rng.choice([position + 1, position + 1, position + 2])
        some_id, ms = f"{rng.randrange(1, 62)}-0", rng.choice([5, 5, 6, 10**15])
        blanks = {"c": rng.choice("abc"), "id": some_id, "next": f"{position}-0", "ms": ms}
        lines.append(rng.choice(CLAIMS).format(**blanks))
    requests = [to_argv(tuple(line.split())) for line in lines]
    from_file, from_words = InProcessServer(), InProcessServer()
    replayed = Replay(from_file.instance, "some.aof")
    replayed.run(Batch(0, encode_requests(requests)))
    client = from_words.connect()
    client.state.replays = True
    for argv in requests:
        from_words.dispatcher.execute(client.state, Request(argv))
    refused = [reply for reply in client.state.output if reply.startswith(b"-")]
    assert sum(replayed.refusals.values()) == len(refused)
    assert state(from_file) == state(from_words)


def state(server: InProcessServer) -> tuple[bytes, bytes, int]:
    client = server.connect()
    groups = client.execute("XINFO", "STREAM", "s", "FULL", "COUNT", "0")
    pending = client.execute("XPENDING", "s", "g", "-", "+", "100")
    return groups, pending, server.instance.dirty
