"""Sessions and failed logins."""

from __future__ import annotations

from rillway.console.access.login import MAX_SESSIONS, Attempts, Sessions, is_same
from rillway.console.data.link import Link

LINK = Link("redis://127.0.0.1")


def test_a_session_is_found_by_its_secret_only() -> None:
    sessions = Sessions(lambda: 0.0)
    secret, session = sessions.open(LINK, "anna")
    other, another = sessions.open(LINK, "anna")
    assert sessions.find(secret) is session and sessions.find(other) is another
    assert sessions.find(None) is sessions.find("") is sessions.find("guess") is None
    assert len({secret, other, session.token, another.token}) == 4
    assert min(map(len, (secret, session.token))) >= 43  # 32 bytes


def test_a_session_ends_after_twelve_hours_or_when_it_is_closed() -> None:
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    secret, _ = sessions.open(LINK, None)
    closed, _ = sessions.open(LINK, None)
    sessions.close(closed)
    assert sessions.find(closed) is None and sessions.links() == {LINK}
    now[0] = 12 * 3600.0
    assert sessions.find(secret) is None and sessions.links() == set()


def test_the_oldest_session_makes_room() -> None:
    sessions = Sessions(lambda: 0.0)
    first, _ = sessions.open(LINK, None)
    for _ in range(MAX_SESSIONS):
        last, _ = sessions.open(LINK, None)
    assert sessions.find(first) is None and sessions.find(last) is not None


def test_five_failures_a_minute_are_allowed_to_each_address() -> None:
    now = [0.0]
    attempts = Attempts(lambda: now[0])
    assert all(attempts.begin("10.0.0.1") for _ in range(5))  # also if none has ended yet
    assert not attempts.begin("10.0.0.1")
    assert attempts.begin("10.0.0.2")
    now[0] = 60.0
    assert attempts.begin("10.0.0.1")


def test_an_attempt_that_is_forgiven_does_not_count() -> None:
    attempts = Attempts(lambda: 0.0)
    for _ in range(10):
        assert attempts.begin("10.0.0.1")
        attempts.forgive("10.0.0.1")
    attempts.forgive("10.0.0.2")


def test_texts_are_compared_whole() -> None:
    assert is_same("geheim é", "geheim é")
    assert not is_same("geheim", "geheim ")
