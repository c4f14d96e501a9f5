"""A packed table beside a dict: growing, shrinking, scans, picks, copies, memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import replies
from storage.keyspace.deferred_free import RemovedData
from storage.memory import allocated_bytes
from storage.types import packed_table
from storage.types.blocks import _KEPT
from storage.types.key_part import KEYS, MEMBERS, PAIRS, VALUES
from storage.types.packed_table import PackedTable
from storage.types.records import field_of, pair, value_of

Model = dict[bytes, bytes]

# A key in the order of its number; most are short, and some do not fit into a block.
SIZES = (0, 1, 5, 240, 252, 253, 254, 255, 400)


def key(number: int) -> bytes:
    return b"%d" % number + b"k" * (300 if number % 13 == 5 else 0)


def names(*numbers: int) -> list[bytes]:
    return [b"%d" % number for number in numbers]


def table_of(*numbers: int, is_ordered: bool = False) -> PackedTable:
    table = PackedTable(MEMBERS)
    table.is_ordered = is_ordered
    for name in names(*numbers):
        assert table.put(name, b"")
    return table


def content_of(table: PackedTable, kind: int) -> Model:
    records = table.all_records()
    if kind == MEMBERS:
        return dict.fromkeys(records, b"")
    return {field_of(record): value_of(record) for record in records}


def assert_same(table: PackedTable, kind: int, model: Model) -> None:
    records = table.all_records()
    assert content_of(table, kind) == model
    assert len(table) == len(records) == len(model)
    assert [record for some in table.batches() for record in some] == records
    words = records
    if kind == PAIRS:
        words = [word for one in records for word in (field_of(one), value_of(one))]
    assert table.bulks(
        b"head", KEYS if kind == MEMBERS else KEYS + VALUES
    ) == b"head" + replies.bulks(words)
    assert sorted(walk(table, 7)) == sorted(records)
    for name, value in model.items():
        assert name in table
        assert table.value(name) == value
        assert table.value_bulk(name) == replies.bulk(value)


def walk(table: PackedTable, count: int) -> list[bytes]:
    cursor, seen = table.scan_records(0, count)
    while cursor:
        cursor, some = table.scan_records(cursor, count)
        seen += some
    return seen


class Steps:
    """Random changes of tables and of the dicts that they are compared with."""

    def __init__(self, kind: int, is_ordered: bool, random: Random) -> None:
        self.kind, self.random = kind, random
        table = PackedTable(kind)
        table.is_ordered = is_ordered
        self.tables: list[tuple[PackedTable, Model]] = [(table, {})]

    def run(self, count: int, keys: int) -> None:
        random = self.random
        for step in range(count):
            table, model = random.choice(self.tables)
            name = key(random.randrange(keys))
            chance = random.random()
            # First it grows, and then it shrinks.
            if chance < (0.7 if step % (count // 2) < count // 4 else 0.3):
                value = b"v" * random.choice(SIZES) if self.kind == PAIRS else b""
                assert table.put(name, value) is (name not in model)
                model[name] = value
            elif chance < 0.95:
                assert table.discard(name) is (model.pop(name, None) is not None)
            elif chance < 0.97:
                assert table.value(name) == model.get(name)
                record = pair(name, model.get(name, b"")) if self.kind == PAIRS else name
                assert table.record(name) == (record if name in model else None)
            elif model:
                record = table.pick(random.randrange)
                assert (record if self.kind == MEMBERS else field_of(record)) in model
            if chance > 0.997:
                self.copy_or_release()
        for table, model in self.tables:
            assert_same(table, self.kind, model)

    def copy_or_release(self) -> None:
        random, tables = self.random, self.tables
        place = random.randrange(len(tables))
        if len(tables) < 4:
            table, model = tables[place]
            twin = PackedTable(self.kind)
            table.share_with(twin)
            tables.append((twin, model.copy()))
        elif random.random() < 0.5:
            table, model = tables.pop(place)
            removed_data = RemovedData()
            table.release_records(removed_data)
            for _ in removed_data.free():
                pass
        else:
            del tables[place]


@settings(deadline=None)
@given(
    st.sampled_from([MEMBERS, PAIRS]),
    st.booleans(),
    st.integers(0, 1 << 32),
    st.sampled_from([20, 100, 1000]),
)
def test_it_holds_what_a_dict_holds(kind: int, is_ordered: bool, seed: int, keys: int) -> None:
    Steps(kind, is_ordered, Random(seed)).run(600, keys)


@pytest.mark.parametrize("kind", [MEMBERS, PAIRS])
def test_a_large_one_holds_what_a_dict_holds(kind: int) -> None:
    Steps(kind, False, Random(kind)).run(12_000, 4000)


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of eight records, and an index from three on."""
    sizes = {"_FEW": 3, "_SOME": 5, "_MOST": 8, "_MOST_SLOTS": 12, "_MOST_JOINED": 4}
    for name, value in sizes.items():
        monkeypatch.setattr(packed_table, name, value)


@pytest.mark.interpreted
@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("kind", [MEMBERS, PAIRS])
@pytest.mark.parametrize("seed", range(10))
def test_tiny_segments_hold_what_a_dict_holds(kind: int, seed: int) -> None:
    before = len(_KEPT)
    steps = Steps(kind, False, Random(seed))
    steps.run(2000, 300)
    steps.tables.clear()
    assert len(_KEPT) == before, "each reference to a large record was given up"


@pytest.mark.interpreted
@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("hash_", [lambda _: 0, lambda text: (1 << 64) - 1 - len(text)])
def test_keys_that_collide_are_found(
    hash_: Callable[[bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def hash_at(text: bytes, start: int, length: int) -> int:
        return hash_(bytes(text[start : start + length]))

    monkeypatch.setattr("storage.types.packed_table.hash_of", hash_at)
    monkeypatch.setattr("storage.types.packed_table.hash_at", hash_at)
    Steps(PAIRS, False, Random(3)).run(1000, 100)


# -- order ---------------------------------------------------------------------------------------


def test_an_ordered_one_keeps_the_order_of_insertion() -> None:
    table, model = PackedTable(PAIRS), Model()
    for number in range(1000):
        table.put(b"%d" % number, b"v")
        model[b"%d" % number] = b"v"
    for number in range(0, 1000, 3):
        table.put(b"%d" % number, b"v" * (number % 9))
        model[b"%d" % number] = b"v" * (number % 9)
    for number in range(1, 1000, 3):
        table.discard(b"%d" % number)
        del model[b"%d" % number]
    assert list(content_of(table, PAIRS).items()) == list(model.items())


def test_one_that_needs_its_order_no_more_is_divided() -> None:
    table = table_of(*range(3000), is_ordered=True)
    assert len(list(table.batches())) == 1
    table.is_ordered = False
    table.put(b"new", b"")
    assert len(list(table.batches())) >= 3001 // packed_table.MOST_RECORDS
    assert max(map(len, table.batches())) <= packed_table.MOST_RECORDS
    assert sorted(table.all_records()) == sorted([*names(*range(3000)), b"new"])


# -- scans and random picks ----------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 10, 10_000])
def test_a_scan_returns_each_record_once(count: int) -> None:
    table = table_of(*range(2500))
    assert sorted(walk(table, count)) == sorted(names(*range(2500)))


def test_a_step_of_a_scan_has_about_the_number_asked_for() -> None:
    table = table_of(*range(5000))
    cursor, found = table.scan_records(0, 100)
    sizes = [len(found)]
    while cursor:
        cursor, found = table.scan_records(cursor, 100)
        sizes.append(len(found))
    assert 25 < len(sizes) < 100
    assert max(sizes) < 400


@pytest.mark.parametrize("cursor", [0, 1 << 47, 1 << 60, (1 << 64) - 1])
def test_any_cursor_can_be_given(cursor: int) -> None:
    assert PackedTable(MEMBERS).scan_records(cursor, 10) == (0, [])
    _, found = table_of(1, 2).scan_records(cursor, 10)
    assert set(found) <= {b"1", b"2"}


@settings(deadline=None)
@given(
    st.sets(st.integers(0, 1000)),
    st.lists(st.tuples(st.booleans(), st.integers(0, 1500)), max_size=1500),
    st.integers(1, 100),
)
def test_what_is_there_throughout_is_returned(
    begin: set[int], changes: list[tuple[bool, int]], count: int
) -> None:
    table = table_of(*sorted(begin))
    present, throughout = set(begin), set(begin)
    seen: set[bytes] = set()
    cursor = -1
    todo = iter(changes)
    while cursor:
        cursor, found = table.scan_records(max(cursor, 0), count)
        seen.update(found)
        for adds, number in [change for change, _ in zip(todo, range(30), strict=False)]:
            if adds:
                present.add(number)
                table.put(b"%d" % number, b"")
            else:
                present.discard(number)
                throughout.discard(number)
                table.discard(b"%d" % number)
    assert seen >= set(names(*throughout))
    assert sorted(table.all_records()) == sorted(names(*present))


@pytest.mark.parametrize("count", [10, 100, 1000])
def test_every_record_is_picked_about_as_often(count: int) -> None:
    table = table_of(*range(count))
    random = Random(5)
    picks = Counter(table.pick(random.randrange) for _ in range(60 * count))
    assert len(picks) == count
    assert min(picks.values()) > 25
    assert max(picks.values()) < 110


def test_few_that_are_left_in_one_part_are_picked_as_often() -> None:
    table = table_of(*range(5000))
    kept = list(table.batches())[3]
    for record in table.all_records():
        if record not in kept:
            table.discard(record)
    assert sorted(table.all_records()) == sorted(kept)
    random = Random(6)
    picks = Counter(table.pick(random.randrange) for _ in range(100 * len(kept)))
    assert len(picks) == len(kept)
    assert min(picks.values()) > 50


# -- as a whole ----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, 100, 3000])
def test_a_copy_is_independent(count: int) -> None:
    table, twin = table_of(*range(count)), PackedTable(MEMBERS)
    table.share_with(twin)
    assert twin.memory_bytes() == table.memory_bytes()
    table.put(b"new", b"")
    twin.discard(b"0")
    assert sorted(twin.all_records()) == sorted(names(*range(1, count)))
    assert sorted(table.all_records()) == sorted([*names(*range(count)), b"new"])
    del table
    assert sorted(twin.all_records()) == sorted(names(*range(1, count)))


def test_a_copy_of_large_records_outlives_the_original() -> None:
    table, twin = PackedTable(PAIRS), PackedTable(PAIRS)
    table.put(b"k" * 300, b"v" * 300)
    table.share_with(twin)
    table.put(b"k" * 300, b"other")
    assert twin.value(b"k" * 300) == b"v" * 300
    twin.discard(b"k" * 300)
    assert table.value(b"k" * 300) == b"other"


@pytest.mark.parametrize(("count", "size"), [(5, 150), (100, 2800), (10_000, 220_000)])
def test_it_takes_little_memory(count: int, size: int) -> None:
    table = table_of(*range(count))
    assert table.memory_bytes() - allocated_bytes(table) <= size


def test_memory_is_counted_exactly() -> None:
    table = PackedTable(PAIRS)
    table.is_ordered = False
    empty = table.memory_bytes()
    for number in range(1000):
        table.put(key(number), b"v" * (number % 500))
    for number in range(1000):
        table.put(key(number), b"v" * (number % 300))
    twin = PackedTable(PAIRS)
    table.share_with(twin)
    for number in range(0, 1000, 2):
        table.put(key(number), b"")
    large = [record for record in table.all_records() if len(record) > 254]
    assert table.memory_bytes() > empty + sum(map(allocated_bytes, large))
    for number in range(1000):
        table.discard(key(number))
    assert table.memory_bytes() <= empty + 100
    assert len(table) == 0


def test_a_table_gives_up_its_records() -> None:
    table, removed_data = table_of(*range(20_000)), RemovedData()
    table.release_records(removed_data)
    assert removed_data.is_large
    assert (len(table), table.all_records(), table.has(b"1")) == (0, [], False)
    assert table.put(b"1", b"")
    assert table.all_records() == [b"1"]
    assert len(list(removed_data.free())) > 3
    assert not removed_data.is_large


def test_removed_data_that_is_dropped_is_freed() -> None:
    table, removed_data = PackedTable(PAIRS), RemovedData()
    table.is_ordered = False
    for number in range(3000):
        table.put(b"%d" % number, b"v" * 300)
    table.release_records(removed_data)
    next(removed_data.free())


# -- ordered tables that become large ------------------------------------------------------------


@pytest.mark.interpreted
def test_an_ordered_table_that_is_too_large_is_divided_like_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packed_table, "_MOST_ORDERED_BYTES", 4096)
    table = table_of(*range(3000), is_ordered=True)
    chance = Random(1)
    assert len({table.pick(chance.randrange) for _ in range(20_000)}) > 2900


@pytest.mark.interpreted
def test_values_that_become_longer_divide_an_ordered_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_table, "_MOST_ORDERED_BYTES", 65_536)
    table = PackedTable(PAIRS)
    table.is_ordered = True
    model = dict.fromkeys(names(*range(1500)), b"short")
    for name, value in model.items():
        table.put(name, value)
    assert table._depth == 0
    for name in model:
        model[name] = b"v" * 200
        table.put(name, model[name])
    assert table._depth > 0
    assert_same(table, PAIRS, model)
