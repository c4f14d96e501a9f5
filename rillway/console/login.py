"""Sessions, and who may have one.

Three kinds of console: the server asks for a password, so a viewer logs in as one of its users and
acts by that user's rights; the console has a password of its own (--password-file); or it is open,
on loopback, and all viewers share one session.

Sessions are in memory only: they end with the console, and twelve hours after the login.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from rillway.console.data.link import Link

SESSION_SECONDS = 12 * 3600
MAX_SESSIONS = 1000
FAILURES, FAILURE_SECONDS = 5, 60
MAX_ADDRESSES = 10_000
COOKIE = "rillway-session"


@dataclass(frozen=True, slots=True)
class Session:
    """`token` must come with each write; `user` is for people, None if nobody logged in."""

    link: Link
    user: str | None
    expires: float
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))


class Sessions:
    """Those that are open, by the secret in the viewer's cookie. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def open(self, link: Link, user: str | None) -> tuple[str, Session]:
        """Return the secret and the session. The oldest one ends where there are too many."""
        while len(self._sessions) >= MAX_SESSIONS:
            self._sessions.popitem(last=False)
        secret = secrets.token_urlsafe(32)
        session = Session(link, user, self._clock() + SESSION_SECONDS)
        self._sessions[secret] = session
        return secret, session

    def find(self, secret: str | None) -> Session | None:
        session = self._sessions.get(secret or "")
        if session is not None and session.expires <= self._clock():
            self.close(secret)
            return None
        return session

    def links(self) -> set[Link]:
        """Those of all sessions that have not expired."""
        for secret in list(self._sessions):
            self.find(secret)
        return {session.link for session in self._sessions.values()}

    def close(self, secret: str | None) -> None:
        self._sessions.pop(secret or "", None)


class Attempts:
    """Failed logins of each address: five a minute, then none until a minute has passed."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def is_allowed(self, address: str) -> bool:
        failures = self._failures.get(address, deque())
        while failures and failures[0] <= self._clock() - FAILURE_SECONDS:
            failures.popleft()
        return len(failures) < FAILURES

    def failed(self, address: str) -> None:
        self._failures.setdefault(address, deque(maxlen=FAILURES)).append(self._clock())
        self._failures.move_to_end(address)
        while len(self._failures) > MAX_ADDRESSES:
            self._failures.popitem(last=False)


def is_same(given: str, expected: str) -> bool:
    """Compares in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())
