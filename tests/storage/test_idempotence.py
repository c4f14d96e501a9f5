"""The message IDs of producers that a stream remembers."""

from __future__ import annotations

from storage.idempotence import Idempotence, automatic_iid


def second(number: int) -> int:
    """An entry ID in that second."""
    return number * 1000 << 64


def known(memory: Idempotence) -> dict[bytes, list[bytes]]:
    return {pid: list(messages) for pid, messages in memory.producers.items()}


def test_a_message_is_found_by_its_producer_and_its_name() -> None:
    memory = Idempotence()
    memory.record(b"p", b"1", 5)
    assert memory.find(b"p", b"1") == 5
    assert memory.find(b"p", b"2") is None
    assert memory.find(b"other", b"1") is None


def test_a_look_up_creates_no_producer() -> None:
    memory = Idempotence()
    assert memory.find(b"p", b"1") is None
    assert (memory.pids_tracked, memory.iids_tracked) == (0, 0)


def test_names_are_binary_and_of_any_length() -> None:
    memory = Idempotence()
    memory.record(b"\x00" * 70_000, b"\xff\r\n", 5)
    assert memory.find(b"\x00" * 70_000, b"\xff\r\n") == 5


def test_messages_and_duplicates_are_counted() -> None:
    memory = Idempotence(maxsize=2)
    for number in range(5):
        memory.record(b"p", b"%d" % number, number)
    memory.record(b"q", b"0", 9)
    memory.note_duplicate()
    assert (memory.added, memory.duplicates) == (6, 1)
    assert (memory.pids_tracked, memory.iids_tracked) == (2, 3)


def test_the_oldest_message_of_a_producer_makes_room_for_a_new_one() -> None:
    memory = Idempotence(maxsize=2)
    memory.record(b"quiet", b"0", 1)
    for number in range(4):
        memory.record(b"busy", b"%d" % number, number)
    assert known(memory) == {b"quiet": [b"0"], b"busy": [b"2", b"3"]}


def test_messages_expire_by_the_time_of_their_entries() -> None:
    memory = Idempotence(duration_s=10)
    for number in (1, 2, 3):
        memory.record(b"p", b"%d" % number, second(number))
    memory.record(b"q", b"1", second(1))
    assert memory.expire(11_000) == 0
    assert memory.expire(11_001) == 2
    assert known(memory) == {b"p": [b"2", b"3"]}
    assert (memory.pids_tracked, memory.iids_tracked) == (1, 2)
    assert memory.expire(13_001) == 2
    assert known(memory) == {}


def test_a_message_is_found_until_it_is_expired() -> None:
    memory = Idempotence(duration_s=1)
    memory.record(b"p", b"1", second(1))
    assert memory.find(b"p", b"1") == second(1)
    memory.expire(60_000)
    assert memory.find(b"p", b"1") is None


def test_expiry_in_steps_reaches_every_producer() -> None:
    memory = Idempotence(duration_s=10)
    for number in range(6):
        memory.record(b"%d" % number, b"old", second(1))
        memory.record(b"%d" % number, b"new", second(30))
    expired = [memory.expire(31_000, 2) for _ in range(4)]
    assert expired == [2, 2, 2, 0]
    assert set(known(memory)) == {b"%d" % number for number in range(6)}


def test_an_expired_message_may_be_sent_again() -> None:
    memory = Idempotence(duration_s=1)
    memory.record(b"p", b"1", second(1))
    memory.expire(60_000)
    memory.record(b"p", b"1", second(60))
    assert memory.find(b"p", b"1") == second(60)


def test_a_different_limit_makes_it_forget_all_but_the_counters() -> None:
    memory = Idempotence(duration_s=10, maxsize=5)
    memory.record(b"p", b"1", 1)
    memory.note_duplicate()
    assert not memory.configure(duration_s=10, maxsize=5)
    assert not memory.configure()
    assert known(memory) == {b"p": [b"1"]}
    assert memory.configure(maxsize=6)
    assert (known(memory), memory.iids_tracked) == ({}, 0)
    assert (memory.duration_s, memory.maxsize) == (10, 6)
    assert (memory.added, memory.duplicates) == (1, 1)


def test_a_copy_is_independent() -> None:
    memory = Idempotence(duration_s=10, maxsize=5)
    memory.record(b"p", b"1", 1)
    memory.note_duplicate()
    twin = memory.copy()
    memory.record(b"p", b"2", 2)
    assert known(twin) == {b"p": [b"1"]}
    assert (twin.duration_s, twin.maxsize, twin.iids_tracked) == (10, 5, 1)
    assert (twin.added, twin.duplicates) == (1, 1)


def test_the_estimate_of_memory_grows_with_what_is_remembered() -> None:
    memory = Idempotence(maxsize=10_000)
    small = memory.memory_bytes()
    for number in range(1000):
        memory.record(b"p", b"%016d" % number, second(number))
    assert 1000 * 80 < memory.memory_bytes() - small < 1000 * 300


# -- names that follow from the content --------------------------------------------------------


def test_an_automatic_name_has_128_bits_and_does_not_change() -> None:
    name = automatic_iid([b"f", b"v"])
    assert len(name) == 16
    assert name == automatic_iid([b"f", b"v"])


def test_the_order_of_the_pairs_does_not_matter() -> None:
    pairs = [b"a", b"1", b"b", b"2", b"c", b"3"]
    turned = [b"c", b"3", b"a", b"1", b"b", b"2"]
    assert automatic_iid(pairs) == automatic_iid(turned)


def test_what_belongs_to_which_field_matters() -> None:
    names = [
        automatic_iid([b"a", b"1", b"b", b"2"]),
        automatic_iid([b"a", b"2", b"b", b"1"]),
        automatic_iid([b"1", b"a", b"b", b"2"]),
        automatic_iid([b"a", b"1"]),
        automatic_iid([b"ab", b"c"]),
        automatic_iid([b"a", b"bc"]),
        automatic_iid([b"a:", b"bc"]),
    ]
    assert len(set(names)) == len(names)


def test_a_pair_that_occurs_twice_is_not_as_if_it_were_not_there() -> None:
    names = {
        automatic_iid([]),
        automatic_iid([b"a", b"1"]),
        automatic_iid([b"a", b"1"] * 2),
        automatic_iid([b"a", b"1"] * 3),
    }
    assert len(names) == 4


def test_current_messages_are_returned_and_nothing_is_removed() -> None:
    memory = Idempotence(duration_s=10)
    memory.record(b"p", b"1", second(89))
    memory.record(b"p", b"2", second(90))
    memory.record(b"q", b"3", second(89))
    assert memory.current(100_000) == {b"p": {b"2": second(90)}}
    assert known(memory) == {b"p": [b"1", b"2"], b"q": [b"3"]}
    memory.expire(100_000)
    assert known(memory) == {b"p": [b"2"]}


def test_messages_are_loaded_as_they_were_recorded() -> None:
    memory = Idempotence()
    memory.load(b"p", {b"1": 5, b"2": 6})
    assert memory.find(b"p", b"2") == 6
    assert (memory.pids_tracked, memory.iids_tracked, memory.added) == (1, 2, 0)
