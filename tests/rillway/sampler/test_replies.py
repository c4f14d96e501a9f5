"""Replies as values."""

from __future__ import annotations

import pytest

from rillway.sampler.replies import (
    as_map,
    as_text,
    entry_bytes,
    info_fields,
    is_error,
    is_missing,
    is_refusal,
    known_lag,
    optional_text,
    pairs,
    percentile_us,
    time_us,
)


def test_a_map_is_the_same_over_both_protocols() -> None:
    assert as_map([b"a", 1, b"b", [2]]) == as_map({b"a": 1, b"b": [2]}) == {b"a": 1, b"b": [2]}


@pytest.mark.parametrize(("lag", "known"), [(0, 0), (7, 7), (None, None), (-8, None)])
def test_a_negative_lag_is_one_that_the_server_does_not_know(
    lag: int | None, known: int | None
) -> None:
    assert known_lag({b"lag": lag}) == known
    assert known_lag({}) is None


def test_lines_of_info_and_their_fields() -> None:
    fields = info_fields(b"# Server\r\nredis_version:8.2.3\r\nrole:master\r\n\r\n")
    assert fields == {"redis_version": "8.2.3", "role": "master"}
    assert pairs("keys=1,expires=0", ",") == {"keys": "1", "expires": "0"}


def test_errors_are_told_apart() -> None:
    assert is_error(ValueError()) and not is_error(b"ERR")
    assert is_refusal(Exception("NOPERM User u has no permissions"))
    assert is_refusal(Exception("unknown command 'LATENCY'"))
    assert not is_refusal(Exception("LOADING Redis is loading the dataset in memory"))
    assert is_missing(Exception("ERR no such key")) and is_missing(Exception("WRONGTYPE Operation"))


def test_bytes_become_text() -> None:
    assert as_text(b"\xffa") == "\\xffa" and as_text("b") == "b"
    assert optional_text(None) is None


def test_times_and_sizes() -> None:
    assert time_us([b"17", b"000005"]) == 17_000_005
    assert entry_bytes([b"1-0", [b"ab", b"c"]]) == 3
    assert entry_bytes(None) == entry_bytes([b"1-0", None]) == 0


@pytest.mark.parametrize(("share", "bound"), [(0.5, 2), (0.98, 2), (0.99, 8), (1.0, 64)])
def test_a_percentile_is_the_bound_of_its_bucket(share: float, bound: int) -> None:
    assert percentile_us({1: 40, 2: 98, 8: 99, 64: 100}, 100, share) == bound


def test_no_calls_have_no_percentile() -> None:
    assert percentile_us({}, 0, 0.5) is None
