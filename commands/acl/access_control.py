"""The users of one server, and who its clients are.

A client has the name of its user; what that user may do is looked up for each of its requests, so
that a change acts at once. A user who may do everything costs nothing: only clients of others have
the gate GATE_RESTRICTED, and only then commands/acl/checks.py is asked.

A change that takes away a channel which a client is subscribed to closes that client's connection,
and so does the removal of its user.

Source: Redis 8.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from commands.acl.log import AccessLog
from commands.acl.user_limits import UserLimits
from commands.acl.users import DEFAULT_USER, User, apply_all, default_user, is_one_of
from commands.connection.client_list import describe_client
from commands.connection.invalidation_table import TrackingTable
from commands.core.client import Client, ClientEvent, Clients
from commands.core.gates import (
    GATE_AUTH,
    GATE_LIMITED,
    GATE_MULTI,
    GATE_PRIMARY,
    GATE_RESTRICTED,
)
from commands.core.instance import Instance
from commands.pubsub.registry import PubSub
from protocol import errors
from protocol.errors import ReplyError

_MISUSE = (
    "Deprecation warning: Allowing a first arg of an otherwise blocked command is a misuse of ACL"
    " and may get disabled in the future (offender: %s)"
)


class AccessControl:
    """The users by name. The default user always exists."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.users: dict[bytes, User] = {DEFAULT_USER: default_user()}
        self._names: list[bytes] = []  # in order, once they were asked for; [] after a change
        # How many clients have logged in as each user but the default one.
        self._logged_in: dict[bytes, int] = {}
        instance.feature(Clients).on_close.append(self._forget)
        self._limits = instance.feature(UserLimits)
        # Called with a client and the user that its certificate has made it; None: none.
        self.on_certificate: list[Callable[[Client, bytes | None], None]] = []
        _set_password(self.default, instance.config.requirepass)
        instance.feature(TrackingTable).may_see = self._may_see

    @property
    def default(self) -> User:
        """The user of connections that have not logged in."""
        return self.users[DEFAULT_USER]

    @property
    def requires_login(self) -> bool:
        """True if a new connection must log in first."""
        return self.default.needs_password or not self.default.is_on

    @property
    def is_untouched(self) -> bool:
        """True if there is only the default user, as requirepass makes it."""
        if len(self.users) > 1:
            return False
        built_in = default_user()
        _set_password(built_in, self._instance.config.requirepass)
        return built_in.line() == self.default.line()

    def sorted_names(self) -> list[bytes]:
        """The names of all users, in order."""
        if not self._names:
            self._names = sorted(self.users)
        return self._names

    def sorted_users(self) -> list[User]:
        """All users, in the order of their names."""
        return [self.users[name] for name in self.sorted_names()]

    def user_of(self, client: Client) -> User:
        """The user that a client is."""
        return self.users[client.user]

    # -- clients -------------------------------------------------------------------------------

    def admit(self, client: Client) -> None:
        """Make a client the default user: a new connection, or after RESET."""
        self._set_user(client, DEFAULT_USER)
        client.authenticated = not self.requires_login
        self._set_gates(client)

    def log_in(self, client: Client, name: bytes, password: bytes, word: bytes) -> None:
        """Make a client another user; `word` is the one of its request that asked for it.

        Raises WRONGPASS, which does not say whether there is such a user, and changes nothing then.
        """
        if not self.admits(name, password):
            info = describe_client(client)
            self.note_failed_login(name, context_of(client), word, info, self._instance.now_ms)
            raise ReplyError(errors.WRONGPASS)
        self._limits.refuse_login(client, name)
        self._set_user(client, name)
        client.authenticated = True
        self._set_gates(client)

    def admits(self, name: bytes, password: bytes) -> bool:
        """Return True if there is such a user, who may log in with this password.

        The time does not say whether there is such a user.
        """
        user = self.users.get(name)
        return is_one_of(password, ()) if user is None else user.admits(password)

    def note_failed_login(
        self, name: bytes, context: bytes, word: bytes, info: bytes, now_ms: int
    ) -> None:
        """Count it, and add it to the access log; `word`: of the request, `info`: of the client."""
        self._instance.stats.acl_access_denied_auth += 1
        log = self._instance.feature(AccessLog)
        log.add(b"auth", context, word, name, info, now_ms)

    def log_in_by_certificate(self, client: Client, names: list[bytes]) -> None:
        """Make a new client the first user that its verified certificate names, without a password.

        Without such a user, or if they are off, the client stays what it is. Source: Redis 8.6,
        and Valkey 9.1 for several names.
        """
        for name in names:
            user = self.users.get(name)
            if user is not None and user.is_on:
                self._set_user(client, name)
                client.authenticated = True
                self._set_gates(client)
                for note in self.on_certificate:
                    note(client, name)
                return
        name = names[0]
        instance, info = self._instance, describe_client(client)
        instance.stats.acl_access_denied_tls_cert += 1
        log = instance.feature(AccessLog)
        log.add(b"tls-cert", b"toplevel", name, name, info, instance.now_ms)
        for note in self.on_certificate:
            note(client, None)

    def _set_user(self, client: Client, name: bytes) -> None:
        """Make a client another user, and count it."""
        if name != client.user:
            self._limits.leave(client)
            self._forget(client)
            client.user = name
            if name != DEFAULT_USER:
                self._logged_in[name] = self._logged_in.get(name, 0) + 1

    def _forget(self, client: Client) -> None:
        """Note that a client is no longer its user, or has closed."""
        left = self._logged_in.pop(client.user, 0) - 1
        if left > 0:
            self._logged_in[client.user] = left

    def _set_gates(self, client: Client) -> None:
        gates = client.gates & ~(GATE_AUTH | GATE_LIMITED | GATE_RESTRICTED)
        if not client.authenticated and self.requires_login:
            gates |= GATE_AUTH
            self._limits.leave(client)
        elif self._limits.covers(client.user):
            gates |= GATE_LIMITED
            self._limits.join(client)
        if not self.users[client.user].allows_everything:
            gates |= GATE_RESTRICTED
        client.gates = gates

    def _may_see(self, client: Client, key: bytes) -> bool:
        """Return True if the client may learn of a change of a key: it has any right to it.

        Source: Redis 8.10; earlier versions name every key.
        """
        user = self.users[client.user]
        return any(selector.keys.allow(key, 0) for selector in user.selectors)

    def _clients(self, names: Iterable[bytes]) -> list[Client]:
        """The clients that are one of these users, or all if the default user is among them.

        The link to a primary has no user.
        """
        if DEFAULT_USER not in names and self._logged_in.keys().isdisjoint(names):
            return []
        clients = self._instance.feature(Clients).by_id.values()
        return [client for client in clients if not client.gates & GATE_PRIMARY]

    def _close(self, client: Client, caller: Client | None) -> None:
        """Close a client that has lost its user or a channel; the caller after its reply."""
        self._set_user(client, DEFAULT_USER)
        client.authenticated = False
        self._set_gates(client)
        if client is caller:
            client.enter(ClientEvent.FINISH)
        else:
            client.connection.abort()

    # -- changes -------------------------------------------------------------------------------

    def look_up_limits(self) -> None:
        """`user-limit` has changed."""
        self._limits.look_up()
        for client in self._clients([DEFAULT_USER]):
            self._set_gates(client)

    def draft(self, name: bytes) -> User:
        """A copy of a user to change, or a new one."""
        all_channels = self._instance.config.acl_pubsub_default == "allchannels"
        known = self.users.get(name)
        if known is None:
            return User(name, all_channels=all_channels)
        user = known.copy()
        user.all_channels = all_channels
        return user

    def put(self, user: User, caller: Client | None = None) -> None:
        """Add a user, or let it take the place of the one of its name."""
        old = self.users.get(user.name)
        self.users[user.name] = user
        if old is None:
            self._names = []
        for rule in sorted(_first_argument_rules(user) - _first_argument_rules(old)):
            self._instance.host.log("warning", _MISUSE % self._instance.shown(rule))
        for client in self._clients([user.name]):
            if client.user == user.name:
                if old is not None and self._loses_channel(client, old, user):
                    self._close(client, caller)
                    continue
                self._set_gates(client)
            elif user.name == DEFAULT_USER:
                self._set_gates(client)  # whether it must log in may have changed

    def remove(self, names: Sequence[bytes], caller: Client | None = None) -> int:
        """Remove users, and close their connections; how many there were."""
        removed = {name for name in names if self.users.pop(name, None) is not None}
        self._names = []
        for client in self._clients(removed):
            if client.user in removed:
                self._close(client, caller)
        return len(removed)

    def replace(self, users: Iterable[User], caller: Client | None = None) -> None:
        """Replace all users (ACL LOAD); without a default user there is the built-in one."""
        before = self.users
        self.users = {DEFAULT_USER: default_user()} | {user.name: user for user in users}
        self._names = []
        for client in self._clients([DEFAULT_USER]):
            user = self.users.get(client.user)
            if user is None or self._loses_channel(client, before[client.user], user):
                self._close(client, caller)
            else:
                self._set_gates(client)

    def set_default_password(self, password: str) -> None:
        """`requirepass`: the only password of the default user; an empty one is none."""
        _set_password(self.default, password)
        self.put(self.default)

    def _loses_channel(self, client: Client, old: User, new: User) -> bool:
        """Return True if the client is subscribed to what its user may no longer subscribe to.

        As in Redis, subscriptions are not looked at if the user loses no channel.
        """
        if not client.subscriptions or _covers_channels(new, old):
            return False
        pubsub = self._instance.feature(PubSub)
        names = pubsub.channels.names_of(client) + pubsub.shard_channels.names_of(client)
        return not (
            all(new.may_use_channel(name, is_pattern=False) for name in names)
            and all(
                new.may_use_channel(name, is_pattern=True)
                for name in pubsub.patterns.names_of(client)
            )
        )


def _first_argument_rules(user: User | None) -> set[bytes]:
    """The rules such as +select|0 that a user has."""
    selectors = [] if user is None else user.selectors
    return {
        b"+%b|%b" % (name, word)
        for selector in selectors
        for name, words in selector.commands.first_arguments.items()
        for word in words
    }


def _set_password(user: User, password: str) -> None:
    user.reset_passwords(needs_password=bool(password))
    if password:
        apply_all(user, [b">" + password.encode("utf-8", "surrogateescape")])


def _covers_channels(new: User, old: User) -> bool:
    """Return True if each pattern of channels that the old user has is one of the new user's."""
    news = [selector.channels for selector in new.selectors]
    olds = [selector.channels for selector in old.selectors]
    if any(channels.covers_all for channels in news):
        return True
    if any(channels.covers_all for channels in olds):
        return False
    kept = {pattern for channels in news for pattern in channels.patterns}
    return all(kept.issuperset(channels.patterns) for channels in olds)


def context_of(client: Client) -> bytes:
    """The context of a refusal in the log, outside of scripts."""
    return b"multi" if client.gates & GATE_MULTI or client.deny_blocking else b"toplevel"
