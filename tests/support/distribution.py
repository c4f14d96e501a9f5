"""How tests are shared out among processes: by file, the longest first.

By file, because its fixtures are then set up once. What needs a Spark session is one unit, so that
there is one session. What takes long is started first, so that the run does not end with a wait for
it.
"""

from __future__ import annotations

from functools import cache

SPARK = "tests/rillway/pipeline/jvm"
# Pages of the documentation share nothing, and wait a lot: each is a unit.
PAGES = "tests/docs/test_snippets.py"
# The one that takes longest comes first; what is not named, unit tests above all, fills the end.
LONG = (
    SPARK,
    "tests/failover",
    "tests/packaging",
    "tests/docs",
    "tests/rillway/demo",
    "tests/compat",
    "tests/crash",
    "tests/damage",
    "tests/fuzz",
    "tests/exchange",
    "tests/clients",
    "tests/rillway/pipeline/archive",
    "tests/integration",
    "tests/rillway",
)


def unit_of(nodeid: str) -> str:
    """What a test is sent out together with: its file, or the folder of all that needs Spark."""
    file = nodeid.partition("::")[0]
    if file == PAGES:
        return nodeid
    return SPARK if within(file, SPARK) else file


def within(file: str, folder: str) -> bool:
    return f"{file}/".startswith(f"{folder}/")


def place(nodeid: str) -> int:
    """Sorts the tests in the order in which they are begun."""
    return _place_of_file(nodeid.partition("::")[0])


@cache
def _place_of_file(file: str) -> int:
    return next((at for at, folder in enumerate(LONG) if within(file, folder)), len(LONG))
