"""Shared state of all requests of a console: settings, sessions, watches, audiences."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

import redis

from rillway.console.access.audit import AuditFile
from rillway.console.access.login import Attempts, Session, Sessions, is_same
from rillway.console.access.users import Users
from rillway.console.data.link import UNREACHABLE, Link, options_in
from rillway.console.events import Audience
from rillway.console.watch import SHARE
from rillway.queues.finder import SHARE as QUEUES_SHARE

CLEAN_UP_SECONDS = 60.0


class Kind(Enum):
    """The kinds of access: see access/login.py."""

    OPEN = "open"
    PASSWORD = "password"
    ACL = "acl"
    USERS = "users"


@dataclass(frozen=True)
class ConsoleSettings:
    """The settings of a console.

    `password`, `users`: the console's own. `proxies`: addresses whose header PROXY_HEADER names a
    user. `dead_letters`: the streams of dead letters that are not `<name>:dead`.
    """

    url: str
    password: str | None = None
    users: Users | None = None
    proxies: Collection[str] = ()
    audit: AuditFile | None = None
    is_read_only: bool = False
    is_tls: bool = False
    hosts: tuple[str, ...] = ()
    dead_letters: Mapping[bytes, bytes] = field(default_factory=dict)

    def dead_letters_of(self, stream: bytes) -> bytes:
        return self.dead_letters.get(stream, stream + b":dead")


class Console:
    """A console, to be opened before use. `link`: connections as the user in the URL."""

    def __init__(
        self,
        settings: ConsoleSettings,
        kind: Kind,
        clock: Callable[[], float] = time.monotonic,
        open_link: Callable[..., Link] = Link,
    ) -> None:
        self.settings, self.kind = settings, kind
        self._open_link = open_link
        self.link = open_link(settings.url)
        self.sessions = Sessions(clock)
        self.attempts = Attempts(clock)
        self._shared = Session(self.link, None, float("inf"))
        self._proxied: dict[str, Session] = {}
        self._links: dict[tuple[str, str], Link] = {}
        self._audiences: dict[tuple[Link, int], Audience] = {}
        self._cleaner: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._cleaner = asyncio.create_task(self._keep_clean())
        if self.kind is not Kind.ACL:
            audience = self._audience(self.link, self.link.default_db)
            await audience.watch.ready()

    async def close(self) -> None:
        if self._cleaner is not None:
            self._cleaner.cancel()
        for audience in self._audiences.values():
            await audience.close()
        for link in (self.link, *self._links.values()):
            await link.close()

    # -- sessions ----------------------------------------------------------------------------------

    def session(
        self, secret: str | None, address: str = "", named: str | None = None
    ) -> Session | None:
        """Return the session of a cookie; without logins, all share one.

        `named`: the user whom the proxy at `address` has signed in, if that is one of ours.
        """
        if self.kind is Kind.OPEN:
            return self._shared
        users = self.settings.users
        if users is None:
            return self.sessions.find(secret)
        found = self.sessions.find(secret)
        if named is not None and address in self.settings.proxies:
            if users.find(named) is None:
                return None
            own = Session(self.link, named, float("inf"))
            found = self._proxied.setdefault(named, own)
        user = users.find(found.user) if found is not None else None
        if found is None or user is None:  # removed meanwhile
            return None
        if found.salt and found.salt != user.salt:  # a login with an earlier password
            self.sessions.close(secret)
            return None
        # A role that has changed counts at once.
        return found if found.role is user.role else replace(found, role=user.role)

    def is_open(self, session: Session, secret: str | None) -> bool:
        """Return whether a session, found a while ago, has not ended."""
        users = self.settings.users
        if users is not None and users.find(session.user) is None:
            return False
        if session.expires == float("inf"):
            return True
        found = self.session(secret)
        return found is not None and found.token == session.token

    async def log_in(self, user: str, password: str) -> str | None:
        """Return the secret of a new session; None if user or password are wrong.

        Raises redis.RedisError if the server cannot be asked.
        """
        if self.kind is Kind.PASSWORD:
            expected = self.settings.password or ""
            return self.sessions.open(self.link, None)[0] if is_same(password, expected) else None
        if self.settings.users is not None:
            found = await asyncio.to_thread(self.settings.users.check, user, password)
            if found is None:
                return None
            return self.sessions.open(self.link, user, found.role, found.salt)[0]
        link = self._open_link(self.settings.url, user, password)
        try:
            await link.call(link.default_db, "PING")
        except redis.exceptions.NoPermissionError:
            pass  # logged in, without the right to PING
        except redis.AuthenticationError:
            await link.close()
            return None
        except redis.RedisError:  # such as "unauthenticated bulk length": not logged in
            await link.close()
            raise
        known = self._links.setdefault((user, password), link)
        if known is not link:
            await link.close()
        return self.sessions.open(known, user or "default")[0]

    # -- watches -----------------------------------------------------------------------------------

    async def audience(self, session: Session, db: int) -> Audience:
        """Return the viewers of a database's watch, once it has figures.

        Raises redis.RedisError if there is no such database.
        """
        if (session.link, db) not in self._audiences:
            try:
                await session.link.call(db, "PING")
            except redis.exceptions.NoPermissionError as error:
                if "'ping'" not in str(error):  # SELECT was refused: the database may not exist
                    raise
            except UNREACHABLE:
                if db != self.link.default_db:
                    raise
        audience = self._audience(session.link, db)
        await audience.watch.ready()
        return audience

    def _audience(self, link: Link, db: int) -> Audience:
        if (link, db) not in self._audiences:
            self._audiences[link, db] = Audience(link, db)
            self._share_time()
        return self._audiences[link, db]

    def _share_time(self) -> None:
        for audience in self._audiences.values():
            audience.watch.sampler.budget.share = SHARE / len(self._audiences)
            audience.watch.queues.finder.budget.share = QUEUES_SHARE / len(self._audiences)

    async def _keep_clean(self) -> None:
        while True:
            await asyncio.sleep(CLEAN_UP_SECONDS)
            await self.clean_up()

    async def clean_up(self) -> None:
        """Close what belongs to users whose last session has ended."""
        links = self.sessions.links() | {self.link}
        for key in [key for key in self._audiences if key[0] not in links]:
            await self._audiences.pop(key).close()
        for user, link in [one for one in self._links.items() if one[1] not in links]:
            del self._links[user]
            await link.close()
        self._share_time()


async def kind_of(settings: ConsoleSettings) -> Kind:
    """Return whether the server asks for a password. Raises redis.RedisError."""
    link = Link(settings.url)
    try:
        await link.call(link.default_db, "PING")
    except redis.AuthenticationError as error:
        if has_credentials(settings.url):
            raise
        if settings.users is not None:
            raise
        if "NOAUTH" in str(error) or "required" in str(error):
            return Kind.ACL
        raise
    except redis.ResponseError:
        pass  # such as NOPERM: it answers
    finally:
        await link.close()
    if settings.users is not None:
        return Kind.USERS
    return Kind.OPEN if settings.password is None else Kind.PASSWORD


def has_credentials(url: str) -> bool:
    return options_in(url).get("password") is not None
