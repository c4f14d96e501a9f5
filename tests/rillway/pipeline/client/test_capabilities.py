"""What a server says it can do."""

from __future__ import annotations

import pytest

from rillway.pipeline.client.capabilities import Capabilities
from rillway.pipeline.client.connection import Connection

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
