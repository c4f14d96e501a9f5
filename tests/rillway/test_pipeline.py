"""The package itself: what it offers, and that importing it costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rillway.pipeline


def test_importing_the_package_imports_neither_spark_nor_arrow() -> None:
    script = (
        "import sys, rillway.pipeline, rillway.pipeline.datasource\n"
        "print(*sorted({'pyarrow', 'deltalake', 'hiredis', 'redis'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = rillway.pipeline.nonsense


def test_read_history_is_offered() -> None:
    assert callable(rillway.pipeline.read_history)
