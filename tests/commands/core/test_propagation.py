"""commands/core/propagation.py: what commands propagate, as units and in batches."""

from __future__ import annotations

import random

import pytest

from commands.core.client import Client
from commands.core.propagation import (
    ANY_DATABASE,
    TO_ALL,
    TO_FILE,
    TO_NONE,
    TO_REPLICAS,
    Propagation,
    Sink,
    units_in,
)
from commands.core.registry import COMMANDS
from protocol.request import Request, words_of_all
from protocol.requests import Argv
from server.inprocess.server import InProcessServer
from storage.append_only.requests import encode_requests, select_request

A, B, C = [b"SET", b"a", b"1"], [b"SET", b"b", b"22"], [b"DEL", b"c"]
MULTI, EXEC = [b"MULTI"], [b"EXEC"]
PUBLISH = [b"PUBLISH", b"c", b"m"]


def select(index: int) -> Argv:
    return [b"SELECT", b"%d" % index]


class Taken:
    """A sink that keeps what it is given, with a SELECT before a batch that needs one."""

    def __init__(self, propagation: Propagation, *, takes_messages: bool = False) -> None:
        self.propagation = propagation
        self.wire = b""
        self.batches = 0
        self.db = ANY_DATABASE
        propagation.add_sink(Sink(self.begin, self.take, takes_messages))

    def begin(self, db_index: int) -> None:
        if db_index not in (self.db, ANY_DATABASE):
            self.wire += select_request(db_index)
            if self.propagation.feeds_stream:
                self.propagation.offset += len(select_request(db_index))
            self.db = db_index

    def take(self, wire: bytes, last_db: int) -> None:
        self.batches += 1
        self.wire += wire
        if last_db != ANY_DATABASE:
            self.db = last_db

    @property
    def requests(self) -> list[Argv]:
        return words_of_all(self.wire)


@pytest.fixture
def propagation() -> Propagation:
    return Propagation()


@pytest.fixture
def taken(propagation: Propagation) -> Taken:
    return Taken(propagation)


def unit(propagation: Propagation, *requests: tuple[int, Argv]) -> None:
    for db_index, request in requests:
        propagation.add(db_index, request)
    propagation.end_unit()


# -- batches of units ----------------------------------------------------------------------------


def test_the_units_of_a_cycle_are_one_batch(propagation: Propagation, taken: Taken) -> None:
    unit(propagation, (0, A))
    unit(propagation, (0, B), (0, C))
    unit(propagation)
    assert taken.batches == 0
    propagation.hand_over()
    assert taken.requests == [select(0), A, MULTI, B, C, EXEC]
    propagation.hand_over()
    assert (taken.batches, propagation.units) == (1, 2)


def test_databases_are_selected_between_units_and_inside(
    propagation: Propagation, taken: Taken
) -> None:
    unit(propagation, (1, A))
    unit(propagation, (2, A))
    unit(propagation, (2, A), (3, B))
    unit(propagation, (3, C))
    propagation.hand_over()
    expected = [select(1), A, select(2), A, MULTI, A, select(3), B, EXEC, C]
    assert taken.requests == expected and taken.db == 3
    unit(propagation, (3, A))
    unit(propagation, (0, A))
    propagation.hand_over()
    assert taken.requests == [*expected, A, select(0), A] and taken.db == 0


def test_a_unit_that_is_open_waits_for_the_next_batch(
    propagation: Propagation, taken: Taken
) -> None:
    unit(propagation, (0, A))
    propagation.add(1, B)
    propagation.hand_over()
    assert taken.requests == [select(0), A, select(1)]
    propagation.add(1, C)
    propagation.end_unit()
    propagation.hand_over()
    assert taken.requests == [select(0), A, select(1), MULTI, B, C, EXEC]


def test_a_dropped_unit_leaves_nothing(propagation: Propagation, taken: Taken) -> None:
    propagation.add(0, A)
    propagation.drop()
    propagation.hand_over()
    assert (taken.wire, propagation.units, propagation.requests) == (b"", 0, 0)
    unit(propagation, (0, A))
    propagation.add(1, B)
    propagation.add(2, B)
    propagation.drop()
    unit(propagation, (0, C))
    propagation.hand_over()
    assert [request for request in taken.requests if request[0] != b"SELECT"] == [A, C]
    assert list(units_in(0, taken.wire)) == [(0, [A]), (0, [C])]


def test_a_long_batch_is_given_before_the_cycle_ends(
    propagation: Propagation, taken: Taken
) -> None:
    for _ in range(100):
        unit(propagation, (0, [b"SET", b"k", b"x" * 2000]))
    assert taken.batches == 3
    propagation.hand_over()
    assert len(taken.requests) == 101


def test_a_new_sink_gets_what_comes_after_it(propagation: Propagation, taken: Taken) -> None:
    unit(propagation, (0, A))
    other = Taken(propagation)
    unit(propagation, (0, B))
    propagation.hand_over()
    assert taken.requests == [select(0), A, B] and other.requests == [select(0), B]


# -- messages, and what goes to some sinks only ---------------------------------------------------


def test_a_message_is_for_replicas_only_and_selects_nothing(
    propagation: Propagation, taken: Taken
) -> None:
    stream = Taken(propagation, takes_messages=True)
    propagation.add_message(PUBLISH)
    propagation.end_unit()
    propagation.hand_over()
    assert (taken.requests, stream.requests) == ([], [PUBLISH])
    propagation.add(2, A)
    propagation.add_message(PUBLISH)
    propagation.end_unit()
    propagation.hand_over()
    assert taken.requests == [select(2), A]
    assert stream.requests == [PUBLISH, select(2), MULTI, A, PUBLISH, EXEC]


def test_requests_are_held_back_from_the_file_from_replicas_or_from_both(
    propagation: Propagation, taken: Taken
) -> None:
    stream = Taken(propagation, takes_messages=True)
    propagation.add(0, A)
    propagation.add(0, B)
    for held in (TO_NONE, TO_FILE, TO_REPLICAS):
        propagation.held = held
        propagation.add(1, [b"SET", b"held", b"%d" % held])
        propagation.add_message([b"PUBLISH", b"c", b"%d" % held])
    propagation.held = TO_ALL
    propagation.add(1, C)
    propagation.end_unit()
    unit(propagation, (1, A))
    propagation.hand_over()
    to_file = [MULTI, A, B, select(1), [b"SET", b"held", b"1"], C, EXEC]
    assert taken.requests == [select(0), *to_file, A]
    message = [b"PUBLISH", b"c", b"2"]
    to_replicas = [MULTI, A, B, select(1), [b"SET", b"held", b"2"], message, C, EXEC]
    assert stream.requests == [select(0), *to_replicas, A]
    assert propagation.units == 2


def test_a_unit_that_nobody_gets_is_none(propagation: Propagation, taken: Taken) -> None:
    propagation.held = TO_NONE
    unit(propagation, (0, A))
    propagation.hand_over()
    assert (propagation.units, taken.wire) == (0, b"")


# -- the offset of the stream ---------------------------------------------------------------------


def test_the_offset_counts_every_byte_of_the_stream(propagation: Propagation) -> None:
    chance = random.Random(1)
    stream = Taken(propagation, takes_messages=True)
    propagation.feeds_stream = True
    for _ in range(300):
        for _ in range(chance.choice((1, 1, 2, 5))):
            propagation.held = chance.choice((TO_ALL, TO_ALL, TO_ALL, TO_NONE, TO_REPLICAS))
            if chance.random() < 0.1:
                propagation.add_message(PUBLISH)
            else:
                propagation.add(chance.randrange(3), chance.choice((A, B, C)))
            if chance.random() < 0.1:
                propagation.hand_over()
        propagation.held = TO_ALL
        if chance.random() < 0.1:
            propagation.drop()
        propagation.end_unit()
        if chance.random() < 0.2:
            propagation.hand_over()
            stream.db = ANY_DATABASE  # as where a replica begins to read
    propagation.hand_over()
    assert propagation.offset == len(stream.wire)
    assert stream.requests.count(select(2)) > 50


# -- handlers that fail --------------------------------------------------------------------------


def test_half_a_request_of_a_handler_that_fails_is_taken_back(
    propagation: Propagation, taken: Taken
) -> None:
    propagation.add(0, A)
    writer = propagation.begin(0)
    writer.begin(3)
    writer.word(b"SET")
    propagation.mend()
    propagation.mend()
    unit(propagation, (0, B))
    propagation.begin(0).begin(1)
    propagation.mend()
    propagation.end_unit()
    propagation.hand_over()
    assert taken.requests == [select(0), MULTI, A, B, EXEC]


def test_a_whole_request_of_a_handler_that_fails_stays(
    propagation: Propagation, taken: Taken
) -> None:
    Taken(propagation, takes_messages=True)
    propagation.add(0, A)
    propagation.mend()
    propagation.add_message(PUBLISH)
    propagation.mend()
    propagation.begin(0).begin(2)
    propagation.mend()
    propagation.end_unit()
    propagation.hand_over()
    assert taken.requests == [select(0), A]


def test_a_bug_in_a_handler_leaves_no_torn_request(
    server: InProcessServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(client: Client, request: Request) -> bytes:
        writer = client.begin_propagated()
        writer.begin(2)
        writer.word(b"DEL")
        raise MemoryError

    monkeypatch.setattr(COMMANDS[b"del"], "handler", fail)
    client = server.connect()
    assert client.execute("DEL", "k").startswith(b"-ERR internal error")
    client.execute("SET", "k", "w")
    assert server.propagated == [(0, [[b"SET", b"k", b"w"]])]


# -- commands ------------------------------------------------------------------------------------


def test_a_client_knows_up_to_where_its_writes_were_propagated(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    client.execute("SET", "k", "v")
    client.execute("GET", "k")
    other.pipeline(("MULTI",), ("SET", "a", "1"), ("SET", "b", "2"), ("EXEC",))
    assert (client.state.write_offset, other.state.write_offset) == (1, 2)


def test_a_write_is_propagated_and_a_read_is_not(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("SET", "k", "v")
    client.execute("GET", "k")
    client.execute("SELECT", "3")
    client.execute("SET", "k", "w")
    assert server.propagated == [(0, [[b"SET", b"k", b"v"]]), (3, [[b"SET", b"k", b"w"]])]


def test_a_transaction_is_propagated_as_one(server: InProcessServer) -> None:
    server.connect().pipeline(("MULTI",), ("SET", "a", "1"), ("SET", "b", "2"), ("EXEC",))
    set_a, set_b = [b"SET", b"a", b"1"], [b"SET", b"b", b"2"]
    assert server.propagated == [(0, [MULTI, set_a, set_b, EXEC])]


def test_a_transaction_in_two_databases_says_which_request_is_for_which(
    server: InProcessServer,
) -> None:
    client = server.connect()
    client.pipeline(("MULTI",), ("SET", "a", "1"), ("SELECT", "1"), ("SET", "b", "2"), ("EXEC",))
    set_a, set_b = [b"SET", b"a", b"1"], [b"SET", b"b", b"2"]
    assert server.propagated == [(0, [MULTI, set_a, select(1), set_b, EXEC])]


def test_a_key_that_expires_within_a_transaction_is_deleted_at_its_place() -> None:
    server = InProcessServer(now_ms=1000)
    client = server.connect()
    client.execute("SET", "k", "old", "PXAT", "2000")
    server.propagated.clear()
    server.instance.active_expiry = False
    server.now_ms = 3000
    client.pipeline(("MULTI",), ("SET", "a", "1"), ("GET", "k"), ("SET", "b", "2"), ("EXEC",))
    set_a, set_b = [b"SET", b"a", b"1"], [b"SET", b"b", b"2"]
    assert server.propagated == [(0, [MULTI, set_a, [b"DEL", b"k"], set_b, EXEC])]


def test_what_a_transaction_did_is_not_propagated_after_the_file_was_switched_off_and_on() -> None:
    server = InProcessServer(appendonly="yes")
    server.instance.propagation.sinks.pop()  # of the test server: now there is only the file
    client = server.connect()
    client.pipeline(("MULTI",), ("INCR", "k"), ("CONFIG", "SET", "appendonly", "no"), ("EXEC",))
    client.execute("CONFIG", "SET", "appendonly", "yes")
    server.tick()
    client.execute("INCR", "k")
    assert server.restart().connect().execute("GET", "k") == b"$1\r\n2\r\n"


XADD, SET = [b"XADD", b"s", b"1-1", b"f", b""], [b"SET", b"k", b"\r\n"]
MULTI, EXEC, SELECT = [b"MULTI"], [b"EXEC"], [b"SELECT", b"5"]


def test_units_of_one_request_each_are_told_apart_and_transactions_are_not() -> None:
    transaction = [MULTI, XADD, SET, EXEC]
    wire = encode_requests([XADD, SET, *transaction, XADD])
    assert list(units_in(2, wire)) == [(2, [XADD]), (2, [SET]), (2, transaction), (2, [XADD])]


def test_a_unit_is_in_the_database_of_its_first_request() -> None:
    transaction = [MULTI, XADD, SELECT, SET, EXEC]
    assert list(units_in(0, encode_requests([*transaction, XADD]))) == [
        (0, transaction),
        (5, [XADD]),
    ]
    assert list(units_in(0, encode_requests([XADD, SELECT, SET]))) == [(0, [XADD]), (5, [SET])]
