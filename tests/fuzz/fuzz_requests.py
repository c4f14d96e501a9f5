"""Random bytes at the request reader: `python tests/fuzz/fuzz_requests.py --seconds 30`.

Every stream is read three times: at once, cut at random, and byte by byte, which leaves nothing
to the cutter. All must agree on requests, error and overflow, hold no more than was fed, take
memory in proportion to it, and end. The first stream that breaks a rule is printed with its seed,
and the program exits with status 1.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
import tracemalloc
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from protocol.request import Cutter
from protocol.requests import Limits, RequestReader

HANGS_AFTER_SECONDS = 20
MAX_STREAM_BYTES = 200_000
MEMORY_EVERY = 20  # streams; tracing is slow
MEMORY_FACTOR = 120  # a line full of escapes takes 85 times its bytes while it is split
MEMORY_SLACK_BYTES = 200_000

NUMBERS = (b"0", b"1", b"2", b"3", b"5", b"9", b"12", b"100", b"1000", b"70000", b"536870912")
ODD_NUMBERS = (b"", b"-1", b"-0", b"01", b"+1", b" 1", b"x", b"1048577", b"9" * 19, b"9" * 30)
TYPES = b"*$+-:_#,(=!~>|%"
LINE_ENDS = (b"\r\n",) * 12 + (b"\n", b"\r", b"\r\r", b"\n\n", b"\n\r", b"XX", b"\rX", b"")
PAYLOADS = (b"", b"*", b">", b"$", b"+", b"*1\r\n", b"\r\n$1\r\n", b"\r\n*1\r\n", b"\r", b"\n")
INLINE = b"ab \t\v\f\r\n\"'\\x4fn\0\xff"

Outcome = tuple[list[list[bytes]], str | None, bool]


class Drawing:
    """Streams that look like requests, with something wrong in many of them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def stream(self) -> bytes:
        draw = self.random
        fragments = [self.fragment() for _ in range(draw.choice((1, 2, 4, 8, 30)))]
        if draw.random() < 0.2:
            fragments.insert(0, self.request() * draw.choice((2, 50, 400)))
        if draw.random() < 0.05:
            fragments *= draw.choice((10, 100))
        data = b"".join(fragments)[:MAX_STREAM_BYTES]
        return self.damage(data) if draw.random() < 0.2 else data

    def fragment(self) -> bytes:
        kinds = [self.request] * 6 + [self.header, self.bulk, self.line, self.noise, self.bomb]
        return self.random.choice(kinds)()

    def request(self) -> bytes:
        draw = self.random
        argv = [self.payload() for _ in range(draw.choice((1, 2, 3, 5, 5, 5, 12, 120)))]
        return b"*%d\r\n" % len(argv) + b"".join(b"$%d\r\n%b\r\n" % (len(a), a) for a in argv)

    def payload(self) -> bytes:
        draw = self.random
        if draw.random() < 0.3:
            return draw.choice(PAYLOADS)
        return draw.randbytes(draw.choice((1, 3, 8, 12, 60))) * draw.choice((1,) * 30 + (40, 400))

    def header(self) -> bytes:
        draw = self.random
        number = draw.choice(NUMBERS if draw.random() < 0.8 else ODD_NUMBERS)
        return bytes([draw.choice(TYPES)]) + number + draw.choice(LINE_ENDS)

    def bulk(self) -> bytes:
        payload = self.payload()
        return b"$%d\r\n%b%b" % (len(payload), payload, self.random.choice(LINE_ENDS))

    def line(self) -> bytes:
        draw = self.random
        return bytes(draw.choice(INLINE) for _ in range(draw.randrange(20))) + b"\n"

    def noise(self) -> bytes:
        return self.random.randbytes(self.random.randrange(10))

    def bomb(self) -> bytes:
        draw = self.random
        return self.header() * draw.choice((2, 100)) + draw.choice((b"", b"\r\n", b'"\\' * 50))

    def damage(self, data: bytes) -> bytes:
        damaged = bytearray(data)
        for _ in range(self.random.randrange(1, 4)):
            if damaged:
                place = self.random.randrange(len(damaged))
                damaged[place : place + self.random.randrange(3)] = self.noise()[:2]
        return bytes(damaged)

    def cut(self, data: bytes) -> list[bytes]:
        draw = self.random
        chunk_bytes = draw.choice((2, 7, 64, 1000, 5000, 65_536))
        chunks, start = [], 0
        while start < len(data):
            end = start + draw.randrange(1, 2 * chunk_bytes)
            chunks.append(data[start:end])
            start = end
        return chunks

    def limits(self) -> Limits:
        if self.random.random() < 0.6:
            return Limits()
        return Limits(
            max_arguments=self.random.choice((3, 11, 1_048_576)),
            max_bulk_bytes=self.random.choice((5, 100, 10_000)),
            max_inline_bytes=self.random.choice((4, 30, 65_536)),
            max_buffer_bytes=self.random.choice((100, 10_000, 1_000_000)),
        )


def read_chunk(reader: RequestReader, chunk: bytes) -> list[list[bytes]]:
    reader.feed(chunk)
    return [request.words() for request in iter(reader.next, None)]


def read(chunks: list[bytes], limits: Limits, authenticated: bool) -> Outcome:
    reader = RequestReader(limits, Cutter(), authenticated)
    requests, fed_bytes = [], 0
    for chunk in chunks:
        requests += read_chunk(reader, chunk)
        fed_bytes += len(chunk)
        assert 0 <= reader.buffered_bytes() <= fed_bytes, "holds more than was fed"
        assert reader.unread_bytes() == 0, "leaves bytes unread"
    assert all(argv and set(map(type, argv)) == {bytes} for argv in requests), "no argv"
    return requests, reader.error, reader.overflowed


def peak_bytes(data: bytes, limits: Limits, authenticated: bool) -> int:
    tracemalloc.start()
    try:
        read_chunk(RequestReader(limits, Cutter(), authenticated), data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def check(drawing: Drawing, data: bytes, trace_memory: bool) -> None:
    """Raises AssertionError if the reader breaks a rule on data."""
    limits, authenticated = drawing.limits(), drawing.random.random() < 0.8
    if trace_memory:
        peak = peak_bytes(data, limits, authenticated)
        assert peak < MEMORY_SLACK_BYTES + MEMORY_FACTOR * len(data), f"takes {peak} bytes"
    whole = read([data], limits, authenticated)
    pieces = read(drawing.cut(data), limits, authenticated)
    assert pieces == whole, f"cut at random: {pieces[1:]}, at once: {whole[1:]}"
    single_bytes = [data[i : i + 1] for i in range(len(data))]
    scanned = read(single_bytes, limits, authenticated)
    assert scanned == whole, f"byte by byte: {scanned[1:]}, at once: {whole[1:]}"


def give_up(signal_number: int, frame: object) -> None:
    raise AssertionError("hangs")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, help="of the first stream; then seed + 1 and so on")
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    signal.signal(signal.SIGALRM, give_up)
    streams = requests = errors = 0
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        drawing = Drawing(seed)
        data = drawing.stream()
        signal.alarm(HANGS_AFTER_SECONDS)
        try:
            check(drawing, data, trace_memory=streams % MEMORY_EVERY == 0)
        except Exception as problem:
            signal.alarm(0)
            print(f"--seed {seed}: {type(problem).__name__}: {problem}\n{data[:2000]!r}")
            return 1
        signal.alarm(0)
        found, error, _ = read([data], Limits(), authenticated=True)
        streams, requests, errors = streams + 1, requests + len(found), errors + bool(error)
        seed += 1
    print(f"{streams} streams, {requests} requests, {errors} protocol errors: all rules kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
