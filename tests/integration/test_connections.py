"""connection.py and service.py of server/loop over real sockets: limits, slow readers, the end."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from server.inprocess.server import InProcessServer
from server.loop import connection
from tests.support.programs.servers import RunningServer, ServerFailed
from tests.support.resp import BrokenReply, RespClient
from tests.support.waiting import until

pytestmark = pytest.mark.integration

DEADLINE_SECONDS = 60.0
MIB = 1024 * 1024


def info(client: RespClient, section: str, field: str) -> int:
    lines = client.send("INFO", section).decode().splitlines()
    return int(next(line for line in lines if line.startswith(field + ":")).partition(":")[2])


def resident_bytes(server: RunningServer) -> int:
    fields = Path(f"/proc/{server.process.pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def raw_socket(server: RunningServer) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_SECONDS) as sock:
        yield sock


def read_to_end(sock: socket.socket) -> bytes:
    data = bytearray()
    while chunk := sock.recv(65536):
        data += chunk
    return bytes(data)


@pytest.mark.parametrize(
    ("request_bytes", "error"),
    [
        (b"*1000000000\r\n", b"invalid multibulk length"),
        (b"*1\r\n$4000000000\r\n", b"invalid bulk length"),
        (b"*1\r\n*1\r\n*1\r\n", b"expected '$', got '*'"),
        (b"*2\r\n$3\r\nGET\r\n:1\r\n", b"expected '$', got ':'"),
        (b'GET "x\r\n', b"unbalanced quotes in request"),
        (b"\0" * 70000, b"too big inline request"),
    ],
)
def test_an_invalid_request_gets_its_error_and_the_connection_is_closed(
    rillway_server: RunningServer, request_bytes: bytes, error: bytes
) -> None:
    before = resident_bytes(rillway_server)
    with raw_socket(rillway_server) as sock:
        sock.sendall(request_bytes)
        assert read_to_end(sock) == b"-ERR Protocol error: " + error + b"\r\n"
    assert resident_bytes(rillway_server) - before < 16 * MIB


def test_an_incomplete_request_delays_no_other_client(rillway_server: RunningServer) -> None:
    with raw_socket(rillway_server) as half, rillway_server.connect() as other:
        half.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000000\r\nabc")
        assert other.send("PING") == b"+PONG\r\n"


def test_inline_requests_work_as_from_telnet(rillway_server: RunningServer) -> None:
    with raw_socket(rillway_server) as sock:
        sock.sendall(b'\r\nPING\r\nECHO "a b\\x41"\nQUIT\r\n')
        assert read_to_end(sock) == b"+PONG\r\n$4\r\na bA\r\n+OK\r\n"


def test_a_pipeline_of_many_requests_is_answered_in_order(rillway_server: RunningServer) -> None:
    with rillway_server.connect() as client:
        replies = client.pipeline(("ECHO", n) for n in range(20_000))
    assert replies[::5000] == [b"$1\r\n0\r\n"] + [
        b"$%d\r\n%d\r\n" % (len(str(n)), n) for n in (5000, 10000, 15000)
    ]


def test_a_large_value_goes_in_and_out(rillway_server: RunningServer) -> None:
    value = os.urandom(8 * MIB)
    with rillway_server.connect() as client:
        assert client.send("SET", "large", value) == b"+OK\r\n"
        assert client.send("GET", "large") == b"$%d\r\n%b\r\n" % (len(value), value)
        client.send("DEL", "large")


def test_a_slow_reader_does_not_hold_up_the_others(rillway_server: RunningServer) -> None:
    with rillway_server.connect() as slow, rillway_server.connect() as other:
        slow.send("SET", "big", b"x" * MIB)
        for _ in range(64):
            slow.write("GET", "big")
        assert other.send("PING") == b"+PONG\r\n"
        for _ in range(64):
            assert len(slow.read_reply()) == MIB + 12
        slow.send("DEL", "big")


def test_a_pipeline_may_be_sent_before_any_of_its_long_replies_is_read(
    rillway_server: RunningServer,
) -> None:
    """Redis would keep 120 MB of replies, and here requests wait."""
    value, number = b"v" * 100_000, 1200
    with rillway_server.connect() as client, raw_socket(rillway_server) as slow:
        client.send("SET", "large", value)
        before = resident_bytes(rillway_server)
        slow.sendall(b"CLIENT SETNAME slow\r\n" + b"GET large\r\n" * number + b"QUIT\r\n")
        until(lambda: b"name=slow" in client.send("CLIENT", "LIST"))
        for _ in range(100):
            client.send("PING")
        assert resident_bytes(rillway_server) - before < 30 * MIB
        reply = b"$100000\r\n" + value + b"\r\n"
        assert read_to_end(slow) == b"+OK\r\n" + number * reply + b"+OK\r\n"
        client.send("DEL", "large")


def test_a_subscriber_that_never_reads_is_cut_off_at_its_limit(
    run_rillway: Callable[..., RunningServer],
) -> None:
    server = run_rillway("--client-output-buffer-limit", "pubsub 1mb 0 0")
    with server.connect() as subscriber, server.connect() as publisher:
        subscriber.send("SUBSCRIBE", "c")
        message = b"x" * MIB

        def is_cut_off() -> bool:
            return publisher.send("PUBLISH", "c", message) == b":0\r\n"

        until(is_cut_off)
        assert info(publisher, "stats", "client_output_buffer_limit_disconnections") == 1


def test_a_client_that_leaves_one_large_reply_for_too_long_is_cut_off(
    run_rillway: Callable[..., RunningServer],
) -> None:
    server = run_rillway("--client-output-buffer-limit", "normal 0 1mb 1")
    with server.connect() as watcher, raw_socket(server) as reader:
        watcher.send("SET", "k", b"x" * 16 * MIB)
        reader.sendall(b"GET k\r\n")
        until(lambda: info(watcher, "stats", "client_output_buffer_limit_disconnections") == 1)
        assert info(watcher, "clients", "connected_clients") == 1


def test_a_client_that_takes_its_large_replies_is_not_cut_off(
    run_rillway: Callable[..., RunningServer],
) -> None:
    limit_seconds = 2  # a reply of 32 MB takes far less on the busiest of machines
    server = run_rillway("--client-output-buffer-limit", f"normal 0 1mb {limit_seconds}")
    with server.connect() as client:
        client.send("SET", "k", b"x" * 32 * MIB)
        end = time.monotonic() + limit_seconds + 1
        while time.monotonic() < end:
            assert len(client.send("GET", "k")) > 32 * MIB


def test_what_a_slow_reader_leaves_is_counted_until_it_reads(
    run_rillway: Callable[..., RunningServer],
) -> None:
    size = 1_000_000  # a longer one is sent in pieces, no faster than it is read
    server = run_rillway("--maxmemory-clients", "1gb")  # so that requests do not wait for it
    with server.connect() as watcher, raw_socket(server) as sock:
        watcher.send("SET", "k", b"x" * size)
        before = info(watcher, "memory", "mem_clients_normal")
        sock.sendall(b"CLIENT SETNAME slow\r\n" + b"GET k\r\n" * 20)
        until(lambda: info(watcher, "memory", "mem_clients_normal") - before > 10 * MIB)
        line = next(one for one in watcher.send("CLIENT", "LIST").split(b"\n") if b"slow" in one)
        held = {
            name: int(re.findall(rb" %b=(\d+)" % name, line)[0]) for name in (b"omem", b"tot-mem")
        }
        assert 10 * MIB < held[b"omem"] < held[b"tot-mem"] < held[b"omem"] + 10_000
        left = 20 * (size + len("$1000000\r\n\r\n")) + len("+OK\r\n")
        while left:
            chunk = sock.recv(min(left, 65536))
            assert chunk
            left -= len(chunk)
        until(lambda: info(watcher, "memory", "mem_clients_normal") - before < 10_000)


def test_a_replica_that_never_reads_is_cut_off_at_its_limit(
    run_rillway: Callable[..., RunningServer],
) -> None:
    limit = ("--client-output-buffer-limit", "replica 1mb 0 0")
    server = run_rillway(*limit, "--repl-diskless-sync-delay", "0")
    with server.connect() as writer, raw_socket(server) as replica:
        replica.sendall(b"REPLCONF capa eof\r\n")
        assert replica.recv(100) == b"+OK\r\n"
        replica.sendall(b"PSYNC ? -1\r\n")
        until(lambda: info(writer, "replication", "connected_slaves") == 1)

        def is_cut_off() -> bool:
            writer.send("SET", "k", b"x" * MIB)
            return info(writer, "replication", "connected_slaves") == 0

        until(is_cut_off)


def test_a_request_beyond_the_query_buffer_limit_is_cut_off(
    run_rillway: Callable[..., RunningServer],
) -> None:
    server = run_rillway("--client-query-buffer-limit", "1mb")
    with raw_socket(server) as sock, pytest.raises((ConnectionError, BrokenReply)):
        for _ in range(4):
            sock.sendall(b"*1\r\n$3000000\r\n" + b"x" * MIB)
        if read_to_end(sock) == b"":
            raise BrokenReply("closed without an answer")


@pytest.fixture
def guarded(run_rillway: Callable[..., RunningServer]) -> RunningServer:
    """A server with a password."""
    server = run_rillway()
    with server.connect() as client:
        client.send("CONFIG", "SET", "requirepass", "secret")
    return server


def test_strangers_that_send_much_are_closed_and_others_are_answered(
    guarded: RunningServer,
) -> None:
    refused = b"-NOAUTH Authentication required.\r\n"
    with ExitStack() as kept:
        strangers = [kept.enter_context(raw_socket(guarded)) for _ in range(40)]
        known, late = (kept.enter_context(raw_socket(guarded)) for _ in range(2))
        assert _answer(known, b"AUTH secret\r\n") == b"+OK\r\n"
        for stranger in strangers:
            stranger.sendall(b"PING\r\n" * 1000)
        known.sendall(b"INCR n\r\n" * 1000 + b"QUIT\r\n")
        late.sendall(b"PING\r\n" * 20 + b"AUTH secret\r\n" + b"PING\r\n" * 200 + b"QUIT\r\n")
        assert [read_to_end(stranger) for stranger in strangers] == [refused * 100] * 40
        assert read_to_end(known).endswith(b":1000\r\n+OK\r\n")
        assert read_to_end(late) == refused * 20 + b"+OK\r\n" + b"+PONG\r\n" * 200 + b"+OK\r\n"
    assert guarded.log.read_text().count("before login") == 1  # and one line a minute for the rest


def test_a_client_that_logs_in_with_its_first_request_of_many_is_answered_in_order(
    guarded: RunningServer,
) -> None:
    with raw_socket(guarded) as sock:
        sock.sendall(
            b"*3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$6\r\nsecret\r\n" + b"INCR n\r\n" * 100_000
        )
        sock.sendall(b"QUIT\r\n")
        assert read_to_end(sock).endswith(b":100000\r\n+OK\r\n")


def test_more_clients_than_maxclients_are_refused(
    run_rillway: Callable[..., RunningServer],
) -> None:
    server = run_rillway("--maxclients", "2")
    with server.connect() as first, server.connect() as second:
        assert first.send("PING") == second.send("PING") == b"+PONG\r\n"
        with raw_socket(server) as third:
            assert read_to_end(third) == b"-ERR max number of clients reached\r\n"
    with server.connect() as later:
        until(lambda: info(later, "clients", "connected_clients") == 1)


def test_a_reader_that_gave_up_takes_no_entry_with_it(rillway_server: RunningServer) -> None:
    with rillway_server.connect() as client:
        client.send("DEL", "s")
        client.send("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
        dead = rillway_server.connect()
        blocked = info(client, "clients", "blocked_clients")
        dead.write("XREADGROUP", "GROUP", "g", "dead", "BLOCK", "0", "STREAMS", "s", ">")
        until(lambda: info(client, "clients", "blocked_clients") == blocked + 1)
        # The close and the entry may reach the server in the same cycle, in either order.
        dead.close()
        client.send("XADD", "s", "1-1", "f", "v")
        reply = client.send("XREADGROUP", "GROUP", "g", "alive", "STREAMS", "s", ">")
        assert b"1-1" in reply
        until(lambda: info(client, "clients", "blocked_clients") == blocked)
        client.send("DEL", "s")


def test_a_deadline_is_kept_by_the_clock(rillway_server: RunningServer) -> None:
    with rillway_server.connect() as client:
        begun = time.monotonic()
        assert client.send("XREAD", "BLOCK", "50", "STREAMS", "nothing", "$") == b"*-1\r\n"
        assert time.monotonic() - begun >= 0.049


def test_a_unix_socket_serves_as_well(
    run_rillway: Callable[..., RunningServer], tmp_path: Path
) -> None:
    path = tmp_path / "rillway.sock"
    server = run_rillway("--unixsocket", str(path), "--unixsocketperm", "700")
    assert path.stat().st_mode & 0o777 == 0o700
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(path))
        sock.sendall(b"PING\r\n")
        assert sock.recv(100) == b"+PONG\r\n"
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(DEADLINE_SECONDS) == 0
    assert not path.exists()


def test_a_file_in_the_place_of_the_unix_socket_stops_the_start_and_stays(
    run_rillway: Callable[..., RunningServer], tmp_path: Path
) -> None:
    path, pid_file = tmp_path / "precious", tmp_path / "rillway.pid"
    path.write_text("text")
    with pytest.raises(ServerFailed, match=f"{path}: there is a file of that name"):
        run_rillway("--unixsocket", str(path), "--pidfile", str(pid_file))
    assert path.read_text() == "text"
    assert not pid_file.exists()


def test_a_unix_socket_that_is_in_use_is_left_to_its_server(
    run_rillway: Callable[..., RunningServer], tmp_path: Path
) -> None:
    path = tmp_path / "rillway.sock"
    first = run_rillway("--unixsocket", str(path))
    with pytest.raises(ServerFailed, match="another server listens there"):
        run_rillway("--unixsocket", str(path))
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(path))
    first.kill()
    run_rillway("--unixsocket", str(path))
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(path))


def test_a_server_that_is_open_to_everyone_says_so(
    run_rillway: Callable[..., RunningServer],
) -> None:
    open_server = run_rillway("--bind", "0.0.0.0", "--protected-mode", "no")
    assert "No password is set and protected-mode is off" in open_server.output()
    closed = run_rillway("--bind", "0.0.0.0", "--protected-mode", "yes")
    assert "No password" not in closed.output()


def test_only_the_addresses_of_bind_are_listened_on(
    run_rillway: Callable[..., RunningServer],
) -> None:
    server = run_rillway("--bind", "127.0.0.1")
    for address in ("127.0.0.2", "::1"):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address, server.port), timeout=DEADLINE_SECONDS)


def connected(
    server: InProcessServer, peer: str, sock: socket.socket | None = None
) -> tuple[connection.Connection, bytes]:
    """A connection from an address, and what it is told at once."""
    transport = Mock()
    known = {"peername": (peer, 4711), "sockname": ("10.0.0.1", 6379), "socket": sock}
    transport.get_extra_info.side_effect = known.get
    transport.get_write_buffer_size.return_value = 0
    made = connection.Connection(Mock(), server.cycle, Mock(), Mock())
    made.connection_made(transport)
    return made, b"".join(call.args[0] for call in transport.write.call_args_list)


@pytest.mark.parametrize("peer", ["10.0.0.9", "2001:db8::1"])
@pytest.mark.parametrize(
    ("directives", "is_refused"),
    [
        ({}, True),
        ({"protected_mode": "no"}, False),
        ({"requirepass": "secret"}, False),
    ],
)
def test_protected_mode_refuses_other_machines_as_long_as_there_is_no_password(
    directives: dict[str, str], is_refused: bool, peer: str
) -> None:
    server = InProcessServer(1_700_000_000_000, 0, **directives)
    far, told = connected(server, peer)
    assert told.startswith(b"-DENIED ") == is_refused == far.client.closed
    assert server.instance.stats.rejected_connections == is_refused
    for neighbour in ("127.0.0.5", "::1"):
        near, told = connected(server, neighbour)
        assert told == b"" and not near.client.closed


@pytest.mark.parametrize(("seconds", "is_on"), [("90", True), ("0", False)])
def test_tcp_keepalive_finds_peers_that_are_gone(seconds: str, is_on: bool) -> None:
    with socket.socket() as sock:
        connected(InProcessServer(tcp_keepalive=seconds), "127.0.0.1", sock)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == is_on
        if is_on:
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 90
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL) == 30
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == 3


def test_a_pid_file_exists_while_the_server_runs(
    run_rillway: Callable[..., RunningServer], tmp_path: Path
) -> None:
    path = tmp_path / "rillway.pid"
    server = run_rillway("--pidfile", str(path))
    assert path.read_text() == f"{server.process.pid}\n"
    server.stop()
    assert not path.exists()


def test_a_pid_file_that_cannot_be_written_does_not_stop_the_start(
    run_rillway: Callable[..., RunningServer], tmp_path: Path
) -> None:
    path = tmp_path / "missing" / "rillway.pid"
    server = run_rillway("--pidfile", str(path))
    assert server.stop() == 0
    assert f"Failed to write PID file {path}: No such file or directory" in server.output()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_cleanly(
    run_rillway: Callable[..., RunningServer], number: signal.Signals
) -> None:
    server = run_rillway()
    with server.connect() as client:
        client.write("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
        server.process.send_signal(number)
        assert server.process.wait(DEADLINE_SECONDS) == 0
        with pytest.raises(BrokenReply):
            client.read_reply()
    assert "Traceback" not in server.output()


def test_the_end_does_not_need_the_files_that_the_server_made(
    run_rillway: Callable[..., RunningServer], tmp_path: Path
) -> None:
    pid_file, unix_socket = tmp_path / "rillway.pid", tmp_path / "rillway.sock"
    server = run_rillway("--pidfile", str(pid_file), "--unixsocket", str(unix_socket))
    pid_file.unlink()
    unix_socket.unlink()
    assert server.stop() == 0
    assert "Traceback" not in server.output()


def test_a_terminal_that_closes_does_not_end_the_server(
    run_rillway: Callable[..., RunningServer],
) -> None:
    server = run_rillway()
    server.process.send_signal(signal.SIGHUP)
    with server.connect() as client:
        assert client.send("PING") == b"+PONG\r\n"
    assert server.process.poll() is None


def test_shutdown_ends_the_server(run_rillway: Callable[..., RunningServer]) -> None:
    server = run_rillway()
    with server.connect() as client, pytest.raises(BrokenReply):
        client.send("SHUTDOWN", "NOSAVE")
    assert server.process.wait(DEADLINE_SECONDS) == 0


def test_the_port_can_be_changed_while_it_runs(run_rillway: Callable[..., RunningServer]) -> None:
    server = run_rillway()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        new_port = probe.getsockname()[1]
    with server.connect() as client:
        assert client.send("CONFIG", "SET", "port", new_port) == b"+OK\r\n"

        def answers() -> bool:
            try:
                with RespClient(new_port) as moved:
                    return moved.send("PING") == b"+PONG\r\n"
            except OSError:
                return False

        until(answers)
        assert client.send("PING") == b"+PONG\r\n"
        with pytest.raises(OSError, match="refused"):
            RespClient(server.port)


def test_a_port_that_is_taken_stops_the_start(
    rillway_server: RunningServer, run_rillway: Callable[..., RunningServer]
) -> None:
    port, pid = rillway_server.port, rillway_server.process.pid
    with pytest.raises(
        ServerFailed, match=rf"Could not start: port {port} is in use by .*, pid {pid}; try --port "
    ):
        run_rillway("--port", str(port))


@pytest.mark.parametrize("is_linux", [True, False])
def test_it_is_seen_on_a_socket_that_the_peer_has_left(
    monkeypatch: pytest.MonkeyPatch, is_linux: bool
) -> None:
    if not is_linux:
        monkeypatch.setattr(connection, "_PEER_CLOSED", 0)
    ours, theirs = socket.socketpair()
    transport = Mock()
    transport.is_closing.return_value = False
    transport.get_extra_info.return_value = ours
    with ours:
        seen = connection.Connection.__new__(connection.Connection)
        seen.transport = transport
        seen.fd = ours.fileno()
        assert not seen.peer_has_closed()
        theirs.close()
        assert seen.peer_has_closed()


def test_client_list_counts_the_bytes_that_a_client_sends_and_gets(server: RunningServer) -> None:
    sent = b"CLIENT ID\r\n", b"ECHO %b\r\n" % (b"x" * 1000)
    with server.connect() as watcher, raw_socket(server) as sock:
        replies = [_answer(sock, request) for request in sent]
        number = replies[0][1:-2].decode()
        line = watcher.send("CLIENT", "LIST", "ID", number).decode()
    fields = dict(field.split("=") for field in line.split("\r\n")[1].split())
    assert fields["tot-net-in"] == str(sum(map(len, sent)))
    assert fields["tot-net-out"] == str(sum(map(len, replies)))
    assert (fields["tot-cmds"], fields["read-events"]) == ("2", "2")


def _answer(sock: socket.socket, request: bytes) -> bytes:
    """Send a request; the reply, which ends with a line."""
    sock.sendall(request)
    reply = b""
    while not reply.endswith(b"\r\n") or (reply.startswith(b"$") and reply.count(b"\n") < 2):
        reply += sock.recv(65536)
    return reply
