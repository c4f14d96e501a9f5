"""Both programs go through the same story of restarts, and look alike after each step.

The seed of each story is in the test's name. The nightly run (`make compat`) runs others, too.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.compat.restarts.facts import Telling
from tests.compat.restarts.nodes import OURS, THEIRS
from tests.compat.restarts.stories import Step, drawn
from tests.support.examples import compared, compat_seed

pytestmark = pytest.mark.compat

STEPS = 8 if compared(100) >= 100 else 5
# One in a quick run; a story takes as long as some hundred sequences of commands.
STORIES = max(1, compared(100) // 300)


def difference(ours: dict[str, object], theirs: dict[str, object]) -> str:
    """The lines in which two observations differ; the first is Redis's."""
    return "\n".join(
        f"{name}\n  redis-server: {theirs[name]!r}\n  rillway:      {ours[name]!r}"
        for name in theirs
        if ours[name] != theirs[name]
    )


@pytest.mark.parametrize("seed", [compat_seed() * 1000 + number for number in range(STORIES)])
def test_a_story_of_restarts_leaves_both_alike_after_each_step(seed: int, tmp_path: Path) -> None:
    story = drawn(seed, STEPS)
    tellings: list[Telling] = []
    told: list[Step] = []
    with ThreadPoolExecutor(2) as pool:
        try:
            tellings += pool.map(lambda name: Telling(name, tmp_path, story), (OURS, THEIRS))
            for step in story.steps:
                told.append(step)
                ours, theirs = pool.map(lambda telling, step=step: telling.tell(step), tellings)
                differs = difference(ours, theirs)
                shown = "\n".join(map(str, told))
                assert not differs, f"seed {seed}, {story.directives}\n{shown}\n{differs}"
        finally:
            for telling in tellings:
                telling.stop()
