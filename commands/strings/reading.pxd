# The C types of commands/strings/reading.py.

from commands.client cimport Client
from commands.instance cimport Instance
from commands.stats cimport Stats
from protocol.cutter cimport Cutter
from storage.keyspace cimport Database
from storage.strings cimport StringValue
