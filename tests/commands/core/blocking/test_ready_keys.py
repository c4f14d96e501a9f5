"""commands/core/blocking/ready_keys.py: which keys are signalled."""

from __future__ import annotations

from commands.core.blocking.ready_keys import ReadyKeys


def test_a_key_is_signalled_only_while_somebody_waits_for_it() -> None:
    ready_keys = ReadyKeys()
    ready_keys.signal(0, b"k")
    assert ready_keys.take() == []
    ready_keys.awaited = {(0, b"k"): None}
    ready_keys.signal(0, b"k")
    ready_keys.signal(0, b"k")
    assert ready_keys.take() == [(0, b"k")]
    assert ready_keys.take() == []


def test_flushdb_signals_every_watched_key_of_its_database() -> None:
    ready_keys = ReadyKeys()
    ready_keys.awaited = {(0, b"a"): None, (0, b"b"): None}
    ready_keys.signal_all(1)
    assert ready_keys.take() == []
    ready_keys.signal_all(0)
    assert ready_keys.take() == [(0, b"a"), (0, b"b")]
