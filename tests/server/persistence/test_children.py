"""server/persistence/children.py: how children end, their reports, their closed descriptors."""

from __future__ import annotations

import errno
import gc
import os
import signal

import pytest

from commands.server.latency import LatencyMonitor
from server.inprocess.server import InProcessServer
from server.persistence.children import (
    CALLED_OFF,
    Child,
    Ending,
    ForkedChildren,
    Task,
    note_progress,
    start_child,
)
from server.persistence.children import Progress as Told
from server.persistence.files import OsFiles


@pytest.fixture
def children() -> ForkedChildren:
    return ForkedChildren(OsFiles())


def ending_of(children: ForkedChildren, task: Task) -> Ending:
    """Start a child and wait for its end, which stays to be heard of."""
    pid = children.start(task)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    ending = children.poll()
    assert ending is not None
    assert ending.pid == pid
    return ending


def wait_for_ever(child: Child) -> None:
    signal.pause()


def test_a_child_that_is_done_has_succeeded(children: ForkedChildren) -> None:
    ending = ending_of(children, lambda child: child.report(7))
    assert ending.succeeded
    assert ending.progress.keys == 7
    assert ending.progress.copied_bytes > 0
    assert children.poll() is None


def test_the_reason_of_a_failure_arrives(children: ForkedChildren) -> None:
    def fail(child: Child) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "dump\n.rdb")

    ending = ending_of(children, fail)
    assert not ending.succeeded
    assert not ending.was_called_off
    assert ending.error == "[Errno 28] No space left on device: 'dump\\n.rdb'"


def test_of_a_defect_the_whole_story_arrives(children: ForkedChildren) -> None:
    def break_down(child: Child) -> None:
        raise ValueError("häßlich")

    ending = ending_of(children, break_down)
    assert "Traceback" in ending.error
    assert "ValueError: häßlich" in ending.error


def test_a_child_that_ends_without_a_word_has_failed(children: ForkedChildren) -> None:
    ending = ending_of(children, lambda child: os._exit(3))
    assert ending.error == "exit status 3"


def test_a_child_that_is_killed_has_failed(children: ForkedChildren) -> None:
    ending = ending_of(children, lambda child: os.kill(child.pid, signal.SIGKILL))
    assert ending.signal == signal.SIGKILL
    assert not ending.succeeded
    assert not ending.was_called_off


def test_a_cancelled_child_ends_at_once_and_does_not_count_as_failed(
    children: ForkedChildren,
) -> None:
    pid = children.start(wait_for_ever)
    ending = children.kill()
    assert (ending.pid, ending.signal) == (pid, CALLED_OFF)
    assert ending.was_called_off
    assert not ending.succeeded
    assert children.poll() is None


def test_a_child_that_lives_is_not_heard_of_as_ended(children: ForkedChildren) -> None:
    children.start(wait_for_ever)
    assert children.poll() is None
    children.kill()


def test_no_garbage_is_collected_in_a_child(children: ForkedChildren) -> None:
    def fail_with_a_collector(child: Child) -> None:
        if gc.isenabled():
            raise OSError("a collection would have all memory copied")

    assert gc.isenabled()
    assert ending_of(children, fail_with_a_collector).error == ""
    assert gc.isenabled()


def test_an_interrupt_from_the_terminal_is_left_to_the_server(children: ForkedChildren) -> None:
    def be_interrupted(child: Child) -> None:
        os.kill(child.pid, signal.SIGINT)
        child.report(1)

    assert ending_of(children, be_interrupted).succeeded


def test_signals_that_the_server_handles_have_their_default_meaning(
    children: ForkedChildren,
) -> None:
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        ending = ending_of(children, lambda child: os.kill(child.pid, signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ending.signal == signal.SIGTERM


def test_a_child_lets_go_of_the_servers_descriptors(children: ForkedChildren) -> None:
    reading, writing = os.pipe()

    def look(child: Child) -> None:
        os.fstat(writing)

    ending = ending_of(children, look)
    os.close(reading)
    os.close(writing)
    assert ending.error == "[Errno 9] Bad file descriptor"


def test_a_child_knows_its_server(children: ForkedChildren) -> None:
    def look(child: Child) -> None:
        assert child.has_server()
        assert child.pid == os.getpid()

    assert ending_of(children, look).succeeded


def test_another_child_may_follow_and_begins_at_nothing(children: ForkedChildren) -> None:
    ending_of(children, lambda child: child.report(7))
    children.start(wait_for_ever)
    assert children.progress == Told()
    children.kill()


def test_a_fork_that_is_refused_changes_nothing(
    children: ForkedChildren, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> int:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    with monkeypatch.context() as patches:
        patches.setattr(os, "fork", refuse)
        with pytest.raises(OSError, match="temporarily"):
            children.start(wait_for_ever)
    assert children.poll() is None
    assert ending_of(children, lambda child: None).succeeded


# -- INFO ----------------------------------------------------------------------------------------


def test_a_start_is_counted_and_sampled() -> None:
    server = InProcessServer(latency_monitor_threshold="5")
    server.connect().execute("SET", "k", "v")
    server.children.fork_us = 4999
    start_child(server.instance, server.children, lambda child: None)
    assert "fork" not in map(bytes.decode, server.instance.feature(LatencyMonitor).events)
    server.children.poll()
    server.children.fork_us = 5000
    start_child(server.instance, server.children, lambda child: None)
    assert server.instance.feature(LatencyMonitor).events[b"fork"].max_ms == 5
    assert server.instance.stats.forks == 2
    assert server.instance.stats.latest_fork_us == 5000
    assert server.instance.persistence.child_keys_total == 1


def test_the_most_memory_that_was_copied_is_kept() -> None:
    state = InProcessServer().instance.persistence
    note_progress(state, Told(10, 5000), 1000)
    note_progress(state, Told(20, 4000), 2000)
    note_progress(state, Told(30, 4000), 3000)
    assert (state.child_keys_processed, state.child_copied_bytes) == (30, 4000)
    assert (state.child_copied_peak_bytes, state.child_copied_at_ms) == (5000, 2000)
