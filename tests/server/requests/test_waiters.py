"""server/requests/waiters.py: blocked clients are served, woken, or time out."""

from __future__ import annotations

import pytest

from commands.core.blocked_clients import BlockedClients
from commands.core.registry import COMMANDS
from protocol import errors
from protocol.request import Request
from server.inprocess.server import InProcessClient, InProcessServer


def test_several_appends_of_one_cycle_reach_a_waiter_as_one_reply(server: InProcessServer) -> None:
    reader, writer = server.connect(), server.connect()
    assert reader.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$") == b""
    writer.pipeline(("XADD", "s", "1-1", "f", "a"), ("XADD", "s", "1-2", "f", "b"))
    assert reader.received() == (
        b"*1\r\n*2\r\n$1\r\ns\r\n*2\r\n"
        b"*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\na\r\n"
        b"*2\r\n$3\r\n1-2\r\n*2\r\n$1\r\nf\r\n$1\r\nb\r\n"
    )


def test_no_later_command_of_the_cycle_takes_an_entry_from_a_waiter() -> None:
    server = InProcessServer()
    reader, writer = server.connect(), server.connect()
    reader.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    writer.pipeline(("XADD", "s", "1-1", "f", "a"), ("DEL", "s"))
    assert b"1-1" in reader.received()


def test_an_append_with_a_cap_does_not_take_an_entry_from_a_waiter(server: InProcessServer) -> None:
    reader, writer = server.connect(), server.connect()
    reader.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    writer.pipeline(("XADD", "s", "1-1", "f", "a"), ("XADD", "s", "MAXLEN", "1", "1-2", "f", "b"))
    assert b"1-1" in reader.received()


def test_no_entry_of_a_group_goes_to_a_peer_that_has_left(server: InProcessServer) -> None:
    dead, alive, writer = server.connect(), server.connect(), server.connect()
    writer.execute("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    for name, client in (("dead", dead), ("alive", alive)):
        client.execute("XREADGROUP", "GROUP", "g", name, "BLOCK", "0", "STREAMS", "s", ">")
    dead.is_gone = True
    writer.execute("XADD", "s", "1-1", "f", "a")
    assert dead.closed
    assert b"1-1" in alive.received()


def test_a_waiter_that_has_lost_its_right_to_the_key_gets_an_error(
    server: InProcessServer,
) -> None:
    reader, other = server.connect(), server.connect()
    other.execute("ACL", "SETUSER", "bob", "on", "nopass", "+@all", "~s")
    assert reader.execute("AUTH", "bob", "any") == b"+OK\r\n"
    assert reader.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$") == b""
    other.execute("ACL", "SETUSER", "bob", "resetkeys", "~t")
    other.execute("XADD", "s", "1-1", "f", "v")
    assert reader.received().startswith(b"-NOPERM ")


def test_a_blocked_client_goes_on_with_what_it_sent_meanwhile(server: InProcessServer) -> None:
    reader, writer = server.connect(), server.connect()
    assert reader.pipeline(("XREAD", "BLOCK", "0", "STREAMS", "s", "$"), ("PING",)) == b""
    assert reader.execute("ECHO", "x") == b""
    writer.execute("XADD", "s", "1-1", "f", "a")
    assert reader.received().endswith(b"+PONG\r\n$1\r\nx\r\n")


def test_readers_that_ask_the_same_wait_with_one_block_and_get_one_answer() -> None:
    server = InProcessServer()
    readers = [server.connect() for _ in range(5)]
    writer = server.connect()
    readers[3].execute("HELLO", "3")
    for reader in readers:
        assert reader.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "0-5") == b""
    blocked = server.instance.feature(BlockedClients)
    blocks = [blocked.clients[reader.state].block for reader in readers]
    assert blocks[0] is blocks[1] is blocks[2] is not blocks[3]
    stats = server.instance.stats
    before, hits = stats.commands_processed, stats.keyspace_hits
    writer.execute("XADD", "s", "1-1", "f", "a")
    entry = b"*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\na\r\n"
    for reader in readers:
        head = b"%1\r\n" if reader is readers[3] else b"*1\r\n*2\r\n"
        assert reader.received() == head + b"$1\r\ns\r\n*1\r\n" + entry
        assert reader.execute("PING") == b"+PONG\r\n"
    assert not blocked.clients and not blocked.waiters
    assert stats.commands_processed - before == 1 + 5 + 5
    assert stats.keyspace_hits - hits == 5


def test_readers_that_ask_for_different_ids_or_counts_get_different_answers() -> None:
    server = InProcessServer()
    first, second, third, writer = (server.connect() for _ in range(4))
    first.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "1-1")
    second.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "1-2")
    third.execute("XREAD", "BLOCK", "0", "COUNT", "1", "STREAMS", "s", "1-1")
    writer.pipeline(*[("XADD", "s", f"1-{seq}", "f", "v") for seq in (2, 3, 4)])
    counts = [client.received().count(b"$1\r\nv\r\n") for client in (first, second, third)]
    assert counts == [3, 2, 1]


def test_a_dollar_is_no_common_request(server: InProcessServer) -> None:
    first, second, writer = (server.connect() for _ in range(3))
    writer.execute("XADD", "s", "5-1", "f", "v")
    first.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    writer.execute("DEL", "s")
    second.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    writer.execute("XADD", "s", "4-1", "f", "v")
    assert first.received() == b"" and b"4-1" in second.received()


def test_one_of_several_waiters_can_leave(server: InProcessServer) -> None:
    first, second, third, writer = (server.connect() for _ in range(4))
    for client in (first, second, third):
        client.execute("XREAD", "BLOCK", "100", "STREAMS", "s", "1-1")
        server.advance(10)
    second.disconnect()
    server.advance(70)
    assert first.received() == b"*-1\r\n" and third.received() == b""
    writer.execute("XADD", "s", "1-2", "f", "v")
    assert b"1-2" in third.received()
    assert not server.instance.feature(BlockedClients).waiters


def test_a_request_like_that_of_a_waiter_still_gets_its_error(server: InProcessServer) -> None:
    first, second = server.connect(), server.connect()
    words = ("XREAD", "BLOCK", "0", "STREAMS", "s", "1-1")
    first.execute(*words)
    second.execute("SET", "s", "v")
    assert second.execute(*words).startswith(b"-WRONGTYPE")
    second.pipeline(("DEL", "s"), ("MULTI",), words, ("EXEC",))
    assert second.received() == b""


def test_a_deadline_answers_null_and_not_before_its_time(server: InProcessServer) -> None:
    reader = server.connect()
    reader.execute("XREAD", "BLOCK", "100", "STREAMS", "s", "$")
    server.advance(99)
    assert reader.received() == b""
    server.advance(1)
    assert reader.received() == b"*-1\r\n"
    assert reader.execute("PING") == b"+PONG\r\n"


def test_a_waiter_that_finds_nothing_keeps_its_deadline(server: InProcessServer) -> None:
    first, second, writer = server.connect(), server.connect(), server.connect()
    writer.execute("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    first.execute("XREADGROUP", "GROUP", "g", "a", "BLOCK", "0", "STREAMS", "s", ">")
    second.execute("XREADGROUP", "GROUP", "g", "b", "BLOCK", "100", "STREAMS", "s", ">")
    server.advance(60)
    writer.execute("XADD", "s", "1-1", "f", "a")
    assert b"1-1" in first.received() and second.received() == b""
    server.advance(40)
    assert second.received() == b"*-1\r\n"


def test_a_reader_that_waits_gets_nothing_delivered_while_writes_are_refused() -> None:
    server = InProcessServer()
    reader = server.connect()
    reader.execute("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    words = ("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
    assert reader.execute(*words) == b""
    refusal = errors.misconf_append_only_file(b"No space left on device")
    writer = server.connect()
    server.dispatcher.execute(writer.state, Request([b"XADD", b"s", b"1-1", b"f", b"v"]))
    server.instance.refuse_writes(refusal)
    server.cycle.finish()
    assert reader.received() == refusal.wire
    server.instance.refuse_writes(None)
    assert reader.execute("XPENDING", "s", "g").startswith(b"*4\r\n:0\r\n")


# -- client-side caching ---------------------------------------------------------------------------

INVALIDATED = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$%d\r\n%b\r\n"


def tracking(server: InProcessServer, *options: str) -> InProcessClient:
    client = server.connect()
    client.execute("HELLO", 3)
    client.execute("CLIENT", "TRACKING", "ON", *options)
    return client


def test_what_a_served_command_invalidates_follows_its_reply(server: InProcessServer) -> None:
    client = tracking(server)
    client.execute("LRANGE", "from", 0, -1)
    client.execute("LRANGE", "to", 0, -1)
    assert client.execute("BLMOVE", "from", "to", "LEFT", "RIGHT", 0) == b""
    server.connect().execute("RPUSH", "from", "x")
    pushed, moved = INVALIDATED % (4, b"from"), INVALIDATED % (2, b"to")
    assert client.received() == pushed + b"$1\r\nx\r\n" + moved


def test_client_caching_holds_for_a_command_that_blocks(server: InProcessServer) -> None:
    client = tracking(server, "OPTIN")
    client.execute("CLIENT", "CACHING", "YES")
    assert client.execute("XREAD", "BLOCK", 0, "STREAMS", "s", "$") == b""
    other = server.connect()
    other.execute("XADD", "s", "1-1", "f", "v")
    assert client.received().startswith(INVALIDATED % (1, b"s") + b"%1\r\n")
    other.execute("XADD", "s", "2-1", "f", "v")
    assert client.received() == INVALIDATED % (1, b"s")


@pytest.mark.parametrize(
    "words",
    [
        "BLPOP k 1",
        "BLMOVE k l LEFT LEFT 1",
        "BZPOPMIN k 1",
        "XREAD BLOCK 1000 STREAMS x $",
        "XREADGROUP GROUP g c BLOCK 1000 STREAMS x >",
        "WAIT 1 1000",
    ],
)
def test_a_command_that_times_out_counts_as_one_call(words: str) -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("XGROUP", "CREATE", "x", "g", "$", "MKSTREAM")
    command = COMMANDS[words.split()[0].lower().encode()]
    assert client.execute(*words.split()) == b""
    assert server.instance.stats.of(command).calls == 0
    server.advance(1001)
    assert client.received()
    stats = server.instance.stats.of(command)
    assert (stats.calls, stats.failed_calls) == (1, 0)


def test_a_command_that_another_client_ends_with_an_error_counts_as_a_failed_call() -> None:
    server = InProcessServer()
    client, other = server.connect(), server.connect()
    client.execute("BLPOP", "k", "0")
    other.execute("CLIENT", "UNBLOCK", str(client.state.id), "ERROR")
    assert client.received().startswith(b"-UNBLOCKED")
    stats = server.instance.stats.of(COMMANDS[b"blpop"])
    assert (stats.calls, stats.failed_calls) == (1, 1)


# -- the clock is set --------------------------------------------------------------------------

WAITS = [
    "XREAD BLOCK 3000 STREAMS s $",
    "XREADGROUP GROUP g c BLOCK 3000 STREAMS s >",
    "XREADGROUP GROUP g c BLOCK 3000 CLAIM 1000 STREAMS s >",
    "BLPOP l 3",
    "BRPOP l 3",
    "BLMOVE l m LEFT LEFT 3",
    "BRPOPLPUSH l m 3",
    "BLMPOP 3 1 l LEFT",
    "BZPOPMIN z 3",
    "BZPOPMAX z 3",
    "BZMPOP 3 1 z MIN",
    "WAIT 1 3000",
    "WAITAOF 0 1 3000",
]


@pytest.mark.parametrize("jump_ms", [-3_600_000, 7_200_000])
@pytest.mark.parametrize("wait", WAITS)
def test_a_clock_that_is_set_neither_prolongs_nor_ends_a_wait(wait: str, jump_ms: int) -> None:
    server = InProcessServer()
    reader, other = server.connect(), server.connect()
    other.execute("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    reader.execute("SET", "k", "v")  # that WAIT has something to wait for
    assert reader.execute(*wait.split()) == b""
    server.now_ms += jump_ms
    server.advance(2999)
    assert reader.received() == b""
    server.advance(1)
    assert reader.received()


@pytest.mark.parametrize("jump_ms", [-3_600_000, 7_200_000])
@pytest.mark.parametrize("mode", ["ALL", "WRITE"])
def test_a_clock_that_is_set_neither_prolongs_nor_ends_a_pause(mode: str, jump_ms: int) -> None:
    server = InProcessServer()
    writer, other = server.connect(), server.connect()
    other.execute("CLIENT", "PAUSE", "3000", mode)
    assert writer.execute("SET", "k", "v") == b""
    server.now_ms += jump_ms
    server.advance(2999)
    assert writer.received() == b""
    server.advance(1)
    assert writer.received() == b"+OK\r\n"


@pytest.mark.parametrize("jump_ms", [-3_600_000, 7_200_000])
def test_a_clock_that_is_set_leaves_idle_clients_their_time(jump_ms: int) -> None:
    server = InProcessServer(timeout="3")
    client = server.connect()
    client.execute("PING")
    server.now_ms += jump_ms
    server.advance(3000)
    assert not client.closed
    server.advance(1)
    assert client.closed


def test_keys_expire_by_the_clock_that_is_set() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("SET", "k", "v", "EX", "100")
    server.now_ms -= 3_600_000
    server.advance(200_000)
    assert client.execute("GET", "k") == b"$1\r\nv\r\n"
    server.now_ms += 3_600_000
    assert client.execute("GET", "k") == b"$-1\r\n"
