"""A short run of `make failover`, and proof that it would notice what must not happen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.failover.__main__ import play, table
from tests.failover.load import PLAIN, WAITED, Ledger, Message
from tests.failover.rounds import BOUND_SECONDS, KILL, STOP, Wound, is_allowed, judged

MANY = 300


OURS = ("rillway",) * 3
THOROUGH = pytest.mark.thorough


@pytest.mark.integration
@pytest.mark.parametrize(
    ("kinds", "wounds"),
    [
        pytest.param(OURS, [KILL], id="rillway"),
        pytest.param(OURS, [KILL, STOP], id="rillway twice", marks=THOROUGH),
        pytest.param(
            ("redis", "rillway", "rillway"), [KILL, STOP],
            id="a redis and replicas of ours", marks=THOROUGH,
        ),
        pytest.param(
            ("rillway", "redis", "redis"), [KILL, STOP],
            id="one of ours and redis as replicas", marks=THOROUGH,
        ),
    ],
)  # fmt: skip
def test_sentinel_replaces_primaries_under_load(
    tmp_path: Path, kinds: tuple[str, ...], wounds: list[str]
) -> None:
    verdict = play(tmp_path / "set", kinds, len(wounds))
    assert verdict.problems() == []
    assert [wound.how for wound in verdict.wounds] == wounds
    assert min(verdict.acknowledged.values()) > MANY
    assert "delivered twice" in table(verdict)


# -- what is noticed -----------------------------------------------------------------------------


def ledger_of(*acknowledged: Message) -> Ledger:
    ledger = Ledger()
    for message in acknowledged:
        ledger.acknowledge(message)
        ledger.process(message)
    return ledger


def test_a_message_that_is_not_in_the_stream_is_lost() -> None:
    kept, lost = (WAITED, b"p", 1), (WAITED, b"p", 2)
    verdict = judged(ledger_of(kept, lost), {kept}, [])
    assert verdict.lost == {WAITED: [lost], PLAIN: []}
    [problem] = verdict.problems()
    assert "lost although a replica had them" in problem


def test_without_waiting_only_what_fits_the_time_may_be_lost() -> None:
    lost = (PLAIN, b"p", 1)
    ledger = ledger_of(lost)
    at = ledger.acknowledged()[lost]
    assert judged(ledger, set(), [Wound(KILL, at + 1, at + 9, 1.0)]).problems() == []
    verdict = judged(ledger, set(), [Wound(KILL, at + BOUND_SECONDS + 1, at + 99, 1.0)])
    assert verdict.beyond_bound == [lost] and verdict.problems()


@pytest.mark.parametrize("how", [KILL, STOP])
def test_only_a_primary_that_comes_back_may_lose_more(how: str) -> None:
    wound = Wound(how, 100.0, 110.0, 5.0)
    early = wound.at - BOUND_SECONDS
    assert not is_allowed(early - 0.1, [wound]) and is_allowed(early + 0.1, [wound])
    assert is_allowed(110.5, [wound]) is (how == STOP)
    assert not is_allowed(wound.back_at + BOUND_SECONDS + 0.1, [wound])


def test_a_primary_that_was_replaced_beside_the_rounds_may_lose_the_last_messages() -> None:
    wound = Wound(KILL, 100.0, 110.0, 5.0)
    assert not is_allowed(130.0, [wound]) and is_allowed(130.0, [wound], [131.0])
    assert not is_allowed(131.0 + BOUND_SECONDS + 0.1, [wound], [131.0])


def test_a_lost_message_is_noticed_and_a_duplicate_is_counted() -> None:
    once, twice, never = [(WAITED, b"p", number) for number in range(3)]
    ledger = ledger_of(once, twice)
    ledger.process(twice)
    ledger.acknowledge(never)
    verdict = judged(ledger, {once, twice, never}, [])
    assert verdict.delivered_twice == 1 and verdict.not_delivered == [never]
    assert "never delivered" in verdict.problems()[0]


def test_the_longest_time_without_an_answer_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger()
    for number, at in enumerate([1.0, 2.0, 5.5, 6.0]):
        monkeypatch.setattr("time.monotonic", lambda at=at: at)
        ledger.acknowledge((WAITED, b"p", number))
    assert ledger.longest_gap(1.5) == 3.5
    assert ledger.has_acknowledged_after(5.0) is False  # of one kind only
