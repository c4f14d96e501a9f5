# The C types of storage/entries/id_columns.py.

from storage.entries.entry_id cimport id_ms, id_seq


