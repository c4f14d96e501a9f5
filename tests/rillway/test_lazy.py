"""Public names of a package, imported when they are first used."""

from __future__ import annotations

import pytest

import rillway.client
import rillway.consumer
import rillway.pipeline


def test_each_public_name_is_found() -> None:
    for package in (rillway.client, rillway.consumer):
        assert set(package.HOMES) == set(package.__all__)
        for name in package.__all__:
            assert getattr(package, name) is not None


def test_there_is_no_other_name() -> None:
    for package in (rillway.client, rillway.consumer, rillway.pipeline):
        with pytest.raises(AttributeError, match=f"'{package.__name__}' has no attribute 'other'"):
            getattr(package, "other")  # noqa: B009
