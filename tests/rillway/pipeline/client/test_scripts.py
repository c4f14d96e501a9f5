"""Scripts of one key, on real servers, for users who may run them and who may not."""

from __future__ import annotations

import pytest

from rillway.pipeline.client.connection import Connection, ServerError
from rillway.pipeline.client.scripts import Scripts

SCRIPT = "return redis.call('INCRBY', KEYS[1], ARGV[1])"


def test_replies_are_by_key(link: Connection) -> None:
    scripts = Scripts(link)
    assert scripts.are_there
    assert scripts.run_all(SCRIPT, {"a": [1], "b": [2]}) == {"a": 1, "b": 2}
    assert scripts.run(SCRIPT, "a", [5]) == 6
    assert scripts.run_all(SCRIPT, {}) == {}


def test_an_error_is_raised(link: Connection) -> None:
    link.call("LPUSH", "list", "1")
    with pytest.raises(ServerError, match="WRONGTYPE"):
        Scripts(link).run_all(SCRIPT, {"a": [1], "list": [1]})


def test_a_user_who_may_not_run_them_has_none(link: Connection) -> None:
    scripts = Scripts(link)
    link.call("ACL", "SETUSER", "quiet", "on", ">secret", "~*", "+@all", "-eval")
    link.call("AUTH", "quiet", "secret")
    assert scripts.run_all(SCRIPT, {"a": [1]}) == {}
    assert not scripts.are_there
    assert scripts.run(SCRIPT, "a", [1]) is None
