# The C types of commands/lists/ends.py.

from commands.core.client cimport Client
from protocol.request cimport Request
from storage.types.lists cimport ListValue
