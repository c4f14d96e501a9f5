"""The keys with the largest sums, in bounded memory."""

from __future__ import annotations

import random
from collections import Counter

from commands.server.top_keys import TopKeys


def test_as_long_as_there_is_room_sums_are_exact() -> None:
    top = TopKeys(3)
    for key, amount in ((b"a", 1), (b"b", 5), (b"a", 3), (b"c", 4)):
        top.add(key, amount)
    assert top.top(2) == [(b"b", 5), (b"a", 4)]


def test_a_new_key_takes_the_place_of_the_least_and_claims_only_its_own() -> None:
    top = TopKeys(2)
    for key, amount in ((b"a", 10), (b"b", 3), (b"b", 1), (b"c", 2), (b"a", 1)):
        top.add(key, amount)
    assert top.top(5) == [(b"a", 11), (b"c", 2)]
    top.add(b"b", 100)
    assert top.top(1) == [(b"b", 100)]


def test_frequent_keys_are_found_among_many_in_bounded_memory() -> None:
    chance, top, true = random.Random(3), TopKeys(200), Counter[bytes]()
    for _ in range(30_000):
        if chance.random() < 0.3:
            key = b"hot%d" % chance.randrange(10)
        else:
            key = b"cold%d" % chance.randrange(20_000)
        amount = chance.randrange(20)
        top.add(key, amount)
        true[key] += amount
    assert len(top) == 200
    found = top.top(10)
    assert sorted(key for key, _ in found) == sorted(b"hot%d" % i for i in range(10))
    for key, certain in found:
        assert true[key] * 0.8 < certain <= true[key]
