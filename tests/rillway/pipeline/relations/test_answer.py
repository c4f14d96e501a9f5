"""SQL over archive and memory, beside a count over what was sent."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from rillway.pipeline import sql
from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.relations.answer import SqlFailed
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.facts import group_infos

BEGIN_MS = 1_770_000_000_000
STEP_MS = 1000
ROUNDS, EACH = 3, 200
CITIES = ["Oslo", "Rom", "Köln"]
SCHEMA = "orders=city STRING, amount INT, price DECIMAL(10,2), placed TIMESTAMP"


def id_of(number: int) -> str:
    return f"{BEGIN_MS + number * STEP_MS}-0"


def an_entry(number: int) -> dict[str, str]:
    """Some without an amount, or with one that has no column's form."""
    chance = random.Random(number)
    fields = {"city": chance.choice(CITIES), "price": f"{chance.randrange(10_000) / 100:.2f}"}
    if number % 7:
        fields["amount"] = "007" if number % 11 == 0 else str(chance.randrange(100))
    fields["placed"] = "2026-02-02 02:40:00"
    return fields | ({"note": f"n{number}"} if number % 5 == 0 else {})


Sent = dict[int, dict[str, str]]
Rows = list[tuple[Any, ...]]


def send(link: Connection, first: int, last: int, stream: str = "orders") -> Sent:
    sent = {number: an_entry(number) for number in range(first, last)}
    link.call_all(
        [
            (
                "XADD",
                stream,
                f"{BEGIN_MS + number * STEP_MS}-0",
                *(w for p in one.items() for w in p),
            )
            for number, one in sent.items()
        ]
    )
    return sent


def archive(link: Connection, table: ArchiveTable) -> None:
    settings = ArchiverSettings(link.url, rules=TrimRules(), id_unit="ms")
    outcome = Archiver(table, LocalEngine(), settings).round(["orders"])
    assert outcome.failures == {}


@pytest.fixture(params=["plain", "typed"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> ArchiveTable:
    table = ArchiveTable.open_or_create(tmp_path / "archive")
    if request.param == "typed":
        set_columns(table, from_options([SCHEMA]))
    return table


@pytest.fixture
def sent(link: Connection, table: ArchiveTable) -> Sent:
    """Entries of which some are archived in several rounds, and some only in memory."""
    found: Sent = {}
    for number in range(ROUNDS):
        found |= send(link, number * EACH, (number + 1) * EACH)
        archive(link, table)
    return found | send(link, ROUNDS * EACH, ROUNDS * EACH + 50)


def answer(link: Connection, table: ArchiveTable, text: str, **options: Any) -> Rows:
    found = sql(text, archive=table.root, url=link.url, **options).read_all()
    return [tuple(row.values()) for row in found.to_pylist()]


def amount(fields: dict[str, str]) -> int | None:
    return int(fields["amount"]) if "amount" in fields else None


# -- questions ------------------------------------------------------------------------------------


def check(link: Connection, table: ArchiveTable, sent: Sent) -> None:
    """Questions of which each has its own count."""

    def ask(text: str) -> Rows:
        return answer(link, table, text)

    everything = list(sent.values())
    assert ask("SELECT count(*) FROM orders") == [(len(sent),)]
    assert ask("SELECT count(DISTINCT id) FROM orders") == [(len(sent),)]
    by_city = Counter(one["city"] for one in everything)
    text = "SELECT fields['city'] c, count(*) FROM orders GROUP BY c ORDER BY c"
    assert ask(text) == sorted(by_city.items())
    total = sum(amount(one) or 0 for one in everything)
    assert ask("SELECT sum(fields['amount']::INT)::BIGINT FROM orders") == [(total,)]
    with_note = sum("note" in one for one in everything)
    assert ask("SELECT count(fields['note']) FROM orders") == [(with_note,)]
    ids = list(map(id_of, sent))
    assert [row[0] for row in ask("SELECT id FROM orders ORDER BY ms")] == ids
    assert ask(f"SELECT ms FROM orders WHERE id = '{ids[3]}'") == [(int(ids[3][:-2]),)]
    middle = BEGIN_MS + 150 * STEP_MS
    after = sum(BEGIN_MS + n * STEP_MS >= middle for n in sent)
    assert ask(f"SELECT count(*) FROM orders WHERE ms >= {middle}") == [(after,)]
    text = f"SELECT count(*) FROM orders WHERE ts >= make_timestamp({middle} * 1000)"
    assert ask(text) == [(after,)]
    assert ask("SELECT count(*) FROM orders WHERE ts < '2000-01-01'") == [(0,)]
    text = "SELECT count(*) FROM orders a JOIN orders b USING (id) WHERE b.fields['city'] = 'Rom'"
    assert ask(text) == [(by_city["Rom"],)]
    text = "SELECT raw FROM orders WHERE ms = (SELECT max(ms) FROM orders)"
    [(raw,)] = ask(text)
    last = {pair["name"].decode(): pair["value"].decode() for pair in raw}
    assert last == sent[max(sent)]
    if table.columns:
        check_typed(ask, everything)


def check_typed(ask: Any, everything: list[dict[str, str]]) -> None:
    typed = [amount(one) for one in everything]
    small = sum(one is not None and one < 10 for one in typed)
    assert ask("SELECT count(*) FROM orders WHERE amount < 10") == [(small,)]
    assert ask("SELECT count(*) FROM orders WHERE amount IS NULL") == [(typed.count(None),)]
    by_city = Counter(one["city"] for one in everything)
    text = "SELECT city, count(*) FROM orders WHERE city IN ('Rom', 'Oslo') GROUP BY 1 ORDER BY 1"
    assert ask(text) == [("Oslo", by_city["Oslo"]), ("Rom", by_city["Rom"])]
    dear = sum(float(one["price"]) > 50 for one in everything)
    assert ask("SELECT count(*) FROM orders WHERE price > 50") == [(dear,)]
    assert ask("SELECT count(*) FROM orders WHERE price > 50 AND amount = 4711") == [(0,)]
    text = "SELECT count(*) FROM orders WHERE placed = '2026-02-02 02:40:00' AND city = 'Köln'"
    assert ask(text) == [(by_city["Köln"],)]


def test_answers_are_those_of_what_was_sent(
    link: Connection, table: ArchiveTable, sent: Sent
) -> None:
    check(link, table, sent)
    archive(link, table)
    check(link, table, sent)


def test_answers_are_right_after_other_programs(link: Connection, table: ArchiveTable) -> None:
    sent = send(link, 0, EACH)
    archive(link, table)
    sent |= send(link, EACH, 2 * EACH)
    archive(link, table)
    DeltaTable(table.root).optimize.z_order(["seq"])
    DeltaTable(table.root).delete(f"ms = {BEGIN_MS}")
    del sent[0]
    check(link, table, sent)


def test_each_entry_is_there_once_while_it_is_archived_and_trimmed(
    rillway_link: Connection, table: ArchiveTable
) -> None:
    link = rillway_link
    sent = send(link, 0, 50)
    with archiving(link, table):
        for number in range(10):
            sent |= send(link, 50 * (number + 1), 50 * (number + 2))
            text = "SELECT count(*), count(DISTINCT id), max(ms) FROM orders"
            last = BEGIN_MS + (len(sent) - 1) * STEP_MS
            assert answer(link, table, text) == [(len(sent), len(sent), last)]
    check(link, table, sent)


@contextmanager
def archiving(link: Connection, table: ArchiveTable) -> Iterator[None]:
    """Rounds one after the other."""
    ended = threading.Event()
    other = ArchiveTable.open(table.root)

    def go_on() -> None:
        while not ended.is_set():
            archive(link, other)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_epochs_are_all_or_the_present_line(link: Connection, table: ArchiveTable) -> None:
    old = send(link, 0, 20)
    archive(link, table)
    link.call("DEL", "orders")
    link.call("XADD", "orders", f"{BEGIN_MS}-0", "city", "another history")
    archive(link, table)
    text = "SELECT epoch, count(*) FROM orders GROUP BY epoch ORDER BY epoch"
    assert answer(link, table, text) == [(1, len(old)), (2, 1)]
    assert answer(link, table, text, epochs="current") == [(2, 1)]
    assert answer(link, table, "SELECT count(*) FROM orders WHERE epoch = 1") == [(20,)]


# -- the rest -------------------------------------------------------------------------------------


def test_streams_files_and_tables_of_the_statement_are_joined(
    link: Connection, table: ArchiveTable, tmp_path: Path
) -> None:
    sent = send(link, 0, 30)
    archive(link, table)
    link.call("XADD", "a b:1", "1-0", "city", "Rom")
    (tmp_path / "rates.csv").write_text("city,rate\nRom,2\nOslo,3\n")
    text = (
        f"WITH rates AS (FROM '{tmp_path}/rates.csv') SELECT count(*) FROM orders JOIN \"a b:1\" o "
        "ON orders.fields['city'] = o.fields['city'] JOIN rates ON rates.city = o.fields['city']"
    )
    in_rome = sum(one["city"] == "Rom" for one in sent.values())
    assert answer(link, table, text) == [(in_rome,)]


def test_names_that_differ_by_case_alone_are_not_in_one_statement(link: Connection) -> None:
    for name in ("s", "S"):
        link.call("XADD", name, "1-0", "a", name)
    for name in ("s", "S"):
        found = sql(f"SELECT fields['a'] a FROM main.{name}", url=link.url).read_all()
        assert found.to_pylist() == [{"a": name}]
    with pytest.raises(SqlFailed, match="S and s: DuckDB does not"):
        sql("SELECT * FROM s, S", url=link.url)


def test_fields_are_texts_and_raw_is_what_was_sent(link: Connection) -> None:
    link.call("XADD", "s", "1-0", "a", "1", "a", "2", b"\xff", b"x\xfe'")
    link.call("XADD", "s", "2-0", "b", "")
    found = sql("SELECT fields, raw FROM s ORDER BY ms", url=link.url).read_all().to_pylist()
    assert dict(found[0]["fields"]) == {"a": "2", "\\xFF": "x\\xFE\\x27"}
    assert [pair["value"] for pair in found[0]["raw"]] == [b"1", b"2", b"x\xfe'"]
    assert found[1]["fields"] == [("b", "")]
    text = "SELECT fields['x'] x, typeof(fields) t, typeof(ts) FROM s WHERE seq = 0 LIMIT 1"
    [row] = sql(text, url=link.url).read_all().to_pylist()
    assert list(row.values()) == [None, "MAP(VARCHAR, VARCHAR)", "TIMESTAMP WITH TIME ZONE"]


KINDS = (
    "s=flag BOOLEAN, data BINARY, day DATE, weight DOUBLE, small SHORT, "
    "tags ARRAY<STRING>, place STRUCT<x: INT, y: STRING>, counts MAP<STRING, INT>, ä STRING"
)
CONDITIONS = """
flag; NOT flag; flag IS NULL; data = 'x1'::BLOB; data > 'x2'::BLOB; day = '2026-01-03'; day > '2026-01-04' OR day IS NULL
weight > 2; weight <= 2.5; isnan(weight); weight IS NOT NULL; small = 3; small IN (1, 2, 99); small BETWEEN 2 AND 3
tags IS NULL; len(tags) > 1; place.x = 2; place.x > 1 AND place.y = 'y3'; place IS NULL; counts['k'] = 3; ä LIKE 'v%'; ä = 'v1'
stream = 's'; stream <> 's'; seq = 0; seq > 3; epoch = 1; epoch > 1; id > '3-0'; id BETWEEN '2-0' AND '4-0'; ms % 2 = 0
ms > 2 AND small < 5 AND flag; ms IN (1, 4, 6); fields['flag'] = 'true'; raw IS NULL; ts IS NULL; ms = -1 OR small = 1
"""  # noqa: E501


def test_filters_mean_in_a_scan_what_they_mean_to_duckdb(link: Connection, tmp_path: Path) -> None:
    table = ArchiveTable.open_or_create(tmp_path / "archive")
    set_columns(table, from_options([KINDS]))
    for number in range(1, 8):
        words: list[str | int] = ["flag", "true" if number % 2 else "false", "data", f"x{number}"]
        words += ["day", f"2026-01-0{number}", "weight", "NaN" if number == 3 else f"{number}.5"]
        words += ["small", number, "tags", f'["a","b{number}"]', "ä", f"v{number}"]
        words += ["place", f'{{"x":{number},"y":"y{number}"}}', "counts", f'{{"k":{number}}}']
        link.call("XADD", "s", f"{number}-0", *(words if number != 5 else ["other", 1]))
        if number in (3, 6):
            settings = ArchiverSettings(link.url, rules=TrimRules(), id_unit="ms")
            assert Archiver(table, LocalEngine(), settings).round(["s"]).failures == {}
    for condition in CONDITIONS.replace("\n", ";").split(";"):
        if condition.strip():
            text = f"SELECT list(id ORDER BY ms) FROM {{}} WHERE {condition}"
            every = f"WITH every AS MATERIALIZED (FROM s) {text.format('every')}"
            assert answer(link, table, text.format("s")) == answer(link, table, every), condition


def test_a_filter_reads_few_entries(link: Connection, table: ArchiveTable, sent: Sent) -> None:
    read: list[int] = []
    middle = BEGIN_MS + 2 * EACH * STEP_MS
    for text in (f"ms = {middle}", f"ts = make_timestamp({middle}000)", f"id = '{middle}-0'"):
        read.clear()
        found = answer(
            link, table, f"SELECT count(*) FROM orders WHERE {text}", advanced=read.append
        )
        assert (found, sum(read) <= 1) == ([(1,)], True), text


def test_a_wrong_statement_is_duckdbs_own_message(link: Connection, table: ArchiveTable) -> None:
    send(link, 0, 3)
    for text, message, is_wrong in (
        ("SELEC 1", 'syntax error at or near "SELEC"', True),
        ("SELECT nope FROM orders", 'Referenced column "nope" not found', True),
        ("SELECT 1 FROM nope", "Table with name nope does not exist", True),
        ("SELECT 1; SELECT 2", "2 statements", True),
        ("DROP TABLE x", "only a SELECT", True),
        ("SELECT fields['city']::INT FROM orders", "Could not convert string", False),
    ):
        with pytest.raises(SqlFailed, match=message) as caught:
            answer(link, table, text)
        assert caught.value.is_wrong is is_wrong, text


def test_the_errors_of_a_read_are_its_own(link: Connection, table: ArchiveTable) -> None:
    send(link, 0, 30)
    archive(link, table)
    for file in table.files():
        (table.root / file.path).unlink()
    with pytest.raises(ArchiveError, match="it is missing"):
        answer(link, table, "SELECT fields['city'] FROM orders")


def test_a_stream_is_held_until_the_result_is_read(link: Connection, table: ArchiveTable) -> None:
    send(link, 0, 3)
    archive(link, table)
    reader = sql("SELECT id FROM orders", archive=table.root, url=link.url)
    assert len(group_infos(link, "orders")) == 2
    assert pa.table(reader).num_rows == 3
    assert len(group_infos(link, "orders")) == 1
    with sql("SELECT id FROM orders", archive=table.root, url=link.url):
        assert len(group_infos(link, "orders")) == 2
    assert len(group_infos(link, "orders")) == 1


def test_other_libraries_take_the_answer(link: Connection) -> None:
    import polars as pl

    send(link, 0, 3)
    frame = pl.DataFrame(sql("SELECT ms, id FROM orders ORDER BY ms", url=link.url))
    assert frame.shape == (3, 2)
