"""The garbage collector is paused, and put back as it was."""

from __future__ import annotations

import gc

import pytest

from rillway.pipeline.arrow.collector import paused_collector


def test_the_collector_is_off_inside_and_on_again_after_an_error() -> None:
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), paused_collector():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with paused_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
