"""What each error of a cluster says about the next attempt."""

from __future__ import annotations

import pytest
import redis
from redis.exceptions import AskError, ClusterDownError, MovedError, TryAgainError

from rillway.net.routing import (
    MOST_REDIRECTIONS,
    PATIENCE_S,
    Decision,
    Step,
    decide,
    is_redirection,
    text_of,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MOVED 3999 10.0.0.2:7001", Decision(Step.FOLLOW, 3999, ("10.0.0.2", 7001))),
        ("MOVED 3999 ::1:7001", Decision(Step.FOLLOW, 3999, ("::1", 7001))),
        ("MOVED 0 :7001", Decision(Step.FOLLOW, 0, ("asked", 7001))),
        ("MOVED 0 ?:7001", Decision(Step.FOLLOW, 0, ("asked", 7001))),
        ("ASK 3999 10.0.0.2:7001", Decision(Step.ASK, 3999, ("10.0.0.2", 7001))),
        ("ASK 1 :7001", Decision(Step.ASK, 1, ("asked", 7001))),
        ("TRYAGAIN Multiple keys request during rehashing of slot", Decision(Step.WAIT)),
        ("CLUSTERDOWN Hash slot not served", Decision(Step.WAIT)),
        ("LOADING Redis is loading the dataset in memory", Decision(Step.WAIT)),
        ("ERR unknown command", Decision(Step.FAIL)),
        ("READONLY You can't write against a read only replica.", Decision(Step.FAIL)),
        ("MOVEDX 1 :7001", Decision(Step.FAIL)),
    ],
)
def test_an_error_decides_the_next_step(text: str, expected: Decision) -> None:
    assert decide(text, "asked") == expected
    assert is_redirection(text) is (expected.step is not Step.FAIL)


@pytest.mark.parametrize("text", ["MOVED 1 h:1", "ASK 1 h:1", "TRYAGAIN", "CLUSTERDOWN", "LOADING"])
def test_attempts_are_limited_by_number_and_time(text: str) -> None:
    for redirections, seconds in ((MOST_REDIRECTIONS - 1, 0.0), (0, PATIENCE_S)):
        decision = decide(text, "h", redirections=redirections, seconds=seconds)
        assert decision.step not in (Step.GIVE_UP, Step.FAIL)
    for redirections, seconds in ((MOST_REDIRECTIONS, 0.0), (0, PATIENCE_S + 1)):
        decision = decide(text, "h", redirections=redirections, seconds=seconds)
        assert decision.step is Step.GIVE_UP


def test_other_errors_have_no_limit() -> None:
    assert decide("ERR no", "h", redirections=99, seconds=1e9).step is Step.FAIL


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MovedError("1 h:7001"), "MOVED 1 h:7001"),
        (AskError("1 h:7001"), "ASK 1 h:7001"),
        (TryAgainError("later"), "TRYAGAIN later"),
        (ClusterDownError("no slot"), "CLUSTERDOWN no slot"),
        (redis.ResponseError("MOVED 1 h:7001"), "MOVED 1 h:7001"),
        (redis.ResponseError("ERR no"), "ERR no"),
    ],
)
def test_errors_of_redis_py_have_their_first_word_again(error: Exception, expected: str) -> None:
    assert text_of(error) == expected
