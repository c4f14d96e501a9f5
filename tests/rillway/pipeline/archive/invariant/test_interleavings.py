"""The orders in which two archivers' steps can come; `make archive-orders` plays all of them."""

from __future__ import annotations

from math import comb

import pytest

from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.invariant.interleavings import NUMBER, changes_of, orders, play


def test_all_orders_are_known() -> None:
    """Half of them, as the two archivers are alike."""
    found = [order for changes in range(1, 2 * NUMBER) for order in orders(changes)]
    assert len(set(found)) == len(found) == comb(2 * NUMBER, NUMBER) // 2
    assert all(order.count("A") == order.count("B") == NUMBER for order in found)
    assert changes_of("AABBA") == 2


@pytest.mark.integration
@pytest.mark.parametrize(
    "begun",
    [pytest.param(n, marks=() if n % 2 else pytest.mark.thorough) for n in range(1, NUMBER)],
)
def test_one_archiver_comes_while_the_other_is_at_a_step(
    redis_link: Connection, begun: int
) -> None:
    """The other one does all it does, or stops at a step and goes on when the first has ended."""
    wanted = [one for changes in (2, 3) for one in orders(changes) if one.index("B") == begun]
    assert len(wanted) == NUMBER
    for order in wanted:
        play(redis_link.url, order)
