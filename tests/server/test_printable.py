"""Text from files for people."""

from __future__ import annotations

from server.printable import LONGEST, printable


def test_what_a_terminal_would_not_show_is_escaped_and_cut_off() -> None:
    assert printable("plain: ü") == "plain: ü"
    assert printable("\x1b[2J\n\udcff") == "\\x1b[2J\\n\\xff"
    assert printable("x" * LONGEST) == "x" * LONGEST
    assert printable("\0" * 100, 3) == "\\x00\\x00\\x00 ..."
