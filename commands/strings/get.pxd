# The C types of commands/strings/get.py.

from commands.core.client cimport Client
from commands.core.instance cimport Instance
from commands.state.stats cimport Stats
from protocol.request cimport Request
from storage.keyspace.database cimport Database
from storage.types.strings cimport StringValue
