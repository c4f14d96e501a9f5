"""Sessions and logins.

There are four kinds of console: if the server asks for a password, a viewer logs in as one of its
users with that user's rights; a console may have its own password (--password-file), or its own
users with a role (--users); or it is open, on loopback, and all viewers share one session.

Sessions are in memory only: they end with the console, and twelve hours after the login.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from rillway.console.access.users import Role
from rillway.console.data.link import Link

SESSION_SECONDS = 12 * 3600
MAX_SESSIONS = 1000
FAILURES, FAILURE_SECONDS = 5, 60
MAX_ADDRESSES = 10_000
COOKIE = "rillway-session"


@dataclass(frozen=True, slots=True)
class Session:
    """`token` must come with each write; `user` is for people, None without a login.

    `salt`: that of the user's password at the login, for users of the console's own.
    """

    link: Link
    user: str | None
    expires: float
    role: Role = Role.ADMIN
    salt: bytes = b""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))


class Sessions:
    """The open sessions, by the secret in the viewer's cookie. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def open(
        self, link: Link, user: str | None, role: Role = Role.ADMIN, salt: bytes = b""
    ) -> tuple[str, Session]:
        """Return the secret and the session. The oldest one ends if there are too many."""
        while len(self._sessions) >= MAX_SESSIONS:
            self._sessions.popitem(last=False)
        secret = secrets.token_urlsafe(32)
        session = Session(link, user, self._clock() + SESSION_SECONDS, role, salt)
        self._sessions[secret] = session
        return secret, session

    def find(self, secret: str | None) -> Session | None:
        session = self._sessions.get(secret or "")
        if session is not None and session.expires <= self._clock():
            self.close(secret)
            return None
        return session

    def links(self) -> set[Link]:
        """Return the links of all sessions that have not expired."""
        for secret in list(self._sessions):
            self.find(secret)
        return {session.link for session in self._sessions.values()}

    def close(self, secret: str | None) -> None:
        self._sessions.pop(secret or "", None)


class Attempts:
    """Limits failed logins of an address: five, then none until a minute has passed.

    An attempt counts as failed until it is forgiven, so parallel attempts do not evade the limit.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def begin(self, address: str) -> bool:
        """Return False if the address has no attempt left."""
        failures = self._failures.setdefault(address, deque())
        self._failures.move_to_end(address)
        while len(self._failures) > MAX_ADDRESSES:
            self._failures.popitem(last=False)
        while failures and failures[0] <= self._clock() - FAILURE_SECONDS:
            failures.popleft()
        if len(failures) >= FAILURES:
            return False
        failures.append(self._clock())
        return True

    def forgive(self, address: str) -> None:
        """Remove the last attempt, which did not fail."""
        if failures := self._failures.get(address):
            failures.pop()


def is_same(given: str, expected: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())
