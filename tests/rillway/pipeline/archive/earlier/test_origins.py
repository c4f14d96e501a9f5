"""What a backup has, whatever it is."""

from __future__ import annotations

import pytest

from rillway.pipeline.archive.earlier.origins import Origin, ServerOrigin, TableOrigin
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.client.ids import MAX_ID, MIN_ID, parse_id
from tests.rillway.pipeline.archive.scene import STREAM, add_many, archive


@pytest.mark.integration
def test_a_server_and_an_archive_have_the_same(redis_link: Connection, table: ArchiveTable) -> None:
    add_many(redis_link, 100)
    redis_link.call("SET", "a", "b")
    archive(redis_link, table, trims=False)
    origins: list[Origin] = [TableOrigin(table), ServerOrigin(redis_link)]
    for first, last in ((MIN_ID, MAX_ID), (parse_id("7-0"), parse_id("7-5")), (MAX_ID, MAX_ID)):
        one, other = (
            [row for batch in origin.batches(STREAM, first, last) for row in batch.to_pylist()]
            for origin in origins
        )
        assert one == other and len(one) == {MIN_ID: 100, MAX_ID: 0}.get(first, 1)
    assert [origin.streams() for origin in origins] == [[STREAM], [STREAM]]
