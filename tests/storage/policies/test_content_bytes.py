"""The bytes of a stream's fields and values, whatever became of its nodes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry import decode_fields
from storage.entries.entry_id import MAX_ID, MIN_ID, make_id
from storage.policies.content_bytes import RECOUNT_MS, ContentBytes
from storage.stream import Stream

OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 30), st.integers(0, 20)),
        st.tuples(st.just("delete"), st.integers(0, 60), st.integers(1, 20)),
        st.tuples(st.just("trim"), st.integers(0, 60), st.just(0)),
        st.tuples(st.just("count"), st.just(0), st.just(0)),
    )
)


def counted(stream: Stream) -> int:
    """The bytes, entry by entry."""
    total = 0
    for entry_id in stream.ids(MIN_ID, MAX_ID):
        entry = stream.get(entry_id)
        assert entry is not None
        total += sum(map(len, decode_fields(entry)))
    return total


def whole(content: ContentBytes, stream: Stream, now_ms: int) -> None:
    """Count until all is counted."""
    for _ in range(3):
        if content.count(stream, now_ms, lambda: False):
            return
    raise AssertionError("it never ends")


@given(OPERATIONS)
def test_the_count_follows_every_change(operations: list[Any]) -> None:
    stream, content, now_ms, added = Stream(), ContentBytes(), 0, 0
    for name, first, second in operations:
        if name == "add":
            for _ in range(first):
                added += 1
                stream.append(make_id(added, 0), [b"f", b"x" * second], 7, 0)
        elif name == "delete":
            ids = list(stream.ids(MIN_ID, MAX_ID))[first : first + second]
            if ids:
                stream.delete_all(ids)
        elif name == "trim":
            stream.trim_to_length(first)
        now_ms += RECOUNT_MS
        whole(content, stream, now_ms)
        assert content.total == counted(stream)
        assert content.live == stream.length


def test_a_copy_that_takes_long_is_counted_in_steps() -> None:
    stream, content = Stream(), ContentBytes()
    for number in range(1, 101):
        stream.append(make_id(number, 0), [b"f", b"v"], 10, 0)
    answers = iter([False, False, True] * 10)
    steps = 1
    while not content.count(stream, 0, lambda: next(answers)):
        steps += 1
    assert steps > 3
    assert content.is_whole
    assert content.total == 200
    without = content.memory_bytes()
    stream.trim_to_length(0)
    assert content.count(stream, 0, lambda: False)
    assert (content.total, content.live) == (0, 0)
    assert content.memory_bytes() < without
