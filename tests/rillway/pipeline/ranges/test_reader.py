"""Reading a slice: complete, or known not to be."""

from __future__ import annotations

import logging

import pytest

from rillway.pipeline.arrow.decoder import fields_decoder
from rillway.pipeline.ranges import pages as paging
from rillway.pipeline.ranges.loss import DataLost, LossPolicy
from rillway.pipeline.ranges.plan import Slice
from rillway.pipeline.ranges.reader import SliceReader, read_batches
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import MAX_ID, make_id
from tests.rillway.pipeline.scene import add, add_many, ids_of

pytestmark = pytest.mark.integration

PAGE = 10


def reader(link: Connection, part: Slice, *, fails: bool = True) -> SliceReader:
    return SliceReader(Connection(link.url), part, LossPolicy(fails=fails), PAGE)


def whole(entries: int | None = None, count: int = 100) -> Slice:
    return Slice("s", make_id(1), make_id(count), entries)


@pytest.mark.parametrize("count", [1, 9, 10, 11, 19, 20, 21, 100])
def test_every_entry_comes_once(link: Connection, count: int) -> None:
    add_many(link, "s", count + 5)
    pages = reader(link, whole(count, count)).pages()
    ids = [entry[0].decode() for page in pages for entry in page]
    assert ids == [f"{number}-0" for number in range(1, count + 1)]


def test_a_trim_before_the_first_page_is_noticed(link: Connection) -> None:
    add_many(link, "s", 100)
    link.call("XTRIM", "s", "MINID", "31-0")
    with pytest.raises(
        DataLost,
        match="s: 30 of 100 entries from 1-0 to 100-0 had been trimmed before they were read;"
        " the stream begins at 31-0 now",
    ):
        list(reader(link, whole(100)).pages())
    with pytest.raises(DataLost, match="s: some entries from 1-0 to 100-0"):
        list(reader(link, whole(None)).pages())


def test_a_trim_between_two_pages_is_noticed(link: Connection) -> None:
    add_many(link, "s", 100)
    pages = reader(link, whole(None)).pages()
    next(pages)  # and the second one is on its way
    next(pages)
    link.call("XTRIM", "s", "MINID", "71-0")
    with pytest.raises(DataLost, match="the stream begins at 71-0 now"):
        list(pages)


def test_a_trim_behind_the_reader_is_no_loss(link: Connection) -> None:
    add_many(link, "s", 100)
    pages = reader(link, whole(100)).pages()
    ids = [entry[0] for entry in next(pages)]
    for page in pages:
        ids += [entry[0] for entry in page]
        if len(ids) == 50:
            link.call("XTRIM", "s", "MINID", "40-0")
    assert len(ids) == len(set(ids)) == 100


def test_a_stream_that_is_deleted_meanwhile_is_noticed(link: Connection) -> None:
    add_many(link, "s", 100)
    link.call("DEL", "s")
    with pytest.raises(DataLost, match=r"100 of 100 entries .* the stream is empty now"):
        list(reader(link, whole(100)).pages())


def test_what_xdel_takes_is_left_out_with_a_warning(
    link: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    add_many(link, "s", 100)
    link.call("XDEL", "s", "1-0", "10-0", "55-0")
    with caplog.at_level(logging.WARNING):
        pages = list(reader(link, whole(100)).pages())
    assert sum(map(len, pages)) == 97
    (record,) = caplog.records
    assert "3 of 100 entries from 1-0 to 100-0 had been deleted or trimmed" in record.getMessage()


def test_a_loss_that_may_be_only_warns(link: Connection, caplog: pytest.LogCaptureFixture) -> None:
    add_many(link, "s", 100)
    link.call("XTRIM", "s", "MINID", "31-0")
    with caplog.at_level(logging.WARNING):
        pages = list(reader(link, whole(100), fails=False).pages())
    assert sum(map(len, pages)) == 70
    assert "30 of 100 entries" in caplog.records[0].getMessage()


def test_pages_are_put_together_to_batches(link: Connection) -> None:
    add_many(link, "s", 100)
    found = [batch.num_rows for batch in reader(link, whole()).batches(fields_decoder("s"), 25)]
    assert found == [30, 30, 30, 10]


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if entries of some KiB were megabytes."""
    monkeypatch.setattr(paging, "FIRST_PAGE_SIZE", 10)
    monkeypatch.setattr(paging, "PAGE_BYTES", 20_000)
    monkeypatch.setattr(paging, "MAX_REPLY_BYTES", 300_000)


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("sizes", [(5000,), (10, 200_000), (200_000, 10), (400_000,), (1, 9, 90)])
def test_pages_and_batches_are_bounded_by_bytes(link: Connection, sizes: tuple[int, ...]) -> None:
    """Entries of each size come in hundreds, so that small pages follow on large ones."""
    number, expected = 1, []
    for size in sizes:
        for _ in range(20):
            add(link, "s", [f"{number}-0"], "f", "x" * size)
            expected.append(f"{number}-0")
            number += 1
    part = Slice("s", make_id(1), make_id(number))
    found = SliceReader(Connection(link.url), part, LossPolicy(fails=True), 1000)
    largest = max(sizes)
    read = []
    for batch in found.batches(fields_decoder("s"), max_bytes=100_000):
        assert len(batch) == 1 or batch.nbytes < 110_000 + 200 * len(batch)
        assert found.page_bytes < max(350_000 + (1 << 18), largest * 3)
        read += ids_of([batch])
    assert read == expected


def test_a_page_of_one_entry_goes_on(link: Connection) -> None:
    add_many(link, "s", 5)
    found = SliceReader(Connection(link.url), whole(5, 5), LossPolicy(fails=True), 1)
    assert [len(page) for page in found.pages()] == [1] * 5


def test_a_range_is_read_without_spark(link: Connection) -> None:
    add_many(link, "s", 30)
    first, last = make_id(5), make_id(25)
    assert ids_of(read_batches(link, "s", first, last, page_size=4)) == [
        f"{number}-0" for number in range(5, 26)
    ]
    (batch,) = read_batches(link, "s", 0, MAX_ID, mode="map")
    assert batch.column("fields").to_pylist()[0] == [("n", "1-0")]
    assert list(read_batches(link, "missing", 0, MAX_ID)) == []
    assert list(read_batches(link, "s", make_id(31), MAX_ID)) == []
