"""Ranges cut into runs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, make_id
from storage.nodes.partition import Run
from storage.stream import Stream

NODE_ENTRIES, NODE_BYTES = 4, 4096


def stream_of(count: int) -> Stream:
    """With the IDs 10-0, 20-0... and four entries in a node."""
    stream = Stream()
    for number in range(1, count + 1):
        stream.append(make_id(10 * number, 0), [b"f", b"v"], NODE_ENTRIES, NODE_BYTES)
    return stream


def runs_of(ids: list[EntryID], every: int) -> list[Run]:
    """What `partition` is to find, from a list of all IDs."""
    parts = [ids[place : place + every] for place in range(0, len(ids), every)]
    return [Run(part[0], part[-1], len(part)) for part in parts]


@given(
    st.integers(0, 40),
    st.sets(st.integers(1, 40)),
    st.integers(0, 420),
    st.integers(0, 420),
    st.integers(1, 20),
    st.integers(0, 50),
)
def test_runs_are_what_a_list_of_the_ids_gives(
    length: int, deleted: set[int], start_ms: int, end_ms: int, every: int, count: int
) -> None:
    stream = stream_of(length)
    for number in deleted:
        stream.delete(make_id(10 * number, 0))
    start, end = make_id(start_ms, 0), make_id(end_ms, 0)
    expected = runs_of(list(stream.ids(start, end, count)), every)
    assert stream.split(start, end, every, count) == expected


def test_nodes_within_a_run_are_not_looked_into() -> None:
    stream = stream_of(40)
    looked_into: list[EntryID] = []

    class Watched:
        """A node that notes who asks for its IDs."""

        def __init__(self, node: object) -> None:
            self._node = node

        def __getattr__(self, name: str) -> object:
            if name == "select_ids":
                looked_into.append(self._node.key)  # type: ignore[attr-defined]
            return getattr(self._node, name)

    from storage.nodes.partition import partition

    nodes = [Watched(node) for node in stream._nodes]
    runs = partition(nodes, MIN_ID, MAX_ID, 18, 40)  # type: ignore[arg-type]
    assert [run.length for run in runs] == [18, 18, 4]
    # Of ten nodes, those in which a run or the range begins or ends.
    assert [key >> 64 for key in looked_into] == [10, 170, 330, 370]
