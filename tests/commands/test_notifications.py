"""commands/notifications.py: the letters of notify-keyspace-events."""

from __future__ import annotations

import pytest

from commands.notifications import ALL, format_classes, parse_classes


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
