# The C types of server/persistence/append_only/writer.py.

from commands.core.propagation cimport Propagation


cdef long _SYNC_INTERVAL_MS


cdef class AppendOnlyWriter:
    cdef public long synced_units
    cdef public bint keeps_its_word
    cdef public long file_bytes
    cdef public long earlier_bytes
    cdef object _instance
    cdef Propagation _propagation
    cdef object _config
    cdef object _state
    cdef object _syncer
    cdef object _fatal
    cdef object _on_health
    cdef list _buffer
    cdef Py_ssize_t _counted_parts
    cdef Py_ssize_t _selected_db
    cdef long _annotated_s
    cdef object _file
    cdef bint _has_unsynced
    cdef object _postponed_since_ms
    cdef readonly list _syncs
    cdef long _last_sync_ms
    cdef long _rotations
    cdef long _damaged_until_rotation
    cdef long _doubtful_units
    cdef str _write_error
    cdef str _sync_error
    cdef object _error_logged_ms

    cpdef flush(self, long monotonic_ms, bint force=*)
    cdef bint _must_postpone(self, long monotonic_ms)
    cdef _write(self, object file)
    cdef _sync_when_due(self, long monotonic_ms)
    cdef _update_figures(self)
    cdef _count_postponed(self)
