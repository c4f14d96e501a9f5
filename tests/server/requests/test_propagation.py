"""server/requests/propagation.py: what commands propagate, as units."""

from __future__ import annotations

from server.inprocess.server import InProcessServer


def test_a_client_knows_up_to_where_its_writes_were_propagated(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    client.execute("SET", "k", "v")
    client.execute("GET", "k")
    other.pipeline(("MULTI",), ("SET", "a", "1"), ("SET", "b", "2"), ("EXEC",))
    assert (client.state.write_offset, other.state.write_offset) == (1, 2)


def test_a_write_is_propagated_and_a_read_is_not() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("SET", "k", "v")
    client.execute("GET", "k")
    client.execute("SELECT", "3")
    client.execute("SET", "k", "w")
    assert server.propagated == [(0, [[b"SET", b"k", b"v"]]), (3, [[b"SET", b"k", b"w"]])]


def test_a_transaction_is_propagated_as_one(server: InProcessServer) -> None:
    server.connect().pipeline(("MULTI",), ("SET", "a", "1"), ("SET", "b", "2"), ("EXEC",))
    set_a, set_b = [b"SET", b"a", b"1"], [b"SET", b"b", b"2"]
    assert server.propagated == [(0, [[b"MULTI"], set_a, set_b, [b"EXEC"]])]


def test_a_transaction_in_two_databases_says_which_request_is_for_which() -> None:
    server = InProcessServer()
    client = server.connect()
    client.pipeline(("MULTI",), ("SET", "a", "1"), ("SELECT", "1"), ("SET", "b", "2"), ("EXEC",))
    set_a, set_b = [b"SET", b"a", b"1"], [b"SET", b"b", b"2"]
    unit = [[b"MULTI"], set_a, [b"SELECT", b"1"], set_b, [b"EXEC"]]
    assert server.propagated == [(0, unit)]


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


def test_what_a_transaction_did_is_not_propagated_after_the_file_was_switched_off_and_on() -> None:
    server = InProcessServer(appendonly="yes")
    server.instance.sinks.pop()  # of the test server: now there is only the file
    client = server.connect()
    client.pipeline(("MULTI",), ("INCR", "k"), ("CONFIG", "SET", "appendonly", "no"), ("EXEC",))
    client.execute("CONFIG", "SET", "appendonly", "yes")
    server.tick()
    client.execute("INCR", "k")
    assert server.restart().connect().execute("GET", "k") == b"$1\r\n2\r\n"
