# The C types of server/requests/dispatch.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.core.propagation cimport Propagation
from commands.core.registry cimport Command, Runner
from protocol cimport replies
from protocol.request cimport Cutter, Request
from server.requests.admission cimport Admission, MemoryLimit
from server.requests.command_clock cimport Answering, CommandClock
from server.requests.waiters cimport ClientQueues
from storage.append_only.request_writer cimport RequestWriter


cdef long _ON_DATA
cdef int _READY
cdef long _MULTI
cdef long _RESTRICTED
cdef Py_ssize_t _SHORT_BYTES
cdef long _TRACKING
cdef long _WRITE


cdef class Dispatcher(Runner):
    cdef public CommandClock clock
    cdef public Answering answering
    cdef public Instance instance
    cdef object _readings
    cdef public ClientQueues queues
    cdef public object client_limit
    cdef public Admission admission
    cdef public MemoryLimit memory_limit
    cdef public Propagation propagation
    cdef public object waiters
    cdef public object script_runs
    cdef public Cutter cutter
    cdef Cutter _queue_cutter
    cdef object _commands
    cdef public dict _table
    cdef public object send_in_pieces
    cdef public bint has_run_handlers
    cdef Command _command
    cdef bytes _name
    cdef bytes _fullname
    cdef object _handler
    cdef Py_ssize_t _least_words
    cdef Py_ssize_t _most_words

    cpdef start_input(self, long now_ms)
    cpdef bint execute(self, Client client, Request request)
    cpdef object run(self, Client client, Command command, Request request)
    cdef _tell_watchers(
        self, Client client, Command command, Request request, object handler, object reply,
        long start_ns,
    )
    cdef _tell_others(
        self, Client client, Command command, Request request, bint is_dirty, bint is_over
    )
    cdef Request _opened(self, Request kept)
    cdef Command _look_up(self, Client client, Request request)
    cpdef object account(self, Client client, Command command, Request request, object handler)
    cpdef object run_with_pauses(self, Client client, list argv, object work)
