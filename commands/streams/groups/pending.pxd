# The C types of commands/streams/groups/pending.py.

from storage.append_only.request_writer cimport RequestWriter
