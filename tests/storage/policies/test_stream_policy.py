"""What a stream has of policies: copies, and memory."""

from __future__ import annotations

from storage.policies.rows import restore, rows_of
from storage.stream import Stream


def test_a_copy_has_the_policies_but_for_parts_that_it_must_not_have() -> None:
    stream = Stream()
    restore(stream, [b"retain", b"RETAIN-LEN", b"5"])
    restore(stream, [b"retained", b"7", b"0", b"0"])
    assert stream.policy is not None
    restore(stream, [b"scheduled", b"5", b"1", b"f", b"v"])
    twin = stream.copy()
    assert twin.policy is not None
    assert twin.policy is not stream.policy
    assert twin.policy.schedule is None
    assert list(rows_of(twin)) == [[b"retain", b"RETAIN-LEN", b"5"]]


def test_policies_take_memory() -> None:
    stream = Stream()
    without = stream.memory_bytes()
    restore(stream, [b"retain", b"RETAIN-LEN", b"5"])
    with_settings = stream.memory_bytes()
    assert with_settings > without
    assert stream.policy is not None
    restore(stream, [b"scheduled", b"5", b"1", b"f", b"v" * 1000])
    assert stream.memory_bytes() > with_settings + 1000
