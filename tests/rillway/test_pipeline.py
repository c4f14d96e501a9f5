"""The package itself: what it offers, and that importing it costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rillway.pipeline


def test_importing_the_package_imports_neither_spark_nor_arrow() -> None:
    script = (
        "import sys, rillway.pipeline, rillway.pipeline.spark.datasource\n"
        "print(*sorted({'pyarrow', 'deltalake', 'hiredis', 'redis'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = rillway.pipeline.nonsense


@pytest.mark.parametrize("name", rillway.pipeline.__all__)
def test_public_names_are_imported_when_they_are_used(name: str) -> None:
    assert callable(getattr(rillway.pipeline, name))
