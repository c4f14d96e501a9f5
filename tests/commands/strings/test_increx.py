"""INCREX."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import Conversation
from tests.commands.lists.test_elements import bulks

GREATEST = 2**63 - 1


def integers(*numbers: int) -> bytes:
    return b"*%d\r\n" % len(numbers) + b"".join(b":%d\r\n" % number for number in numbers)


@pytest.mark.parametrize(
    ("words", "reply", "stored"),
    [
        ("", integers(6, 1), "6"),
        ("BYINT 10", integers(15, 10), "15"),
        ("BYINT -7 LBOUND -2", integers(-2, -7), "-2"),
        ("BYINT 10 UBOUND 14", integers(5, 0), "5"),
        ("BYINT 10 UBOUND 14 SATURATE", integers(14, 9), "14"),
        ("BYINT -9 LBOUND 0 SATURATE", integers(0, -5), "0"),
        ("UBOUND 3 SATURATE", integers(3, -2), "3"),
        (f"BYINT {GREATEST}", integers(5, 0), "5"),
        (f"BYINT {GREATEST} SATURATE", integers(GREATEST, GREATEST - 5), str(GREATEST)),
        ("BYFLOAT 0.1", bulks("5.1 0.1"), "5.1"),
        ("BYFLOAT 3e3 UBOUND 10.5", bulks("5 0"), "5"),
        ("BYFLOAT 3e3 UBOUND 10.5 saturate", bulks("10.5 5.5"), "10.5"),
    ],
)
def test_a_number_is_changed_within_its_bounds(
    talk: Conversation, words: str, reply: bytes, stored: str
) -> None:
    talk.all("SET k 5")
    assert talk.do(f"INCREX k {words}") == reply
    assert talk.do("GET k") == b"$%d\r\n%b\r\n" % (len(stored), stored.encode())
    assert talk.propagated() == ([f"SET k {stored}"] if stored != "5" else [])
