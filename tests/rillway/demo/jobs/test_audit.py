"""What became of each job, from records."""

from __future__ import annotations

import pytest

from rillway.demo.jobs.audit import Books, table

Record = dict[bytes, bytes]


def entry(job: int, **more: str) -> Record:
    fields = {"job": str(job), "waits_ms": "0", "customer": "ada"} | more
    return {name.replace("_hops", "-hops").encode(): more.encode() for name, more in fields.items()}


def added(first: int, last: int) -> Record:
    return {b"event": b"added", b"first": b"%d" % first, b"last": b"%d" % last}


def done(job: int, worker: str, deliveries: int = 1) -> Record:
    return note(b"done", job, worker) | {b"deliveries": b"%d" % deliveries}


def late(job: int, worker: str) -> Record:
    return note(b"late", job, worker)


def note(event: bytes, job: int, worker: str) -> Record:
    return {b"event": event, b"job": b"%d" % job, b"worker": worker.encode()}


def crashed(worker: str) -> Record:
    return {b"event": b"crashed", b"worker": worker.encode()}


def books_of(entries: list[Record], ledger: list[Record], dead: list[Record]) -> Books:
    return Books(entries, ledger, dead, in_order=True)


def test_each_job_is_done_or_a_dead_letter() -> None:
    ledger = [added(1, 2), done(1, "a"), added(3, 3), done(2, "b", 2)]
    entries = [entry(1), entry(2, waits_ms="5"), entry(3), entry(2, rillway_hops="1")]
    books = books_of(entries, ledger, [entry(3)])
    assert books.are_right
    assert (books.added, books.again, books.delayed, books.returned) == ({1, 2, 3}, {2}, {2}, {2})
    assert books.dead == {3: 1}


def test_a_missing_job_is_wrong() -> None:
    books = books_of([], [added(1, 3), done(1, "a")], [entry(2)])
    assert books.missing == {3}
    assert not books.are_right


def test_a_job_that_was_never_added_is_wrong() -> None:
    books = books_of([], [added(1, 1), done(1, "a"), done(7, "a")], [entry(8)])
    assert books.unknown == {7, 8}
    assert not books.are_right


@pytest.mark.parametrize(
    "ledger",
    [
        [done(1, "a"), done(2, "a"), done(2, "b", 2), crashed("a")],
        [done(1, "a"), done(2, "b"), done(2, "a", 2), crashed("a")],
        [done(1, "a"), done(2, "b", 2), done(2, "a"), late(2, "a"), done(3, "a")],
        [done(2, "a"), done(1, "b"), late(2, "a"), done(2, "b", 2)],
        [done(1, "a"), done(2, "a"), done(2, "b", 2), done(2, "c", 3), *map(crashed, "ab")],
    ],
)
def test_a_repetition_has_a_reason(ledger: list[Record]) -> None:
    books = books_of([], [added(1, 3), *ledger], [])
    assert books.repeated[2] and not books.unexplained


@pytest.mark.parametrize(
    "ledger",
    [
        [done(1, "a"), done(1, "b", 2)],
        # The worker went on after it: so it had acknowledged the job.
        [done(1, "a"), done(2, "a"), done(1, "b", 2), crashed("a")],
        [done(1, "a"), done(1, "b", 2), crashed("c")],
        [done(1, "a"), done(1, "b", 2), late(2, "a")],
        [done(1, "a"), done(1, "b", 2), done(1, "c", 3), late(1, "b")],
        # One reason is not counted twice.
        [done(1, "a"), done(1, "b", 2), done(1, "c", 3), late(1, "b"), crashed("b")],
    ],
)
def test_a_repetition_without_a_reason_is_wrong(ledger: list[Record]) -> None:
    books = books_of([], [added(1, 2), done(2, "d"), *ledger], [])
    assert books.unexplained == {1: 1}
    assert not books.are_right


def test_a_job_that_is_done_and_a_dead_letter_needs_a_reason() -> None:
    ledger = [added(1, 1), done(1, "a")]
    assert books_of([], ledger, [entry(1)]).unexplained == {1: 1}
    assert books_of([], [*ledger, crashed("a")], [entry(1)]).are_right


def test_a_job_that_is_overtaken_by_one_of_its_customer_is_wrong() -> None:
    entries = [entry(1), entry(2, customer="grace"), entry(3), entry(4)]
    ledger = [added(1, 4), done(2, "a"), done(3, "b"), done(1, "a"), done(4, "a")]
    assert books_of(entries, ledger, []).disordered == {1}
    assert not books_of(entries, ledger, []).are_right
    assert Books(entries, ledger, [], in_order=False).are_right


@pytest.mark.parametrize(
    "overtaken",
    [
        [done(1, "a", 2)],  # it failed meanwhile
        [done(1, "b", 2), done(1, "a"), late(1, "a")],  # its deadline came
    ],
)
def test_a_job_that_was_delivered_again_may_be_overtaken(overtaken: list[Record]) -> None:
    ledger = [added(1, 2), done(2, "c"), *overtaken]
    assert books_of([entry(1), entry(2)], ledger, []).are_right


def test_a_job_that_was_a_dead_letter_may_be_overtaken() -> None:
    entries = [entry(1), entry(2), entry(1, rillway_hops="1")]
    assert books_of(entries, [added(1, 2), done(2, "a"), done(1, "a")], []).are_right


def test_the_table_has_each_number() -> None:
    ledger = [added(1, 12), *(done(job, "a") for job in range(1, 11)), done(10, "b", 2)]
    lines = list(table(books_of([entry(1, waits_ms="7")], [*ledger, crashed("a")], [entry(11)])))
    numbers = {line[:24].strip(): int(line[24:34]) for line in lines[:-1]}
    assert numbers == {
        "added": 12, "for later": 1, "done": 10, "at a later delivery": 1, "back from the dead": 0,
        "dead letters": 1, "done twice or more": 1, "after a crash": 1, "after a deadline": 0,
        "without a reason": 0, "out of order": 0, "never added": 0, "missing": 1,
    }  # fmt: skip
    assert lines[-1] == "  1 worker crashed."
