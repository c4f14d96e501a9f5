"""Journals of acknowledgements as snapshots have them."""

from __future__ import annotations

import pytest

from storage.groups.ack_journal import AckJournal


@pytest.mark.parametrize("key", [b"j", b"with blank", b" ", b"\x00\xff", b"5"])
@pytest.mark.parametrize("max_length", [1, 100_000, 2**63 - 1])
def test_a_journal_comes_back_from_its_text(key: bytes, max_length: int) -> None:
    journal = AckJournal(key, max_length)
    assert AckJournal.from_text(journal.to_text()) == journal


@pytest.mark.parametrize(
    "text", [b"", b"5", b"5 ", b" j", b"0 j", b"-1 j", b"05 j", b"x j", b"9" * 5000 + b" j"]
)
def test_a_text_of_no_journal_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        AckJournal.from_text(text)


def test_a_copy_has_skipped_nothing() -> None:
    assert AckJournal(b"j", 5, skipped=3).copy() == AckJournal(b"j", 5)
