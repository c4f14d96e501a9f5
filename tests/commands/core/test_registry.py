"""commands/core/registry.py: where the keys of a request are."""

from __future__ import annotations

from commands.core.registry import KeySpec, counted_keys


def test_a_key_spec_counts_from_the_front() -> None:
    assert KeySpec(begin=1).positions([b"GET", b"k"]) == [1]


def test_a_key_spec_may_run_to_the_end_in_steps() -> None:
    spec = KeySpec(begin=1, last=-1, step=2)
    assert spec.positions([b"MSET", b"a", b"1", b"b", b"2"]) == [1, 3]


def test_a_key_spec_may_begin_after_a_keyword_and_take_the_first_half() -> None:
    spec = KeySpec(begin=1, keyword=b"STREAMS", last=-1, limit=2)
    argv = [b"XREAD", b"COUNT", b"1", b"streams", b"a", b"b", b"0", b"0"]
    assert spec.positions(argv) == [4, 5]


def test_a_key_spec_that_the_arguments_do_not_reach_gives_nothing() -> None:
    assert KeySpec(begin=3).positions([b"GET", b"k"]) == []
    assert KeySpec(begin=1, keyword=b"STREAMS", last=-1, limit=2).positions([b"XREAD"]) == []


def test_an_incomplete_specification_finds_its_keys_by_a_function() -> None:
    spec = KeySpec(begin=1, find=lambda argv: [len(argv) - 1])
    assert spec.positions([b"XREAD", b"a", b"b"]) == [2]


def test_keys_may_be_counted() -> None:
    (spec,) = counted_keys(b"RO", at=2)
    assert spec.positions([b"BLMPOP", b"0", b"2", b"a", b"b", b"LEFT"]) == [3, 4]
    for number in (b"0", b"-1", b"3", b"x"):
        assert spec.positions([b"BLMPOP", b"0", number, b"a", b"b"]) == []
    assert spec.positions([b"BLMPOP", b"0"]) == []
