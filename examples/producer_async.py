"""Add orders to a stream, many at once: `python producer_async.py [URL]`."""

import asyncio
import sys

import redis.asyncio

STREAM = "orders"


async def main(url: str = "redis://127.0.0.1:6379") -> None:
    async with redis.asyncio.from_url(url, decode_responses=True) as client:
        pipeline = client.pipeline(transaction=False)  # one round trip for a hundred orders
        for number in range(100):
            pipeline.xadd(STREAM, {"item": f"lamp {number}", "price": "49.00"})
        entry_ids = await pipeline.execute()
    print(f"{len(entry_ids)} orders, up to {entry_ids[-1]}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
