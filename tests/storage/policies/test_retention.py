"""The settings of a stream's retention."""

from __future__ import annotations

import pytest

from storage.policies.retention import Retention


def test_settings_are_those_that_differ_from_the_defaults() -> None:
    retention = Retention()
    assert not retention.is_set
    retention.change({b"RETAIN-MS": b"5", b"RETAIN-REFS": b"DELREF", b"RETAIN-ACKED": b"yes"})
    assert retention.settings() == {
        b"RETAIN-MS": b"5", b"RETAIN-REFS": b"DELREF", b"RETAIN-ACKED": b"yes",
    }  # fmt: skip
    retention.change({b"RETAIN-MS": b"0", b"RETAIN-REFS": b"KEEPREF", b"RETAIN-ACKED": b"no"})
    assert not retention.is_set


@pytest.mark.parametrize(
    ("option", "text"),
    [
        (b"RETAIN-MS", b"1000000000001"),
        (b"RETAIN-LEN", b"9223372036854775808"),
        (b"RETAIN-LEN", b"1" * 30),
        (b"RETAIN-BYTES", b""),
        (b"RETAIN-REFS", b"acked"),
        (b"RETAIN-ACKED", b"1"),
        (b"IDMP-MAXSIZE", b"1"),
    ],
)
def test_bad_settings_are_refused(option: bytes, text: bytes) -> None:
    with pytest.raises(ValueError, match=option.decode()):
        Retention().change({option: text})
