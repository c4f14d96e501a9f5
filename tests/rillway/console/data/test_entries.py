"""Entries of a stream, page by page."""

from __future__ import annotations

from rillway.console.data.entries import REPLY_BYTES, SCANNED_ENTRIES, Query, read_page
from server.inprocess.server import InProcessClient, InProcessServer
from tests.doubles.in_process_link import InProcessLink


async def no_sleep(_: float) -> None:
    return None


def fill(client: InProcessClient, count: int, value: str = "v") -> None:
    for number in range(1, count + 1):
        client.execute("XADD", "s", f"{number}-0", "f", value)


def counts(link: InProcessLink) -> list[int]:
    return [int(str(words[-1])) for words in link.requests if str(words[0]).endswith("RANGE")]


async def test_all_pages_together_have_each_entry_once(
    server: InProcessServer, client: InProcessClient
) -> None:
    fill(client, 250)
    link, seen, before = InProcessLink(server), [], None
    while True:
        page = await read_page(link, 0, b"s", Query(before=before, limit=60))
        seen += [entry.id for entry in page.entries]
        if page.next is None:
            break
        before = page.next
    assert seen == [f"{number}-0" for number in range(250, 0, -1)]


async def test_no_page_asks_for_more_than_it_may_show(
    server: InProcessServer, client: InProcessClient
) -> None:
    fill(client, 300)
    link = InProcessLink(server)
    await read_page(link, 0, b"s", Query(limit=100))
    assert sum(counts(link)) == 100


async def test_of_large_entries_fewer_are_asked_for(
    server: InProcessServer, client: InProcessClient
) -> None:
    fill(client, 30, "x" * (REPLY_BYTES // 2))
    link = InProcessLink(server)
    page = await read_page(link, 0, b"s", Query(limit=100))
    assert max(counts(link)) == 8 and counts(link)[1] <= 2
    assert len(page.entries) < 30 and page.next == page.entries[-1].id


async def test_a_search_ends_after_ten_thousand_entries_and_goes_on_from_there(
    server: InProcessServer, client: InProcessClient
) -> None:
    fill(client, SCANNED_ENTRIES + 600)
    client.execute("XADD", "t", "1-0", "f", "v")
    link = InProcessLink(server)
    query = Query(find="NEEDLE")
    page = await read_page(link, 0, b"s", query, no_sleep)
    assert page.entries == [] and page.next is not None
    assert SCANNED_ENTRIES <= page.scanned < SCANNED_ENTRIES + 500
    page = await read_page(link, 0, b"s", Query(find="needle", before=page.next), no_sleep)
    assert page.next is None


async def test_a_search_pauses_between_its_requests(
    server: InProcessServer, client: InProcessClient
) -> None:
    fill(client, 1000)
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    link = InProcessLink(server)
    await read_page(link, 0, b"s", Query(find="x"), sleep)
    assert len(pauses) == len(counts(link)) - 1 and all(pauses)


async def test_names_and_values_are_searched(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute("XADD", "s", "1-0", "Äpfel", b"\xff")
    client.execute("XADD", "s", "2-0", "n", "Lampe")
    link = InProcessLink(server)
    for find, ids in (("lamp", ["2-0"]), ("ÄPF", ["1-0"]), ("birne", [])):
        page = await read_page(link, 0, b"s", Query(find=find), no_sleep)
        assert [entry.id for entry in page.entries] == ids


async def test_a_stream_that_is_not_there_has_no_entries(server: InProcessServer) -> None:
    page = await read_page(InProcessLink(server), 0, b"s", Query())
    assert (page.entries, page.next, page.scanned) == ([], None, 0)
