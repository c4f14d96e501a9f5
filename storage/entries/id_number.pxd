# An entry ID as a number of C, without the types of storage/entries/entry_id.py.

cdef extern from *:
    """
    #define rillway_id_ms(entry_id) ((unsigned long long) ((entry_id) >> 64))
    #define rillway_id_seq(entry_id) ((unsigned long long) (entry_id))
    """
    ctypedef unsigned long long entry_id_t "unsigned __int128"
    unsigned long long id_ms "rillway_id_ms"(entry_id_t entry_id) noexcept
    unsigned long long id_seq "rillway_id_seq"(entry_id_t entry_id) noexcept
