# The C types of commands/lists/lpush.py.

from commands.core.client cimport Client
from protocol.request cimport Request
from storage.types.lists cimport ListValue
