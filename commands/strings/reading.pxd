# The C types of commands/strings/reading.py.

from commands.client cimport Client
from commands.instance cimport Instance
from protocol.cutter cimport Cutter
from storage.keyspace cimport Database
