"""storage/types/hashes.py: fields, encodings, times, scans."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from storage.keyspace.deferred_free import FEW_STEPS, NO_WASTE
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.hashes import HashValue
from storage.types.records import field_of

LIMITS = EncodingLimits()
TIGHT = EncodingLimits(hash_max_listpack_entries=3, hash_max_listpack_value=4)
NOW_MS = 1_000


def hash_of(*words: bytes, limits: EncodingLimits = LIMITS) -> HashValue:
    value = HashValue()
    value.update(list(words), limits)
    return value


def with_times(**times: int) -> HashValue:
    """A hash with a field for each letter, 0 for one without a time."""
    value = HashValue()
    for name, when_ms in times.items():
        value.set(name.encode(), b"v", LIMITS)
        if when_ms:
            value.expire_at(name.encode(), when_ms)
    return value


def names_of(value: HashValue, now_ms: int | None = None) -> list[bytes]:
    return list(map(field_of, value.records(now_ms)))


# -- encodings -----------------------------------------------------------------------------------


def test_a_hash_is_compact_up_to_the_limits() -> None:
    value = hash_of(b"a", b"1", b"b", b"2", b"c", b"3", limits=TIGHT)
    assert value.encoding == b"listpack"
    assert value.set(b"d", b"4", TIGHT)
    assert value.encoding == b"hashtable"
    value.delete(b"d")
    assert value.encoding == b"hashtable", "it does not shrink back"


def test_a_long_field_or_value_is_not_compact() -> None:
    for words in ([b"12345", b""], [b"", b"12345"]):
        assert hash_of(*words, limits=TIGHT).encoding == b"hashtable"
        value = hash_of(b"1234", b"1234", limits=TIGHT)
        assert value.encoding == b"listpack"
        value.set(words[0], words[1], TIGHT)
        assert value.encoding == b"hashtable"


def test_more_pairs_than_the_limit_convert_before_they_are_known_to_be_one() -> None:
    value = hash_of(*[b"a", b"1"] * 4, limits=TIGHT)
    assert (len(value), value.encoding) == (1, b"hashtable")


def test_a_listpack_with_times_has_a_name_of_its_own_and_keeps_it() -> None:
    value = hash_of(b"a", b"1")
    value.expire_at(b"a", NOW_MS)
    assert value.encoding == b"listpackex"
    value.persist([b"a"])
    assert value.encoding == b"listpackex"
    value.update([b"x" * 65, b"1"], LIMITS)
    assert value.encoding == b"hashtable"


def test_a_loaded_hash_has_the_encoding_that_its_content_calls_for() -> None:
    for fields, encoding in (
        ({b"a": b"1234"}, b"listpack"),
        ({b"a": b"12345"}, b"hashtable"),
        (dict.fromkeys((b"a", b"b", b"c", b"d"), b""), b"hashtable"),
    ):
        value = HashValue()
        for name, text in fields.items():
            value.load(name, text)
        value.adapt(TIGHT)
        assert value.encoding == encoding


# -- order ---------------------------------------------------------------------------------------


def test_fields_keep_their_place_when_their_value_changes() -> None:
    value = hash_of(b"a", b"1", b"b", b"2", b"c", b"3")
    assert value.update([b"a", b"9", b"d", b"4"], LIMITS) == 1
    value.delete(b"b")
    value.set(b"b", b"5", LIMITS)
    assert names_of(value) == [b"a", b"c", b"d", b"b"]


def test_a_listpack_with_times_has_its_fields_by_time() -> None:
    value = with_times(a=0, b=30, c=0, d=10, e=20)
    assert names_of(value) == [b"d", b"e", b"b", b"a", b"c"]
    value.update([b"d", b"new"], LIMITS)  # which takes its time away
    assert names_of(value) == [b"e", b"b", b"a", b"c", b"d"]


# -- times ---------------------------------------------------------------------------------------


def test_setting_a_field_removes_its_deadline_and_counting_does_not() -> None:
    value = with_times(a=NOW_MS, b=NOW_MS)
    value.update([b"a", b"1"], LIMITS)
    value.set(b"b", b"1", LIMITS)
    assert value.expires == {b"b": NOW_MS}


def test_a_field_has_expired_after_its_millisecond() -> None:
    value = with_times(a=NOW_MS, b=0)
    assert not value.is_expired(b"a", NOW_MS)
    assert value.is_expired(b"a", NOW_MS + 1)
    assert not value.is_expired(b"b", NOW_MS + 1)
    assert names_of(value, NOW_MS + 1) == [b"b"]
    assert names_of(value, NOW_MS) == [b"a", b"b"]


def test_due_fields_come_earliest_first_and_once() -> None:
    value = with_times(a=30, b=10, c=20, d=0, e=99)
    value.expire_at(b"b", 15)
    value.expire_at(b"b", 10)
    assert value.first_deadline_ms() == 10
    assert value.due(40, limit=2) == [b"b", b"c"]
    for name in (b"b", b"c"):
        value.delete(name)
    assert value.due(40, limit=9) == [b"a"]
    value.delete(b"a")
    assert value.first_deadline_ms() == 99
    assert value.due(40, limit=9) == []


def test_many_changes_of_times_do_not_pile_up() -> None:
    value = with_times(a=1)
    for when_ms in range(2, 1000):
        value.expire_at(b"a", when_ms)
        assert value.first_deadline_ms() == when_ms
    assert value._alarms is not None
    assert len(value._alarms) < 100


@given(st.lists(st.tuples(st.sampled_from("sedp"), st.integers(0, 9), st.integers(1, 50))))
def test_the_deadline_is_that_of_the_first_field(changes: list[tuple[str, int, int]]) -> None:
    value = HashValue()
    for change, number, when_ms in changes:
        name = b"%d" % number
        if change == "s":
            value.update([name, b"v"], LIMITS)
        elif change == "e" and name in value:
            value.expire_at(name, when_ms)
        elif change == "d":
            value.delete(name)
        elif change == "p":
            value.persist([name])
        times = value.expires or {}
        assert value.first_deadline_ms() == min(times.values(), default=None)
        assert times.keys() <= set(names_of(value))
    due = value.due(25, limit=99)
    assert sorted(due) == sorted(name for name, when in (value.expires or {}).items() if when < 25)


# -- scans ---------------------------------------------------------------------------------------


def test_what_is_compact_is_scanned_as_a_whole() -> None:
    value = hash_of(b"a", b"1", b"b", b"2")
    assert value.scan(0, 1) == (0, value.records())
    assert value.scan(7, 1) == (0, value.records())


def test_a_scan_of_a_table_sees_what_is_there_throughout() -> None:
    value = hash_of(*[b"%d" % (n // 2) for n in range(200)], limits=TIGHT)
    cursor, seen = value.scan(0, 10)
    value.delete(b"50")
    value.update([b"new", b""], TIGHT)
    value.set(b"newer", b"", TIGHT)
    while cursor:
        cursor, names = value.scan(cursor, 10)
        seen += names
    assert set(map(field_of, seen)) >= {b"%d" % n for n in range(100) if n != 50}


def test_every_field_can_be_picked() -> None:
    value = hash_of(b"a", b"1", b"b", b"2", b"c", b"3")
    random = Random(3)
    assert {field_of(value.pick(random.randrange)) for _ in range(50)} == {b"a", b"b", b"c"}
    value.delete(b"b")
    assert {field_of(value.pick(random.randrange)) for _ in range(50)} == {b"a", b"c"}


# -- as a whole ----------------------------------------------------------------------------------


def test_a_copy_has_a_life_of_its_own() -> None:
    value = with_times(a=10, b=0)
    value.access_ms = 5
    twin = value.copy()
    value.delete(b"a")
    assert (dict(twin.pairs()), twin.expires) == ({b"a": b"v", b"b": b"v"}, {b"a": 10})
    assert (twin.encoding, twin.access_ms, twin.first_deadline_ms()) == (b"listpackex", 5, 10)


def test_only_a_large_hash_is_freed_step_by_step() -> None:
    assert hash_of(b"a", b"1").release() is NO_WASTE
    value = HashValue()
    value.expect(20_000, LIMITS)
    for n in range(20_000):
        value.load(b"%d" % n, b"")
    removed_data = value.release()
    assert removed_data.is_large
    assert not len(value)
    assert len(list(removed_data.free())) > FEW_STEPS


def test_memory_is_that_of_the_fields_and_their_index() -> None:
    value = hash_of(*[b"%04d" % (n // 2) for n in range(2000)])
    assert 1000 * 10 < value.memory_bytes() < 1000 * 22
    assert HashValue().memory_bytes() > 0
    assert value.effort > HashValue().effort == 1
