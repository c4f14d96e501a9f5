"""commands/core/notifications.py: the letters of notify-keyspace-events."""

from __future__ import annotations

import pytest

from commands.core.notifications import ALL, format_classes, parse_classes, subkey_messages


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("", ""),
        ("KEA", "AKE"),
        ("Kt", "tK"),
        ("g$lshzxetd", "A"),
        ("Knm", "Kmn"),
        ("$E", "$E"),
        ("cKo", "Koc"),
        ("VITSh", "hSTIV"),
    ],
)
def test_letters_come_back_in_redis_order(given: str, shown: str) -> None:
    flags = parse_classes(given)
    assert flags is not None
    assert format_classes(flags) == shown


def test_an_unknown_letter_is_refused() -> None:
    assert parse_classes("Kq") is None


def test_a_stands_for_every_class_but_misses_new_keys_and_replaced_values() -> None:
    assert parse_classes("A") == ALL
    assert parse_classes("mnoc") is not None and not ALL & (parse_classes("mnoc") or 0)


SUBKEYS = parse_classes("STIV") or 0


def test_fields_go_to_four_kinds_of_channels() -> None:
    messages = dict(subkey_messages(SUBKEYS, b"hset", b"key", [b"a", b"b,b"], 7))
    assert messages == {
        b"__subkeyspace@7__:key": b"hset|1:a,3:b,b",
        b"__subkeyevent@7__:hset": b"3:key|1:a,3:b,b",
        b"__subkeyspaceitem@7__:key\na": b"hset",
        b"__subkeyspaceitem@7__:key\nb,b": b"hset",
        b"__subkeyspaceevent@7__:hset|key": b"1:a,3:b,b",
    }
    for letter, count in (("S", 1), ("T", 1), ("I", 2), ("V", 1)):
        enabled = parse_classes(letter) or 0
        assert len(list(subkey_messages(enabled, b"hset", b"key", [b"a", b"b"], 0))) == count
        assert not ALL & enabled


def test_what_could_not_be_taken_apart_is_left_out() -> None:
    channels = [name for name, _ in subkey_messages(SUBKEYS, b"odd|event", b"k\ney", [b"f"], 0)]
    assert channels == [b"__subkeyevent@0__:odd|event"]
