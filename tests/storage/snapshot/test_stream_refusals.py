"""What Redis 8.10 refuses to load is found in bodies and payloads of streams."""

from __future__ import annotations

from storage.entries.entry_id import make_id
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.payload import dump
from storage.snapshot.stream_refusals import payload_refusal, refusal
from storage.types.value import StringValue
from tests.storage.snapshot.bodies import NOW_MS, GroupFields, StreamFields, decoded


def test_a_body_that_is_whole_is_not_refused() -> None:
    assert refusal(27, StreamFields().body()) is None


def test_a_body_with_something_wrong_is_refused_with_the_reason() -> None:
    read_too_much = StreamFields(groups=[GroupFields(entries_read=2)])
    assert refusal(27, read_too_much.body()) is not None
    assert "more entries" in str(refusal(27, read_too_much.body()))
    assert refusal(27, StreamFields(surplus=b"x").body()) == "1 bytes follow"


def test_payloads_of_streams_are_looked_at_and_others_passed_over() -> None:
    stream = decoded(StreamFields().body())
    assert payload_refusal(dump(stream, SnapshotOptions(), NOW_MS)) is None
    stream.max_deleted_id = make_id(9, 9)
    assert "above the last one" in str(payload_refusal(dump(stream, SnapshotOptions(), NOW_MS)))
    assert payload_refusal(dump(StringValue(b"x"), SnapshotOptions(), NOW_MS)) is None
