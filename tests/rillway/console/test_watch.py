"""The sampler's driver, over a server in this process and by a clock of the test."""

from __future__ import annotations

import pytest
import redis

from rillway.console.watch import Watch
from server.inprocess.server import InProcessClient, InProcessServer
from tests.doubles.in_process_link import InProcessLink


class Scene:
    """A watch whose clocks stand still between steps."""

    def __init__(self, server: InProcessServer) -> None:
        self.server = server
        self.now = 0.0
        self.link = InProcessLink(server)
        self.ticks = 0
        self.watch = Watch(self.link, 0, self._count, lambda: self.now, lambda: 1000 + self.now)

    def _count(self, _: Watch) -> None:
        self.ticks += 1

    async def steps(self, count: int = 60) -> None:
        for _ in range(count):
            await self.watch._step()
            self.now += 0.1
            self.server.advance(100)


@pytest.fixture
def scene(server: InProcessServer) -> Scene:
    return Scene(server)


async def test_the_worst_groups_and_dead_consumers_are_known(
    scene: Scene, orders: InProcessClient
) -> None:
    orders.execute("XGROUP", "CREATE", "orders", "audit", "0")
    await scene.steps()
    scene.server.advance(120_000)
    scene.now += 120
    await scene.steps()
    scene.watch.tick()
    assert [one.group.name for one in scene.watch.worst] == [b"audit", b"mailers"]
    assert [one.group.name for one in scene.watch.dead] == [b"mailers"]
    assert scene.ticks == 1


async def test_each_tick_notes_groups_and_the_server(scene: Scene, orders: InProcessClient) -> None:
    await scene.steps()
    scene.watch.tick()
    [sample] = scene.watch.history.samples((b"orders", b"mailers"))
    assert (sample.lag, sample.pending) == (4, 6)
    assert len(scene.watch.traces.requests) == 1


async def test_what_is_focused_is_asked_about_first(
    scene: Scene, client: InProcessClient, orders: InProcessClient
) -> None:
    await scene.steps()
    scene.watch.set_focus(lambda: ((), [b"orders"]))
    scene.watch.tick()
    await scene.steps()
    group = scene.watch.group(b"orders", b"mailers")
    assert group is not None and group.consumers is not None
    assert {one.name for one in group.consumers} == {b"anna", b"carla"}


async def test_a_lost_connection_is_noted_and_the_figures_stay(
    scene: Scene, orders: InProcessClient
) -> None:
    await scene.steps()
    scene.link.is_lost = True
    with pytest.raises(redis.ConnectionError):
        await scene.steps()
    scene.watch._note_loss()
    assert scene.watch.lost_since is not None and scene.ticks == 1
    scene.watch.tick()
    assert len(scene.watch.traces.requests) == 0
    assert scene.watch.stream(b"orders") is not None
    scene.link.is_lost = False
    await scene.steps()
    assert scene.watch.lost_since is None


async def test_the_age_of_the_figures(scene: Scene) -> None:
    assert scene.watch.age_ms is None
    await scene.steps(1)
    scene.now += 2
    assert scene.watch.age_ms == pytest.approx(2100, abs=1)


async def test_it_runs_until_it_is_closed(scene: Scene) -> None:
    await scene.watch.ready()
    await scene.watch.close()
    assert scene.watch._task is not None and scene.watch._task.done()
