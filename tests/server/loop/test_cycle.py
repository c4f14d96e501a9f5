"""server/loop/cycle.py: the end of a loop cycle, in order."""

from __future__ import annotations

from collections.abc import Callable

from commands.core.client import Client, ClientEvent
from commands.core.propagation import Sink
from protocol.request import Request
from server.inprocess.server import InProcessServer
from server.loop.cycle import READ_AT_ONCE, EventLoopCycle
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


class Socket:
    """The connection of a stranger, as far as it is read."""

    def __init__(self) -> None:
        self.is_read = True

    def stop_reading(self) -> None:
        self.is_read = False

    def start_reading(self) -> None:
        self.is_read = True


def test_sockets_of_strangers_wait_and_are_read_a_few_after_each_poll(
    server: InProcessServer,
) -> None:
    cycle, scheduled, _ = cycle_of(server)
    sockets = [Socket() for _ in range(2 * READ_AT_ONCE + 1)]
    for each in sockets:
        cycle.strangers.add(each)
    cycle.strangers.stop_reading()
    assert not any(each.is_read for each in sockets)
    cycle.finish()
    assert scheduled == [cycle.go_on]
    read = []
    while cycle.strangers.waiting:
        cycle.go_on()
        cycle.finish()
        read.append(
            [each.is_read for each in sockets].index(False) if cycle.strangers.waiting else -1
        )
    assert read == [READ_AT_ONCE, 2 * READ_AT_ONCE, -1]
    assert all(each.is_read for each in sockets)


def test_a_socket_that_was_read_waits_after_those_that_wait_already(
    server: InProcessServer,
) -> None:
    cycle, _, _ = cycle_of(server)
    first, waiting = Socket(), [Socket() for _ in range(READ_AT_ONCE)]
    for each in (first, *waiting):
        cycle.strangers.add(each)
    cycle.strangers.stop_reading()
    cycle.strangers.read_some()
    assert first.is_read and not waiting[-1].is_read
    cycle.strangers.stop_reading()
    cycle.strangers.read_some()
    assert waiting[-1].is_read and not waiting[-2].is_read


def test_one_that_logs_in_or_leaves_is_read_whatever_strangers_use_up(
    server: InProcessServer,
) -> None:
    cycle, _, _ = cycle_of(server)
    known, other = Socket(), Socket()
    for each in (known, other):
        cycle.strangers.add(each)
    cycle.strangers.remove(other)
    cycle.strangers.stop_reading()
    cycle.strangers.remove(known)
    assert known.is_read and other.is_read and not cycle.strangers.waiting
    cycle.strangers.stop_reading()
    assert known.is_read and other.is_read


def test_no_socket_is_read_before_what_strangers_have_sent_has_run() -> None:
    server = InProcessServer(requirepass="secret")
    cycle, _, _ = cycle_of(server)
    socket, queues, clock = Socket(), server.dispatcher.queues, server.dispatcher.clock
    cycle.strangers.add(socket)
    cycle.strangers.stop_reading()
    for _ in range(2):
        queues.add_yielded(server.connect().state)
    clock.slice_ns, clock.strangers_ns = -1, 1  # one of them in each cycle
    cycle.go_on()
    assert not socket.is_read
    cycle.go_on()
    assert socket.is_read
