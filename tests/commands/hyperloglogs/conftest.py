"""A conversation with a server of its own for each test of HyperLogLogs."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import Conversation


@pytest.fixture
def talk() -> Conversation:
    return Conversation()
