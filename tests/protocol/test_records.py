"""Records behave as dataclasses do, though their classes share what compares and prints."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pytest

from protocol import records
from protocol.records import entity, frozen_record, record


@record
class Note:
    text: str
    count: int = 0
    seen: list[int] = field(default_factory=list)
    hidden: int = field(default=7, repr=False)


@record
class Other:
    text: str
    count: int = 0


@frozen_record
class Place:
    name: str
    at: int = 1


@entity
class Connection:
    number: int


@frozen_record
class Odd:
    name: str

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "odd"


def test_fields_are_given_by_place_or_name_and_have_defaults() -> None:
    note = Note("a", count=2)
    assert (note.text, note.count, note.seen, note.hidden) == ("a", 2, [], 7)
    assert note.seen is not Note("b").seen


def test_what_is_no_field_is_refused() -> None:
    with pytest.raises(TypeError):
        Note("a", other=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Note("a").other = 1  # type: ignore[attr-defined]


def test_records_are_equal_if_their_fields_are() -> None:
    assert Note("a", 1) == Note("a", 1)
    assert Note("a", 1) != Note("a", 2)
    assert Place("a") == Place("a", 1)
    assert Place("a") != Place("b")


def test_records_of_two_classes_are_never_equal() -> None:
    others: list[object] = [Other("a", 1), ("a", 1)]
    assert all(Place("a", 1) != other for other in others)


def test_only_frozen_ones_have_a_hash() -> None:
    assert len({Place("a"), Place("a"), Place("b")}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Note("a"))


def test_an_entity_is_equal_to_itself_only() -> None:
    one, other = Connection(1), Connection(1)
    assert one == one
    assert one != other
    assert len({one, other}) == 2
    with pytest.raises(AttributeError):
        one.other = 1  # type: ignore[attr-defined]


def test_records_are_printed_as_dataclasses_are() -> None:
    @dataclass
    class Model:
        text: str
        count: int

    of_model = repr(Model("a'b", 2)).rpartition(".")[2]
    assert repr(Other("a'b", 2)) == of_model.replace("Model", "Other")
    assert repr(Note("a")) == "Note(text='a', count=0, seen=[])"


def test_nothing_is_compiled_before_the_first_object(monkeypatch: pytest.MonkeyPatch) -> None:
    made_of: list[type] = []

    def counted(**options: bool) -> Callable[[type], type]:
        def decorate(cls: type) -> type:
            made_of.append(cls)
            return dataclass(eq=options["eq"], repr=options["repr"])(cls)

        return decorate

    monkeypatch.setattr(records, "dataclass", counted)

    @record
    class Late:
        text: str
        seen: list[int] = field(default_factory=list)

    assert made_of == []
    assert [Late("a"), Late("b", [1])] == [Late("a", []), Late(text="b", seen=[1])]
    assert len(made_of) == 1
    assert replace(Late("a"), text="b") == Late("b")


def test_threads_may_make_the_first_objects_at_the_same_time() -> None:
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            for _ in range(50):

                @record
                class Shared:
                    text: str
                    seen: list[int] = field(default_factory=list)

                assert list(threads.map(Shared, "abcd")) == [Shared(text, []) for text in "abcd"]
    finally:
        sys.setswitchinterval(interval_s)


def test_a_class_is_prepared_after_its_fields_are_set() -> None:
    @record
    class Prepared:
        text: str
        length: int = 0

        def __post_init__(self) -> None:
            self.length = len(self.text)

    assert [Prepared("a").length, Prepared("abc").length] == [1, 3]


def test_methods_of_a_class_stay() -> None:
    assert repr(Odd("a")) == "odd"
    assert Odd("a") != Odd("a")
    assert hash(Odd("a")) == 1
