"""XTRIM, and the trimming options that it shares with XADD."""

from __future__ import annotations

import pytest

from commands.config.configuration import Configuration
from commands.streams.trim import default_limit
from server.inprocess.server import InProcessServer
from storage.nodes.listpack_node import ListpackNode
from storage.stream import Stream
from tests.commands.streams.talk import Talk
from tests.storage.snapshot.bodies import decoded, encoded

SYNTAX = "ERR syntax error"
NOT_AN_INTEGER = "ERR value is not an integer or out of range"
BOTH = "ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
NEGATIVE = "ERR The MAXLEN argument must be >= 0."
NEGATIVE_LIMIT = "ERR The LIMIT argument must be >= 0."
LIMIT_ALONE = "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
LIMIT_EXACT = "ERR syntax error, LIMIT cannot be used without the special ~ option"
INVALID_ID = "ERR Invalid stream ID specified as stream command argument"


def nodes_of(entries: int) -> InProcessServer:
    server = InProcessServer()
    server.instance.config.stream_node_max_entries = entries
    return server


@pytest.fixture
def server() -> InProcessServer:
    """Nodes of three entries."""
    return nodes_of(3)


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """With a stream of ten entries, 1-1 to 10-1, in four nodes."""
    client = Talk(server)
    client.all(*(f"XADD s {i}-1 f v" for i in range(1, 11)))
    return client


def remaining(first: int) -> list[str]:
    return [f"{i}-1" for i in range(first, 11)]


# -- exact -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["MAXLEN 4", "MAXLEN = 4", "maxlen 4"])
def test_an_exact_trim_to_a_length_leaves_that_many_entries(client: Talk, form: str) -> None:
    assert client.raw(f"XTRIM s {form}") == b":6\r\n"
    assert client.ids("s") == remaining(7)


def test_an_exact_trim_by_id_removes_all_smaller_ids(client: Talk) -> None:
    assert client.do("XTRIM s MINID 5-1") == 4
    assert client.ids("s") == remaining(5)
    assert client.do("XTRIM s MINID = 7") == 2
    assert client.ids("s") == remaining(7)


def test_trimming_everything_leaves_an_empty_stream(client: Talk) -> None:
    assert client.do("XTRIM s MAXLEN 0") == 10
    assert client.do("XLEN s") == 0
    assert client.do("TYPE s") == b"stream"


def test_trimming_nothing_answers_zero(client: Talk) -> None:
    assert client.do("XTRIM s MAXLEN 10") == 0
    assert client.do("XTRIM s MINID 0") == 0


def test_a_trim_does_not_count_as_deletion(client: Talk) -> None:
    client.do("XTRIM s MAXLEN 4")
    info = client.fields("XINFO STREAM s")
    assert info["max-deleted-entry-id"] == b"0-0"
    assert info["recorded-first-entry-id"] == b"7-1"
    assert info["entries-added"] == 10


# -- approximate -------------------------------------------------------------------------------


def test_an_approximate_trim_removes_whole_nodes(client: Talk) -> None:
    assert client.do("XTRIM s MAXLEN ~ 5") == 3
    assert client.ids("s") == remaining(4)
    assert client.do("XTRIM s MAXLEN ~ 5") == 0
    assert client.do("XTRIM s MINID ~ 9") == 3
    assert client.ids("s") == remaining(7)


def test_a_limit_stops_before_a_node_that_would_pass_it(client: Talk) -> None:
    assert client.do("XTRIM s MAXLEN ~ 0 LIMIT 2") == 0
    assert client.do("XTRIM s MAXLEN ~ 0 LIMIT 7") == 6
    assert client.ids("s") == remaining(7)


def test_a_limit_of_zero_is_none(client: Talk) -> None:
    assert client.do("XTRIM s MAXLEN ~ 0 LIMIT 0") == 10


def test_an_approximate_trim_without_a_limit_has_one_of_a_hundred_nodes() -> None:
    client = Talk(nodes_of(1))
    client.all(*(f"XADD s {i}-1 f v" for i in range(1, 151)))
    assert client.do("XTRIM s MAXLEN ~ 0") == 100
    assert client.do("XTRIM s MAXLEN ~ 0") == 50


def test_the_limit_of_a_trim_that_comes_again_follows_the_directive() -> None:
    client = Talk(nodes_of(1))
    add = [f"XADD s {i}-1 f v" for i in range(1, 401)]
    client.all(*add)
    assert client.do("XTRIM s MAXLEN ~ 0") == 100
    client.do("CONFIG SET stream-node-max-entries 2")
    assert client.do("XTRIM s MAXLEN ~ 0") == 200


@pytest.mark.parametrize(
    ("node_entries", "limit"), [(100, 10_000), (1, 100), (0, 10_000), (10_001, 1_000_000)]
)
def test_the_default_limit_follows_the_size_of_a_node(node_entries: int, limit: int) -> None:
    config = Configuration()
    config.stream_node_max_entries = node_entries
    assert default_limit(config) == limit


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("MAXLEN 5 MINID 5", BOTH),
        ("MINID 5 MAXLEN ~ 5", BOTH),
        ("MAXLEN 5 MAXLEN 5", BOTH),
        ("MAXLEN -1", NEGATIVE),
        ("MAXLEN ~ -1", NEGATIVE),
        ("MAXLEN x", NOT_AN_INTEGER),
        ("MAXLEN ~", NOT_AN_INTEGER),
        ("MAXLEN ~ ~ 5", NOT_AN_INTEGER),
        ("MAXLEN 9223372036854775808", NOT_AN_INTEGER),
        ("MAXLEN 05", NOT_AN_INTEGER),
        ("MINID x", INVALID_ID),
        ("MINID -", INVALID_ID),
        ("MINID +", INVALID_ID),
        ("MINID ~ (5", INVALID_ID),
        ("MAXLEN ~ 5 LIMIT -1", NEGATIVE_LIMIT),
        ("MAXLEN ~ 5 LIMIT x", NOT_AN_INTEGER),
        ("MAXLEN 5 LIMIT 5", LIMIT_EXACT),
        ("MAXLEN = 5 LIMIT 0", LIMIT_EXACT),
        ("LIMIT 5", LIMIT_ALONE),
        ("LIMIT 0", "ERR syntax error, XTRIM must be called with a trimming strategy"),
        ("MAXLEN 5 LIMIT", SYNTAX),
        ("MAXLEN 5 MINID", SYNTAX),
        ("MAXLEN 5 FOO", SYNTAX),
        ("FOO 5", SYNTAX),
        ("NOMKSTREAM MAXLEN 5", SYNTAX),
        ("MAXLEN ~ 5 KEEPREF DELREF", SYNTAX),
        ("ACKED MAXLEN 5 ACKED", SYNTAX),
        ("KEEPREF ACKED", SYNTAX),
        ("LIMIT 5 DELREF", LIMIT_ALONE),
        ("ACKED LIMIT 0", "ERR syntax error, XTRIM must be called with a trimming strategy"),
        ("MAXLEN 5 ACKED LIMIT 5", LIMIT_EXACT),
    ],
)
def test_options_that_do_not_fit_are_refused(client: Talk, options: str, text: str) -> None:
    assert client.error(f"XTRIM s {options}") == text
    assert client.ids("s") == remaining(1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("MAXLEN 5 MINID 5 *", BOTH),
        ("MAXLEN -1 *", NEGATIVE),
        ("MAXLEN ~ *", NOT_AN_INTEGER),
        ("MINID x *", INVALID_ID),
        ("LIMIT -1 *", NEGATIVE_LIMIT),
        ("LIMIT 1 *", LIMIT_ALONE),
        ("LIMIT 0 *", LIMIT_EXACT),
        ("MAXLEN 5 LIMIT 0 *", LIMIT_EXACT),
    ],
)
def test_xadd_refuses_the_same(client: Talk, options: str, text: str) -> None:
    assert client.error(f"XADD s {options} f v") == text
    assert client.ids("s") == remaining(1)


def test_arguments_are_checked_before_the_key(client: Talk) -> None:
    client.do("SET string v")
    assert client.error("XTRIM string FOO 5") == SYNTAX
    assert client.error("XTRIM missing FOO 5") == SYNTAX
    assert client.error("XTRIM string MAXLEN 5").startswith("WRONGTYPE ")
    assert client.do("XTRIM missing MAXLEN 5") == 0


def test_a_strategy_without_a_threshold_has_too_few_arguments(client: Talk) -> None:
    assert client.error("XTRIM s MAXLEN") == "ERR wrong number of arguments for 'xtrim' command"


# -- what follows ------------------------------------------------------------------------------


def test_only_a_trim_that_removes_something_is_notified(
    client: Talk, events: list[tuple[str, str]], propagated: list[str]
) -> None:
    client.all("XTRIM s MAXLEN 10", "XTRIM s MAXLEN ~ 9", "XTRIM missing MAXLEN 1")
    assert (events, propagated) == ([], [])
    client.do("XTRIM s MAXLEN 9")
    assert events == [("xtrim", "s")]
    assert propagated == ["XTRIM s MAXLEN 9"]


def test_an_approximate_trim_is_propagated_as_the_exact_one(
    client: Talk, propagated: list[str]
) -> None:
    client.do("XTRIM s LIMIT 5 MAXLEN ~ 5 LIMIT 100")
    client.do("XTRIM s LIMIT 100 MINID ~ 9")
    client.do("XTRIM s MINID ~ 11-1")
    assert propagated == [
        "XTRIM s MAXLEN = 7",
        "XTRIM s MINID = 7-1",
        "XTRIM s MINID = 18446744073709551615-18446744073709551615",
    ]


@pytest.mark.parametrize(
    "request_",
    [
        "XTRIM s MAXLEN ~ 0",
        "XTRIM s MINID ~ 99",
        "XTRIM s MINID ~ 8",
        "XTRIM s MAXLEN ~ 4 LIMIT 4",
        "XADD s MINID ~ 99 50-* f v",
        "XADD s MAXLEN ~ 2 50-* f v",
        "XADD s MINID ~ 7 * f v",
    ],
)
def test_what_is_propagated_leaves_the_same_entries_where_nodes_are_other_ones(
    client: Talk, propagated: list[str], request_: str
) -> None:
    twin = Talk(nodes_of(7))
    twin.all(*(f"XADD s {i}-1 f v" for i in range(1, 11)))
    client.do(request_)
    twin.replay(*propagated)
    assert len(client.ids("s")) < 10
    assert twin.ids("s") == client.ids("s")


def test_a_trim_fails_a_transaction_that_watches_the_key(
    client: Talk, server: InProcessServer
) -> None:
    client.do("WATCH s")
    Talk(server).do("XTRIM s MAXLEN 5")
    client.do("MULTI")
    assert client.raw("EXEC") == b"*-1\r\n"


# -- references of groups ----------------------------------------------------------------------


def read_by_group(client: Talk, acknowledged: str) -> None:
    """A group is given 1-1 to 8-1, and acknowledges some."""
    client.all("XGROUP CREATE s g 0", "XREADGROUP GROUP g c COUNT 8 STREAMS s >")
    client.do(f"XACK s g {acknowledged}")


def pending(client: Talk) -> int:
    total = client.do("XPENDING s g")[0]
    assert isinstance(total, int)
    return total


def test_a_trim_keeps_references_by_default(client: Talk) -> None:
    read_by_group(client, "1-1")
    assert client.do("XTRIM s MAXLEN 8") == 2
    assert client.do("XTRIM s KEEPREF MAXLEN 7") == 1
    assert pending(client) == 7
    assert client.do("XTRIM s MAXLEN 6 DELREF") == 1
    assert pending(client) == 6
    assert client.do("XTRIM s MINID 7 DELREF") == 2
    assert pending(client) == 4


def test_delref_drops_references_to_what_was_deleted_before(client: Talk) -> None:
    """Redis keeps them (redis#15581)."""
    read_by_group(client, "1-1")
    client.do("XDEL s 2-1 3-1 5-1")
    assert client.do("XTRIM s MINID 5-1 DELREF") == 2
    assert [entry[0] for entry in client.do("XPENDING s g - + 10")] == [
        b"5-1", b"6-1", b"7-1", b"8-1",
    ]  # fmt: skip


def test_a_trim_that_drops_references_only_is_propagated(
    client: Talk, propagated: list[str]
) -> None:
    read_by_group(client, "3-1")
    client.do("XDEL s 1-1 2-1")
    del propagated[:]
    assert client.do("XTRIM s MINID 3-1 DELREF") == 0
    assert propagated == ["XACK s g 1-1 2-1"]
    assert client.do("XTRIM s MINID 3-1 DELREF") == 0
    assert len(propagated) == 1


@pytest.mark.parametrize("policy", ["", "KEEPREF", "DELREF", "ACKED"])
@pytest.mark.parametrize(
    "trim", ["XTRIM s MINID 10-1", "XTRIM s MINID = 10-1", "XADD s MINID 10-1"]
)
def test_a_trim_leaves_no_node_without_an_entry(client: Talk, trim: str, policy: str) -> None:
    client.do("XDEL s 10-1")
    client.do(f"{trim} {policy}{' 99-1 f v' if trim.startswith('XADD') else ''}")
    length = client.do("XLEN s")
    assert length == ("XADD" in trim)
    assert client.fields("XINFO STREAM s")["radix-tree-keys"] == length


def test_acked_passes_over_what_is_referenced_and_goes_on(client: Talk) -> None:
    read_by_group(client, "2-1 3-1 5-1 8-1")
    assert client.do("XTRIM s MAXLEN 7 ACKED") == 3
    assert client.ids("s") == ["1-1", "4-1", "6-1", "7-1", "8-1", "9-1", "10-1"]
    assert client.do("XTRIM s MAXLEN 0 ACKED") == 1
    assert client.ids("s") == ["1-1", "4-1", "6-1", "7-1", "9-1", "10-1"]
    assert client.do("XTRIM s MINID 99 ACKED") == 0


def test_where_there_is_no_group_nothing_is_referenced(client: Talk) -> None:
    client.do("XTRIM s MINID ~ 99 LIMIT 10 ACKED")
    assert client.ids("s") == []


@pytest.mark.parametrize("policy", ["DELREF", "ACKED"])
def test_with_a_policy_an_approximate_trim_looks_at_each_entry(client: Talk, policy: str) -> None:
    read_by_group(client, " ".join(f"{i}-1" for i in range(1, 9)))
    assert client.do(f"XTRIM s MAXLEN ~ 9 {policy}") == 1
    assert client.do(f"XTRIM s MINID ~ 3-1 {policy}") == 1
    assert client.ids("s") == remaining(3)


def test_xadd_takes_a_policy_for_its_trim(client: Talk) -> None:
    read_by_group(client, "1-1 3-1")
    client.do("XADD s ACKED MAXLEN ~ 9 11-1 f v")
    assert client.ids("s") == ["2-1", *remaining(4), "11-1"]
    client.do("XADD s MAXLEN 8 DELREF * f v")
    assert pending(client) == 4
    client.do("XADD s KEEPREF * f v")  # without a trim it says nothing
    assert client.do("XLEN s") == 9


@pytest.mark.parametrize(
    "request_",
    [
        "XTRIM s MAXLEN ~ 4 ACKED",
        "XTRIM s MINID ~ 8 ACKED",
        "XTRIM s MINID ~ 99 LIMIT 3 ACKED",
        "XTRIM s MAXLEN ~ 2 LIMIT 3 DELREF",
        "XTRIM s MINID ~ 6 DELREF",
        "XTRIM s MINID 7 DELREF",
        "XTRIM s MAXLEN 3 DELREF",
        "XADD s MINID 9-1 DELREF 50-* f v",
        "XADD s MINID ~ 99 ACKED 50-* f v",
    ],
)
def test_a_trim_with_a_policy_is_propagated_as_one_that_does_the_same(
    client: Talk, propagated: list[str], request_: str
) -> None:
    twin = Talk(nodes_of(7))
    twin.all(*(f"XADD s {i}-1 f v" for i in range(1, 11)))
    for talk in (client, twin):
        read_by_group(talk, "2-1 3-1 5-1")
        talk.do("XDEL s 6-1 10-1")
    del propagated[:]
    client.do(request_)
    twin.replay(*propagated)
    assert "1-1" in client.ids("s") or "DELREF" in request_
    assert twin.ids("s") == client.ids("s")
    assert pending(twin) == pending(client)


# -- streams from a snapshot -------------------------------------------------------------------


def pack(server: InProcessServer) -> Stream:
    """Make the stream at s what it would be after it was loaded from a snapshot."""
    db = server.instance.databases[0]
    stream = db.values[b"s"]
    assert isinstance(stream, Stream)
    packed = decoded(encoded(stream, 21), 21, trusted=True)
    packed.serial = stream.serial
    db.values.put(b"s", packed)
    return packed


@pytest.mark.parametrize(
    ("trim", "first"), [("MINID ~ 5-1", 4), ("MINID 5-1", 5), ("MAXLEN ~ 6", 4), ("MAXLEN 5", 7)]
)
def test_an_xadd_trims_a_stream_from_a_snapshot(
    server: InProcessServer, client: Talk, trim: str, first: int
) -> None:
    pack(server)
    assert client.do(f"XADD s {trim} 11-1 f v") == b"11-1"
    assert client.ids("s") == [*remaining(first), "11-1"]


def test_a_damaged_node_from_a_snapshot_is_trimmed_and_the_rest_is_served(
    server: InProcessServer, client: Talk
) -> None:
    node = next(pack(server).iter_nodes())
    assert isinstance(node, ListpackNode)
    node.listpack = b""
    assert client.error("XRANGE s - +").startswith("ERR stream 's' is damaged: entries 1-1 to 4-0")
    assert client.do("XLEN s") == 10
    assert client.do("XADD s 11-1 f v") == b"11-1"
    assert client.do("XTRIM s MINID 4-1") == 3
    assert client.ids("s") == [*remaining(4), "11-1"]


@pytest.mark.parametrize("references", ["KEEPREF", "DELREF", "ACKED"])
def test_what_is_added_after_a_copied_stream_was_trimmed_is_there(references: str) -> None:
    server = InProcessServer(enable_debug_command="yes", stream_node_max_entries="4")
    client = server.connect()
    for number in range(1, 11):
        client.execute("XADD", "s", f"{number}-0", "f", "v")
    client.execute("DEBUG", "RELOAD")
    client.execute("COPY", "s", "twin")
    assert client.execute("XTRIM", "s", "MAXLEN", "1", references) == b":9\r\n"
    client.execute("XADD", "s", "11-0", "f", "new")
    added = client.execute("XRANGE", "s", "-", "+")
    assert (added.count(b"-0"), b"new" in added) == (2, True)
    assert client.execute("DEBUG", "RELOAD") == b"+OK\r\n"
    assert client.execute("XRANGE", "s", "-", "+") == added
    assert client.execute("XLEN", "twin") == b":10\r\n"


def test_what_is_trimmed_after_a_reload_leaves_every_group() -> None:
    server = InProcessServer(enable_debug_command="yes", stream_node_max_entries="2")
    client = Talk(server)
    client.all(*(f"XADD s {number}-1 f v" for number in range(1, 6)), "XGROUP CREATE s g 0")
    client.all("XREADGROUP GROUP g c STREAMS s >", "XACK s g 2-1", "DEBUG RELOAD")
    assert client.do("XADD s ACKED MAXLEN 5 6-1 f v") == b"6-1"
    assert client.ids("s") == ["1-1", "3-1", "4-1", "5-1", "6-1"]
    assert client.do("XTRIM s MAXLEN ~ 2 DELREF") == 3
    assert [row[0] for row in client.do("XPENDING s g - + 9")] == [b"5-1"]
