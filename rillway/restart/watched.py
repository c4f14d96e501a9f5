"""The servers that Sentinel watches by one name, as Sentinels and the servers themselves see them.

Sentinel asks servers for their state every ten seconds only. So they are asked directly where they
can be reached, and Sentinel's view is taken where not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

ANSWER_SECONDS = 2.0
NO_GOOD_REPLICA = "NOGOODSLAVE"  # the beginning of Sentinel's error

Address: TypeAlias = tuple[str, int]


class RestartFailed(Exception):
    """A restart failed. The text is a sentence for the user."""


@dataclass(frozen=True)
class State:
    """A server's process, and the primary that it follows in step; None if it does not."""

    run_id: str
    follows: Address | None


class Watched:
    """The set of a name. `password`: the servers'; `url`: of one Sentinel."""

    def __init__(self, url: str, name: str, user: str | None, password: str | None) -> None:
        self.name = name
        self._sentinel: Any = redis.Redis.from_url(url, **_options())
        pool = self._sentinel.connection_pool
        self._of_sentinels = {**pool.connection_kwargs, "connection_class": pool.connection_class}
        self._of_servers = self._of_sentinels | {"username": user, "password": password}

    # -- Sentinel ------------------------------------------------------------------------------

    def primary(self) -> Address:
        """Return the primary's address. Raises RestartFailed."""
        try:
            found = self._sentinel.sentinel_get_master_addr_by_name(self.name)
        except redis.RedisError as error:
            raise RestartFailed(f"Sentinel does not answer: {error}") from None
        if found is None:
            raise RestartFailed(f"Sentinel watches nothing by the name {self.name}")
        return _address(found)

    def agreed_primary(self) -> Address | None:
        """Return the address that all Sentinels that answer name; None while they differ."""
        named = {self.primary()}
        for place in self._other_sentinels():
            other = self._connected(*place, self._of_sentinels)
            with other, suppress(redis.RedisError):
                found = other.sentinel_get_master_addr_by_name(self.name)
                named |= {_address(found)} if found else set()
        return named.pop() if len(named) == 1 else None

    def _other_sentinels(self) -> Iterator[Address]:
        with suppress(redis.RedisError):
            for other in self._sentinel.sentinel_sentinels(self.name):
                yield str(other["ip"]), int(other["port"])

    def ask_for_failover(self) -> str:
        """SENTINEL FAILOVER; return the error, or an empty text.

        Valkey's Sentinel is asked for one without loss first; others refuse the word.
        """
        refusal = ""
        for words in ((self.name, "COORDINATED"), (self.name,)):
            try:
                self._sentinel.execute_command("SENTINEL", "FAILOVER", *words)
                return ""
            except redis.ResponseError as error:
                refusal = str(error)
            except redis.RedisError as error:
                raise RestartFailed(f"Sentinel does not answer: {error}") from None
        return refusal

    # -- servers -------------------------------------------------------------------------------

    def turn_into_replica(self, server: Address, primary: Address) -> None:
        """Do at once what Sentinel does ten seconds after a failover, if the server lets us.

        Until then clients that did not hear of the failover go on writing there, in vain.
        """
        with self._connected(*server, self._of_servers) as client, suppress(redis.RedisError):
            if client.execute_command("ROLE")[0] != b"master":
                return
            with client.pipeline() as pipeline:
                pipeline.execute_command("REPLICAOF", *primary)
                pipeline.execute_command("CONFIG", "REWRITE")
                pipeline.execute_command("CLIENT", "KILL", "TYPE", "normal")
                pipeline.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
                pipeline.execute(raise_on_error=False)

    def state(self, server: Address) -> State | None:
        """Return the state of a server; None while it cannot be known."""
        with suppress(redis.RedisError):
            return self._own_state(server)
        with suppress(redis.RedisError):
            for known in self._sentinel.sentinel_slaves(self.name):
                if _address((known["ip"], known["port"])) == server:
                    return _seen_state(known)
        return None

    def _own_state(self, server: Address) -> State:
        with self._connected(*server, self._of_servers) as client:
            info: dict[str, Any] = client.info("server") | client.info("replication")
        follows = None
        if info["role"] == "slave" and info["master_link_status"] == "up":
            follows = _address((info["master_host"], info["master_port"]))
        return State(str(info["run_id"]), follows)

    @staticmethod
    def _connected(host: str, port: int, options: dict[str, Any]) -> Any:
        return redis.Redis(
            connection_pool=redis.ConnectionPool(**(options | {"host": host, "port": port}))
        )


def _options() -> dict[str, Any]:
    """No retries: what is asked for is asked again by the caller."""
    return {"protocol": 2, "socket_timeout": ANSWER_SECONDS, "retry": Retry(NoBackoff(), 0)}


def _address(found: Any) -> Address:
    host, port = found
    return host.decode() if isinstance(host, bytes) else str(host), int(port)


def _seen_state(known: dict[str, Any]) -> State:
    is_well = known["flags"] == "slave" and known["master-link-status"] == "ok"
    follows = _address((known["master-host"], known["master-port"])) if is_well else None
    return State(str(known["runid"]), follows)
