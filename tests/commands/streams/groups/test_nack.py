"""XNACK with DELAY and REASON, and XREASON; what Redis has of XNACK: test_acknowledge.py."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from storage.stream import Stream
from tests.commands.streams.policies.workers import Workers, sink_of
from tests.commands.streams.talk import NOW_MS, Talk


@pytest.fixture
def plain() -> Workers:
    """A group without a policy, of which `a` has three entries."""
    workers = Workers()
    workers.add(1, 2, 3)
    workers.read("a")
    return workers


@pytest.fixture
def waiting() -> Workers:
    """A group with ACK-WAIT and BACKOFF, of which `a` has three entries."""
    workers = Workers("ACK-WAIT 1000 BACKOFF 50 200")
    workers.add(1, 2, 3)
    workers.read("a")
    return workers


# -- DELAY -------------------------------------------------------------------------------------


def test_claims_wait_for_a_delay_in_any_group(plain: Workers) -> None:
    plain.talk.do("XNACK jobs g FAIL IDS 2 1-1 2-1 DELAY 100")
    plain.server.advance(99)
    assert plain.read("b", "CLAIM 50") == [3]
    assert plain.talk.do("XAUTOCLAIM jobs g c 0 0 JUSTID")[1] == [b"3-1"]
    assert plain.talk.do("XCLAIM jobs g c 0 2-1 JUSTID") == [b"2-1"]  # obeys
    plain.server.advance(1)
    assert plain.read("b", "CLAIM 50") == [1]


def test_a_reader_with_claim_is_woken_when_a_delay_is_over(plain: Workers) -> None:
    plain.talk.do("XNACK jobs g FAIL IDS 1 1-1 DELAY 100")
    waiting = plain.wait("b", "CLAIM 60000")
    plain.server.advance(99)
    assert waiting.received() is None
    plain.server.advance(1)
    assert b"1-1" in waiting.client.received()


def test_a_policy_of_delays_ends_with_them(plain: Workers) -> None:
    plain.talk.do("XNACK jobs g FAIL IDS 1 1-1 DELAY 100")
    assert plain.info()["released"] == 1
    plain.talk.do("XNACK jobs g FAIL IDS 1 1-1")
    assert plain.info() == {}


def test_a_delay_takes_the_place_of_the_pause(waiting: Workers) -> None:
    waiting.talk.do("XNACK jobs g FAIL IDS 1 1-1 DELAY 500")
    waiting.talk.do("XNACK jobs g FAIL IDS 1 2-1 DELAY 0")
    assert waiting.read("b") == [2]
    waiting.server.advance(499)
    assert waiting.read("b") == []
    waiting.server.advance(1)
    assert waiting.read("b") == [1]


# -- modes in a group with ACK-WAIT ------------------------------------------------------------


def test_a_failed_entry_waits_for_the_pause_of_its_deliveries(waiting: Workers) -> None:
    waiting.talk.do("XNACK jobs g FAIL IDS 1 1-1")
    waiting.server.advance(49)
    assert waiting.read("b") == []
    waiting.server.advance(1)
    assert waiting.read("b") == [1]
    waiting.talk.do("XNACK jobs g FAIL IDS 1 1-1")
    waiting.server.advance(199)
    assert waiting.read("b") == []
    waiting.server.advance(1)
    assert waiting.read("b") == [1]
    assert waiting.pending()[1] == ("b", 3)


def test_a_silent_release_waits_for_the_first_pause(waiting: Workers) -> None:
    waiting.talk.do("XCLAIM jobs g a 0 1-1 RETRYCOUNT 7")
    waiting.talk.do("XNACK jobs g SILENT IDS 1 1-1")
    assert waiting.pending()[1] == ("", 6)
    waiting.server.advance(50)
    assert waiting.read("b") == [1]


def test_a_reader_that_waits_gets_a_released_entry_after_its_pause(waiting: Workers) -> None:
    reader = waiting.wait("b")
    waiting.talk.do("XNACK jobs g FAIL IDS 1 1-1")
    waiting.server.advance(49)
    assert reader.received() is None
    waiting.server.advance(1)
    assert b"1-1" in reader.client.received()


def test_without_backoff_a_reader_that_waits_gets_it_at_once() -> None:
    workers = Workers("ACK-WAIT 1000")
    workers.add(1)
    workers.read("a")
    reader = workers.wait("b")
    workers.talk.do("XNACK jobs g FAIL IDS 1 1-1")
    assert b"1-1" in reader.client.received()


def test_a_fatal_entry_stays_without_dead_letters(waiting: Workers) -> None:
    waiting.talk.do("XNACK jobs g FATAL IDS 1 1-1")
    assert waiting.pending()[1] == ("", 2**63 - 1)


# -- REASON ------------------------------------------------------------------------------------


def reason(workers: Workers, number: int) -> bytes | None:
    return workers.talk.do(f"XREASON jobs g {number}-1")  # type: ignore[no-any-return]


def test_a_reason_is_kept_until_the_entry_is_acknowledged(plain: Workers) -> None:
    plain.talk.do("XNACK jobs g FAIL IDS 2 1-1 2-1 REASON timeout")
    assert [reason(plain, number) for number in (1, 2, 3)] == [b"timeout", b"timeout", None]
    plain.talk.do("XCLAIM jobs g b 0 1-1 2-1")
    assert reason(plain, 1) == b"timeout"
    plain.talk.do("XACK jobs g 1-1")
    assert reason(plain, 1) is None
    assert plain.info()["reasons"] == 1


def test_the_next_release_replaces_a_reason(plain: Workers) -> None:
    plain.talk.do("XNACK jobs g FAIL IDS 2 1-1 2-1 REASON timeout")
    plain.talk.do("XNACK jobs g FAIL IDS 1 1-1 REASON refused")
    plain.talk.do("XNACK jobs g FAIL IDS 1 2-1")
    assert [reason(plain, 1), reason(plain, 2)] == [b"refused", None]


def test_reasons_count_as_memory(plain: Workers) -> None:
    before = plain.talk.do("MEMORY USAGE jobs SAMPLES 0")
    text = "x" * 512
    plain.talk.do(f"XNACK jobs g FAIL IDS 3 1-1 2-1 3-1 REASON {text}")
    assert plain.talk.do("MEMORY USAGE jobs SAMPLES 0") > before + 3 * 512


def test_a_reason_is_refused_at_the_limit_of_memory(plain: Workers) -> None:
    plain.talk.do("CONFIG SET maxmemory 1")
    request = "XNACK jobs g FAIL IDS 1 1-1"
    assert plain.talk.error(f"{request} REASON x").startswith("OOM")
    assert plain.pending()[1] == ("a", 1)
    assert plain.talk.do(request) == 1
    plain.talk.do("CONFIG SET maxmemory 0")


def test_xreason_needs_a_group_and_an_id(plain: Workers) -> None:
    assert plain.talk.error("XREASON jobs h 1-1").startswith("NOGROUP")
    assert plain.talk.error("XREASON none g 1-1").startswith("NOGROUP")
    assert "Invalid stream ID" in plain.talk.error("XREASON jobs g x")
    assert plain.talk.do("XREASON jobs g 9-9") is None


# -- the form of the request -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("FAIL IDS 1 1-1 DELAY -1", "ERR Invalid DELAY value, must be >= 0"),
        ("FAIL IDS 1 1-1 DELAY x", "ERR Invalid DELAY value, must be >= 0"),
        ("FAIL IDS 1 1-1 DELAY 1 DELAY 2", "ERR DELAY specified multiple times"),
        ("FAIL IDS 1 1-1 REASON a REASON b", "ERR REASON specified multiple times"),
        ("FATAL IDS 1 1-1 DELAY 5", "ERR DELAY is not allowed with FATAL"),
        ("FAIL IDS 1 1-1 REASON " + "x" * 513, "ERR REASON must be at most 512 bytes"),
        ("FAIL IDS 1 1-1 DELAY", "ERR Unrecognized XNACK option 'DELAY'"),
        ("FAIL IDS 1 1-1 DUE 5", "ERR Unrecognized XNACK option 'DUE'"),
        # Redis's own errors come first.
        ("FAIL IDS 1 1-1 DELAY -1 WHAT", "ERR Unrecognized XNACK option 'WHAT'"),
        ("FAIL IDS 1 x DELAY -1", "ERR Invalid stream ID specified as stream command argument"),
        ("FATAL IDS 1 1-1 DELAY 5 RETRYCOUNT x", "ERR Invalid RETRYCOUNT value, must be >= 0"),
    ],
)
def test_a_bad_request_changes_nothing(plain: Workers, words: str, error: str) -> None:
    assert plain.talk.error(f"XNACK jobs g {words}") == error
    assert plain.pending()[1] == ("a", 1)
    assert plain.group().policy is None


def test_options_stand_in_any_order(plain: Workers) -> None:
    words = "REASON late delay 100 FORCE RETRYCOUNT 7"
    assert plain.talk.do(f"XNACK jobs g FAIL IDS 1 1-1 {words}") == 1
    assert plain.pending()[1] == ("", 7)
    assert reason(plain, 1) == b"late"


# -- propagation -------------------------------------------------------------------------------


def test_a_release_travels_with_its_time_and_reason(waiting: Workers) -> None:
    propagated = sink_of(waiting.server)
    waiting.talk.do("XNACK jobs g FAIL IDS 2 1-1 2-1 DELAY 500 REASON late")
    requests = propagated()
    assert requests[0] == "MULTI"
    assert requests[1] == "XCLAIM jobs g  0 1-1 2-1 TIME 0 RETRYCOUNT 1 FORCE JUSTID"
    replica = Talk(InProcessServer(now_ms=NOW_MS))
    replica.do("XADD jobs 1-1 n 1")
    replica.all("XADD jobs 2-1 n 2", "XADD jobs 3-1 n 3", "XGROUP CREATE jobs g 0")
    replica.do("XREADGROUP GROUP g a STREAMS jobs >")
    replica.do("XGROUP CONFIG jobs g ACK-WAIT 1000 BACKOFF 50 200")
    replica.replay(requests[2])  # the XNACK in a carrier
    assert replica.do("XPENDING jobs g - + 9") == waiting.talk.do("XPENDING jobs g - + 9")
    assert replica.do("XREASON jobs g 2-1") == b"late"
    stream = replica.server.instance.databases[0].values[b"jobs"]
    assert isinstance(stream, Stream)
    policy = stream.groups[b"g"].policy
    assert policy is not None
    due_ms = waiting.server.now_ms + 500
    assert {at for _, at in policy.due.delays()} == {due_ms}
