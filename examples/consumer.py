"""Read orders through a consumer group: `python consumer.py [URL [NAME]]`.

What this consumer read before and did not acknowledge comes first. Run it several times at once,
each under a name of its own: every order goes to one of them. It ends when nothing has come for a
second; a service would go on.
"""

import sys
from collections.abc import Iterator

import redis

STREAM, GROUP = "orders", "billing"


def main(url: str = "redis://127.0.0.1:6379", name: str = "alice") -> None:
    with redis.Redis.from_url(url, decode_responses=True) as client:
        make_group(client)
        for entry_id, order in orders(client, name):
            print(f"{name}: {order['item']} costs {order['price']}")
            client.xack(STREAM, GROUP, entry_id)  # only now: what fails comes again


def make_group(client: redis.Redis) -> None:
    try:
        client.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
    except redis.ResponseError as error:
        if not str(error).startswith("BUSYGROUP"):  # the group is there already
            raise


def orders(client: redis.Redis, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """This consumer's unacknowledged orders, then new ones."""
    position = "0"
    while True:
        reply = client.xreadgroup(GROUP, name, {STREAM: position}, count=10, block=1000)
        entries = reply[0][1] if reply else []
        yield from entries
        if position != ">":
            position = entries[-1][0] if entries else ">"
        elif not entries:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
