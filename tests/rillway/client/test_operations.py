"""Requests out, replies in: without a server."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from rillway.client.operations import (
    PAGE,
    AddOptions,
    Entry,
    GroupOperations,
    Operation,
    StreamOperations,
    read_entries,
    xadd,
)
from rillway.client.partitions import Partitions

ORDERS = Partitions("orders", partitions=2)
CARRIED = Partitions("orders", partitions=2, key_field="who")
STREAM = StreamOperations(ORDERS, None, None)
BUSY = redis.ResponseError("BUSYGROUP Consumer Group name already exists")


def perform(operation: Operation[Any], *replies: Any) -> tuple[Any, list[Any]]:
    """The result, and all steps; each is given the next replies."""
    steps: list[Any] = []
    given: Any = None
    left = iter(replies)
    while True:
        try:
            step = operation.send(given)
        except StopIteration as end:
            return end.value, steps
        steps.append(step)
        given = [] if isinstance(step, float) else next(left)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ["*"]),
        ({"id": "5-*"}, ["5-*"]),
        ({"nomkstream": True, "maxlen": 10}, ["NOMKSTREAM", "MAXLEN", "~", 10, "*"]),
        (
            {"minid": "5", "approximate": False},
            ["MINID", "=", "5", "*"],
        ),
        (
            {"idmp": ("shop", "order-1"), "maxlen": 9, "limit": 100},
            ["IDMP", "shop", "order-1", "MAXLEN", "~", 9, "LIMIT", 100, "*"],
        ),
        ({"idmpauto": "shop"}, ["IDMPAUTO", "shop", "*"]),
    ],
)
def test_options_become_the_words_of_xadd(options: AddOptions, words: list[Any]) -> None:
    request = xadd(ORDERS, "anna", {"item": "lamp", "n": 1}, options)
    assert request == ("XADD", "orders:{0}", *words, "item", "lamp", "n", 1)


def test_an_entry_carries_its_key_if_the_stream_says_so() -> None:
    assert xadd(CARRIED, "anna", {"n": 1}, {})[-4:] == ("who", "anna", "n", 1)
    assert xadd(CARRIED, "anna", {"n": 1, "who": b"anna"}, {})[-4:] == ("who", b"anna", "n", 1)
    with pytest.raises(ValueError, match="not the entry's key"):
        xadd(CARRIED, "anna", {"who": "bob"}, {})


def test_an_entry_without_fields_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one field"):
        xadd(CARRIED, "anna", {}, {})


def test_an_error_in_place_of_an_id_is_raised() -> None:
    with pytest.raises(redis.ResponseError, match="OOM"):
        perform(STREAM.add("anna", {"n": 1}), [redis.ResponseError("OOM")])


def test_many_entries_go_in_pages_in_their_order() -> None:
    entries = [(f"k{number}", {"n": number}) for number in range(PAGE + 1)]
    ids, steps = perform(STREAM.add_many(entries), list(range(PAGE)), [PAGE])
    assert ids == list(range(PAGE + 1))
    assert [len(step) for step in steps] == [PAGE, 1]


def test_the_length_is_that_of_all_partitions() -> None:
    assert perform(STREAM.length(), [3, 4]) == (
        7,
        [[("XLEN", "orders:{0}"), ("XLEN", "orders:{1}")]],
    )


def test_history_goes_on_after_a_full_page_and_keeps_to_its_key() -> None:
    carried = StreamOperations(CARRIED, None, None)
    page = [(f"{n}-0", {"who": "anna" if n % 2 else "carl"}) for n in range(PAGE)]
    last = [("9000-0", {b"who": b"anna"}), ("9001-0", {})]
    found, steps = perform(carried.history("anna"), [page], [last])
    assert [entry.id for entry in found] == [f"{n}-0" for n in range(1, PAGE, 2)] + ["9000-0"]
    assert [step[0][2] for step in steps] == ["-", f"({PAGE - 1}-0"]
    found, steps = perform(carried.history("anna", count=2), [page])
    assert [entry.id for entry in found] == ["1-0", "3-0"]


# -- groups ---------------------------------------------------------------------------------------


@pytest.fixture
def group() -> GroupOperations:
    return GroupOperations(ORDERS, "billing", "me")


def test_a_group_is_created_where_it_is_missing(group: GroupOperations) -> None:
    assert perform(group.create("0"), [b"OK", BUSY])[0] == 1
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        perform(group.create("0"), [b"OK", redis.ResponseError("WRONGTYPE")])


def test_a_read_that_finds_nothing_asks_again_after_growing_pauses(group: GroupOperations) -> None:
    found = [[], [["orders:{1}", [("5-0", {"n": "1"})]]]]
    entries, steps = perform(group.read(10, 0), *[[[], []]] * 7, found)
    assert entries == [Entry(1, "5-0", {"n": "1"})]
    pauses = [step for step in steps if isinstance(step, float)]
    assert pauses == [0.001, 0.002, 0.004, 0.008, 0.016, 0.02, 0.02]


def test_a_read_waits_no_longer_than_it_is_told_to(group: GroupOperations) -> None:
    entries, steps = perform(group.read(10, 5), *[[[], []]] * 4)
    assert entries == []
    assert sum(step for step in steps if isinstance(step, float)) == pytest.approx(0.005)
    assert len(perform(group.read(10, None), [[], []])[1]) == 1


def test_the_backlog_is_read_on_until_no_partition_has_more(group: GroupOperations) -> None:
    after = {0: "0", 1: "0"}
    first = [[["orders:{0}", [("5-0", {"n": "1"}), ("6-0", {})]]], [["orders:{1}", []]]]
    entries, _ = perform(group.read_backlog(after, 10), first)
    assert (entries, after) == ([Entry(0, "5-0", {"n": "1"})], {0: "6-0"})
    assert perform(group.read_backlog(after, 10), [[["orders:{0}", []]]])[0] == []
    assert after == {}


def test_entries_are_acknowledged_in_their_partitions(group: GroupOperations) -> None:
    entries = [Entry(1, "5-0", {}), Entry(0, "6-0", {}), Entry(1, "7-0", {})]
    acknowledged, (step,) = perform(group.ack(*entries), [2, 1])
    assert acknowledged == 3
    assert step == [
        ("XACK", "orders:{1}", "billing", "5-0", "7-0"),
        ("XACK", "orders:{0}", "billing", "6-0"),
    ]
    assert perform(group.ack()) == (0, [])


@pytest.mark.parametrize(
    "reply",
    [
        [["s", [("5-0", {"n": "1"})]]],
        {"s": [("5-0", {"n": "1"})]},
        {"s": [[("5-0", {"n": "1"})]]},
        {"s": [[["5-0", {"n": "1"}]]]},
        {"s": [["5-0", {"n": "1"}]]},
    ],
)
def test_entries_are_found_in_every_form_of_the_reply(reply: Any) -> None:
    assert list(read_entries(reply)) == [("5-0", {"n": "1"})]


@pytest.mark.parametrize("reply", [None, [], {}, [["s", []]], {"s": []}, {"s": [[]]}])
def test_no_entries_are_found_in_an_empty_reply(reply: Any) -> None:
    assert list(read_entries(reply)) == []
