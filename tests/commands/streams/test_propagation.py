"""Propagated requests create the same stream on a replica, whatever its history.

And what is saved of either never has anything that Redis 8.10 refuses. Not compared is what Redis
does not propagate either: consumers' times, and the changes of times and delivery counts by reading
the history.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from server.inprocess.server import InProcessServer
from storage.snapshot.stream_refusals import payload_refusal
from tests.commands.streams.talk import Talk
from tests.support.examples import examples

IDS = st.sampled_from(["1-1", "2-1", "3-1", "4-1", "5-1", "6-1", "7-1"])
STARTS = st.sampled_from(["-", "2", "(3-1", "5-1"])
ENDS = st.sampled_from(["+", "3", "(5-1", "6-1"])
GROUPS = st.sampled_from(["g", "h"])
CONSUMERS = st.sampled_from(["a", "b"])
POLICIES = st.sampled_from(["", "KEEPREF", "DELREF", "ACKED"])
COUNTS = st.sampled_from(["0", "1", "2", "3"])
TRIMS = st.sampled_from(["MAXLEN {}", "MAXLEN ~ {}", "MINID {}-1", "MINID ~ {}-1"])
MODES = st.sampled_from(["SILENT", "FAIL", "FATAL"])
IDLE = st.sampled_from(["0", "5", "1000"])


def drawn(form: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A request made of a template and drawn arguments."""
    return st.tuples(*parts).map(lambda words: form.format(*words))


REQUESTS = st.one_of(
    st.sampled_from(["XADD s * f v", "XADD s IDMP p 1 * f v", "XADD s IDMPAUTO p * f v"]),
    drawn("XADD s {} {} * f v", POLICIES, TRIMS.flatmap(lambda trim: drawn(trim, COUNTS))),
    drawn("XTRIM s {1} {0}", POLICIES, TRIMS.flatmap(lambda trim: drawn(trim, COUNTS))),
    drawn("XDEL s {}", IDS),
    drawn("XDELEX s {} IDS 1 {}", POLICIES, IDS),
    drawn("XDELRANGE s {} {} COUNT {} {}", STARTS, ENDS, st.integers(1, 9).map(str), POLICIES),
    drawn("XDELRANGE s {} {} {}", STARTS, ENDS, POLICIES),
    drawn("XACK s {} {}", GROUPS, IDS),
    drawn("XACKDEL s {} {} IDS 2 {} {}", GROUPS, POLICIES, IDS, IDS),
    drawn("XNACK s {} {} IDS 2 {} {}", GROUPS, MODES, IDS, IDS),
    drawn("XNACK s {} {} IDS 1 {} FORCE", GROUPS, MODES, IDS),
    drawn("XREADGROUP GROUP {} {} COUNT {} STREAMS s >", GROUPS, CONSUMERS, COUNTS),
    drawn("XREADGROUP GROUP {} {} MAXCOUNT 2 NOACK STREAMS s >", GROUPS, CONSUMERS),
    drawn("XREADGROUP GROUP {} {} CLAIM {} COUNT {} STREAMS s >", GROUPS, CONSUMERS, IDLE, COUNTS),
    drawn("XREADGROUP GROUP {} {} CLAIM {} NOACK STREAMS s >", GROUPS, CONSUMERS, IDLE),
    drawn("XCLAIM s {} {} {} {} FORCE", GROUPS, CONSUMERS, IDLE, IDS),
    drawn("XAUTOCLAIM s {} {} {} 0 COUNT 2", GROUPS, CONSUMERS, IDLE),
    drawn("XGROUP SETID s {} {}", GROUPS, IDS),
    drawn("XGROUP SETID s {} {} ENTRIESREAD 1{}", GROUPS, IDS, COUNTS),
    drawn("XSETID s {}-9 ENTRIESADDED 1{}", IDS.map(lambda text: text[0]), COUNTS),
    drawn("XGROUP DELCONSUMER s {} {}", GROUPS, CONSUMERS),
    drawn("XGROUP DELCONSUMER s {} {} KEEPPENDING", GROUPS, CONSUMERS),
    st.sampled_from([f"XGROUP DELCONSUMER s g {w}" for w in ("a TRANSFER b", "b TRANSFER c")]),
    st.sampled_from(["XCFGSET s IDMP-MAXSIZE 1", "XCFGSET s IDMP-MAXSIZE 9"]),
    st.sampled_from(["XCFGSET s ACK-JOURNAL j ACK-JOURNAL-MAXLEN 2", "DEL j", "SET j v"]),
)


def state(talk: Talk) -> list[Any]:
    """All that clients see of the stream, but for consumers' times."""
    groups = [talk.do(f"XPENDING s {group} - + 99") for group in ("g", "h")]
    summaries = [talk.do(f"XPENDING s {group}") for group in ("g", "h")]
    names = [[c[1] for c in talk.do(f"XINFO CONSUMERS s {group}")] for group in ("g", "h")]
    info = talk.fields("XINFO STREAM s")
    # The nodes of a copy end elsewhere once entries are trimmed by whole nodes.
    del info["radix-tree-keys"], info["radix-tree-nodes"]
    policy = talk.fields("XINFO POLICY s")
    # How often the journal could not be written is known where that was.
    policy.pop("ack-journal-skipped", None)
    entries = [talk.raw("XRANGE s - +"), talk.raw("XRANGE j - +")]
    return [info, policy, entries, talk.do("XINFO GROUPS s"), groups, summaries, names]


@settings(max_examples=examples(60))
@given(requests=st.lists(REQUESTS, max_size=25))
def test_a_copy_that_runs_what_is_propagated_has_the_same_state(requests: list[str]) -> None:
    server, twin = InProcessServer(stream_node_max_entries="3"), InProcessServer()
    client, copy = Talk(server), Talk(twin)
    copy.client.state.replays = True
    for talk in (client, copy):
        talk.all(*(f"XADD s {i}-1 f v" for i in range(1, 6)))
        talk.all("XGROUP CREATE s g 0 ENTRIESREAD 0", "XGROUP CREATE s h 2-1")
    server.propagated.clear()
    for request in requests:
        server.now_ms += 3
        twin.now_ms = server.now_ms
        # XSETID is refused where the stream has gone beyond it.
        (client.raw if request.startswith("XSETID") else client.do)(request)
        for _, unit in server.propagated:
            for argv in unit:
                copy.client.execute(*argv)
        server.propagated.clear()
        assert state(copy) == state(client), request
    for talk in (client, copy):
        assert payload_refusal(talk.do("DUMP s")) is None
