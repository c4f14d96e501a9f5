"""Remembers what a reader has compared, so that the next one need not compare it again.

A reader that finds no marker in a stream compares the entries of its range with the rows, which may
be a million. The result holds as long as the same server has the last of them with the same bytes:
copies of a stream that share an entry share all entries before it. It is kept in ~/.cache/rillway
(or $XDG_CACHE_HOME), if that is writable. An archiver relies on no such memory.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# Fewer entries are compared again.
MIN_ENTRIES = 10_000
MAX_KEPT = 100
FILE = "compared.json"


@dataclass(frozen=True, slots=True)
class Compared:
    """A range of a stream that agrees with the archive.

    `archive`, `stream`, `epoch`, `end`: with what it was compared; `run_id`: the server's; `first`,
    `last`: the range of IDs; `agreed`, `hash`: the last entry that agrees; `absent`: the number of
    rows after it.
    """

    archive: str
    stream: str
    epoch: int
    end: int
    run_id: str
    first: int
    last: int
    agreed: int
    hash: str
    absent: int

    def is_about(self, other: Compared) -> bool:
        """Return True if it is of the same archive and server, and covers the range of another."""
        names = "archive", "stream", "epoch", "end", "run_id"
        is_same = all(getattr(self, name) == getattr(other, name) for name in names)
        return is_same and self.first <= other.first and self.last >= other.last


def known(question: Compared) -> Compared | None:
    """Return a comparison that was remembered for a range."""
    if not question.run_id:
        return None
    return next((one for one in reversed(_read()) if one.is_about(question)), None)


def remember(answer: Compared) -> None:
    """Remember a comparison, if the folder is writable."""
    if not answer.run_id:
        return
    kept = [one for one in _read() if not answer.is_about(one)]
    content = json.dumps([asdict(one) for one in (*kept, answer)[-MAX_KEPT:]])
    place = _place()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        new = place.with_suffix(f".{os.getpid()}")
        new.write_text(content, encoding="utf-8")
        new.replace(place)
    except OSError:
        return


def _place() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "rillway" / FILE


def _read() -> list[Compared]:
    try:
        found: list[dict[str, Any]] = json.loads(_place().read_text(encoding="utf-8"))
        return [Compared(**one) for one in found]
    except (OSError, ValueError, TypeError):
        return []
