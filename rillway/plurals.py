"""Numbers with what they count: `1 file`, `2,000 entries`."""

from __future__ import annotations


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, given in the singular; plurals end in -s, -es or -ies."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a regular noun."""
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("ch") else f"{noun}s"
