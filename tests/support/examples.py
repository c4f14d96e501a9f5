"""How many examples a property test is tried with, in the profile of hypothesis that is loaded.

`thorough` is what pytest does by itself and what runs each night; `make test` asks for `quick`, a
tenth of it. They are registered in conftest.py, which leaves out the tests with the mark `thorough`
in `quick`.
"""

from __future__ import annotations

import os

from hypothesis import settings

PROFILES = {"thorough": 100, "quick": 10}


def examples(thorough: int) -> int:
    """In proportion to the profile, for a test whose number is not the profile's own."""
    return max(1, thorough * settings().max_examples // PROFILES["thorough"])


def compared(thorough: int) -> int:
    """The same for a comparison with Redis; `make compat` sets RILLWAY_COMPAT_EXAMPLES."""
    return int(os.environ.get("RILLWAY_COMPAT_EXAMPLES", examples(thorough)))


def compat_seed() -> int:
    """RILLWAY_SEED, of which `make compat` has another one each day."""
    return int(os.environ.get("RILLWAY_SEED", "0"))
