"""SET, SETNX, SETEX, PSETEX, GETSET, MSET, MSETNX."""

from __future__ import annotations

import pytest

from commands.strings import values
from server.inprocess.server import InProcessServer

# -- the others ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before",
    ["PING", "SET k5 old PX 10", "SET k5 old EX 10", "XADD k5 1-1 f v", "WATCH k5",
     "CONFIG SET notify-keyspace-events KEA"],
)  # fmt: skip
@pytest.mark.parametrize("last", ["k99 new", "k0 again"])
def test_very_many_keys_are_set_as_a_few_are(
    before: str, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New keys are inserted in one batch if no event is published."""
    words = " ".join(f"k{n} v{n}" for n in range(20))
    outcomes = []
    for few_keys in (values.FEW_KEYS, 1000):
        monkeypatch.setattr(values, "FEW_KEYS", few_keys)
        server = InProcessServer()
        client, other = server.connect(), server.connect()
        client.execute(*before.split())
        server.now_ms += 20
        outcome = [other.execute("MSET", *words.split(), *last.split())]
        outcome += [client.execute("MULTI"), client.execute("EXEC")]
        looks = ("KEYS *", "GET k0", "GET k5", "TTL k5", "GET k99", "SCAN 0 COUNT 100")
        outcome += [client.execute(*look.split()) for look in looks]
        outcomes.append((outcome, server.propagated, server.instance.dirty))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][2] >= 21
