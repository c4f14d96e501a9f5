"""Log lines that clients can cause at will."""

from __future__ import annotations

from server.bounded_log import PERIOD_US, BoundedLog


class Kept:
    """A bounded log whose lines are kept."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.log = BoundedLog(lambda level, text: self.lines.append((level, text)))


def test_of_a_thousand_lines_one_is_written_and_the_others_are_counted() -> None:
    kept = Kept()
    for number in range(1000):
        kept.log.add("warning", "Error", f"Error: {number}", number)
        kept.log.tick(number)
    assert kept.lines == [("warning", "Error: 0")]
    kept.log.tick(PERIOD_US)
    last = "Error: 999 more within a minute. The last: Error: 999"
    assert kept.lines == [("warning", "Error: 0"), ("warning", last)]


def test_a_kind_that_goes_on_has_one_line_a_minute() -> None:
    kept = Kept()
    for second in range(600):
        kept.log.tick(second * 1_000_000)
        kept.log.add("notice", "x", "x", second * 1_000_000)
    assert len(kept.lines) == 10


def test_lines_that_are_rare_are_all_written() -> None:
    kept = Kept()
    for number in range(5):
        kept.log.tick(number * PERIOD_US)
        kept.log.add("warning", "x", str(number), number * PERIOD_US)
    assert [text for _, text in kept.lines] == list("01234")


def test_kinds_are_counted_by_themselves() -> None:
    kept = Kept()
    for number in range(3):
        kept.log.add("warning", "a", f"a{number}", 0)
        kept.log.add("notice", "b", f"b{number}", 0)
    assert kept.lines == [("warning", "a0"), ("notice", "b0")]
    kept.log.tick(PERIOD_US)
    assert kept.lines[2:] == [
        ("warning", "a: 2 more within a minute. The last: a2"),
        ("notice", "b: 2 more within a minute. The last: b2"),
    ]
