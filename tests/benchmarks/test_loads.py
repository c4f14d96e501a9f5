"""Each load against a real Rillway, for a moment: it does what it counts."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from benchmarks import machine
from benchmarks.load.consuming import Consuming
from benchmarks.load.cycling import Cycling
from benchmarks.load.delaying import delays
from benchmarks.load.entries import acknowledge, deliver, entry_id, fill
from benchmarks.load.fanning import Fanning
from benchmarks.load.probing import delays_during
from benchmarks.load.replier import Replier
from benchmarks.servers import Contender, Server, ServerError, rillway_program

pytestmark = pytest.mark.integration

SECONDS = 0.1
ENTRIES = 1_000


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    cores = machine.choose_cores(list(os.sched_getaffinity(0)))
    with Contender(rillway_program(), cores, is_ours=True).start(alone=False) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.flush()
    return running


def test_filling_adds_the_entries_and_delivering_leaves_them_pending(server: Server) -> None:
    fill(server, b"s", ENTRIES)
    deliver(server, b"s", b"g", ENTRIES)
    assert server.call("XLEN", "s") == ENTRIES
    pending = server.call("XPENDING", "s", "g")
    assert isinstance(pending, list)
    assert pending[:3] == [ENTRIES, entry_id(0), entry_id(ENTRIES - 1)]
    acknowledge(server, b"s", b"g", ENTRIES)
    with pytest.raises(ServerError, match="0 of 1000"):
        acknowledge(server, b"s", b"g", ENTRIES)


def test_consumers_acknowledge_all_that_they_read(server: Server) -> None:
    fill(server, b"s", ENTRIES)
    server.call("XGROUP", "CREATE", "s", "g", "0")
    load = Consuming(b"s", b"g", count=10, consumers=3, entries=ENTRIES)
    load.learn(server)
    assert load.run(server, SECONDS).value > 0
    assert server.call("XPENDING", "s", "g") == [0, None, None, None]


def test_readers_get_every_entry(server: Server) -> None:
    figure = Fanning(readers=5, batch=20).run(server, SECONDS)
    added = server.call("XLEN", "s")
    assert isinstance(added, int)
    assert added > 0
    assert added % 20 == 0
    assert figure.value > 0


def test_prepared_requests_cycle_and_have_a_ceiling(server: Server) -> None:
    fill(server, b"s", ENTRIES)
    load = Cycling([("XRANGE", "s", entry_id(place), "+", "COUNT", 7) for place in (3, 90)], 2)
    load.learn(server)
    assert load.run(server, SECONDS).value > 0
    assert load.exchange is not None
    assert load.exchange.reply.startswith(b"*7\r\n")
    with Replier(load.exchange, core=min(os.sched_getaffinity(0))) as replier:
        assert load.run(replier, SECONDS).value > 0


def test_replies_of_two_lengths_are_refused(server: Server) -> None:
    fill(server, b"s", ENTRIES)
    load = Cycling([("XRANGE", "s", "-", "+", "COUNT", count) for count in (1, 2)], 1)
    with pytest.raises(ServerError, match="same length"):
        load.learn(server)


def test_every_message_is_measured_once(server: Server) -> None:
    server.call("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    run = delays(server, "s", "g", rate=1000, consumers=3, count=100, seconds=0.2)
    assert len(run.delays_ms) == server.call("XLEN", "s") == 200
    assert min(run.delays_ms) > 0
    assert server.call("XPENDING", "s", "g") == [0, None, None, None]


def test_others_are_asked_while_a_command_works(server: Server) -> None:
    delays_ms, seconds = delays_during(server.port, lambda: None)
    assert seconds < 0.5
    assert len(delays_ms) > 100
    assert server.call("EXISTS", "other") == 1
