"""A conversation with a server of its own, for the tests of the commands."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import Conversation


@pytest.fixture
def talk() -> Conversation:
    """With a server that is not that of the other fixtures."""
    return Conversation()
