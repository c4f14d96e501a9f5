"""server/gathering.py: many clients' XADDs of one cycle are one run, and nobody can tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.client import Client
from server import dispatch
from server.gathering import MAX_GATHERED_BYTES
from server.inprocess import InProcessClient, InProcessServer
from tests.support.resp import encode_command

CLIENTS = 6

ADD = b"XADD s * f v"


def request(line: bytes) -> bytes:
    return encode_command(line.split())


def producers(
    server: InProcessServer, count: int = CLIENTS, line: bytes = ADD
) -> list[InProcessClient]:
    """Clients that have sent an XADD by itself before."""
    clients = [server.connect() for _ in range(count)]
    for client in clients:
        client.feed(request(line))
        server.now_ms += 1
    return clients


def length(server: InProcessServer, key: bytes = b"s") -> int:
    stream = server.instance.databases[0].values[key]
    return stream.size


def contents(server: InProcessServer) -> bytes:
    return server.connect().execute("XRANGE", "s", "-", "+")


def replayed(server: InProcessServer) -> bytes:
    """The stream that what was propagated leads to."""
    copy = InProcessServer()
    client = copy.connect()
    for db, unit in server.propagated:
        client.execute("SELECT", str(db))
        for argv in unit:
            client.feed(encode_command(argv))
    return contents(copy)


def test_what_comes_together_runs_at_the_end_of_the_cycle_in_its_order() -> None:
    server = InProcessServer()
    clients = producers(server)
    for client in reversed(clients):
        client.send(request(ADD))
    assert length(server) == CLIENTS
    server.finish_cycle()
    assert length(server) == 2 * CLIENTS
    got = [client.received() for client in clients]
    ids = [b"%d-%d" % (server.now_ms, seq) for seq in reversed(range(CLIENTS))]
    assert got == [b"$%d\r\n%b\r\n" % (len(text), text) for text in ids]


def test_short_pipelines_of_several_clients_are_a_run() -> None:
    server = InProcessServer()
    clients = producers(server, 3)
    for count, client in enumerate(clients, 5):
        client.feed(request(ADD) * count)
    server.now_ms += 1
    for count, client in enumerate(clients, 5):
        client.send(request(ADD) * count)
    assert length(server) == 3 + (5 + 6 + 7)
    server.finish_cycle()
    assert length(server) == 3 + 2 * (5 + 6 + 7)
    start = 0
    for count, client in enumerate(clients, 5):
        ids = [b"%d-%d" % (server.now_ms, seq) for seq in range(start, start + count)]
        assert client.received() == b"".join(b"$%d\r\n%b\r\n" % (len(i), i) for i in ids)
        start += count


def test_long_pipelines_do_not_wait() -> None:
    server = InProcessServer()
    client = server.connect()
    client.feed(request(ADD) * 5)
    client.send(request(ADD) * 1000)
    assert length(server) == 1005


def test_what_is_gathered_is_bounded() -> None:
    server = InProcessServer()
    pipeline = request(ADD) * 300
    clients = producers(server, MAX_GATHERED_BYTES // len(pipeline) + 2)
    for client in clients:
        client.feed(pipeline)
    before = length(server)
    for client in clients:
        client.send(pipeline)
    assert length(server) > before
    server.finish_cycle()
    assert length(server) == before + 300 * len(clients)


def test_a_run_of_many_clients_is_accounted_for_as_its_requests_would_be() -> None:
    server = InProcessServer()
    clients = producers(server)
    before = server.instance.stats.commands_processed
    reads, bytes_read = (
        server.instance.stats.reads_processed,
        server.instance.stats.net_input_bytes,
    )
    for client in clients:
        client.send(request(ADD))
    server.finish_cycle()
    stats = server.instance.stats
    assert stats.commands_processed - before == CLIENTS
    assert stats.reads_processed - reads == CLIENTS
    assert stats.net_input_bytes - bytes_read == CLIENTS * len(request(ADD))
    for client in clients:
        assert client.state.last_command is clients[0].state.last_command
        assert client.state.last_interaction_ms == server.now_ms
        assert client.state.write_offset == server.instance.propagated_units


def test_another_request_finds_what_came_before_it() -> None:
    server = InProcessServer()
    clients = producers(server)
    other = server.connect()
    for client in clients:
        client.send(request(ADD))
    other.send(request(b"XLEN s"))
    clients[0].send(request(ADD))
    server.finish_cycle()
    assert other.received() == b":%d\r\n" % (2 * CLIENTS)
    assert length(server) == 2 * CLIENTS + 1


def test_what_a_client_sent_before_it_left_is_done() -> None:
    server = InProcessServer()
    clients = producers(server)
    for client in clients:
        client.send(request(ADD))
    clients[0].disconnect()
    server.finish_cycle()
    assert length(server) == 2 * CLIENTS
    assert clients[0].received() == b""
    assert clients[1].received() != b""


def test_a_client_that_is_killed_is_not_waited_for() -> None:
    server = InProcessServer()
    clients = producers(server)
    for client in clients:
        client.send(request(ADD))
    killer = server.connect()
    killer.feed(encode_command([b"CLIENT", b"KILL", b"ID", b"%d" % clients[2].state.id]))
    assert length(server) == 2 * CLIENTS
    clients[2].send(request(ADD))
    server.finish_cycle()
    assert length(server) == 2 * CLIENTS


@pytest.mark.parametrize(
    "line",
    [
        b"XADD s MAXLEN ~ 100 * f v",
        b"xadd s * f v",
        b"XADD s * f v g w h x",
        b"XADD s * f v f v f v f v f v f v f v",
        b"XADD s NOMKSTREAM * f v",
        b"XADD s 5-* f v",
        b"XADD s * f",
        b"XADD string * f v",
    ],
)
def test_other_forms_get_the_replies_that_they_get_alone(line: bytes) -> None:
    together, alone = InProcessServer(), InProcessServer()
    answers: list[list[bytes]] = []
    for server in (together, alone):
        server.connect().execute("SET", "string", "v")
        clients = producers(server, line=line)
        for client in clients:
            client.send(request(line))
            if server is alone:
                server.finish_cycle()
        server.finish_cycle()
        answers.append([client.received() for client in clients])
    assert answers[0] == answers[1]
    assert contents(together) == contents(alone)
    # The trims of a run are propagated as one, behind its last entry.
    assert replayed(together) == contents(alone)


def test_a_stream_without_an_id_left_refuses_each() -> None:
    server = InProcessServer()
    clients = producers(server)
    last = b"%d-%d" % (2**64 - 1, 2**64 - 1)
    server.connect().execute("XADD", "s", last, "f", "v")
    for client in clients:
        client.send(request(ADD))
    server.finish_cycle()
    refusal = b"-ERR The stream has exhausted the last possible ID, unable to add more items\r\n"
    assert [client.received() for client in clients] == [refusal] * CLIENTS
    assert clients[0].feed(request(ADD) * 9) == refusal * 9


@pytest.mark.interpreted
@pytest.mark.parametrize("count", [1, 6])
def test_a_defect_is_told_to_all_and_nobody_waits_for_ever(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(client: Client, requests: object) -> bytes:
        raise KeyError("a defect")

    server = InProcessServer()
    clients = producers(server)
    for client in clients:
        client.feed(request(ADD) * count)
    monkeypatch.setattr(dispatch, "xadd_run", fail)
    for client in clients:
        client.send(request(ADD) * count)
    server.finish_cycle()
    assert [client.received() for client in clients] == [dispatch.INTERNAL_ERROR * count] * CLIENTS
    assert "a defect" in server.log_lines[-1][1]
    monkeypatch.undo()
    assert clients[0].feed(request(ADD)).startswith(b"$")


def test_clients_of_several_databases_add_to_their_own() -> None:
    server = InProcessServer()
    clients = [server.connect() for _ in range(CLIENTS)]
    for number, client in enumerate(clients):
        client.execute("SELECT", str(number % 2))
        client.feed(request(ADD))
    for client in clients:
        client.send(request(ADD))
    server.finish_cycle()
    for db in server.instance.databases[:2]:
        assert db.values[b"s"].length == CLIENTS  # type: ignore[attr-defined]


def test_who_was_read_in_pieces_is_not_gathered() -> None:
    """What it sent last may stand behind something that halts it, or not be read at all."""
    server = InProcessServer()
    clients = producers(server)
    pipeline = request(ADD) * (128 * 1024 // len(request(ADD)))
    wait = encode_command([b"XREAD", b"BLOCK", b"0", b"STREAMS", b"other" * 100, b"$"])
    clients[0].feed(pipeline + wait)
    for client in clients:
        client.send(request(ADD))
    server.finish_cycle()
    assert clients[0].received() == b""
    assert clients[1].received() != b""


def test_who_does_not_touch_keys_is_not_taken_for_the_others() -> None:
    server = InProcessServer()
    clients = producers(server)
    clients[-1].execute("CLIENT", "NO-TOUCH", "ON")
    clients[-1].feed(request(ADD))
    server.now_ms += 10_000
    for client in clients:
        client.send(request(ADD))
    server.finish_cycle()
    assert server.connect().execute("OBJECT", "IDLETIME", "s") == b":0\r\n"


def test_who_queues_a_transaction_or_waits_is_not_gathered() -> None:
    server = InProcessServer()
    clients = producers(server)
    clients[0].execute("MULTI")
    clients[1].execute("XREAD", "BLOCK", "0", "STREAMS", "other", "$")
    for client in clients:
        client.send(request(ADD))
    server.finish_cycle()
    assert clients[0].received() == b"+QUEUED\r\n"
    assert clients[1].received() == b""
    assert length(server) == 2 * CLIENTS - 2
    clients[0].execute("EXEC")
    server.connect().execute("XADD", "other", "*", "f", "v")
    assert length(server) == 2 * CLIENTS


def test_whoever_watches_is_told() -> None:
    server = InProcessServer()
    clients = producers(server)
    watcher = server.connect()
    watcher.pipeline(("WATCH", "s"), ("MULTI",), ("PING",))
    for client in clients:
        client.send(request(ADD))
    server.finish_cycle()
    assert watcher.execute("EXEC") == b"*-1\r\n"


def test_waiting_readers_are_served_at_the_end_of_the_cycle() -> None:
    server = InProcessServer()
    clients = producers(server)
    reader = server.connect()
    reader.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    for client in clients:
        client.send(request(ADD))
    server.finish_cycle()
    assert reader.received().count(b"\r\nf\r\n") == CLIENTS


def test_a_pause_holds_back_what_was_gathered() -> None:
    server = InProcessServer()
    clients = producers(server)
    server.connect().execute("CLIENT", "PAUSE", "100", "WRITE")
    for client in clients:
        client.send(request(ADD))
    server.finish_cycle()
    assert length(server) == CLIENTS
    server.advance(101)
    assert length(server) == 2 * CLIENTS


def test_a_part_of_a_request_is_not_completed_by_another_client() -> None:
    server = InProcessServer()
    clients = producers(server)
    start = request(b"XADD s * f v")[: -len(b"$1\r\nv\r\n")]
    inner = request(ADD)
    clients[0].send(start + b"$%d\r\nab" % (2 + len(inner)))
    for client in clients[1:]:
        client.send(inner)
    server.finish_cycle()
    assert length(server) == 2 * CLIENTS - 1
    clients[0].feed(b"c" * len(inner) + b"\r\n")
    assert length(server) == 2 * CLIENTS
    assert contents(server).count(b"ab" + b"c" * len(inner)) == 1


LINES = st.sampled_from(
    [
        ADD,
        ADD,
        ADD,
        b"XADD s * f w",
        b"XADD s * g v",
        b"XADD t * f v",
        b"XADD s MAXLEN 5 * f v",
        b"XADD s 1-1 f v",
        b"XLEN s",
        b"DEL s",
        b"SET t v",
        b"SELECT 1",
        b"MULTI",
        b"EXEC",
        b"XRANGE s - +",
    ]
)


SENT = st.tuples(
    st.integers(0, CLIENTS - 1),
    LINES,
    st.sampled_from([1, 1, 5, 7]),  # how many times
    st.integers(-60, 60),  # where it is cut in two
    st.booleans(),  # whether the cycle ends behind it
)


@given(st.lists(SENT, max_size=40))
def test_cycles_of_many_clients_answer_as_if_each_had_one_of_its_own(
    sent: list[tuple[int, bytes, int, int, bool]],
) -> None:
    together, alone = InProcessServer(), InProcessServer()
    received: list[list[bytes]] = []
    for server in (together, alone):
        clients = producers(server)
        for number, line, count, cut, ends in sent:
            wire = request(line) * count
            for part in (wire[: max(cut, 0)], wire[max(cut, 0) :]):
                if part:
                    clients[number].send(part)
            if ends or server is alone:
                server.finish_cycle()
        server.finish_cycle()
        received.append([client.received() for client in clients])
    assert received[0] == received[1]
    assert contents(together) == contents(alone)
    # The trims of a run are propagated as one, behind its last entry.
    assert replayed(together) == contents(alone)
