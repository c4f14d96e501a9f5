"""server/metrics/names.py: the names of metrics."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from commands.server.info_sections import SECTIONS
from server.inprocess.server import InProcessServer
from server.metrics import names
from server.metrics.names import INFO_FIELDS, Family, Page, label_value, labels

FAMILIES = [each for each in vars(names).values() if isinstance(each, Family)]
FAMILIES = [each for each in FAMILIES if each is not names._family]
FAMILIES += [family for fields in INFO_FIELDS.values() for family in fields.values()]


def test_every_field_that_has_a_metric_is_in_info() -> None:
    server = InProcessServer(appendonly="yes", replicaof="127.0.0.1 1")
    for section, fields in INFO_FIELDS.items():
        if section != "tls":  # without certificates it is empty
            known = {field for field, _ in SECTIONS[section](server.instance)}
            assert fields.keys() <= known


def test_no_name_is_taken_twice() -> None:
    counted = Counter(family.name for family in FAMILIES)
    assert [name for name, count in counted.items() if count > 1] == []


def test_every_name_says_whose_it_is() -> None:
    assert {family.name.split("_")[0] for family in FAMILIES} == {"redis", "rillway", "process"}


def test_what_is_counted_since_the_start_is_a_counter() -> None:
    stats = INFO_FIELDS["stats"]
    assert stats["keyspace_hits"].name == "redis_keyspace_hits_total"
    assert stats["keyspace_hits"].kind == "counter"
    assert INFO_FIELDS["persistence"]["rdb_saves"].kind == "counter"
    assert stats["pubsub_channels"].kind == "gauge"


LENGTH = Family("length", "gauge", "How long")
ADDED = Family("added_total", "counter", "How many")
WAITED = Family("waited_seconds", "histogram", "How late")


def text_of(page: Page) -> str:
    return b"".join(page.pieces()).decode()


def test_the_samples_of_a_metric_stand_together_below_its_type() -> None:
    page = Page()
    page.add(LENGTH, 1, 'name="a"')
    page.add(ADDED, 2)
    page.flush()
    page.add(LENGTH, 0.5, 'name="b"')
    assert text_of(page) == (
        "# HELP length How long\n# TYPE length gauge\n"
        'length{name="a"} 1\nlength{name="b"} 0.5\n'
        "# HELP added_total How many\n# TYPE added_total counter\nadded_total 2\n"
    )


def test_a_value_that_is_not_known_has_no_sample_and_a_metric_without_any_is_not_named() -> None:
    page = Page()
    page.add(LENGTH, None)
    assert text_of(page) == ""


def test_a_histogram_counts_up_to_each_bound_and_all() -> None:
    page = Page()
    page.add_histogram(WAITED, [0.001, 0.002], [1, 1, 3], 7.5, 'group="g"')
    assert text_of(page).splitlines()[2:] == [
        'waited_seconds_bucket{group="g",le="0.001"} 1',
        'waited_seconds_bucket{group="g",le="0.002"} 1',
        'waited_seconds_bucket{group="g",le="+Inf"} 3',
        'waited_seconds_sum{group="g"} 7.5',
        'waited_seconds_count{group="g"} 3',
    ]


@pytest.mark.parametrize(
    ("name", "written"),
    [(b"plain", "plain"), (b'a"b', 'a\\"b'), (b"a\\b", "a\\\\b"), (b"a\nb", "a\\nb"),
     (b"\xff", "\\\\xff"), ("ü€".encode(), "ü€")],
)  # fmt: skip
def test_a_name_is_escaped(name: bytes, written: str) -> None:
    assert label_value(name) == written


def test_a_directive_that_is_no_utf8_is_escaped() -> None:
    assert labels(host="\udcff") == r'host="\\xff"'


@given(st.binary())
def test_any_name_comes_back_from_the_parser(name: bytes) -> None:
    page = Page()
    page.add(LENGTH, 1, labels(name=name))
    (family,) = text_string_to_metric_families(text_of(page))
    (sample,) = family.samples
    assert sample.labels == {"name": name.decode("utf-8", "backslashreplace")}
