"""The thread of servers inside of a user's process."""

from __future__ import annotations

import os
import threading

import pytest

from server.inprocess import loop_thread


def test_there_is_one_thread() -> None:
    assert loop_thread.running() is loop_thread.running()


def test_a_call_runs_in_the_thread_and_returns() -> None:
    thread = loop_thread.running().call(threading.current_thread)
    assert thread is not threading.current_thread() and thread.daemon


def test_an_exception_comes_back() -> None:
    with pytest.raises(ZeroDivisionError):
        loop_thread.running().call(divmod, 1, 0)


def test_a_thread_that_was_stopped_has_ended() -> None:
    other = loop_thread.LoopThread()
    thread = other.call(threading.current_thread)
    other.stop()
    assert not thread.is_alive()


def test_a_fork_gets_a_thread_of_its_own() -> None:
    parents = loop_thread.running()
    child = os.fork()
    if not child:
        own = loop_thread.running()
        os._exit(own is parents or own.call(divmod, 7, 2) != (3, 1))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
