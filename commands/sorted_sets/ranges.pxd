# The C types of commands/sorted_sets/ranges.py.

from commands.core.client cimport Client
from commands.sorted_sets.bounds cimport excludes, parse_rank, parse_score, rank_span
from protocol.request cimport Request
from storage.types.sorted_sets cimport SortedSetValue


cdef object _reply(Client client, list records, bint reverse, bint with_scores)
cdef object _ranks(Client client, Request argv, bint reverse)
cdef object _scores(Client client, Request argv, bint reverse)
cdef tuple _span_of_ranks(SortedSetValue value, long long start, long long end, bint reverse)
