"""The cache of parsed requests."""

from __future__ import annotations

from commands.streams.request_cache import MAX_REQUEST_BYTES, MAX_REQUESTS, RequestCache


def request(number: int) -> tuple[bytes, ...]:
    return (b"XREADGROUP", b"%d" % number)


def test_the_same_words_are_known_again() -> None:
    remembered: RequestCache[int] = RequestCache()
    assert remembered.get(request(1)) is None
    remembered.put(request(1), 5)
    assert remembered.get(request(1)) == 5
    assert remembered.get((b"XREADGROUP1", b"")) is None


def test_the_oldest_requests_are_forgotten_first() -> None:
    remembered: RequestCache[int] = RequestCache()
    for number in range(MAX_REQUESTS + 2):
        remembered.put(request(number), number)
    known = [number for number in range(MAX_REQUESTS + 2) if remembered.get(request(number))]
    assert known == list(range(2, MAX_REQUESTS + 2))


def test_a_long_request_is_not_remembered() -> None:
    remembered: RequestCache[int] = RequestCache()
    remembered.put((b"x" * MAX_REQUEST_BYTES, b"y"), 1)
    assert remembered.get((b"x" * MAX_REQUEST_BYTES, b"y")) is None


def test_a_request_is_also_known_as_it_came() -> None:
    remembered: RequestCache[int] = RequestCache()
    remembered.put(b"*1\r\n$4\r\nPING\r\n", 5)
    assert remembered.get(b"*1\r\n$4\r\nPING\r\n") == 5
    assert remembered.get((b"*1\r\n$4\r\nPING\r\n",)) is None
