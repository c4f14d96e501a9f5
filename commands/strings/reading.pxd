# The C types of commands/strings/reading.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.state.stats cimport Stats
from protocol.cutter cimport Cutter
from storage.keyspace cimport Database
from storage.strings cimport StringValue
