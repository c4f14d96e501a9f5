"""The public interface: its parts are there by name, and cost nothing until they are named."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rillway


def printed_by(program: str) -> str:
    words = [sys.executable, "-c", program]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def test_rillway_alone_imports_nothing_that_is_not_loaded_already() -> None:
    program = "import sys; old = set(sys.modules); import rillway; print(*set(sys.modules) - old)"
    assert printed_by(program) == "rillway"


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("testing", "server"),
        ("client", "PartitionedStream"),
        ("consumer", "Consumer"),
        ("pipeline", "spark_session"),
    ],
)
def test_a_part_is_imported_when_it_is_named(part: str, name: str) -> None:
    assert part in rillway.__all__
    assert printed_by(f"import rillway; print(rillway.{part}.{name}.__name__)") == name


def test_all_of_the_interface_can_be_imported_by_a_star() -> None:
    program = "from rillway import *; print(testing.__name__, consumer.__name__)"
    assert printed_by(program) == "rillway.testing rillway.consumer"


def test_any_other_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'server'"):
        _ = rillway.server
