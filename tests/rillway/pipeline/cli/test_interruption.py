"""Signals to a long command."""

from __future__ import annotations

import signal

import pytest

from rillway.pipeline.cli.interruption import Interrupted, Interruption


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_the_first_signal_is_noted(number: int, status: int) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # the tests may run under nohup
    try:
        with Interruption() as interruption:
            interruption.check()
            assert (interruption.requested, interruption.exit_status) == (False, 0)
            signal.raise_signal(number)
            assert (interruption.requested, interruption.exit_status) == (True, status)
            with pytest.raises(Interrupted):
                interruption.check()
    finally:
        signal.signal(number, before)


def test_a_second_signal_ends_the_command() -> None:
    with Interruption():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_nohup_stays_in_force() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            signal.raise_signal(signal.SIGHUP)
            assert not interruption.requested
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_waiting_ends_with_a_signal() -> None:
    with Interruption() as interruption:
        assert not interruption.wait(0)
        signal.raise_signal(signal.SIGTERM)
        assert interruption.wait(60)


def test_signals_are_handled_as_before_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Interruption():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
