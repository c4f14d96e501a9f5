"""Jobs of other frameworks are shown, and never changed."""

from __future__ import annotations

import pytest

from rillway.queues.frameworks import BY_NAME
from rillway.queues.queue import ACTIONS, Refused
from tests.rillway.queues.conftest import Found


@pytest.mark.parametrize("framework", ["arq", "dramatiq", "huey", "taskiq", "faststream", "saq"])
def test_jobs_of_other_frameworks_are_shown_only(everything: Found, framework: str) -> None:
    assert BY_NAME[framework].actions == ()
    known = next(one for one in everything.finder.queues if one.queue.framework == framework)
    for action in ACTIONS:
        with pytest.raises(Refused, match="shown only"):
            everything.run(BY_NAME[framework].act(action, known.queue, ["x"], 0))
