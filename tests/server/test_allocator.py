"""server/allocator.py: free memory is kept for replies, and returned if it is worth the time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from server.allocator import NOTABLE_BYTES, FreeMemory, free_bytes

# In a process of its own: what other tests leave on the heap decides where its end is.
PROGRAM = """
from resource import RUSAGE_SELF, getrusage
from server import allocator

def faults_of_replies():
    before = getrusage(RUSAGE_SELF).ru_minflt
    for _ in range(200):
        parts = [bytes(6000) for _ in range(20)]
        reply = b"".join(parts)
        del parts, reply
    return getrusage(RUSAGE_SELF).ru_minflt - before

def resident_pages():
    return int(open("/proc/self/statm").read().split()[1])

held = []
for _ in range(20):
    held += [bytes(6000) for _ in range(2000)]  # in the gaps that imports have left
    faults_of_replies()
    faults = faults_of_replies()
    if faults > 1000:
        break
print(faults)
allocator.keep_room_for_replies()
faults_of_replies()
print(faults_of_replies())
free = [bytes(6000) for _ in range(2000)]
del free
before = resident_pages()
allocator.give_back()
print(before - resident_pages())
"""


def test_memory_is_kept_for_replies_and_given_back_when_asked() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    before, kept, given_back = map(int, shown.stdout.split())
    assert before > 1000
    assert kept < 50
    assert given_back > 2000  # of the 3,000 pages that were free


class Process:
    """Its memory, by hand."""

    def __init__(self) -> None:
        self.resident_bytes = 10 * NOTABLE_BYTES
        self.free_bytes: int | None = NOTABLE_BYTES // 2
        self.trims = 0
        self.memory = FreeMemory(lambda: self.resident_bytes, lambda: self.free_bytes, self.trim)

    def trim(self) -> None:
        self.trims += 1
        self.resident_bytes -= NOTABLE_BYTES

    def fill(self, size: int) -> None:
        """With data, for which more is asked from the system."""
        self.resident_bytes += size

    def free(self, size: int) -> None:
        """Some of the data."""
        assert self.free_bytes is not None
        self.free_bytes += size


def test_a_notable_amount_is_returned_once() -> None:
    process = Process()
    process.free(NOTABLE_BYTES)
    process.memory.give_back_if_notable()
    process.memory.give_back_if_notable()
    assert process.trims == 1


def test_little_is_kept() -> None:
    process = Process()
    process.free(NOTABLE_BYTES - 1)
    process.memory.give_back_if_notable()
    assert process.trims == 0


def test_growing_is_no_reason_to_give_back() -> None:
    process = Process()
    process.fill(100 * NOTABLE_BYTES)
    process.memory.give_back_if_notable()
    assert process.trims == 0


def test_what_was_used_again_meanwhile_is_given_back() -> None:
    process = Process()
    process.free(3 * NOTABLE_BYTES)
    process.memory.give_back_if_notable()
    process.fill(NOTABLE_BYTES)  # in the place of what was given back, then freed
    process.memory.give_back_if_notable()
    assert process.trims == 2


def test_a_large_process_may_be_left_alone() -> None:
    process = Process()
    process.free(3 * NOTABLE_BYTES)
    size = process.resident_bytes
    process.memory.give_back_if_notable(size - 1)
    assert process.trims == 0
    process.memory.give_back_if_notable(size)
    assert process.trims == 1


def test_memory_returned_on_request_is_not_returned_again() -> None:
    process = Process()
    process.free(3 * NOTABLE_BYTES)
    process.memory.give_back()
    process.memory.give_back_if_notable()
    assert process.trims == 1


def test_an_allocator_without_figures_is_left_alone() -> None:
    process = Process()
    process.free_bytes = None
    process.memory.give_back_if_notable()
    assert process.trims == 0


@pytest.mark.skipif(free_bytes() is None, reason="needs glibc 2.33")
def test_freed_blocks_are_counted() -> None:
    blocks = [bytes(6000) for _ in range(2000)]
    kept = blocks[::20]
    before = free_bytes()
    del blocks
    after = free_bytes()
    assert before is not None
    assert after is not None
    assert after - before > 8_000_000
    assert len(kept) == 100
