"""Retention: which entries go, when, and what is propagated."""

from __future__ import annotations

from tests.commands.streams.talk import Talk, carrier


def test_settings_are_listed(client: Talk) -> None:
    client.do("XADD s 1-1 f v")
    client.replay(carrier("XPOLICY s retain RETAIN-LEN 5 RETAIN-REFS ACKED"))
    assert client.fields("XINFO POLICY s") == {"retain-len": 5, "retain-refs": b"ACKED"}
