"""Two consumers of one group in one program: `python consumer_async.py [URL]`.

Each order goes to one of the two. They end when nothing has come for a second.
"""

import asyncio
import sys

import redis.asyncio

STREAM, GROUP = "orders", "shipping"


async def main(url: str = "redis://127.0.0.1:6379") -> None:
    async with redis.asyncio.from_url(url, decode_responses=True) as client:
        try:
            await client.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):  # the group is there already
                raise
        # A read that waits needs a connection of its own, which redis-py's pool provides.
        counts = await asyncio.gather(*(consume(client, name) for name in ("alice", "bob")))
    print(f"alice shipped {counts[0]} orders, bob {counts[1]}")


async def consume(client: redis.asyncio.Redis, name: str) -> int:
    """Acknowledge what comes, ten at a time; how many."""
    count = 0
    while reply := await client.xreadgroup(GROUP, name, {STREAM: ">"}, count=10, block=1000):
        entry_ids = [entry_id for entry_id, _ in reply[0][1]]
        count += await client.xack(STREAM, GROUP, *entry_ids)
    return count


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
