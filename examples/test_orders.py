"""A test suite with a server of its own: `pip install rillway pytest`, `pytest test_orders.py`.

The fixtures come with Rillway; each test begins with an empty server. See docs/how-to/test.md.
"""

from decimal import Decimal

STREAM = "orders"


def turnover(client):
    """Return the sum of all orders: the function under test."""
    return sum(Decimal(order[b"price"].decode()) for _, order in client.xrange(STREAM))


def test_no_orders_are_no_turnover(rillway_client):
    assert turnover(rillway_client) == 0


def test_the_turnover_is_the_sum_of_the_prices(rillway_client):
    rillway_client.xadd(STREAM, {"item": "lamp", "price": "49.00"})
    rillway_client.xadd(STREAM, {"item": "chair", "price": "120.50"})
    assert turnover(rillway_client) == Decimal("169.50")


def test_the_server_comes_back_empty(rillway_server, rillway_client):
    rillway_client.xadd(STREAM, {"item": "lamp", "price": "49.00"})
    rillway_server.restart()
    assert turnover(rillway_client) == 0
