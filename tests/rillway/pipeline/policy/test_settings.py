"""Values of options: read from arguments, written as words, read from replies."""

from __future__ import annotations

import pytest

from rillway.pipeline.policy.settings import (
    GROUP_SETTINGS,
    OFF,
    STREAM_SETTINGS,
    Value,
    from_reply,
    read,
)

SETTINGS = {setting.flag: setting for setting in (*STREAM_SETTINGS, *GROUP_SETTINGS)}


@pytest.mark.parametrize(
    ("flag", "text", "value", "words", "shown"),
    [
        ("--retain", "7d", 604_800_000, "RETAIN-MS 604800000", "7 d"),
        ("--retain-len", "5000", 5000, "RETAIN-LEN 5000", "5,000"),
        ("--retain-bytes", "2gb", 2 << 30, "RETAIN-BYTES 2147483648", "2.0 GB"),
        ("--retain-refs", "Acked", "ACKED", "RETAIN-REFS ACKED", "acked"),
        ("--retain-acked", "yes", True, "RETAIN-ACKED yes", "yes"),
        ("--ack-wait", "30s", 30_000, "ACK-WAIT 30000", "30 s"),
        ("--ack-wait", "1.5 s", 1500, "ACK-WAIT 1500", "1.5 s"),
        ("--ack-wait", "250ms", 250, "ACK-WAIT 250", "250 ms"),
        ("--backoff", "1s,10s,1m", (1000, 10_000, 60_000), "BACKOFF 1000 10000 60000",
         "1 s, 10 s, 1 min"),
        ("--backoff", "0,1s", (0, 1000), "BACKOFF 0 1000", "0 ms, 1 s"),
        ("--max-deliveries", "5", 5, "MAX-DELIVERIES 5", "5"),
        ("--dead-letter", "orders:dead", "orders:dead", "DEAD-LETTER orders:dead", "orders:dead"),
    ],
)  # fmt: skip
def test_an_argument_becomes_words_and_text(
    flag: str, text: str, value: Value, words: str, shown: str
) -> None:
    setting = SETTINGS[flag]
    assert read(setting, text) == value
    assert " ".join(setting.words(value)) == words
    assert setting.show(value) == shown


@pytest.mark.parametrize("flag", SETTINGS)
def test_off_switches_each_option_off(flag: str) -> None:
    setting = SETTINGS[flag]
    assert read(setting, "OFF") == OFF
    assert len(setting.words(OFF)) == 2
    assert from_reply((setting,), {setting.name: setting.off.encode()}) == {}


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        ("--retain", "7"),
        ("--retain", "0"),
        ("--retain", "-1s"),
        ("--retain-len", "0"),
        ("--retain-len", "many"),
        ("--retain-len", "٣"),
        ("--retain-refs", "all"),
        ("--retain-acked", "1"),
        ("--backoff", "1s,,2s"),
        ("--backoff", ""),
        ("--dead-letter", ""),
    ],
)
def test_other_values_are_refused(flag: str, text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        read(SETTINGS[flag], text)


def test_values_of_a_reply_without_what_is_off() -> None:
    reply = {
        "ack-wait": 30_000,
        "backoff": [1000, 10_000],
        "max-deliveries": 0,
        "dead-letter": b"",
        "max-pending": 7,
        "redelivered": 12,
    }
    assert from_reply(GROUP_SETTINGS, reply) == {
        "ack-wait": 30_000,
        "backoff": (1000, 10_000),
        "max-pending": 7,
    }
    stream = {"retain-ms": 5, "retain-refs": b"KEEPREF", "retain-acked": b"yes"}
    assert from_reply(STREAM_SETTINGS, stream) == {"retain-ms": 5, "retain-acked": True}
