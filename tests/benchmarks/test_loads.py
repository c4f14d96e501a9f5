"""Each load against a real Rillway, for a moment: it does what it counts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from benchmarks import machine
from benchmarks.cases import requests as kinds
from benchmarks.comparison import QUICK, Contender, Setting
from benchmarks.load.consumers import Consuming
from benchmarks.load.delays import delays
from benchmarks.load.entries import KIB, MIXED, SMALL, Shape, acknowledge, deliver, entry_id, fill
from benchmarks.load.fan_out import Fanning
from benchmarks.load.packed import PackedEntries, PackedRequests, PackedTransactions
from benchmarks.load.probes import delays_during
from benchmarks.load.replicas import attach
from benchmarks.servers import Server, ServerError, connect, rillway_program

pytestmark = pytest.mark.integration

SECONDS = 0.1
ENTRIES = 1_000


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    cores = machine.choose_cores(list(os.sched_getaffinity(0)))
    with Contender(rillway_program(interpreted=True), cores, is_ours=True).start(
        alone=False
    ) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.flush()
    return running


def test_filling_adds_the_entries_and_delivering_leaves_them_pending(server: Server) -> None:
    fill(server, ENTRIES)
    deliver(server, ENTRIES)
    assert server.call("XLEN", "s") == ENTRIES
    assert server.call("XPENDING", "s", "g")[:3] == [ENTRIES, entry_id(0), entry_id(ENTRIES - 1)]
    acknowledge(server, ENTRIES)
    with pytest.raises(ServerError, match="0 of 1000"):
        acknowledge(server, ENTRIES)


def test_consumers_acknowledge_all_that_they_read(server: Server) -> None:
    fill(server, ENTRIES)
    server.call("XGROUP", "CREATE", "s", "g", "0")
    load = Consuming(count=10, consumers=3, entries=ENTRIES)
    load.learn(server)
    assert load.run(server, SECONDS).value > 0
    assert server.call("XPENDING", "s", "g") == [0, None, None, None]


def test_readers_get_every_entry(server: Server) -> None:
    load = Fanning(readers=5, batch=20)
    figure = load.run(server, SECONDS)
    added = server.call("XLEN", "s")
    assert added > 0
    assert added % 20 == 0
    assert figure.value > 0


@pytest.mark.parametrize("shape", [SMALL, KIB, MIXED])
def test_packed_entries_are_all_added(server: Server, shape: Shape) -> None:
    load = PackedEntries(shape, clients=3, pipeline=10)
    load.learn(server)
    server.flush()
    figure = load.run(server, SECONDS)
    added = server.call("XLEN", "s")
    assert added > 0
    assert added % 10 == 0
    assert figure.value > 0
    entries = server.call("XRANGE", "s", "-", "+", "COUNT", 2)
    assert entries[0][1] != entries[1][1]


def ranges(*counts: int) -> PackedRequests:
    return PackedRequests(
        [("XRANGE", "s", entry_id(3), "+", "COUNT", count) for count in counts], 2
    )


def test_replies_may_have_several_lengths(server: Server) -> None:
    fill(server, ENTRIES)
    load = ranges(1, 2, 3)
    load.learn(server)
    assert load.run(server, SECONDS).value > 0


def test_replies_that_change_are_noticed(server: Server) -> None:
    fill(server, ENTRIES)
    load = ranges(2)
    load.learn(server)
    learnt = load.reply
    server.flush()
    fill(server, ENTRIES, MIXED)
    with pytest.raises(ServerError, match="unlike those before"):
        load.run(server, 1.0)
    load.learn(server)
    assert load.reply != learnt


def test_kinds_of_requests_leave_their_keys_as_they_were(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinds, "KIND_KEYS", 1_000)  # more writes than clients
    assert kinds.KIND_KEYS_ARE_THERE.prepare
    kinds.KIND_KEYS_ARE_THERE.prepare(server, QUICK)
    before = server.call("DBSIZE")
    for name in kinds.KINDS:
        load = kinds.kind(name, 16, QUICK)
        load.learn(server)
        assert load.run(server, SECONDS / 5).value > 0, name
    server.check_errors()
    assert server.call("DBSIZE") == before


def test_a_refused_request_is_noticed(server: Server) -> None:
    server.check_errors()
    with pytest.raises(ServerError, match="WRONGTYPE"):
        server.call("SET", "text", "t") and server.call("XLEN", "text")
    with pytest.raises(ServerError, match="refused 1"):
        server.check_errors()
    server.call("CONFIG", "RESETSTAT")


def test_cases_of_one_setting_share_a_server(server: Server) -> None:
    cores = machine.choose_cores(list(os.sched_getaffinity(0)))
    contender = Contender(rillway_program(interpreted=True), cores, is_ours=True)
    filled = Setting("filled", prepare=lambda server, scale: fill(server, scale.small))
    scale = replace(QUICK, small=1_000)
    try:
        contender.use(filled, scale)
        first = contender.server
        assert first.call("XLEN", "s") == 1_000
        contender.use(filled, scale)
        assert contender.server is first
        contender.use(Setting("empty"), scale)
        assert contender.server is not first
        assert contender.server.call("XLEN", "s") == 0
        with pytest.raises(OSError, match="refused"):
            connect(first.port)
    finally:
        contender.end()


def test_every_message_is_measured_once(server: Server) -> None:
    server.call("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    run = delays(server, rate=1000, consumers=3, count=100, seconds=0.2)
    assert len(run.delays_ms) == server.call("XLEN", "s") == 200
    assert min(run.delays_ms) > 0
    assert server.call("XPENDING", "s", "g") == [0, None, None, None]


def test_others_are_asked_while_a_command_works(server: Server) -> None:
    delays_ms, _ = delays_during(server.port, lambda: None)
    assert delays_ms
    assert server.call("EXISTS", "other") == 1


def test_transactions_add_all_entries_and_say_how_long_they_took(server: Server) -> None:
    load = PackedTransactions(SMALL, 3, 10)
    load.learn(server)
    server.flush()
    figure = load.run(server, SECONDS)
    commands = server.info("commandstats")
    assert server.call("XLEN", "s") % 10 == 0 != figure.value
    assert "cmdstat_exec" in commands and figure.lines[0].startswith("p50 ")


@pytest.mark.parametrize("diskless", ["yes", "no"])
def test_replicas_take_the_stream_and_acknowledge_it(diskless: str) -> None:
    cores = machine.choose_cores(list(os.sched_getaffinity(0)))
    program = rillway_program(interpreted=True)
    directives = ("--repl-diskless-sync", diskless, "--repl-diskless-sync-delay", "0")
    with Contender(program, cores, is_ours=True).start(*directives, alone=False) as server:
        fill(server, ENTRIES)
        attach(2, server)
        fill(server, ENTRIES, first=ENTRIES)
        # WAIT itself may send replicas a request, which nobody acknowledges.
        sent = int(server.info("replication")["master_repl_offset"])
        assert server.call("WAIT", 2, 5000) == 2
        state = server.info("replication")
        offsets = re.findall(r"offset=(\d+)", state["slave0"] + state["slave1"])
        assert sent > 60 * ENTRIES and min(map(int, offsets)) >= sent
