"""backlog.py: which bytes it holds, and from which offsets one can resume."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from server.replication.primary.backlog import MIN_BYTES, Backlog


def test_replicas_that_lack_nothing_resume_from_an_empty_backlog() -> None:
    backlog = Backlog(MIN_BYTES, 100)
    assert (backlog.first_offset, backlog.length) == (101, 0)
    assert [backlog.holds(offset) for offset in (100, 101, 102)] == [False, True, False]
    assert backlog.since(101) == []


def test_the_next_byte_after_the_end_lacks_nothing() -> None:
    backlog = Backlog(MIN_BYTES, 0)
    backlog.append(b"abc")
    assert [backlog.holds(offset) for offset in (0, 1, 4, 5)] == [False, True, True, False]
    assert b"".join(backlog.since(2)) == b"bc"
    assert backlog.since(4) == []


def test_large_chunks_are_neither_copied_nor_joined() -> None:
    backlog = Backlog(1 << 20, 0)
    chunks = [bytes(20_000), bytes(20_000)]
    for chunk in chunks:
        backlog.append(chunk)
    assert all(held is chunk for held, chunk in zip(backlog.since(1), chunks, strict=True))


@given(st.lists(st.binary(min_size=1, max_size=30_000), max_size=30), st.integers(1, 60_000))
def test_it_holds_the_end_of_the_stream(chunks: list[bytes], size_bytes: int) -> None:
    backlog, stream = Backlog(size_bytes, 7), b""
    for chunk in chunks:
        backlog.append(chunk)
        stream += chunk
    least = min(len(stream), max(size_bytes, MIN_BYTES))
    assert backlog.length >= least
    for offset in {backlog.first_offset, 8 + len(stream) - least, 8 + len(stream)}:
        assert backlog.holds(offset)
        assert b"".join(backlog.since(offset)) == stream[offset - 8 :]
    assert not backlog.holds(backlog.first_offset - 1)
    assert not backlog.holds(9 + len(stream))
