"""Which name was meant: a suggestion for a mistyped sub-command or option."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, names: Iterable[str], mark: str = "'") -> str:
    """ " Did you mean 'serve'?" for the name that is nearest to `word`; "" if none is near."""
    from difflib import get_close_matches  # for errors only: `serve` must start fast

    close = get_close_matches(word, names, n=1)
    return f" Did you mean {mark}{close[0]}{mark}?" if close else ""
