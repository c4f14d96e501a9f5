"""IDs of entries as one int, `ms << 64 | seq`: they compare in order, and end + 1 is the next one.

As text an ID is `ms-seq`. Nothing here knows `-`, `+`, `$` or `(`: those belong to commands.
"""

from __future__ import annotations

SEQ_BITS = 64
MAX_SEQ = (1 << SEQ_BITS) - 1
MIN_ID = 0
MAX_ID = (1 << 128) - 1


def make_id(ms: int, seq: int = 0) -> int:
    return ms << SEQ_BITS | seq


def parse_id(text: str | bytes) -> int:
    """`5-2`, or `5` for `5-0`. Raises ValueError for anything else, or beyond 64 bits."""
    if isinstance(text, bytes):
        text = text.decode("ascii", errors="replace")
    ms_text, dash, seq_text = text.partition("-")
    if not ms_text.isdecimal() or (dash and not seq_text.isdecimal()):
        raise ValueError(f"'{text}' is no ID of an entry: expected MS or MS-SEQ")
    ms, seq = int(ms_text), int(seq_text or 0)
    if ms > MAX_SEQ or seq > MAX_SEQ:
        raise ValueError(f"'{text}' is no ID of an entry: its parts have 64 bits")
    return ms << SEQ_BITS | seq


def format_id(entry_id: int) -> str:
    """`5-2`."""
    return f"{entry_id >> SEQ_BITS}-{entry_id & MAX_SEQ}"


def ms_of(entry_id: int) -> int:
    """The first half: Unix time in milliseconds, where the server made the ID."""
    return entry_id >> SEQ_BITS
