"""server/metrics/names.py: the names of metrics."""

from __future__ import annotations

from collections import Counter

from commands.server.info_sections import SECTIONS
from server.inprocess.server import InProcessServer
from server.metrics import names
from server.metrics.names import INFO_FIELDS, Family

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
