"""server/loop/cycle.py: the end of a loop cycle, in order."""

from __future__ import annotations

from collections.abc import Callable

from commands.core.client import Client, ClientEvent
from commands.core.propagation import Sink
from protocol.request import Request
from server.inprocess.server import InProcessServer
from server.loop.cycle import EventLoopCycle
from storage.types.value import StringValue


def cycle_of(
    server: InProcessServer,
) -> tuple[EventLoopCycle, list[Callable[[], None]], list[Client]]:
    """A cycle whose loop and sockets are lists."""
    scheduled: list[Callable[[], None]] = []
    written: list[Client] = []
    return EventLoopCycle(server.dispatcher, scheduled.append, written.append), scheduled, written


def test_a_cycle_is_scheduled_once_however_much_happens_in_it(server: InProcessServer) -> None:
    cycle, scheduled, _ = cycle_of(server)
    client = server.connect().state
    cycle.touch(client)
    cycle.touch(client)
    cycle.wake()
    assert scheduled == [cycle.finish]
    cycle.finish()
    cycle.wake()
    assert scheduled == [cycle.finish, cycle.finish]


def test_each_client_with_output_is_written_once(server: InProcessServer) -> None:
    cycle, _, written = cycle_of(server)
    loud, silent = server.connect().state, server.connect().state
    loud.output += [b"+1\r\n", b"+2\r\n"]
    cycle.touch(loud)
    cycle.touch(silent)
    cycle.finish()
    assert written == [loud]


def test_a_client_that_leaves_after_its_answer_is_written_with_and_without_one(
    server: InProcessServer,
) -> None:
    cycle, _, written = cycle_of(server)
    answered, silent = server.connect().state, server.connect().state
    answered.output.append(b"+OK\r\n")
    for client in (answered, silent):
        client.enter(ClientEvent.FINISH)
        cycle.touch(client)
    cycle.finish()
    assert written == [answered, silent]


def test_ready_keys_are_served_before_output_leaves(server: InProcessServer) -> None:
    reader, writer = server.connect(), server.connect()
    reader.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    cycle, _, written = cycle_of(server)
    server.dispatcher.execute(writer.state, Request([b"XADD", b"s", b"1-1", b"f", b"v"]))
    server.cycle = cycle  # waking a client reaches this cycle
    cycle.touch(writer.state)
    cycle.finish()
    assert written == [writer.state, reader.state]
    assert b"1-1" in reader.state.output[0]


def test_steps_of_the_server_run_only_after_news() -> None:
    server = InProcessServer()
    client = server.connect()
    cycle, _, _ = cycle_of(server)
    runs: list[str] = []
    cycle.before_output.append(lambda: runs.append("before output"))
    cycle.after.append(lambda: runs.append("after"))
    both = ["before output", "after"]
    cycle.finish()  # the first
    assert runs == both
    runs.clear()
    cycle.finish()
    assert runs == []
    cycle.wake()
    cycle.finish()
    assert runs == both
    server.dispatcher.execute(client.state, Request([b"WAIT", b"0", b"0"]))
    cycle.finish()
    assert runs == 2 * both
    server.instance.propagation.units += 1
    cycle.finish()
    assert runs == [*2 * both, "before output"]
    server.instance.background_work.tidy(iter(()))
    cycle.finish()
    assert runs == [*2 * both, "before output", "after"]


def test_what_a_step_has_run_is_followed_by_the_last_steps(server: InProcessServer) -> None:
    cycle, _, _ = cycle_of(server)
    cycle.finish()
    runs: list[str] = []
    cycle.before_output.append(cycle.wake)  # as where WAITAOF is answered
    cycle.after.append(lambda: runs.append("after"))
    server.instance.propagation.units += 1
    cycle.finish()
    assert runs == ["after"]


def test_steps_of_the_server_come_last(server: InProcessServer) -> None:
    cycle, _, written = cycle_of(server)
    client = server.connect().state
    client.output.append(b"+1\r\n")
    cycle.touch(client)
    seen: list[int] = []
    cycle.after.append(lambda: seen.append(len(written)))
    cycle.finish()
    assert seen == [1]


def test_what_makes_answers_durable_comes_before_they_leave(server: InProcessServer) -> None:
    cycle, _, written = cycle_of(server)
    reader, writer = server.connect(), server.connect()
    reader.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    server.cycle = cycle
    server.dispatcher.execute(writer.state, Request([b"XADD", b"s", b"1-1", b"f", b"v"]))
    cycle.touch(writer.state)
    seen: list[tuple[int, bool]] = []
    cycle.before_output.append(lambda: seen.append((len(written), bool(reader.state.output))))
    cycle.finish()
    assert seen == [(0, True)]


def test_no_request_runs_after_one_that_ends_the_server(server: InProcessServer) -> None:
    first, second = server.connect(), server.connect()
    first.execute("CLIENT", "PAUSE", "100", "ALL")
    for number, client in enumerate((first, second)):
        client.execute("SET", "k", number)
    cycle = server.cycle
    # The first client's request ends the server, as SHUTDOWN does.
    server.instance.propagation.add_sink(
        Sink(begin=lambda db_index: cycle.stop(), take=lambda wire, last_db: None)
    )
    server.advance(101)
    assert (first.received(), second.received()) == (b"+OK\r\n", b"")
    value = server.instance.databases[0].values[b"k"]
    assert isinstance(value, StringValue)
    assert value.to_bytes() == b"0"
