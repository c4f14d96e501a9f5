"""The versions that the server reports."""

from __future__ import annotations

import re

import rillway
from commands.core.host import REDIS_VERSION, RILLWAY_VERSION


def test_the_server_and_the_package_have_one_version() -> None:
    # The server may not import the package, nor may the package import the server.
    assert rillway.__version__ == RILLWAY_VERSION


def test_the_redis_version_is_one_that_clients_can_compare() -> None:
    # Clients compare it as numbers, part by part.
    assert re.fullmatch(r"8\.10\.\d+", REDIS_VERSION)
