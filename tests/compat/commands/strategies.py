"""How commands are drawn: small strategies for arguments, put in a row to make a command.

A drawn command is a `Draft`: its arguments, where one may be `Rising`, to be filled in when the
sequence that it belongs to is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True)
class Rising:
    """Stands for a number above all that stood here before: the `%d` of `form`.

    An entry ID made of it is new, and a time to live made of it is no other command's.
    """

    form: bytes


Argument: TypeAlias = bytes | Rising
Draft: TypeAlias = list[Argument]
Drafts: TypeAlias = SearchStrategy[Draft]
# A literal, a strategy of one argument, or a strategy of several.
Part: TypeAlias = bytes | SearchStrategy[Any]


def command(*parts: Part) -> Drafts:
    """The parts in a row."""
    strategies = [st.just(part) if isinstance(part, bytes) else part for part in parts]
    return st.tuples(*strategies).map(_flattened)


def sometimes(*parts: Part) -> Drafts:
    """The parts in a row, or nothing."""
    nothing: Draft = []
    return st.one_of(st.just(nothing), command(*parts))


def some_of(*options: Drafts) -> Drafts:
    """None to three of the options in any order; rarely one of them twice."""
    once = st.lists(st.sampled_from(options), max_size=3, unique_by=id)
    twice = st.lists(st.sampled_from(options), min_size=2, max_size=3)
    return mostly(once, twice).flatmap(lambda chosen: command(*chosen))


def one_of(*choices: bytes) -> SearchStrategy[bytes]:
    return st.sampled_from(choices)


def mostly(common: SearchStrategy[Any], rare: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """The rare one in one draw of twenty: commands have several arguments."""
    return st.integers(1, 20).flatmap(lambda number: rare if number == 20 else common)


def weighted(*choices: tuple[int, Drafts]) -> Drafts:
    """Each choice as often as its weight says."""
    tickets = [strategy for weight, strategy in choices for _ in range(weight)]
    return st.sampled_from(tickets).flatmap(lambda strategy: strategy)


def _flattened(parts: tuple[Argument | Draft, ...]) -> Draft:
    draft: Draft = []
    for part in parts:
        if isinstance(part, list):
            draft.extend(part)
        else:
            draft.append(part)
    return draft
