"""Words to values and back."""

from __future__ import annotations

import pytest

from commands.config.directive_kinds import (
    Boolean,
    Choice,
    ClampedInteger,
    EventClasses,
    FileName,
    Integer,
    Kind,
    Memory,
    MemoryOrPercentage,
    NodeField,
    Octal,
    OutputLimit,
    OutputLimitTable,
    Percentiles,
    SavePoint,
    SavePoints,
    ShutdownOptions,
    Text,
    Words,
)
from commands.core import notifications


@pytest.mark.parametrize(
    ("kind", "words", "value", "text"),
    [
        (Boolean(), ["YES"], True, "yes"),
        (Boolean(), ["no"], False, "no"),
        (Integer(-1, 10), ["-1"], -1, "-1"),
        (ClampedInteger(1, 500), ["0"], 1, "1"),
        (ClampedInteger(1, 500), ["501"], 500, "500"),
        (Memory(0, 2**40), ["512mb"], 536870912, "536870912"),
        (Memory(0, 2**40), ["1G"], 10**9, "1000000000"),
        (Memory(0, 2**40), ["7"], 7, "7"),
        (Memory(0, 2**40), ["3kb"], 3072, "3072"),
        (Memory(0, 2**40), ["3m"], 3_000_000, "3000000"),
        (Memory(0, 2**40), ["3gb"], 3 << 30, "3221225472"),
        (Memory(0, 2**40), [""], 0, "0"),
        (Memory(0, 2**40), ["kb"], 0, "0"),
        (MemoryOrPercentage(0, 2**40), ["1k"], 1000, "1000"),
        (MemoryOrPercentage(0, 2**40), [""], 0, "0"),
        (MemoryOrPercentage(0, 2**40), ["5%"], -5, "5%"),
        (MemoryOrPercentage(0, 2**40), ["0%"], 0, "0"),
        (Octal(), ["0755"], "755", "755"),
        (Text(), ["two words"], "two words", "two words"),
        (Words(), ["127.0.0.1 -::1"], ["127.0.0.1", "-::1"], "127.0.0.1 -::1"),
        (NodeField("[a-z.]", 4, "wrong", "too long"), ["a.bc"], "a.bc", "a.bc"),
        (Choice("local", "no"), ["LOCAL"], "local", "local"),
        (EventClasses(), ["Ex"], notifications.KEYEVENT | notifications.EXPIRED, "xE"),
        (Percentiles(), ["50 99.9"], [50.0, 99.9], "50 99.9"),
        (Percentiles(), [""], [], ""),
    ],
)
def test_words_become_a_value_and_the_value_is_shown(
    kind: Kind, words: list[str], value: object, text: str
) -> None:
    assert kind.parse(words) == value
    assert kind.format(value) == text
    assert kind.parse(kind.words(value)) == value


@pytest.mark.parametrize(
    ("kind", "words", "reason"),
    [
        (Boolean(), ["maybe"], "argument must be 'yes' or 'no'"),
        (Boolean(), ["yes", "no"], "wrong number of arguments"),
        (Integer(0, 5), ["abc"], "argument couldn't be parsed into an integer"),
        (Integer(0, 5), ["1.5"], "argument couldn't be parsed into an integer"),
        (Integer(0, 5), [""], "argument couldn't be parsed into an integer"),
        (Integer(0, 5), ["1_0"], "argument couldn't be parsed into an integer"),
        (Integer(0, 5), ["05"], "argument couldn't be parsed into an integer"),
        (Integer(0, 5), ["9" * 20], "argument couldn't be parsed into an integer"),
        (Integer(0, 5), ["6"], "argument must be between 0 and 5 inclusive"),
        (ClampedInteger(1, 500), ["-1"], "argument must be between 0 and 2147483647 inclusive"),
        (Memory(0, 5), ["-1"], "argument must be a memory value"),
        (Memory(0, 5), ["-"], "argument must be a memory value"),
        (Memory(1, 5), [""], "argument must be between 1 and 5 inclusive"),
        (Memory(0, 5), ["1zb"], "argument must be a memory value"),
        (Memory(0, 5), ["1k"], "argument must be between 0 and 5 inclusive"),
        *(
            (MemoryOrPercentage(0, 5), [word], "argument must be a memory or percent value")
            for word in ("-1", "-5%", "%", "5%%", "1.5%", "x")
        ),
        (
            MemoryOrPercentage(0, 5),
            ["101%"],
            "percentage argument must be less or equal to 100",
        ),
        (Octal(), ["999"], "argument couldn't be parsed as an octal number"),
        (Octal(), ["0o7"], "argument couldn't be parsed as an octal number"),
        (Octal(), ["1777"], "argument must be between 0 and 777 inclusive"),
        (NodeField("[a-z.]", 4, "wrong", "too long"), ["a,b"], "wrong"),
        (NodeField("[a-z.]", 4, "wrong", "too long"), ["a.b.c"], "too long"),
        (Choice("a", "b"), ["c"], "argument(s) must be one of the following: a, b"),
        (EventClasses(), ["KQ"], "Invalid event class character. Use 'Ag$lshzxeKEtmdnocSTIV'."),
        (Percentiles(), ["x"], "Invalid latency-tracking-info-percentiles parameters"),
        (
            Percentiles(),
            ["101"],
            "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]",
        ),
        (
            Percentiles(),
            ["nan"],
            "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]",
        ),
        (
            OutputLimitTable(),
            ["normal 1 2"],
            "Wrong number of arguments in buffer limit configuration.",
        ),
        (
            OutputLimitTable(),
            ["master", "1", "2", "3"],
            "Invalid client class specified in buffer limit configuration.",
        ),
        (
            OutputLimitTable(),
            ["normal", "a", "2", "3"],
            "Error in hard, soft or soft_seconds setting in buffer limit configuration.",
        ),
        (
            FileName("dbfilename", "name"),
            ["a/b"],
            "dbfilename can't be a path, just a name",
        ),
        (
            FileName("appenddirname", "dirname"),
            [""],
            "appenddirname can't be empty",
        ),
        (SavePoints(), ["3600"], "Invalid save parameters"),
        (SavePoints(), ["0", "1"], "Invalid save parameters"),
        (SavePoints(), ["x 1"], "Invalid save parameters"),
        (
            ShutdownOptions(),
            ["save nosave"],
            "shutdown options SAVE and NOSAVE can't be used simultaneously",
        ),
    ],
)
def test_words_that_do_not_fit_are_refused_with_the_text_of_redis(
    kind: Kind, words: list[str], reason: str
) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        kind.parse(words)
    assert str(refused.value) == reason


def test_output_limits_of_a_class_leave_the_other_classes_as_they_were() -> None:
    table = OutputLimitTable()
    old = table.parse(["normal", "0", "0", "0", "slave", "2mb", "1mb", "60"])
    new = table.combine(old, table.parse(["normal 1 2 3"]))
    assert new == {
        "normal": OutputLimit(1, 2, 3),
        "replica": OutputLimit(2 * 1024**2, 1024**2, 60),
    }
    assert table.format(new) == "normal 1 2 3 slave 2097152 1048576 60"
    assert old["normal"] == OutputLimit(0, 0, 0)


def test_a_value_of_several_words_is_written_as_several_words() -> None:
    assert Words().words(["a", "b"]) == ["a", "b"]
    assert Words().words([]) == [""]
    assert Text().words("a b") == ["a b"]


def test_lines_of_save_add_up_until_an_empty_one() -> None:
    kind = SavePoints()
    points = kind.extend(kind.parse(["900", "1"]), kind.parse(["60 1000"]))
    assert kind.format(points) == "900 1 60 1000"
    assert kind.extend(points, kind.parse([""])) == ()
    assert kind.combine(points, kind.parse(["5 1"])) == (SavePoint(5, 1),)


def test_options_of_a_shutdown_are_shown_in_one_order() -> None:
    kind = ShutdownOptions()
    assert kind.format(kind.parse(["FORCE", "save", "now"])) == "save now force"
    assert kind.format(kind.parse(["default"])) == "default"
