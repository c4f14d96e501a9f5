"""The numbers of examples follow the profile."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.support.examples import PROFILES, compared, examples


@pytest.mark.parametrize("name", PROFILES)
def test_a_number_is_in_proportion_to_the_profile(name: str) -> None:
    loaded = settings.get_current_profile_name()
    settings.load_profile(name)
    try:
        assert settings().max_examples == examples(100) == PROFILES[name]
        assert examples(300) == 3 * PROFILES[name]
        assert examples(1) == 1
    finally:
        settings.load_profile(loaded)


def test_a_comparison_takes_its_number_from_make_compat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RILLWAY_COMPAT_EXAMPLES", raising=False)
    assert compared(300) == examples(300)
    monkeypatch.setenv("RILLWAY_COMPAT_EXAMPLES", "10000")
    assert compared(300) == 10_000
