"""The limits of users (`user-limit`): connections, requests per second, unread output.

A client whose user has a limit has the gate GATE_LIMITED, and is asked about before each of its
requests; others cost nothing. A request beyond a limit is refused with -LIMIT, and its connection
stays. AUTH, HELLO, RESET and QUIT are never refused for requests or output.

* Connections count from their login on, those of the default user from their start. One too many is
  refused when it logs in. As there is no login of the default user, each request of one too many is
  refused, until it logs in as another user or another connection has closed.
* Requests per second: at most that many at once, and no more than that many a second on average.
  What a transaction queues counts; what EXEC or a script then runs does not.
* Output: what all connections of a user have not read yet, in sum.
"""

from __future__ import annotations

from commands.config.directive_kinds import UserLimit
from commands.connection.client_memory import output_bytes
from commands.core.client import Client, Clients
from commands.core.gates import GATE_AUTH, GATE_PRIMARY
from commands.core.instance import Instance
from protocol.errors import ReplyError
from protocol.records import entity

# How often all clients of a user are looked at.
LOOK_MS = 100


@entity
class Refusals:
    """How often a limit refused something."""

    connections: int = 0
    requests: int = 0
    output: int = 0


class _Use:
    """What one user with a limit uses."""

    def __init__(self, limit: UserLimit, monotonic_ms: int) -> None:
        self.limit = limit
        self.connections: set[Client] = set()
        self.left = float(limit.requests_per_second)  # requests that may come at once
        self.left_ms = monotonic_ms  # when that was
        self.unread: dict[Client, int] = {}  # bytes, of the clients that had any when they were
        self.unread_bytes = 0  # looked at last; their sum
        self.last: Client | None = None  # whose request ran last: its reply was not looked at
        self.examined_ms = monotonic_ms  # when all clients were looked at

    def take_request(self, monotonic_ms: int) -> bool:
        """Count a request; False if there is none left."""
        rate = self.limit.requests_per_second
        passed_ms, self.left_ms = monotonic_ms - self.left_ms, monotonic_ms
        self.left = min(rate, self.left + passed_ms * rate / 1000)
        if self.left < 1:
            return False
        self.left -= 1
        return True

    def measure(self, client: Client) -> None:
        """Look at the output of a client again."""
        size = output_bytes(client)
        self.unread_bytes += size - self.unread.pop(client, 0)
        if size:
            self.unread[client] = size

    def has_room(self, client: Client, monotonic_ms: int) -> bool:
        """Return True if the clients have less unread output than allowed."""
        if self.last is not None and self.last is not client:
            self.measure(self.last)
        self.last = client
        self.measure(client)
        if monotonic_ms - self.examined_ms >= LOOK_MS:
            # Messages and replies to requests that waited come without a request.
            self.examined_ms = monotonic_ms
            for other in self.connections:
                self.measure(other)
        if self.unread_bytes >= self.limit.output_bytes:
            for other in list(self.unread):
                self.measure(other)
        return self.unread_bytes < self.limit.output_bytes


class UserLimits:
    """The users of one instance that have a limit."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._uses: dict[bytes, _Use] = {}
        self.refused = Refusals()
        instance.feature(Clients).on_close.append(self.leave)
        self.look_up()

    def look_up(self) -> None:
        """Read the limits from the configuration. Clients that are connected stay and count."""
        before, monotonic_ms = self._uses, self._instance.monotonic_ms
        self._uses = {
            name: _Use(limit, monotonic_ms)
            for name, limit in self._instance.config.user_limit.items()
        }
        for name, use in self._uses.items():
            if name in before and before[name].limit == use.limit:
                self._uses[name] = before[name]
        for client in self._instance.feature(Clients).by_id.values():
            found = self._uses.get(client.user)
            if found is not None and not client.gates & (GATE_AUTH | GATE_PRIMARY):
                found.connections.add(client)

    def covers(self, name: bytes) -> bool:
        """Return True if a user has a limit."""
        return name in self._uses

    # -- connections ---------------------------------------------------------------------------

    def refuse_login(self, client: Client, name: bytes) -> None:
        """Raise LIMIT if a client must not become a user, who has too many connections."""
        use = self._uses.get(name)
        if use is not None and not self._has_place(client, use):
            raise self._too_many(name, use)

    def join(self, client: Client) -> None:
        """Count a client for its user, if there is a place."""
        use = self._uses.get(client.user)
        if use is not None and self._has_place(client, use):
            use.connections.add(client)

    def leave(self, client: Client) -> None:
        """A client has closed, or is no longer its user."""
        use = self._uses.get(client.user)
        if use is not None:
            use.connections.discard(client)
            use.unread_bytes -= use.unread.pop(client, 0)
            if use.last is client:
                use.last = None

    def _has_place(self, client: Client, use: _Use) -> bool:
        most = use.limit.connections
        return not most or client in use.connections or len(use.connections) < most

    def _too_many(self, name: bytes, use: _Use) -> ReplyError:
        self.refused.connections += 1
        return _limit(name, b"%d connections" % use.limit.connections)

    # -- requests ------------------------------------------------------------------------------

    def refusal(self, client: Client) -> ReplyError | None:
        """Why a request of a client must not run; None, and it is counted, if it may."""
        name = client.user
        use = self._uses.get(name)
        if use is None:
            return None
        limit = use.limit
        if client not in use.connections:
            if not self._has_place(client, use):
                return self._too_many(name, use)
            use.connections.add(client)
        if limit.requests_per_second and not use.take_request(self._instance.monotonic_ms):
            self.refused.requests += 1
            return _limit(name, b"%d requests per second" % limit.requests_per_second)
        if limit.output_bytes and not use.has_room(client, self._instance.monotonic_ms):
            self.refused.output += 1
            return _limit(name, b"%d bytes of unread output" % limit.output_bytes)
        return None


def _limit(name: bytes, what: bytes) -> ReplyError:
    return ReplyError(b"LIMIT User %b has reached the limit of %b" % (name, what))
