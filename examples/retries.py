"""A group that retries what failed, and puts aside what fails three times: `retries.py [URL]`.

`rillway.consumer` does the work, against Rillway and Redis alike: see docs/reference/consumer.md.
"""

import asyncio
import sys

import redis.asyncio

from rillway.consumer import Consumer, Entry

STREAM, DEAD = "payments", "payments:dead"


async def pay(entry: Entry) -> None:
    """An exception leaves the entry unacknowledged: it comes again."""
    amount = float(entry.fields[b"amount"])
    print(f"{entry.id}: {amount:.2f}, delivery {entry.deliveries}")


async def main(url: str = "redis://127.0.0.1:6379") -> None:
    async with redis.asyncio.from_url(url) as client:
        for amount in ("12.50", "a lot", "7.25"):
            await client.xadd(STREAM, {"amount": amount})
    consumer = Consumer(
        url,
        stream=STREAM,
        group="payers",
        name="worker-1",
        block_ms=100,
        claim_idle_ms=200,  # when to try again; a minute is more usual
        max_deliveries=3,
        dead_letters=DEAD,
    )
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(consumer.run(pay))
        while consumer.counts.acknowledged + consumer.counts.dead_lettered < 3:
            await asyncio.sleep(0.05)
        consumer.stop()
    counts = consumer.counts
    print(f"{counts.acknowledged} paid, {counts.dead_lettered} put aside in {DEAD}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
