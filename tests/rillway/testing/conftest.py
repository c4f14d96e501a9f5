"""Many servers are started here: their modules are compiled once for the run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def compiled_modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """As an installed Rillway has them, wherever the tests run and whatever is set there."""
    cache = tmp_path_factory.getbasetemp() / "compiled"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPYCACHEPREFIX", str(cache))
        environment.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield
