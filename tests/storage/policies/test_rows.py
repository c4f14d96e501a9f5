"""Policies as rows: what a row restores, and what is refused."""

from __future__ import annotations

import pytest

from storage.groups.group import References
from storage.policies import rows
from storage.policies.retention import Retention
from storage.policies.rows import UnknownPolicy, restore, restore_text, rows_of, texts_of
from storage.policies.stream_policy import StreamPolicy
from storage.stream import Stream

SETTINGS = [b"RETAIN-MS", b"1000", b"RETAIN-REFS", b"ACKED"]


def kept(*words: bytes) -> Stream:
    """A stream with these settings."""
    stream = Stream()
    restore(stream, [b"retain", *words])
    return stream


def test_a_stream_without_policies_has_no_rows() -> None:
    assert not list(rows_of(Stream()))
    assert not list(texts_of(Stream()))


def test_settings_replace_all_others_and_keep_counters() -> None:
    stream = kept(*SETTINGS)
    restore(stream, [b"retained", b"7", b"1", b"2"])
    restore(stream, [b"retain", b"RETAIN-LEN", b"5", b"RETAIN-ACKED", b"yes"])
    assert list(rows_of(stream)) == [
        [b"retain", b"RETAIN-LEN", b"5", b"RETAIN-ACKED", b"yes"],
        [b"retained", b"7", b"1", b"2"],
    ]
    assert stream.policy is not None
    assert isinstance(stream.policy.retention, Retention)
    assert stream.policy.retention.references is References.KEEP


def test_texts_restore_what_they_were_made_of() -> None:
    stream = kept(*SETTINGS)
    twin = Stream()
    for text in texts_of(stream):
        restore_text(twin, text)
    assert list(rows_of(twin)) == list(rows_of(stream)) == [[b"retain", *SETTINGS]]


def test_many_rows_are_cut_into_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[list[bytes]] = []
    sent = [[b"many", b"%d" % number, b"x" * 1000] for number in range(200)]
    feature = rows.Feature(
        lambda stream, policy: iter(sent),
        {b"many": lambda stream, policy, words: taken.append([b"many", *words])},
    )
    monkeypatch.setattr(rows, "FEATURES", [feature])
    stream = Stream()
    stream.policy = StreamPolicy()
    texts = list(texts_of(stream))
    assert len(texts) == 4
    assert max(map(len, texts)) <= rows.CHUNK_BYTES + 1
    for text in texts:
        restore_text(stream, text)
    assert taken == sent


@pytest.mark.parametrize(
    "row",
    [
        [b"retained", b"1", b"2", b"3"],
        [b"retain", b"RETAIN-MS"],
        [b"retain", b"RETAIN-MS", b"-1"],
        [b"retain", b"RETAIN-NEVER", b"1"],
        [b"retain", b"RETAIN-REFS", b"NONE"],
        [b"next-years", b"1"],
    ],
)
def test_an_unknown_row_is_refused(row: list[bytes]) -> None:
    with pytest.raises(UnknownPolicy):
        restore(Stream(), row)


@pytest.mark.parametrize("text", [b"", b"2*1\r\n$1\r\nx\r\n", b"1*1\r\n$5\r\nx\r\n", b"1"])
def test_an_unknown_text_is_refused(text: bytes) -> None:
    with pytest.raises(UnknownPolicy):
        restore_text(Stream(), text)
