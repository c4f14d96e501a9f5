"""How many entries are asked for at once."""

from __future__ import annotations

from rillway.pipeline.ranges.pages import MAX_REPLY_BYTES, PAGE_BYTES, PageSize


def test_pages_grow_while_entries_are_small() -> None:
    size = PageSize(5000)
    counts = [size.count]
    for _ in range(3):
        size.seen(size.count, size.count * 100)
        counts.append(size.count)
    assert counts == [100, 1000, 5000, 5000]


def test_pages_have_as_many_entries_as_fit() -> None:
    size = PageSize()
    size.seen(100, 10 * PAGE_BYTES)
    assert size.count == 10
    size.seen(10, 100 * PAGE_BYTES)
    assert size.count == 1
    size.seen(0, 0)
    assert size.count == 1


def test_a_reply_that_was_too_long_is_asked_for_in_parts_down_to_one_entry() -> None:
    size = PageSize()
    for expected in (100, 10, 1):
        assert size.count == expected
        assert size.max_bytes == (MAX_REPLY_BYTES if expected > 1 else None)
        size.shrink()
    assert size.count == 1


def test_the_users_own_limit_is_kept() -> None:
    size = PageSize(7)
    size.seen(7, 70)
    assert size.count == 7
