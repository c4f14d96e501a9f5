"""server/dispatch.py: lookup, gates, accounting, propagation, blocked clients."""

from __future__ import annotations

import pytest

from commands.client import Client
from commands.registry import COMMANDS, Argv
from protocol import errors
from server.inprocess import InProcessServer


def test_a_command_is_found_in_any_spelling() -> None:
    client = InProcessServer().connect()
    assert (
        client.execute("PING") == client.execute("ping") == client.execute("PiNg") == b"+PONG\r\n"
    )


def test_an_unknown_command_is_answered_as_redis_does() -> None:
    reply = InProcessServer().connect().execute("NOPE", "a")
    assert reply == b"-ERR unknown command 'NOPE', with args beginning with: 'a' \r\n"


def test_an_unknown_subcommand_names_its_container() -> None:
    reply = InProcessServer().connect().execute("XGROUP", "NOPE", "s")
    assert reply == b"-ERR unknown subcommand 'NOPE'. Try XGROUP HELP.\r\n"


def test_an_http_request_closes_the_connection_before_its_body_can_run() -> None:
    server = InProcessServer()
    client = server.connect()
    assert client.feed(b"POST / HTTP/1.1\r\nHost: x\r\n\r\nSET k v\r\n") == b""
    assert client.closed
    assert server.connect().execute("EXISTS", "k") == b":0\r\n"


def test_wrong_arity_is_refused_before_the_handler_runs() -> None:
    client = InProcessServer().connect()
    assert client.execute("GET") == b"-ERR wrong number of arguments for 'get' command\r\n"
    reply = client.execute("XGROUP", "CREATE", "s")
    assert reply == b"-ERR wrong number of arguments for 'xgroup|create' command\r\n"


def test_nothing_but_authentication_runs_before_it() -> None:
    client = InProcessServer(requirepass="secret").connect()
    assert client.execute("GET", "k") == b"-NOAUTH Authentication required.\r\n"
    assert client.execute("NOPE")[:20] == b"-ERR unknown command"
    assert client.execute("AUTH", "secret") == b"+OK\r\n"
    assert client.execute("GET", "k") == b"$-1\r\n"


def test_authentication_in_front_of_a_large_request_lifts_its_limits() -> None:
    client = InProcessServer(requirepass="secret").connect()
    reply = client.pipeline(("AUTH", "secret"), ("ECHO", "x" * 20000))
    assert reply == b"+OK\r\n$20000\r\n" + b"x" * 20000 + b"\r\n"


def test_a_refused_request_spoils_the_transaction() -> None:
    client = InProcessServer().connect()
    reply = client.pipeline(("MULTI",), ("NOPE",), ("SET", "k", "v"), ("EXEC",), ("GET", "k"))
    assert reply.startswith(b"+OK\r\n-ERR unknown command")
    assert reply.endswith(
        b"+QUEUED\r\n-EXECABORT Transaction discarded because of previous errors.\r\n$-1\r\n"
    )


def test_while_data_is_loaded_only_what_needs_none_runs() -> None:
    server = InProcessServer()
    client = server.connect()
    client.pipeline(("MULTI",), ("SET", "k", "v"))
    server.instance.set_loading(True)
    refused = b"-LOADING Redis is loading the dataset in memory\r\n"
    assert client.execute("EXEC") == b"-EXECABORT Transaction discarded because of: " + refused[1:]
    assert client.execute("GET", "k") == refused
    assert client.execute("PING") == refused
    assert client.execute("INFO", "persistence").startswith(b"$")
    server.instance.set_loading(False)
    assert client.execute("GET", "k") == b"$-1\r\n"


def test_writes_are_refused_while_they_could_not_be_kept() -> None:
    server = InProcessServer()
    client = server.connect()
    client.pipeline(("MULTI",), ("SET", "k", "v"))
    server.instance.refuse_writes(errors.misconf_append_only_file(b"No space left on device"))
    refused = b"-MISCONF Errors writing to the AOF file: No space left on device\r\n"
    assert client.execute("EXEC") == b"-EXECABORT Transaction discarded because of: " + refused[1:]
    assert client.execute("SET", "k", "v") == refused
    assert client.execute("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">") == refused
    assert client.execute("PING") == refused
    assert client.execute("GET", "k") == b"$-1\r\n"
    server.instance.refuse_writes(None)
    assert client.execute("SET", "k", "v") == b"+OK\r\n"


def test_a_client_knows_up_to_where_its_writes_were_propagated() -> None:
    server = InProcessServer()
    client, other = server.connect(), server.connect()
    client.execute("SET", "k", "v")
    client.execute("GET", "k")
    other.pipeline(("MULTI",), ("SET", "a", "1"), ("SET", "b", "2"), ("EXEC",))
    assert (client.state.write_offset, other.state.write_offset) == (1, 2)


def test_calls_failures_and_rejections_are_counted_apart() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("SET", "k", "v")
    client.execute("GET", "k")
    client.execute("GET")
    client.execute("XADD", "k", "*", "f", "v")
    get, xadd = (server.instance.stats.of(COMMANDS[name]) for name in (b"get", b"xadd"))
    assert (get.calls, get.failed_calls, get.rejected_calls) == (1, 0, 1)
    assert (xadd.calls, xadd.failed_calls, xadd.rejected_calls) == (1, 1, 0)
    assert server.instance.stats.errors == {b"ERR": 1, b"WRONGTYPE": 1}


def test_a_write_is_propagated_and_a_read_is_not() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("SET", "k", "v")
    client.execute("GET", "k")
    client.execute("SELECT", "3")
    client.execute("SET", "k", "w")
    assert server.propagated == [(0, [[b"SET", b"k", b"v"]]), (3, [[b"SET", b"k", b"w"]])]


def test_a_transaction_is_propagated_as_one() -> None:
    server = InProcessServer()
    server.connect().pipeline(("MULTI",), ("SET", "a", "1"), ("SET", "b", "2"), ("EXEC",))
    set_a, set_b = [b"SET", b"a", b"1"], [b"SET", b"b", b"2"]
    assert server.propagated == [(0, [[b"MULTI"], set_a, set_b, [b"EXEC"]])]


def test_a_key_that_expires_within_a_transaction_is_deleted_at_its_place() -> None:
    server = InProcessServer(now_ms=1000)
    client = server.connect()
    client.execute("SET", "k", "old", "PXAT", "2000")
    server.propagated.clear()
    server.instance.active_expiry = False
    server.now_ms = 3000
    client.pipeline(("MULTI",), ("SET", "a", "1"), ("GET", "k"), ("SET", "b", "2"), ("EXEC",))
    set_a, set_b = [b"SET", b"a", b"1"], [b"SET", b"b", b"2"]
    unit = [[b"MULTI"], set_a, [b"DEL", b"k"], set_b, [b"EXEC"]]
    assert server.propagated == [(0, unit)]


def test_a_defect_in_a_handler_takes_nobody_down(monkeypatch: pytest.MonkeyPatch) -> None:
    server = InProcessServer()
    client = server.connect()

    def broken(client: Client, argv: Argv) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(COMMANDS[b"echo"], "handler", broken)
    assert client.execute("ECHO", "x").startswith(b"-ERR internal error")
    assert any("ZeroDivisionError" in text for _, text in server.log_lines)
    assert client.execute("PING") == b"+PONG\r\n"


# -- blocked clients -----------------------------------------------------------------------------


def test_several_appends_of_one_cycle_reach_a_waiter_as_one_reply() -> None:
    server = InProcessServer()
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


def test_an_append_with_a_cap_does_not_take_an_entry_from_a_waiter() -> None:
    server = InProcessServer()
    reader, writer = server.connect(), server.connect()
    reader.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    writer.pipeline(("XADD", "s", "1-1", "f", "a"), ("XADD", "s", "MAXLEN", "1", "1-2", "f", "b"))
    assert b"1-1" in reader.received()


def test_no_entry_of_a_group_goes_to_a_peer_that_has_left() -> None:
    server = InProcessServer()
    dead, alive, writer = server.connect(), server.connect(), server.connect()
    writer.execute("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    for name, client in (("dead", dead), ("alive", alive)):
        client.execute("XREADGROUP", "GROUP", "g", name, "BLOCK", "0", "STREAMS", "s", ">")
    server.gone.add(dead.state)
    writer.execute("XADD", "s", "1-1", "f", "a")
    assert dead.closed
    assert b"1-1" in alive.received()


def test_a_blocked_client_goes_on_with_what_it_sent_meanwhile() -> None:
    server = InProcessServer()
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
    blocks = [reader.state.waiting.block for reader in readers if reader.state.waiting]
    assert blocks[0] is blocks[1] is blocks[2] is not blocks[3]
    stats = server.instance.stats
    before, hits = stats.commands_processed, stats.keyspace_hits
    writer.execute("XADD", "s", "1-1", "f", "a")
    entry = b"*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\na\r\n"
    for reader in readers:
        head = b"%1\r\n" if reader is readers[3] else b"*1\r\n*2\r\n"
        assert reader.received() == head + b"$1\r\ns\r\n*1\r\n" + entry
        assert reader.execute("PING") == b"+PONG\r\n"
    assert not server.instance.blocked.clients and not server.instance.blocked.waiters
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


def test_a_dollar_is_no_common_request() -> None:
    server = InProcessServer()
    first, second, writer = (server.connect() for _ in range(3))
    writer.execute("XADD", "s", "5-1", "f", "v")
    first.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    writer.execute("DEL", "s")
    second.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    writer.execute("XADD", "s", "4-1", "f", "v")
    assert first.received() == b"" and b"4-1" in second.received()


def test_who_waits_with_others_leaves_alone() -> None:
    server = InProcessServer()
    first, second, third, writer = (server.connect() for _ in range(4))
    for client in (first, second, third):
        client.execute("XREAD", "BLOCK", "100", "STREAMS", "s", "1-1")
        server.advance(10)
    second.disconnect()
    server.advance(70)
    assert first.received() == b"*-1\r\n" and third.received() == b""
    writer.execute("XADD", "s", "1-2", "f", "v")
    assert b"1-2" in third.received()
    assert not server.instance.blocked.waiters


def test_who_asks_what_another_one_waits_for_gets_the_error_that_is_due() -> None:
    server = InProcessServer()
    first, second = server.connect(), server.connect()
    words = ("XREAD", "BLOCK", "0", "STREAMS", "s", "1-1")
    first.execute(*words)
    second.execute("SET", "s", "v")
    assert second.execute(*words).startswith(b"-WRONGTYPE")
    second.pipeline(("DEL", "s"), ("MULTI",), words, ("EXEC",))
    assert second.received() == b""


def test_a_deadline_answers_null_and_not_before_its_time() -> None:
    server = InProcessServer()
    reader = server.connect()
    reader.execute("XREAD", "BLOCK", "100", "STREAMS", "s", "$")
    server.advance(99)
    assert reader.received() == b""
    server.advance(1)
    assert reader.received() == b"*-1\r\n"
    assert reader.execute("PING") == b"+PONG\r\n"


def test_a_waiter_that_finds_nothing_keeps_its_deadline() -> None:
    server = InProcessServer()
    first, second, writer = server.connect(), server.connect(), server.connect()
    writer.execute("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    first.execute("XREADGROUP", "GROUP", "g", "a", "BLOCK", "0", "STREAMS", "s", ">")
    second.execute("XREADGROUP", "GROUP", "g", "b", "BLOCK", "100", "STREAMS", "s", ">")
    server.advance(60)
    writer.execute("XADD", "s", "1-1", "f", "a")
    assert b"1-1" in first.received() and second.received() == b""
    server.advance(40)
    assert second.received() == b"*-1\r\n"


def test_what_a_transaction_did_is_not_propagated_after_the_file_was_switched_off_and_on() -> None:
    server = InProcessServer(appendonly="yes")
    server.instance.sinks.pop()  # of the test server: now there is only the file
    client = server.connect()
    client.pipeline(("MULTI",), ("INCR", "k"), ("CONFIG", "SET", "appendonly", "no"), ("EXEC",))
    client.execute("CONFIG", "SET", "appendonly", "yes")
    server.tick()
    client.execute("INCR", "k")
    assert server.restart().connect().execute("GET", "k") == b"$1\r\n2\r\n"


def test_a_reader_that_waits_gets_nothing_delivered_while_writes_are_refused() -> None:
    server = InProcessServer()
    reader = server.connect()
    reader.execute("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    words = ("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
    assert reader.execute(*words) == b""
    refusal = errors.misconf_append_only_file(b"No space left on device")
    writer = server.connect()
    server.dispatcher.execute(writer.state, [b"XADD", b"s", b"1-1", b"f", b"v"])
    server.instance.refuse_writes(refusal)
    server.cycle.finish()
    assert reader.received() == refusal.wire
    server.instance.refuse_writes(None)
    assert reader.execute("XPENDING", "s", "g").startswith(b"*4\r\n:0\r\n")
