"""Positions and offsets as Spark writes them down."""

from __future__ import annotations

import json

import pytest

from rillway.pipeline.ranges.anchors import Anchor
from rillway.pipeline.ranges.offsets import Anchors, Position, from_json, to_json
from rillway.pipeline.wire.ids import make_id


def test_an_offset_is_the_same_text_whatever_order_it_was_made_in() -> None:
    one = {"b": Position(make_id(2), 2), "a": Position(make_id(1, 5), None)}
    other = dict(reversed(one.items()))
    text = '{"a": {"id": "1-5"}, "b": {"id": "2-0", "n": 2}}'
    assert json.dumps(to_json(one)) == json.dumps(to_json(other)) == text
    assert from_json(text) == from_json(json.loads(text)) == one


def test_a_bare_id_is_a_position_of_which_no_count_is_known() -> None:
    assert from_json('{"a": "5-1"}') == {"a": Position(make_id(5, 1), None)}
    assert from_json('{"a": "05"}') == from_json('{"a": "5-0"}')


def test_the_end_of_a_batch_says_how_it_is_shared_among_tasks() -> None:
    end = {"a": Position(make_id(9), 9, cuts=(make_id(3), make_id(6, 1)), opens=True)}
    text = '{"a": {"id": "9-0", "n": 9, "cuts": ["3-0", "6-1"], "opens": true}}'
    assert json.dumps(to_json(end)) == text
    assert from_json(text) == end
    assert end["a"].alone() == Position(make_id(9), 9)


def test_an_offset_keeps_what_proves_the_history() -> None:
    anchors = Anchors("9-0 1 ab12,2-1 100 cd34")
    end = {"a": Position(make_id(9), 9, after=make_id(4), anchors=anchors, removed=3)}
    text = '{"a": {"id": "9-0", "n": 9, "after": "4-0", "h": "9-0 1 ab12,2-1 100 cd34", "r": 3}}'
    assert json.dumps(to_json(end)) == text
    assert from_json(text) == end
    assert end["a"].alone() == Position(make_id(9), 9, anchors=anchors, removed=3)
    last, farther = Anchor(make_id(9), "ab12", 1), Anchor(make_id(2, 1), "cd34", 100)
    assert anchors.last == last
    assert tuple(anchors) == (last, farther)
    assert Anchors.of((last, farther)) == anchors
    assert not Anchors() and tuple(Anchors()) == ()


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "5",
        '{"a": 5}',
        '{"a": {}}',
        '{"a": {"id": "x"}}',
        '{"a": {"id": "5", "n": "1"}}',
        '{"a": {"id": "5", "r": "1"}}',
        '{"a": {"id": "5", "cuts": 5}}',
        '{"a": {"id": "5", "h": 5}}',
        '{"a": {"id": "5", "h": "5-0 ab12"}}',
        '{"a": {"id": "5", "h": "5-0 1 ab12,"}}',
        '{"a": {"id": "5", "h": "5-0 1 ab12 4-0 2 cd34"}}',
    ],
)
def test_what_is_no_offset_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|number|IDs"):
        from_json(text)
