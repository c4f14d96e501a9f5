"""What a server says it can do."""

from __future__ import annotations

import pytest

from rillway.pipeline.wire.capabilities import Capabilities, Scripts
from rillway.pipeline.wire.connection import Connection, ServerError

pytestmark = pytest.mark.integration


def test_commands_that_are_there_are_known_by_command_info(link: Connection) -> None:
    capabilities = Capabilities(link)
    assert capabilities.has_command("XRANGE")
    assert not capabilities.has_command("XNONSENSE")
    assert capabilities.has_option("XTRIM", "MINID")
    assert not capabilities.has_option("XTRIM", "NONSENSE")
    assert not capabilities.has_option("XNONSENSE", "MINID")


def test_rillway_splits_and_trims_by_acknowledgement(rillway_link: Connection) -> None:
    capabilities = Capabilities(rillway_link)
    assert capabilities.has_command("XSPLIT")
    assert capabilities.has_option("XTRIM", "ACKED")


def test_an_answer_is_remembered(link: Connection) -> None:
    capabilities = Capabilities(link)
    assert capabilities.has_command("XRANGE")
    link.close()
    assert capabilities.has_command("XRANGE")


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
