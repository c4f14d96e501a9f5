"""server/allocator.py: what is free is kept for replies, and given back when asked."""

from __future__ import annotations

import subprocess
import sys

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

faults_of_replies()
print(faults_of_replies())
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
