"""Figures of a server and its streams, sampled by requests that any client can send; no I/O here.

A Sampler plans requests and takes their replies. Whoever drives it has the connection and the
clock, as `rillway top` and `rillway lag` do:

    sampler = Sampler()
    while True:
        requests = sampler.plan(time.monotonic())    # [("TIME",), ("XINFO", "STREAM", b"s"), ...]
        if requests:
            replies = connection.call_all(requests)  # one pipeline; error replies are in the list
            sampler.accept(replies, time.monotonic())
        else:
            time.sleep(sampler.wait_s(time.monotonic()))
        show(sampler.server, sampler.streams)        # or sampler.as_json()

Replies are as RESP2 or RESP3 has them, with bytes, and an error is any exception. With redis-py:

    client = redis.asyncio.Redis.from_url(url)
    client.response_callbacks.clear()                # replies as they come
    async with client.pipeline(transaction=False) as pipeline:
        for words in requests:
            pipeline.execute_command(*words)
        replies = await pipeline.execute(raise_on_error=False)

After a lost connection, call `sampler.reset()` and continue: the figures stay.

**What is asked for.** First what is on the screen, once a second: `sampler.focus(visible, opened)`.
Then the other streams, in turn: XLEN, the rest where something has changed, and all of it once a
minute. New streams come from SCAN, or are named: `Sampler(streams=...)`. Only one database, that of
the connection. KEYS, MONITOR, INFO all, XINFO STREAM FULL and XPENDING IDLE are never sent, and
nothing that writes.

**What it costs.** All of it together takes at most 1 % of the server's time (`share`): see
budget.py. A client that needs figures of one moment (`--once`, `lag`) gives it a larger share,
and calls `sampler.begin_round()`, then drives it until `sampler.round_done`.

Of policies (Rillway's own), one request is sent; a server that does not know it, or refuses it, is
not asked again on this connection.

**What is unknown is None**, in as_json null: lag and entries-read before Redis 7.0, memory that was
not asked for yet, the consumers of a group with nothing pending unless it is opened. A lag that
the server does not know is never 0.

`figures`    the dataclasses, and their form as JSON
`sampler`    the requests, and when
`visit`      the requests about one stream
`groups`     rates, dead consumers and moved entries, from two samples of a group
`waits`      what the entries of a group wait for, by its policy
`facts`      the server's own figures: INFO, clients, slow log, latency
`replies`    replies as values
`budget`     how long to wait after each batch
`trend`      groups over time: rates, and when they will have caught up
"""

from rillway.sampler.figures import (
    ClientFigures,
    ConsumerFigures,
    GroupFigures,
    LatencyFigures,
    Move,
    ReplicaFigures,
    ServerFigures,
    SlowRequest,
    StreamFigures,
)
from rillway.sampler.sampler import Sampler

__all__ = [
    "ClientFigures",
    "ConsumerFigures",
    "GroupFigures",
    "LatencyFigures",
    "Move",
    "ReplicaFigures",
    "Sampler",
    "ServerFigures",
    "SlowRequest",
    "StreamFigures",
]
