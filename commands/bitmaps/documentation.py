"""Documentation of the commands of bitmaps (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "bitmap"
SINCE = "2.2.0"

_OPERATION = (
    "GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>]"
    " <SET encoding offset value | INCRBY encoding offset increment>"
)

ROWS = {
    "BITCOUNT": Row(
        "Counts the bits that are set in the string at a key, or in a part of it.",
        "key [start end [BYTE | BIT]]",
        complexity="O(N) with N the length of the part.",
        since="2.6.0",
        history=[("7.0.0", "Added the options `BYTE` and `BIT`.")],
    ),
    "BITFIELD": Row(
        "Reads, sets and increments numbers of any width in the string at a key.",
        f"key [{_OPERATION} [{_OPERATION} ...]]",
        complexity="O(1) for each operation.",
        since="3.2.0",
    ),
    "BITFIELD_RO": Row(
        "Reads numbers of any width in the string at a key.",
        "key [GET encoding offset [GET encoding offset ...]]",
        complexity="O(1) for each operation.",
        since="6.0.0",
    ),
    "BITOP": Row(
        "Combines strings bit by bit, and stores the result.",
        "<AND | OR | XOR | NOT | DIFF | DIFF1 | ANDOR | ONE> destkey key [key ...]",
        complexity="O(N) with N the length of all strings.",
        since="2.6.0",
        history=[("8.2.0", "Added the operations `DIFF`, `DIFF1`, `ANDOR` and `ONE`.")],
    ),
    "BITPOS": Row(
        "Finds the first bit that is set, or clear, in the string at a key.",
        "key bit [start [end [BYTE | BIT]]]",
        complexity="O(N) with N the length of the part.",
        since="2.8.7",
        history=[("7.0.0", "Added the options `BYTE` and `BIT`.")],
    ),
    "GETBIT": Row("Returns a bit of the string at a key.", "key offset"),
    "SETBIT": Row(
        "Sets or clears a bit of the string at a key, which grows as far as needed.",
        "key offset value",
    ),
}
