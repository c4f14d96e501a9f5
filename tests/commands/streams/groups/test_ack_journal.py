"""What acknowledgements leave in the journal of a stream, and what becomes of it elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import NOW_MS, Talk
from tests.support.examples import examples

NAMES = ["stream", "group", "consumer", "id", "delivered", "acked", "deliveries"]


@pytest.fixture
def client(server: InProcessServer) -> Talk:
    """Five entries, pending in g with c for 10 ms, and a journal j."""
    client = Talk(server)
    client.all(*(f"XADD s {i}-0 f v" for i in range(1, 6)), "XGROUP CREATE s g 0")
    client.all("XCFGSET s ACK-JOURNAL j", "XREADGROUP GROUP g c STREAMS s >")
    server.advance(10)
    return client


def written(client: Talk, key: str = "j") -> list[list[str]]:
    """The values of the journal's entries; their names are always the same."""
    rows = []
    for _, fields in client.do(f"XRANGE {key} - +"):
        texts = [field.decode() for field in fields]
        assert texts[::2] == NAMES
        rows.append(texts[1::2])
    return rows


def row(number: int, *, acked_ms: int = NOW_MS + 10) -> list[str]:
    return ["s", "g", "c", f"{number}-0", str(NOW_MS), str(acked_ms), "1"]


def skipped(client: Talk, key: str = "s") -> int:
    count = client.fields(f"XINFO POLICY {key}")["ack-journal-skipped"]
    assert isinstance(count, int)
    return count


# -- what is written down ----------------------------------------------------------------------


def test_each_acknowledgement_is_an_entry(client: Talk, server: InProcessServer) -> None:
    assert client.do("XACK s g 1-0") == 1
    server.advance(5)
    assert client.do("XACK s g 3-0 2-0") == 2
    later = NOW_MS + 15
    assert written(client) == [row(1), row(3, acked_ms=later), row(2, acked_ms=later)]
    assert client.ids("j") == [f"{NOW_MS + 10}-0", f"{later}-0", f"{later}-1"]


def test_what_was_not_pending_is_not_written_down(client: Talk) -> None:
    assert client.do("XACK s g 9-0") == client.do("XACK s h 1-0") == 0
    assert client.do("EXISTS j") == 0
    assert client.do("XACK s g 1-0 1-0 9-0") == 1
    assert written(client) == [row(1)]


def test_xackdel_writes_down_what_it_acknowledges(client: Talk) -> None:
    client.do("XGROUP CREATE s other 0")
    assert client.do("XACKDEL s g ACKED IDS 3 1-0 2-0 9-0") == [2, 2, -1]
    assert client.do("XACKDEL s g KEEPREF IDS 1 3-0") == [1]
    assert written(client) == [row(1), row(2), row(3)]


def test_the_last_delivery_counts(client: Talk, server: InProcessServer) -> None:
    client.do("XCLAIM s g d 0 1-0")
    server.advance(3)
    client.do("XACK s g 1-0")
    assert written(client) == [
        ["s", "g", "d", "1-0", str(NOW_MS + 10), str(NOW_MS + 13), "2"],
    ]


def test_an_entry_that_was_given_back_has_no_delivery(client: Talk) -> None:
    client.all("XNACK s g FAIL IDS 1 1-0", "XACK s g 1-0")
    assert written(client) == [["s", "g", "", "1-0", "0", str(NOW_MS + 10), "1"]]


def test_what_leaves_a_group_otherwise_is_no_acknowledgement(client: Talk) -> None:
    client.all("XDEL s 1-0", "XCLAIM s g d 0 1-0", "XDELEX s DELREF IDS 1 2-0")
    client.all("XTRIM s MAXLEN 2 DELREF", "XGROUP DELCONSUMER s g c")
    assert client.do("EXISTS j") == 0


def test_a_clock_that_goes_back_does_not_stop_the_journal(
    client: Talk, server: InProcessServer
) -> None:
    client.do("XACK s g 1-0")
    server.now_ms -= 1000
    client.do("XACK s g 2-0")
    assert client.ids("j") == [f"{NOW_MS + 10}-0", f"{NOW_MS + 10}-1"]
    assert written(client)[1] == row(2, acked_ms=NOW_MS - 990)


def test_several_streams_may_share_a_journal(client: Talk) -> None:
    client.all("XADD t 1-0 f v", "XGROUP CREATE t g 0", "XCFGSET t ACK-JOURNAL j")
    client.all("XREADGROUP GROUP g c STREAMS t >", "XACK t g 1-0", "XACK s g 1-0")
    assert [values[0] for values in written(client)] == ["t", "s"]


def test_it_is_over_when_the_journal_is_turned_off(client: Talk) -> None:
    client.do("XACK s g 1-0")
    client.client.execute("XCFGSET", "s", "ACK-JOURNAL", "")
    client.do("XACK s g 2-0")
    assert written(client) == [row(1)]


# -- its length --------------------------------------------------------------------------------


def test_the_journal_is_kept_at_its_length_by_whole_nodes(server: InProcessServer) -> None:
    client = Talk(server)
    client.do("CONFIG SET stream-node-max-entries 10")
    client.all(*(f"XADD s {i}-0 f v" for i in range(1, 101)), "XGROUP CREATE s g 0")
    client.all("XCFGSET s ACK-JOURNAL j ACK-JOURNAL-MAXLEN 25", "XREADGROUP GROUP g c STREAMS s >")
    for number in range(1, 61):
        client.do(f"XACK s g {number}-0")
        assert 25 <= client.do("XLEN j") <= 34 or number < 25
    assert written(client)[-1][3] == "60-0"
    client.do("XACK s g " + " ".join(f"{i}-0" for i in range(61, 101)))
    assert 25 <= client.do("XLEN j") <= 34
    assert written(client)[-1][3] == "100-0"


def test_a_reader_gets_what_is_about_to_be_trimmed(server: InProcessServer) -> None:
    client, reader = Talk(server), Talk(server)
    client.do("CONFIG SET stream-node-max-entries 1")
    client.all(*(f"XADD s {i}-0 f v" for i in range(1, 4)), "XGROUP CREATE s g 0")
    client.all("XCFGSET s ACK-JOURNAL j ACK-JOURNAL-MAXLEN 1", "XREADGROUP GROUP g c STREAMS s >")
    reader.raw("XREAD BLOCK 0 STREAMS j $")
    client.pipeline("XACK s g 1-0", "XACK s g 2-0", "XACK s g 3-0")
    [[_, entries]] = reader.received()
    assert [fields[7] for _, fields in entries] == [b"1-0"]
    assert client.do("XLEN j") == 1


# -- a stream like any other -------------------------------------------------------------------


def test_the_journal_wakes_readers_and_fails_transactions(
    client: Talk, server: InProcessServer
) -> None:
    reader, watcher = Talk(server), Talk(server)
    reader.raw("XREAD BLOCK 0 STREAMS j $")
    watcher.all("WATCH j", "MULTI", "PING")
    client.do("XACK s g 1-0")
    [[key, entries]] = reader.received()
    assert key == b"j" and entries[0][1][7] == b"1-0"
    assert watcher.do("EXEC") is None


def test_the_journal_has_the_events_of_a_stream(
    client: Talk, events: list[tuple[str, str]]
) -> None:
    client.all("XCFGSET s ACK-JOURNAL-MAXLEN 1", "CONFIG SET stream-node-max-entries 1")
    client.do("XACK s g 1-0 2-0")
    assert events == [("new", "j"), ("xadd", "j"), ("xadd", "j"), ("xtrim", "j")]


# -- where it cannot be written ----------------------------------------------------------------


@pytest.mark.parametrize(
    "requests",
    [
        ["SET j v"],
        ["RENAME s j"],
        [f"XADD j {2**64 - 1}-{2**64 - 1} f v"],
    ],
)
def test_an_acknowledgement_never_fails_because_of_its_journal(
    client: Talk, propagated: list[str], requests: list[str]
) -> None:
    client.all(*requests)
    key = "s" if client.do("EXISTS s") else "j"
    propagated.clear()
    assert client.do(f"XACK {key} g 1-0 2-0") == 2
    assert client.do(f"XACKDEL {key} g IDS 1 3-0") == [1]
    assert skipped(client, key) == 3
    assert propagated == [
        f"XACK {key} g 1-0 2-0",
        "MULTI",
        f"XACK {key} g 3-0",
        f"XDEL {key} 3-0",
        "EXEC",
    ]


def test_the_journal_goes_on_when_its_key_is_free_again(client: Talk) -> None:
    client.all("SET j v", "XACK s g 1-0", "DEL j", "XACK s g 2-0")
    assert written(client) == [row(2)]
    assert skipped(client) == 1


# -- when keys change --------------------------------------------------------------------------


def test_a_renamed_stream_keeps_its_journal_and_says_its_new_name(client: Talk) -> None:
    client.all("RENAME s t", "XACK t g 1-0")
    assert written(client) == [["t", *row(1)[1:]]]


def test_a_copy_has_the_same_journal(client: Talk) -> None:
    client.all("SET j v", "XACK s g 1-0", "DEL j", "COPY s t", "XACK t g 2-0", "XACK s g 2-0")
    assert [values[0] for values in written(client)] == ["t", "s"]
    assert (skipped(client), skipped(client, "t")) == (1, 0)
    client.client.execute("XCFGSET", "t", "ACK-JOURNAL", "")
    client.do("XACK s g 3-0")
    assert len(written(client)) == 3


def test_a_stream_that_is_made_anew_has_no_journal(client: Talk) -> None:
    client.all("DEL s", "XADD s 1-0 f v")
    assert client.fields("XINFO POLICY s") == {}


def test_the_journal_is_looked_for_in_the_database_of_the_stream(client: Talk) -> None:
    client.all("MOVE s 1", "SELECT 1", "XACK s g 1-0")
    assert written(client) == [row(1)]
    client.do("SELECT 0")
    assert client.do("EXISTS j") == 0


# -- propagation -------------------------------------------------------------------------------


def test_the_entries_of_the_journal_are_propagated_with_the_acknowledgement(
    client: Talk, propagated: list[str]
) -> None:
    client.all("XCFGSET s ACK-JOURNAL-MAXLEN 1", "CONFIG SET stream-node-max-entries 1")
    propagated.clear()
    client.do("XACK s g 1-0 9-0 2-0")
    rest = f"stream s group g consumer c id %s delivered {NOW_MS} acked {NOW_MS + 10} deliveries 1"
    assert propagated == [
        "MULTI",
        "XACK s g 1-0 9-0 2-0",
        f"XADD j {NOW_MS + 10}-0 {rest % '1-0'}",
        f"XADD j {NOW_MS + 10}-1 {rest % '2-0'}",
        "XTRIM j MAXLEN = 1",
        "EXEC",
    ]


def test_whoever_replays_writes_nothing_down(client: Talk) -> None:
    client.client.state.replays = True
    client.all("XACK s g 1-0", "XACKDEL s g IDS 1 2-0")
    assert client.do("EXISTS j") == 0


IDS = st.sampled_from([f"{i}-0" for i in range(1, 9)])
STEPS = st.one_of(
    st.tuples(IDS, IDS).map(lambda ids: "XACK s g {} {}".format(*ids)),
    IDS.map("XACKDEL s g ACKED IDS 1 {}".format),
    IDS.map("XNACK s g FAIL IDS 1 {}".format),
    st.sampled_from(
        [
            "XREADGROUP GROUP g c COUNT 3 STREAMS s >", "XAUTOCLAIM s g d 0 0 COUNT 2",
            "MULTI", "EXEC", "DEL j", "SET j v", "RENAME s t", "RENAME t s", "COPY s t REPLACE",
            "XCFGSET s ACK-JOURNAL j ACK-JOURNAL-MAXLEN 2", "XACK t g 1-0 2-0",
        ]
    ),
)  # fmt: skip


@pytest.mark.parametrize("preamble", ["yes", "no"])
@settings(max_examples=examples(30))
@given(steps=st.lists(STEPS, max_size=20), rewritten_at=st.integers(0, 20))
def test_a_restart_brings_the_journal_back_as_it_was(
    preamble: str, steps: list[str], rewritten_at: int
) -> None:
    server = InProcessServer(
        now_ms=NOW_MS,
        appendonly="yes",
        aof_use_rdb_preamble=preamble,
        stream_node_max_entries="2",
        enable_debug_command="yes",
    )
    client = Talk(server)
    client.all(*(f"XADD s {i}-0 f v" for i in range(1, 9)), "XGROUP CREATE s g 0")
    client.do("XCFGSET s ACK-JOURNAL j ACK-JOURNAL-MAXLEN 3")
    client.do("XREADGROUP GROUP g c COUNT 4 STREAMS s >")
    for position, step in enumerate([*steps, "EXEC"]):
        if position == rewritten_at:
            client.raw("BGREWRITEAOF")
            server.tick()
        server.now_ms += 1
        client.raw(step)
    again = Talk(server.restart())
    for question in ("XRANGE j - +", "XRANGE s - +", "XPENDING s g", "DEBUG DIGEST"):
        assert again.raw(question) == client.raw(question)
    if client.do("TYPE s") == b"stream":
        assert journal_of(again) == journal_of(client)


def journal_of(client: Talk) -> tuple[Any, Any]:
    info = client.fields("XINFO POLICY s")
    return info.get("ack-journal"), info.get("ack-journal-maxlen")
