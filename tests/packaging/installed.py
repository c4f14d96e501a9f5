"""Whether the Rillway that is installed here runs compiled, and serves.

Run as a program, by cibuildwheel for each wheel that it makes and by test_compiled_wheel.py. It
needs the wheel and what that depends on. Exit status 1, with a traceback, if something is wrong.
"""

from __future__ import annotations

import redis

import rillway.testing


def main() -> None:
    """Raises AssertionError, or what the server or redis-py raises."""
    with rillway.testing.server() as server, redis.Redis.from_url(server.url) as client:
        assert client.info("server")["rillway_compiled"] == 1, rillway.__file__
        client.xgroup_create("orders", "billing", mkstream=True)
        entry_id = client.xadd("orders", {"item": "lamp"})
        delivered = client.xreadgroup("billing", "alice", {"orders": ">"})
        assert delivered == [[b"orders", [(entry_id, {b"item": b"lamp"})]]], delivered
        assert client.xack("orders", "billing", entry_id) == 1


if __name__ == "__main__":
    main()
