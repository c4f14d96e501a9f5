"""Malformed and unusual entry IDs, for every command that takes IDs.

Each text is passed to each command alone and beside plain IDs, on a stream with entries that a
careless parser would take it for: `-7` must not be 0-7. The stream is created again each time,
because some of the texts are valid IDs.
"""

from __future__ import annotations

from tests.support.programs.redis_cli import quoted

ODD_IDS = (
    # what is left where a half, or both, is missing
    b"", b"-", b"--", b"-7", b"-7-8", b"--7", b"7-", b"7--", b"-0", b"0-", b"7-7-7", b"7--8",
    # the signs of other places
    b"+", b"$", b">", b"*", b"7-*", b"*-7", b"(", b"(7-7", b"(-7", b"((7-7", b"(-", b"(+", b"-+",
    # numbers as C reads them
    b"007-07", b"+7-7", b"7-+7", b"7--07", b" 7-7", b"7- 7", b"7 -7", b"7-7 ", b"\t7-7", b"7-7\n",
    b"7-7\r\n", b"0x7-7", b"7-0x7", b"7.0-7", b"7e0-7", b"x", b"7-x", b"x-7", b"7_0-7", b"7,7",
    # NUL bytes, and digits that are not ASCII's
    b"\0", b"7-7\0", b"7\0-8", b"-7\0", b"\x007-7", b"\xc2\xb2-7", b"7-\xd9\xa7", b"\xff-7",
    # the ends of what a half holds
    b"18446744073709551615", b"18446744073709551616", b"-18446744073709551615",
    b"18446744073709551615-18446744073709551615", b"18446744073709551615-18446744073709551616",
    b"7-18446744073709551615", b"7-18446744073709551616", b"7--18446744073709551609",
    b"7-9223372036854775808", b"9223372036854775808-7", b"-9223372036854775808-7",
    b"0" * 120 + b"7-7", b"0" * 130 + b"7-7", b"7-" + b"0" * 130, b"9" * 130,
)  # fmt: skip

SETTING = """\
DEL s ; XADD s 0-7 f 1 ; XADD s 0-8 f 1 ; XADD s 7-0 f 1 ; XADD s 7-7 f 1 ; XADD s 7-8 f 1
XGROUP CREATE s g 0 ; XREADGROUP GROUP g alice STREAMS s >
"""

# Requests with ID as a placeholder. After those that change the stream, its state is compared.
COMMANDS = {
    "XADD": (
        # Alone, and in the middle of a pipeline.
        "XADD s ID f 1",
        "XADD s 8-1 f 1 ; XADD s 8-2 f 1 ; XADD s ID f 1 ; XADD s 9-1 f 1 ; XADD s 9-2 f 1",
        "XADD s MINID ID 99-1 f 1",
        "XADD s MINID = ID 99-1 f 1",
    ),
    "XTRIM": ("XTRIM s MINID ID", "XTRIM s MINID = ID"),
    "XDEL": ("XDEL s ID", "XDEL s 7-7 ID", "XDEL s ID 7-7", "XDEL s 0-7 ID ID"),
    "XACK": ("XACK s g ID", "XACK s g 7-7 ID", "XACK s g ID 7-7", "XACK s g 0-7 ID ID"),
    "XRANGE": ("XRANGE s ID +", "XRANGE s - ID", "XRANGE s ID ID"),
    "XREVRANGE": ("XREVRANGE s ID -", "XREVRANGE s + ID"),
    "XREAD": ("XREAD STREAMS s ID", "XREAD STREAMS s s 7-7 ID"),
    "XREADGROUP": (
        "XREADGROUP GROUP g alice STREAMS s ID", "XREADGROUP GROUP g alice STREAMS s s 0 ID",
    ),
    "XCLAIM": (
        "XCLAIM s g bob 0 ID", "XCLAIM s g bob 0 7-7 ID", "XCLAIM s g bob 0 7-7 LASTID ID",
        "XCLAIM s g bob 0 ID FORCE JUSTID",
    ),
    "XAUTOCLAIM": ("XAUTOCLAIM s g bob 0 ID", "XAUTOCLAIM s g bob 0 ID JUSTID"),
    "XPENDING": ("XPENDING s g ID + 9", "XPENDING s g - ID 9", "XPENDING s g ID ID 9 alice"),
    "XGROUP": ("XGROUP CREATE s h ID", "XGROUP SETID s g ID", "XGROUP CREATE s h 0 ENTRIESREAD ID"),
    "XSETID": ("XSETID s ID", "XSETID s 99-1 ENTRIESADDED 9 MAXDELETEDID ID"),
}  # fmt: skip

LOOK = "XRANGE s - + ; XPENDING s g - + 9 ; XINFO GROUPS s"


def scripts() -> dict[str, str]:
    """A script for each form, by its name; see edges.py for what a script is."""
    return {
        f"odd IDs: {form}": "\n".join(f"{SETTING}{_given(form, odd)} ; {LOOK}" for odd in ODD_IDS)
        for forms in COMMANDS.values()
        for form in forms
    }


def _given(form: str, odd: bytes) -> str:
    return " ".join(quoted(odd) if word == "ID" else word for word in form.split(" "))
