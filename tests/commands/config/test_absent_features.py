"""Directives whose feature is missing."""

from __future__ import annotations

import pytest

from commands.config import absent_features
from commands.config.configuration import DIRECTIVES


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("locale-collate", [""]),
        ("socket-mark-id", ["0b"]),
    ],
)
def test_the_value_that_says_the_feature_is_not_used_is_accepted(
    name: str, words: list[str]
) -> None:
    absent_features.check(name, words)


@pytest.mark.parametrize(
    ("name", "words", "reason"),
    [
        (
            "socket-mark-id",
            ["7"],
            "Rillway does not have a choice of where connections come from yet, only '0' is",
        ),
        ("loadmodule", ["x.so"], "Rillway does not have modules yet"),
    ],
)
def test_any_other_value_is_refused_with_what_is_missing(
    name: str, words: list[str], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        absent_features.check(name, words)


def test_no_directive_is_both_there_and_missing() -> None:
    assert not DIRECTIVES.keys() & absent_features.FEATURES.keys()


def test_every_listed_value_is_itself_accepted() -> None:
    for name, value in absent_features.VALUES.items():
        absent_features.check(name, value.split() or [""])
