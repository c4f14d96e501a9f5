"""Add orders to a stream: `python producer.py [URL]`."""

import sys

import redis

STREAM = "orders"
ORDERS = [
    {"item": "lamp", "price": "49.00"},
    {"item": "chair", "price": "120.00"},
    {"item": "lamp", "price": "49.00"},
]


def main(url: str = "redis://127.0.0.1:6379") -> None:
    with redis.Redis.from_url(url, decode_responses=True) as client:
        for order in ORDERS:
            # The server gives the ID. About the last 100,000 orders are kept.
            entry_id = client.xadd(STREAM, order, maxlen=100_000, approximate=True)
            print(f"{entry_id}: {order['item']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
