# The C types of commands/keys/lookup.py.

from commands.core.client cimport Client
from storage.keyspace.database cimport Database
from storage.types.value cimport Value


cpdef Value find(Client client, Database db, bytes key)
cpdef Value peek(Client client, bytes key, bint tell_of_miss=*)
