"""What each page shows, as words."""

from __future__ import annotations

import dataclasses

import pytest

from rillway.console import views
from rillway.console.data.entries import Entry
from rillway.console.data.groups import Pending
from rillway.console.history import Sample
from rillway.console.watch import GroupOfStream, Watch
from rillway.sampler import ConsumerFigures, GroupFigures, StreamFigures
from server.inprocess.server import InProcessServer
from tests.doubles.in_process_link import InProcessLink

CARLA = ConsumerFigures(b"carla", 12, 124_000, None, True, -3)
MAILERS = GroupFigures(
    b"mailers", None, 48, None, "1-0", oldest_ms=200, consumer_count=3, dead_count=1,
    consumers=(ConsumerFigures(b"anna", 36, 100), CARLA),
)  # fmt: skip
ORDERS = StreamFigures(
    0, b"orders", 0, 1_200_000, in_per_s=1204.0, lag=None, pending=48, groups=(MAILERS,)
)


@pytest.fixture
def watch(server: InProcessServer) -> Watch:
    """It knows `orders`, and nothing of the server."""
    watch = Watch(InProcessLink(server), 0)
    watch.sampler.streams = {b"orders": ORDERS}
    return watch


def test_a_stream_is_dead_where_a_consumer_is_and_its_lag_may_be_unknown(watch: Watch) -> None:
    row = views.stream_row(watch, ORDERS)
    assert (row["key"], row["href"], row["state"]) == ("orders", "/s/0/orders", "dead")
    assert row["cells"] == {
        "name": "orders", "in": "1,204", "out": "–", "length": "1.2M", "memory": "–", "lag": "?",
        "pending": "48", "oldest": "–", "groups": "1",
    }  # fmt: skip


def test_a_stream_without_groups_has_no_lag(watch: Watch) -> None:
    row = views.stream_row(watch, dataclasses.replace(ORDERS, groups=()))
    assert row["cells"]["lag"] == "–"


def test_dead_consumers_are_said_with_their_group(watch: Watch) -> None:
    [row] = views.dead_rows(watch, [GroupOfStream(ORDERS, MAILERS)])
    assert row["href"] == "/s/0/orders/g/mailers"
    assert row["cells"]["name"] == "carla" and row["cells"]["idle"] == "2 min 4 s"


def test_a_consumer_has_its_moves() -> None:
    assert views.consumer_row(CARLA)["cells"]["moved"] == "-3"


def test_of_many_consumers_those_with_most_pending_are_shown() -> None:
    many = [ConsumerFigures(b"c%03d" % number, number, 0) for number in range(150)]
    rows = views.consumer_rows(many)
    assert [row["key"] for row in rows] == [f"c{number:03}" for number in range(50, 150)]
    texts = views.group_texts(dataclasses.replace(MAILERS, consumer_count=150), 0)
    assert texts["consumer-note"].startswith("Of 150 consumers the 100")


def test_a_group_shows_the_newest_point_of_its_plot(watch: Watch) -> None:
    view = views.GroupView(opened=b"orders", name=b"orders", group=b"mailers")
    assert "point" not in view.show(watch)
    watch.history.add((b"orders", b"mailers"), Sample(5, 1, 2, 0.5))
    shown = view.show(watch)
    assert shown["point"] == [5, 1, 2, 0.5]
    assert [row["cells"]["state"] for row in shown["tables"]["consumers"]] == ["", "dead"]


def test_what_is_not_known_yet_leaves_the_page_as_it_is(watch: Watch) -> None:
    assert views.GroupView(name=b"orders", group=b"x").show(watch)["tables"] == {}
    assert views.StreamView(name=b"x").show(watch)["tables"] == {}


def test_an_entry_that_was_given_back_has_no_consumer() -> None:
    row = views.pending_row(0, b"s", Pending("1-0", b"", None, 2))
    assert row["cells"]["consumer"] == "(given back)" and row["cells"]["time"] == "–"


def test_long_names_values_and_many_fields_are_cut() -> None:
    fields = [(b"n" * 500, b"v" * 5000)] * 20
    row = views.entry_row(0, b"s", Entry("1700000000000-0", fields))
    assert len(row["fields"]) == 12 and row["cells"]["more"] == "+8"
    assert max(len(word) for pair in row["fields"] for word in pair) < 200
    assert row["cells"]["time"] == "2023-11-14 22:13:20.000"
    assert views.short(b"") == "(empty)" and len(views.short(b"k" * 1_000_000)) == 121


def test_unknown_figures_sort_last(watch: Watch) -> None:
    known = dataclasses.replace(ORDERS, name=b"a", memory_bytes=5)
    larger = dataclasses.replace(ORDERS, name=b"b", memory_bytes=9)
    watch.sampler.streams = {one.name: one for one in (ORDERS, known, larger)}

    def names(sort: str) -> list[bytes]:
        return [one.name for one in views.Streams(sort=sort).page(watch)[0]]

    assert names("memory") == [b"a", b"b", b"orders"]
    assert names("-memory") == [b"b", b"a", b"orders"]
    assert names("-name") == [b"orders", b"b", b"a"]


def test_a_page_whose_last_stream_is_gone_begins_again(watch: Watch) -> None:
    page, _, total = views.Streams(after="gone").page(watch)
    assert page == [ORDERS] and total == 1


def test_all_views_are_hashable_and_have_the_header(watch: Watch) -> None:
    for kind in (views.Overview, views.Streams, views.Slow, views.Memory, views.Clients,
                 views.Replication, views.BaseView):  # fmt: skip
        view: views.BaseView = kind()
        assert hash(view) == hash(kind())
        shown = view.show(watch)
        assert {"server", "age", "state"} <= set(shown["texts"]) and "tables" in shown
        list(view.visible(watch))
